"""Lists that grow: how many items each step of a loop appends is known, so that each item has its place.

What one translation counts is where the next one stores items, and how large the array is. Where data say how many
there are, a name counts them, and the array has room for as many as all appends together can make, or as many as the
program says that there are at most.
"""

from __future__ import annotations

import ast
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ir.dtypes import DType
from ir.nodes import Binary, Buffer, Const, Expr, Load, Stmt, Store
from ir.script.plain import hints
from ir.script.plain.arrays import MOST_ITEMS, Elementwise, View, is_number
from ir.script.plain.frames import Cell, Growing, Value, shown, used
from ir.script.plain.loops.marking import Marking, beside, most_above
from ir.script.plain.program import Again, CellType, Grant, Grown, Key, NeedsValue, Recount, Stands, kept_in
from ir.script.plain.promotion import Interval, Number, Weak, interval_after, interval_of
from ir.script.plain.syntax.counters import Appended, Changed, Popped, Same
from ir.script.plain.syntax.lists import Listed
from ir.script.plain.tuples import Record, of_kind
from ir.traverse import buffers_written

if TYPE_CHECKING:
    from ir.script.plain.statements import Body

_ROUNDS = 8  # after which the array of a list doubles, until it has room


def opened(body: Body, node: Listed) -> Growing:
    """A list that is to grow, with the items that it begins with."""
    key = (body.frame.path, f"list {node.group}")
    known = body.program.learned.grown.setdefault(key, Grown())
    if node.counter:
        there = body.frame.bindings.get(node.group)
        appended = there.appended if isinstance(there, Growing) else 0
        body.program.grants.append(Grant(key, 0, appended, body.program.loops))
        if isinstance(there, Growing):  # which starts anew
            if there.buffer is not None:
                body.program.sharing.renew(there.buffer, body.program.loops)
            return there
        body.program.learned.counters[body.frame.path, node.counter] = known.size
        if known.shape is None:
            _guess(body, key, known, node.items)
    kind = body.program.learned.cells.get(key)
    buffer = None
    if kind is not None and known.shape is not None:
        shape = (max(known.size, 1) if node.counter else known.size, *known.shape)
        buffer = body.arrays.array(node.group, shape, kept_in(kind), node).buffer
        of_tuples = known.depth > 1 and not known.stored and (bool(node.counter) or known.kind is not None)
        body.program.listed[buffer] = Stands(key, known.depth, of_tuples, known.kind)
    growing = Growing(key, buffer, body.program.depth, body.program.branches, counter=node.counter)
    growing.different = node.different
    growing.loops = len(body.program.loops)
    assert isinstance(node.value, ast.List)
    for item in node.value.elts:
        append(body, growing, item)
    return growing


def _guess(body: Body, key: Key, known: Grown, items: int) -> None:
    """Take items to be small integers, or so many of them, until one is appended: they may be looked at before."""
    known.shape, known.depth, known.guessed = ((items,), 2, True) if items else ((), 1, True)
    body.program.learned.cells[key] = CellType(DType.INT32, True, 0, 0)


def append(body: Body, growing: Growing, node: ast.expr, size: Number | None = None) -> None:
    """Store an item at the end of a list, which has a `size` that data say, if that is given.

    Raises:
        ParseError: whether that is done depends on data, or the item is no number and no row of a known length.
        Again: there is more to know of the list than so far.
    """
    if body.program.branches != growing.branches and not growing.counter:
        _count(body, growing, "how long the list becomes depends on data", node)
    learned, sharing = body.program.learned, body.program.sharing
    before = set(sharing.born)
    item = body.read.array_or(node)
    known = learned.grown[growing.key]
    if known.guessed:
        known.guessed, known.shape = False, None
        del learned.cells[growing.key]
    rows, kind = isinstance(item, tuple), item.kind if isinstance(item, Record) else None
    if growing.different:
        parts = [body.read.as_number(v, node) for v in (item if isinstance(item, tuple) else (item,)) if is_number(v)]
        whole = all(body.frame.numbers.dtype_of(v).is_integer for v in parts)
        known.reached(tuple(map(body.program.reach, parts)) if parts and whole else ((None, None),))
    if rows and known.stored and not isinstance(node, (ast.List, ast.ListComp, ast.Call, ast.BinOp)):
        name = growing.key[1].removeprefix("list ")
        hint = f"append a list of its own, as in {name}.append([*{shown(node)}])"
        raise body.read.error("unsupported", f"an item of `{name}`, whose items change, has a name", node, hint)
    row = item if isinstance(item, tuple) and item and all(map(is_number, item)) else None
    if isinstance(item, tuple) and row is None:
        item = body.read.caller.table(item, None, node)
    array = item if isinstance(item, (View, Elementwise)) and item.shape else None
    shape = tuple(n for n in array.shape if isinstance(n, int)) if array is not None else (len(row),) if row else ()
    if array is not None and len(shape) < len(array.shape):
        learned.apart(body.frame.identity(), growing.key[1].removeprefix("list "))
        raise body.read.error("shape", "the length of an item depends on loops or data", node, hints.SIZED)
    if growing.buffer is None or known.shape != shape:
        if known.shape not in (None, shape):
            learned.apart(body.frame.identity(), growing.key[1].removeprefix("list "))
            raise body.read.error("shape", "items of the list have different shapes", node, hints.SIZED)
        if (items := row or array) is None:
            learned.assign(growing.key, body.read.as_number(item, node), body.frame.numbers, node)
        else:
            body.arrays.learn_row(growing.key, items, node)
        known.shape, known.depth, known.kind = shape, 1 + rows, kind
        raise Again
    buffer = growing.buffer
    at = growing.size if size is None else size
    with sharing.changing("items"):
        body.store(View(buffer, shape, lambda i: (at, *i)), item, node)
    if isinstance(array, View) and (array.buffer in before or array.buffer not in sharing.born):
        sharing.append(growing.key[1].removeprefix("list "), array.buffer, buffer, body.program.loops)
    if size is None:
        _more(body, growing, 1, body.program.depth, node)


def stored_before(body: Body, growing: Growing, node: ast.AST) -> None:
    """An item of a list is stored to, which is counted where this stands before all that append to it."""
    if growing.buffer is None and not growing.counter:
        _count(body, growing, "items of the list are stored to before there are any", node)


def item_stored(body: Body, owner: ast.expr) -> None:
    """A number of an item of a list is stored to: the item is a list, and no tuple.

    Raises:
        Again: that was not known.
    """
    items = body.read.value(owner.value) if isinstance(owner, ast.Subscript) else None
    stands = body.program.listed.get(items.buffer) if isinstance(items, View) else None
    known = None if stands is None else body.program.learned.grown.get(stands.key)
    if known is not None and known.kind is None and not known.stored:
        known.stored = True
        raise Again


def appended(body: Body, node: ast.Call) -> bool:
    """Whether a statement appends an item to a list that grows, which is then done."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[item], keywords=[]):
            growing = body.frame.bindings.get(name)
            if isinstance(growing, Growing):
                append(body, growing, item)
                return True
            return False
        case _:
            return False


def list_changed(body: Body, node: Appended | Same | Changed) -> None:
    """A statement about a list of which a counter says how long it is."""
    match node:
        case Appended():
            _append_counting(body, node)
        case Same():
            _same_list(body, node)
        case Changed(value=value):
            buffer = body.read.sized(value).buffer
            body.program.sharing.store(buffer, body.program.loops, body.source.span(node))


def _append_counting(body: Body, node: Appended) -> None:
    """Append an item to a list of which a counter says how long it is."""
    growing = body.frame.bindings.get(node.value.value.id)
    if not isinstance(growing, Growing) or growing.buffer is None:
        body.read.sized(node.value)
    assert isinstance(growing, Growing)
    growing.place = node.item
    append(body, growing, node.item, body.read.number(node.value.size))
    _counted(body, growing, node)


def check_steady(body: Body, node: ast.For, appends: bool) -> None:
    """Refuse a loop whose steps are written out in turn, and in which a list grows."""
    if appends or any(body.key_of(node) in known.steps for known in body.program.learned.grown.values()):
        message = "names stand for other arrays after each step of a loop in which a list grows"
        raise body.read.error("rebinding", message, node, "copy elements instead, as in A[:] = B")


def _more(body: Body, growing: Growing, items: int, depth: int, node: ast.AST) -> None:
    """As many items more in a list of statements of some depth: the list is that long from here on."""
    growing.size = body.frame.numbers.binary("add", growing.size, items, node)
    growing.items += items
    known = body.program.learned.grown[growing.key]
    if growing.depth == depth and growing.items > known.size:
        known.size = growing.items
        raise Again


@contextmanager
def steps_of(body: Body, node: ast.For, count: Number | None, step: Number) -> Generator[None]:
    """The steps of a loop, of which this one is written: lists are as long as the steps before it have made them.

    How many steps there are is a `count`, or not known yet.
    """
    lists = [g for g in body.frame.bindings.values() if isinstance(g, Growing) and not g.counter]
    numbers, learned, key = body.frame.numbers, body.program.learned, body.key_of(node)
    before = [(g.size, g.items) for g in lists]
    for growing in lists:
        each = learned.grown[growing.key].steps.get(key, 0)
        since = step if each == 1 else numbers.binary("mul", step, each, node)
        empty = isinstance(growing.size, int) and growing.size == 0
        growing.size = since if empty else numbers.binary("add", growing.size, since, node)
    yield
    for growing, (size, items) in zip(lists, before, strict=True):
        added = growing.items - items
        if added and not isinstance(count, int):
            _count(body, growing, "how long the list becomes is not known before the loop runs", node)
        if added != learned.grown[growing.key].steps.get(key, 0):
            learned.grown[growing.key].steps[key] = added
            raise Again
        growing.size, growing.items = size, items
        if added and isinstance(count, int):
            _more(body, growing, added * count, body.program.depth - 1, node)


# Lists of which data say how long they are ---------------------------------------------------------------------------


def _count(body: Body, growing: Growing, message: str, node: ast.AST) -> None:
    """Have the items of a list counted.

    Raises:
        Recount: the function must be read again for that.
        ParseError: that has been tried.
    """
    name = growing.key[1].removeprefix("list ")
    learned = body.program.learned
    if name in learned.reading.counted:
        raise body.read.error("shape", message, node, hints.SIZED)
    learned.reading = replace(learned.reading, counted=learned.reading.counted | {name})
    raise Recount


def _counted(body: Body, growing: Growing, node: Appended) -> None:
    """An item has been appended: there must be room for it, whatever data say."""
    growing.appended += 1
    known, grant = body.program.learned.grown[growing.key], _grant(body, growing)
    if grant is None and node.last:
        growing.once += 1
    elif grant is None:
        growing.items += 1
    else:
        known.most = max(known.most, grant.most + growing.appended - grant.items)
    _make_room(body, growing, len(body.program.loops), node)


def _grant(body: Body, growing: Growing) -> Grant | None:
    """What the program says here of how long a list is at most."""
    grants = body.program.grants[::-1]
    return next((g for g in grants if g.key == growing.key and g.loops == body.program.loops), None)


def _make_room(body: Body, growing: Growing, loops: int, node: ast.AST) -> None:
    """See to it that an array has room for all that is appended in so many loops, if these are all."""
    learned = body.program.learned
    known = learned.grown[growing.key]
    need = known.most + growing.items + growing.once
    if growing.different and (most := known.different()) is not None:
        need = min(need, most)
    if loops > growing.loops or need <= known.size:
        return
    if need > MOST_ITEMS:
        raise _of_any_length(body, growing, node)
    known.grew += 1
    known.size = need if known.grew < _ROUNDS else max(need, min(2 * known.size, MOST_ITEMS))
    learned.counters[body.frame.path, growing.counter] = known.size
    raise Again


def _of_any_length(body: Body, growing: Growing, node: ast.AST) -> Exception:
    """Why there is no array for a list.

    Raises:
        NeedsValue: integers that callers give may tell how long it becomes.
    """
    if body.program.given:
        raise NeedsValue(frozenset(body.program.given.values()))
    name = growing.key[1].removeprefix("list ")
    hint = f"say where it is appended to, or at the start of the loop, as in loopsat.assume(len({name}) <= 1000)"
    return body.read.error("shape", f"no bound is found of how long `{name}` becomes", growing.place or node, hint)


def counted_before(body: Body) -> list[tuple[Growing, Growing]]:
    """What a loop appends to counted lists is counted from here on; it gives what was counted before."""
    lists = [g for g in body.frame.bindings.values() if isinstance(g, Growing) and g.counter]
    before = [(growing, replace(growing)) for growing in lists]
    for growing in lists:
        growing.items = growing.appended = growing.once = 0
    return before


def counted_after(body: Body, before: list[tuple[Growing, Growing]], steps: Number, node: ast.AST, step: Stmt) -> None:
    """A loop of so many steps at most is written, each of which appends what has been counted."""
    most = interval_of(steps)[1]
    for growing, old in before:
        counter, marked = _marked(body, growing, step) if growing.items else (None, None)
        if marked is None and counter is not None:
            marked = most_above(step, counter)
        each = None if most is None else most * growing.items
        if marked is not None and (each is None or marked < each):
            growing.once, growing.items = growing.once + marked, 0
            growing.appended = growing.once
        elif growing.items and (each is None or each > MOST_ITEMS):
            raise _of_any_length(body, growing, node)
        if growing.appended > growing.items + growing.once:  # how many more there are now only what was granted says
            body.program.grants = [g for g in body.program.grants if g.key != growing.key]
        steps_at_most, grant = max(most or 0, 0), _grant(body, growing)
        more = growing.once + growing.items * steps_at_most
        added = growing.once if growing.appended == growing.once else growing.once + growing.appended * steps_at_most
        growing.appended = old.appended + added
        growing.items, growing.once = old.items, old.once
        if grant is None:
            growing.items += more
        elif more:
            known = body.program.learned.grown[growing.key]
            known.most = max(known.most, grant.most + growing.appended - grant.items)
        _make_room(body, growing, len(body.program.loops), node)


def marked_in(body: Body, step: Stmt) -> dict[Buffer, int]:
    """The counters of lists to which a loop appends no more items than it marks elements, and how many these are."""
    lists = [g for g in body.frame.bindings.values() if isinstance(g, Growing) and g.counter]
    found = (_marked(body, growing, step) for growing in lists)
    return {counter: items for counter, items in found if counter is not None and items is not None}


def _marked(body: Body, growing: Growing, step: Stmt) -> tuple[Buffer | None, int | None]:
    """The counter of a list, and how many items a loop appends that marks an element for each, if it does."""
    program = body.program
    there = {c.key: c.buffer for c in body.frame.bindings.values() if isinstance(c, Cell) and c.buffer is not None}
    counter = there.get((body.frame.path, growing.counter))

    def reach(cell: Buffer) -> Interval:
        items = program.listed.get(cell)
        key = program.cells.get(cell) if items is None else items.key
        kind = None if key is None else program.learned.cells.get(key)
        if kind is None or not kind.weak or cell.shape:
            return (None, None) if kind is None or not kind.weak else (kind.low, kind.high)
        last = next((s for s in reversed(program.lines.done) if cell in buffers_written(s)), None)
        if isinstance(last, Store) and cell not in buffers_written(step):
            value = last.value
            if isinstance(value, Binary) and isinstance(value.rhs, Const) and value.lhs.same(Load(cell, ())):
                return interval_after(value.op, (kind.low, kind.high), interval_of(value.rhs.value))
        return kind.low, kind.high

    def before(array: Buffer) -> Sequence[Expr] | None:
        known = array in program.sharing.born and program.sharing.born[array] == program.loops
        return program.stored.get(array) if known else None

    def differ(one: Expr, other: Expr) -> bool:
        return program.differ((one,), (other,))

    if counter is None:
        return None, None
    found = Marking(step, reach, before, differ).increments(counter)
    for other in body.frame.bindings.values() if found is None else ():
        if isinstance(other, Growing) and other.different:
            own = there.get((body.frame.path, other.counter))
            if other is growing or (own is not None and beside(step, counter, own)):
                found = program.learned.grown[other.key].different() if found is None else found
    return counter, found


def _same_list(body: Body, node: Same) -> None:
    """Give a list the items of another one: it is that one in Python, so that none of the two may change then."""
    to, source = body.frame.bindings.get(node.value.value.id), body.frame.bindings.get(node.other.value.id)
    view = body.read.sized(node.other)
    sharing, learned = body.program.sharing, body.program.learned
    if not isinstance(to, Growing) or not isinstance(source, Growing) or to.buffer is None:
        body.read.sized(node.value)
        return
    known, other = learned.grown[to.key], learned.grown[source.key]
    if other.guessed:  # it has had no items so far
        return
    if known.guessed or known.size < other.size:
        if known.guessed:
            known.shape, known.depth, known.guessed = other.shape, other.depth, False
            learned.cells[to.key] = learned.cells[source.key]
        known.size = learned.counters[body.frame.path, to.counter] = max(known.size, other.size)
        raise Again
    if known.shape != other.shape:
        raise body.read.error("shape", "items of the lists have different shapes", node)
    old = learned.cells[to.key]
    if body.arrays.learn_all(to.key, view, node) != old:
        raise Again
    body.program.grants.append(Grant(to.key, other.size, to.appended, body.program.loops))
    with sharing.changing("names"):
        body.store(replace(used(to, to.buffer, view.shape[0])), view, node)
    if not node.alone:
        sharing.copy(node.value.value.id, view.buffer, to.buffer, body.program.loops, shared=True)


def check_other_name(body: Body, value: Value, node: ast.AST) -> None:
    """Refuse a name for an item that is an array, in the place of which another one may be later."""
    lists = [g for g in body.frame.bindings.values() if isinstance(g, Growing) and g.counter]
    if isinstance(value, View) and value.shape and any(g.buffer == value.buffer for g in lists):
        hint = "copy it, as in row = x[-1].copy(), or look at its elements where they are"
        raise body.read.error("unsupported", "a name for an item of a list, which may be popped later", node, hint)


def granted(body: Body, cond: ast.expr) -> None:
    """Take it from an assumption how many items a list has at most."""
    counters = {g.counter: g for g in body.frame.bindings.values() if isinstance(g, Growing) and g.counter}
    match cond:
        case ast.Compare(left=ast.Name(id=name), ops=[ast.LtE() | ast.Lt()], comparators=[limit]) if name in counters:
            growing, most = counters[name], interval_of(body.read.number(limit))[1]
            if most is not None:
                grant = Grant(growing.key, max(most, 0), growing.appended, body.program.loops)
                body.program.grants.append(grant)
        case _:
            pass


def popped(body: Body, node: Popped) -> Value:
    """The item that is taken out of a list; those behind it move up."""
    numbers, array, index = body.frame.numbers, body.read.sized(node.value), node.index
    growing = body.frame.bindings[node.value.value.id]
    assert isinstance(growing, Growing)
    sharing = body.program.sharing
    with sharing.changing("items"):
        sharing.store(array.buffer, body.program.loops, body.source.span(node))
    last = numbers.binary("sub", array.shape[0], 1, node)
    at = last if index is None else body.read.number(index)
    low = interval_of(at)[0]
    if index is not None and (low is None or low < 0):
        at = numbers.select(
            numbers.binary("lt", at, 0, node), numbers.binary("add", at, array.shape[0], node), at, node
        )
    at = body.program.frozen("at", at, body.source.span(node))
    if isinstance(at, Weak):  # there is an item, or Python would fail
        at = Weak(at.expr, 0, at.high)
    row = body.read.at_row(array, at, node)
    known = body.program.learned.grown[growing.key]
    if not known.shape:
        item: Value = body.read.as_number(row, node)
    elif known.depth == 1:
        item = body.arrays.kept("item", row, node)
        sharing.pop(node.value.value.id, array.buffer, item.buffer, body.program.loops)
    else:
        parts = (body.read.at_row(row, k, node) for k in range(known.shape[0]))
        item = of_kind(known.kind, (body.read.as_number(part, node) for part in parts))
    item = body.settled("item", item, node)
    if index is not None:
        behind = numbers.binary("sub", last, at, node)

        def move(k: Number) -> None:
            to = numbers.binary("add", at, k, node)
            place = body.read.at_row(array, to, node)
            moved = body.read.at_row(array, numbers.binary("add", to, 1, node), node)
            body.store(place, moved, node)

        with sharing.changing("items"):
            body.arrays.over((behind,), lambda k: move(k[0]), node)
    return item
