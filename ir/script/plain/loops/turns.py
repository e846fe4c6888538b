"""Names of arrays that stand for others after each step of a loop, until they stand for what they did before."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ir.dtypes import DType
from ir.errors import ParseError
from ir.fold import folded
from ir.nodes import Const, For, Stmt, Var, const, seq
from ir.script.plain.arrays import Array, Elementwise, View, difference, same, shown_shape
from ir.script.plain.frames import Binding, Named, Value
from ir.script.plain.loops.iterables import Items
from ir.script.plain.program import Again, Recount
from ir.script.plain.promotion import Number, Weak, expr_of
from ir.script.plain.tuples import MAX_ITEMS, Record
from ir.script.plain.tuples import Items as WrittenOut
from ir.traverse import substitute_expr

if TYPE_CHECKING:
    from ir.script.plain.statements import Body

MAX_STATES = 8  # of what names of arrays stand for in a loop, each of which is written out


class Cycle(Struct, frozen=True):
    """After how many steps names stand for what they will again, and after how many more they do."""

    before: int
    period: int


def alike(one: Mapping[str, Binding], other: Mapping[str, Binding]) -> bool:
    """Whether the names of one stand for the same arrays in the other."""
    return all(one[name] is array for name, array in other.items())


def place_of(states: Sequence[Mapping[str, Binding]], state: Mapping[str, Binding]) -> int | None:
    """Which of some states a state is; None if it is none of them."""
    return next((k for k, known in enumerate(states) if alike(state, known)), None)


def states_of(
    body: Body,
    node: ast.For,
    item: Callable[[], Value],
    given: Mapping[str, Binding],
    there: Sequence[Binding],
) -> Cycle | None:
    """What names of arrays stand for after each step, until it is as it was; None where nothing changes.

    The body has been written once since names stood for `given`, all of which is among what was `there`.

    Raises:
        Again: a name stands for a new array, which the next translation carries from step to step.
    """
    if alike(body.bound_arrays(), given):
        return None
    states = [given]
    fresh, turns = False, body.guard_of(node) is None  # else it is not known after which step it ends
    while (found := place_of(states, now := {name: body.frame.bindings[name] for name in given})) is None:
        for name, array in now.items():
            start = given[name]
            if array is start and not turns:
                continue
            if turns and any(array is other for other in there) and len(states) < MAX_STATES:
                continue
            part(body, name, start, array)
            if isinstance(start, (tuple, Named)):
                message = f"`{name}` is another {'tuple' if isinstance(start, tuple) else 'object'} after each step"
                hint = f"give each item a name, or assign it alone everywhere, as in {name} = (a, b)"
                raise body.read.error("rebinding", message, node, hint)
            if not isinstance(start, View):
                message = f"`{name}` stands for a new array after each step of the loop"
                hint = f"store into the elements of one array, as in {name}[:] = ..., or swap two that are there"
                raise body.read.error("rebinding", message, node, hint)
            body.program.learned.carry(body.key_of(node), name)
            fresh = True
        if fresh:
            raise Again
        states.append(now)
        body.step(node, item)  # to see what it makes of names
    body.frame.bindings.update(given)
    return Cycle(found, len(states) - found)


def part(body: Body, name: str, one: Binding, other: Binding) -> None:
    """Have a name that stands for one tuple, and then for another one, taken apart where it is assigned; and an array
    for a list that is written out, where the name is that of an array later, or of a longer list.

    Raises:
        Recount: the function must be read again for that.
    """
    if not isinstance(one, tuple) or body.frame.enclosing is not None:
        return
    learned, function = body.program.learned, body.frame.identity()
    reading = learned.reading
    kind = one.kind if isinstance(one, Record) and isinstance(other, Record) and one.kind is other.kind else None
    parted = function, name, len(one), kind
    if isinstance(other, tuple) and len(other) == len(one) and parted not in reading.parted:
        learned.reading = replace(reading, parted=(*reading.parted, parted))
        raise Recount
    longer = isinstance(one, WrittenOut) and isinstance(other, tuple) and len(other) > len(one)
    if longer and (function, name) not in reading.grown:
        learned.reading = replace(reading, grown=reading.grown | {(function, name)})
        raise Recount
    if isinstance(one, WrittenOut) and isinstance(other, View) and (function, name) not in reading.arrays:
        learned.reading = replace(reading, arrays=reading.arrays | {(function, name)})
        raise Recount


def refused(body: Body, name: str, cell: object, value: Value, node: ast.AST) -> ParseError:
    """Why a name that changes cannot have a value.

    Raises:
        Recount: it is a tuple, whose items get names of their own.
    """
    if isinstance(value, tuple) and value:
        part(body, name, value, value)
    message = f"`{name}` changes in a loop or branch, so that it must be a number"
    hint = f"store into the elements of one array, as in {name}[:] = ..., or swap arrays at a loop's own level"
    hint = "give each item a name of its own" if isinstance(value, tuple) else hint
    if isinstance(value, Named) or (isinstance(cell, Named) and cell.value is None):
        hint = f"begin with a number, as in {name} = 0.0, and keep in a truth whether there is one"
    return body.read.error("rebinding", message, node, hint)


def changed(body: Body, node: ast.If, given: Mapping[str, Binding]) -> None:
    """What names of arrays stand for after a branch, where they stood for `given` before it.

    Raises:
        ParseError: a name stands for a tuple or an object.
        Again: a name stands for another array, which the next translation copies into one for both ways.
    """
    carried = body.program.learned.carried.get(body.key_of(node), ())
    for name, start in given.items():
        if body.frame.bindings[name] is start or name in carried:
            continue
        part(body, name, start, body.frame.bindings[name])
        if not isinstance(start, (View, Elementwise)):
            hint = "give each item a name of its own"
            raise body.read.error("rebinding", f"`{name}` is another object after a branch", node, hint)
        body.program.learned.carry(body.key_of(node), name)
        raise Again


def carry_in(body: Body, node: ast.For | ast.If) -> None:
    """Arrays that take what names stand for from each step of a loop to the next, with what they stand for now.

    So do branches, after which names may stand for what they did before, and for what others stand for too.
    """
    key = body.key_of(node)
    for name in body.program.learned.carried.get(key, ()):
        now = body.frame.bindings[name]
        assert isinstance(now, (View, Elementwise))
        more = body.program.learned.resized.get((key, name))
        kept = body.arrays.kept(name, now, node) if more is None else _with_room(body, node, name, now, more)
        note_copy(body, name, now, kept)
        body.frame.bindings[name] = body.carriers[body.key_of(node), name] = kept


def _with_room(body: Body, node: ast.For | ast.If, name: str, now: Array, more: tuple[int, ...]) -> View:
    """The elements of an array in one that has room for as many as each step of a loop adds, or takes off."""
    key, numbers = body.key_of(node), body.frame.numbers
    count = body.program.steps[key][0]
    last = [numbers.binary("add", n, by * count, node) for n, by in zip(now.shape, more, strict=True)]
    if not all(body.program.at_most(0, n, numbers.typer) for n in last):
        hint = "end the loop before, or store into the elements of one array"
        message = f"nothing is left of `{name}` after some steps of the loop"
        raise _refused(body, node, body.read.error("shape", message, node, hint))
    most = tuple(n if by <= 0 else end for n, by, end in zip(now.shape, more, last, strict=True))
    buffer = body.arrays.array(name, most, body.read.dtype_of(now, node), node).buffer

    def before(step: Number) -> View:
        shape = (n if by == 0 else numbers.binary("add", n, numbers.binary("mul", step, by, node), node)
                 for n, by in zip(now.shape, more, strict=True))  # fmt: skip
        return View(buffer, tuple(shape), lambda i: i)

    body.program.sized[key, name] = before
    body.arrays.store(before(0), now, node)
    return before(0)


def at_step(body: Body, node: ast.For, count: Number | None, step: Number) -> None:
    """A step of a loop is written, of a number of them: names that are resized stand for what they do before it."""
    key = body.key_of(node)
    if isinstance(count, int) and body.guard_of(node) is None:
        body.program.steps[key] = count, step
    for name in body.program.learned.carried.get(key, ()):
        if (before := body.program.sized.get((key, name))) is not None:
            body.frame.bindings[name] = body.carriers[key, name] = before(step)


def note_copy(body: Body, name: str, array: Array, into: View) -> None:
    """A name stands for a copy, which matters if another one stands for the array, or a part of it, or a caller's.

    Nothing runs after what a call of the whole program returns is known.
    """
    returned = name in body.frame.own and not body.frame.path
    if not isinstance(array, View) or array.buffer is into.buffer or returned:
        return
    buffer = array.buffer

    def holds(value: Binding) -> bool:
        return any(map(holds, value)) if isinstance(value, tuple) else getattr(value, "buffer", None) is buffer

    sharing = body.program.sharing
    of_caller = buffer not in list(sharing.born)[body.born :]
    shared = of_caller or any(holds(v) for n, v in body.frame.bindings.items() if n != name)
    sharing.copy("" if name in body.frame.own else name, buffer, into.buffer, body.program.loops, shared=shared)


def carry_on(body: Body, node: ast.For | ast.If) -> None:
    """What names stand for after a step, in the arrays of the next one.

    Raises:
        ParseError: a new array has another shape or dtype, or what a name stands for is none.
        Again: another name stands for one of these arrays as it was before the step.
    """
    names = body.program.learned.carried.get(body.key_of(node), ())
    carriers = {name: body.carriers[body.key_of(node), name] for name in names}
    buffers = {view.buffer for view in carriers.values()}
    for name, array in body.bound_arrays().items():
        if name not in carriers and isinstance(array, View) and array.buffer in buffers:
            body.program.learned.carry(body.key_of(node), name)
            raise Again
    found: dict[str, Array] = {}
    wanted: dict[str, View] = {}
    for name, view in carriers.items():
        array = body.frame.bindings[name]
        if not isinstance(array, (View, Elementwise)):
            message = f"`{name}` stands for an array before a step of the loop, and for something else after it"
            raise body.read.error("rebinding", message, node, "give the two two names")
        wanted[name] = _wanted(body, name, view, array, node)
        if body.program.learned.resized.get((body.key_of(node), name)) and wanted[name] is view:
            continue
        _check_alike(body, name, wanted[name], array, node)
        moved = isinstance(array, View) and array is not view and array.buffer in buffers
        found[name] = body.arrays.kept(name, array, node) if moved else array
    if len(found) < len(carriers):
        raise Again
    for name, view in carriers.items():
        array = body.frame.bindings[name]
        assert isinstance(array, (View, Elementwise))
        note_copy(body, name, array, view)
    with body.program.sharing.changing("names"):
        for name, view in carriers.items():
            if found[name] is not view:
                body.arrays.store(wanted[name], found[name], node)
            body.frame.bindings[name] = view


def _wanted(body: Body, name: str, view: View, array: Array, node: ast.For | ast.If) -> View:
    """Where a new array goes after a step, which may make it longer or shorter, by as much as others do."""
    key, program = body.key_of(node), body.program
    if key not in program.steps:
        return view
    step, before = program.steps[key][1], program.sized.get((key, name))
    if before is not None:
        return before(body.frame.numbers.binary("add", step, 1, node))
    more = tuple(_difference(a, b, step) for a, b in zip(array.shape, view.shape, strict=False))
    known = tuple(n for n in more if n is not None)
    if len(known) == len(array.shape) == len(view.shape) and any(known) and (key, name) not in program.learned.resized:
        program.learned.resized[key, name] = known
        program.learned.changed = True
    return view


def _difference(a: Number, b: Number, step: Number) -> int | None:
    """By how much one size is more than another one in the first of some steps, if that is known."""
    var, first = expr_of(step), expr_of(a)
    if first is not None and isinstance(var, Var):
        start = folded(substitute_expr(first, {var: const(0, var.dtype)}))
        a = start.value if isinstance(start, Const) and isinstance(start.value, int) else Weak(start)
    return difference(a, b)


def _check_alike(body: Body, name: str, one: View, other: Array, node: ast.For | ast.If) -> None:
    dtype = body.read.dtype_of(other, node)
    pairs = zip(one.shape, other.shape, strict=False)
    known = body.program.at_most, body.frame.numbers.typer
    equal = (same(a, b) or (known[0](a, b, known[1]) and known[0](b, a, known[1])) for a, b in pairs)
    alike = len(one.shape) == len(other.shape) and all(equal)
    if not alike or dtype is not one.buffer.dtype:
        kinds = " and ".join(f"{d} {shown_shape(s)}" for d, s in ((one.buffer.dtype, one.shape), (dtype, other.shape)))
        what = "what is returned stands" if name in body.frame.results else f"`{name}` stands"
        message = f"{what} for arrays of different kinds, before and after a step of a loop or a branch: {kinds}"
        hint = "give the two two names, or keep one array of the greatest size, and how many of its elements count"
        raise _refused(body, node, body.read.error("rebinding", message, node, hint))


def _refused(body: Body, node: ast.For | ast.If, error: ParseError) -> ParseError:
    """Why names cannot stand for arrays of other kinds after each step of a loop.

    Raises:
        Again: there are few steps, which are written out one after the other.
    """
    key, learned = body.key_of(node), body.program.learned
    if key in body.program.steps and body.program.steps[key][0] <= MAX_ITEMS and key not in learned.each:
        learned.each.add(key)
        raise Again
    return error


def resized_step(body: Body, node: ast.For, item: Callable[[], Value]) -> Stmt:
    """A step of a loop, in which sizes of arrays may be functions of its number.

    Raises:
        Again: such sizes do not fit, and there are few steps, which are written out.
    """
    try:
        return body.step(node, item)
    except ParseError as error:
        if any(key == body.key_of(node) for key, _ in body.program.learned.resized):
            raise _refused(body, node, error) from None
        raise


def rotated(body: Body, node: ast.For, items: Items, name: str, cycle: Cycle) -> None:
    """A loop with as many steps written out as it takes for names to stand for the same arrays again."""
    numbers, count, span = body.frame.numbers, items.count, body.source.span(node.iter)
    if not isinstance(count, int):
        message = "names stand for other arrays after each step, and the number of steps is not known"
        hint = 'copy elements instead, as in A[:] = B; or leave out sizes="open"'
        raise body.read.error("rebinding", message, node.iter, hint)

    def step(k: Number) -> Stmt:
        return body.step(node, lambda: body.iterables.step(items, k, node.iter))

    rounds = max(count - cycle.before, 0) // cycle.period
    for k in range(min(cycle.before, count)):
        body.program.emit(step(k))
    if rounds > 0:
        with body.program.nested():
            head = body.program.loop(name, const(0, DType.INT32), const(rounds, DType.INT32), span)
            turn = Weak(head.var, 0, rounds - 1)
            first = numbers.binary("mul", turn, cycle.period, node.iter)
            parts = [step(numbers.binary("add", first, cycle.before + k, node.iter)) for k in range(cycle.period)]
        body.program.emit(For(head.var, head.start, head.extent, seq(*parts), span=span))
    for k in range(cycle.before + rounds * cycle.period, count):
        body.program.emit(step(k))
