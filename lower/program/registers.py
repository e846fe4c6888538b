"""Elements and rows that a step reads of arrays to which it stores, by way of registers: small arrays of its own.

XLA works a value out again in each statement that needs it. What another statement needs of an array, or a second store
to it, is so read of the array as it was before the store, which cannot be in place then: each step copies all of it.
What is stored in a register and read back from there is read once. Measured on CPU: a step that swaps two elements
takes 4 ns, instead of 60 of 64 elements and 700 of 10,000; one that stores one value to two arrays of which it reads
one takes 5 ns instead of 50 and 1,000. Which place of a register it is must not be known to the compiler, which takes
away registers that only hold one value from the beginning of a step to its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from ir.dtypes import DType
from lower.program.build import ALL, assign, call, infix, subscript, updated
from lower.program.nodes import (
    Assign,
    Attribute,
    Call,
    Infix,
    JaxExpr,
    JaxNode,
    JaxStmt,
    Literal,
    Name,
    Subscript,
    Tuple,
    Unary,
    children,
    names_bound,
    names_read,
    path_of,
    rewritten,
)

Shapes = Mapping[str, tuple[JaxExpr, ...]]
Places = tuple[JaxExpr | None, ...]  # by dimension; None for several
_ELEMENTWISE = {"where", "minimum", "maximum", "abs", "clip", "exp", "log", "sqrt", *map(str, DType)}
_PART = "lax.dynamic_update_slice"
_COMBINED: Mapping[str, Callable[[JaxExpr, JaxExpr], JaxExpr]] = {
    "add": lambda a, b: infix(a, "+", b),
    "multiply": lambda a, b: infix(a, "*", b),
    "min": lambda a, b: call("jnp.minimum", a, b),
    "max": lambda a, b: call("jnp.maximum", a, b),
}
_STORES = {"set", *_COMBINED}


class Step(Struct, frozen=True):
    """What is known of the body of a step: `numbers` are names of single values, `shapes` and `dtypes` those of arrays,
    of which it carries `arrays`. Its `variable` counts from zero or more, or from below."""

    variable: str
    from_below: bool
    arrays: frozenset[str]
    numbers: frozenset[str]
    shapes: Shapes
    dtypes: Mapping[str, JaxExpr]


class Handed(Struct):
    """The statements of a step that hands values on under `names`: `first` before all steps, `then` after each."""

    body: list[JaxStmt]
    names: list[str] = field(default_factory=list[str])
    first: list[JaxExpr] = field(default_factory=list[JaxExpr])
    then: list[JaxExpr] = field(default_factory=list[JaxExpr])


def in_registers(body: Sequence[JaxStmt], step: Step, fresh: Callable[[str], str]) -> Handed:
    """The body of a step with registers for what it reads of arrays to which it stores, and more than one statement
    needs."""
    step = replace(step, numbers=_with_bound_numbers(body, step))
    written = _Written(step, fresh, _needed(body, step))
    for stmt in body:
        written.add(stmt)
    return written.result()


def _with_bound_numbers(body: Sequence[JaxStmt], step: Step) -> frozenset[str]:
    """The names of single values, with those that statements bind."""
    numbers = step.numbers
    for stmt in body:
        match stmt:
            case Assign(target=Name(id=name), value=value) if name not in step.shapes:
                numbers |= {name} if is_number(value, numbers, step.shapes) else set()
            case _:
                pass
    return numbers


def _needed(body: Sequence[JaxStmt], step: Step) -> frozenset[str]:
    """The arrays to elements or rows of which the step stores, while another statement needs what it reads of them."""
    stores: dict[str, list[int]] = {}
    for at, stmt in enumerate(body):
        array = _stored(stmt, step)
        if array is not None:
            stores.setdefault(array, []).append(at)
    made_of: dict[str, frozenset[str]] = {}  # of each name, the arrays of which it has elements or rows
    needing: dict[str, set[int]] = {}
    for at, stmt in enumerate(body):
        parts = {name: [*reads(stmt.value, name)] if isinstance(stmt, Assign) else [None] for name in stores}
        otherwise = {n for n, found in parts.items() if None in found and n in names_read(stmt) and at not in stores[n]}
        stores = {n: own for n, own in stores.items() if n not in otherwise}
        source = frozenset(n for n in stores if parts[n])
        source = source.union(*(made_of.get(n, frozenset()) for n in names_read(stmt)))
        for name in names_bound(stmt):
            if name in step.arrays:
                for array in source:
                    needing.setdefault(array, set()).add(at)
            made_of[name] = frozenset() if name in stores else source
    return frozenset(a for a, own in stores.items() if len(needing.get(a, set()) | {*own}) > 1 and a in needing)


def _stored(stmt: JaxStmt, step: Step) -> str | None:
    """The array to an element or a row of which a statement stores, and which it carries."""
    if not (isinstance(stmt, Assign) and isinstance(stmt.target, Name) and stmt.target.id in step.arrays):
        return None
    array = stmt.target
    match stmt.value:
        case Call(function=Attribute(value=Subscript(value=place, items=items), attr=attr)):
            single = place == Attribute(array, "at") and attr in _STORES and bool(step.shapes[array.id])
            return array.id if single and all(is_number(i, step.numbers, step.shapes) for i in items) else None
        case Call(function=function, args=(held, _, Tuple(items=items))):
            part = held == array and path_of(function) == _PART
            return array.id if part and all(is_number(i, step.numbers, step.shapes) for i in items) else None
        case _:
            return None


def reads(node: JaxNode, array: str) -> Iterator[Subscript | None]:
    """The parts that are read of an array; None for one that is read otherwise. What is stored to it reads it in
    place."""
    if isinstance(node, Subscript) and node.value == Name(array):
        yield node
        for item in node.items:
            yield from reads(item, array)
    elif node == Attribute(Name(array), "at"):
        pass
    elif (
        isinstance(node, Call) and path_of(node.function) == "lax.dynamic_update_slice" and node.args[0] == Name(array)
    ):
        for arg in node.args[1:]:
            yield from reads(arg, array)
    elif node == Name(array):
        yield None
    else:
        for child in children(node):
            yield from reads(child, array)


def places_of(store: Call) -> Places:
    """The single position to which a store is, in each dimension of its array in which it is to one."""
    match store:
        case Call(function=Attribute(value=Subscript(items=items))):
            return items
        case Call(args=(_, Call(function=Attribute(attr="reshape"), args=sizes), Tuple(items=starts))):
            return tuple(start if size == Literal(1) else None for size, start in zip(sizes, starts, strict=True))
        case _:
            return ()


def _changes(bound: frozenset[str], places: Places, part: Subscript) -> bool:
    """Whether a part of an array is another one once names are bound, of an array by a store to some `places`."""
    assert isinstance(part.value, Name)
    if any(not bound.isdisjoint(names_read(item)) for item in part.items):
        return True
    return part.value.id in bound and not apart(places, part)


def apart(places: Places, part: Subscript) -> bool:
    """Whether a part of an array has no element at some places of it."""
    pairs = zip(places, part.items, strict=False)
    return any(p is not None and i != ALL and surely_differ(p, i) for p, i in pairs)


def surely_differ(one: JaxExpr, other: JaxExpr) -> bool:
    """Whether two positions from zero on differ by a number, whatever the variables are."""
    (a, m), (b, n) = offset(one), offset(other)
    return a == b and m != n and (a is not None or min(m, n) >= 0)


def offset(expr: JaxExpr) -> tuple[JaxExpr | None, int]:
    """What a number is added to, and the number."""
    match expr:
        case Literal(value=int(number)):
            return None, number
        case Infix(sign="+", left=base, right=Literal(value=int(number))):
            return base, number
        case Infix(sign="-", left=base, right=Literal(value=int(number))):
            return base, -number
        case _:
            return expr, 0


class _Written:
    """Writes the statements of a step one after the other, with registers for what they read of the `needed` arrays."""

    def __init__(self, step: Step, fresh: Callable[[str], str], needed: frozenset[str]) -> None:
        self.step, self.fresh, self.needed = step, fresh, needed
        self.body: list[JaxStmt] = []
        self.zero = fresh(f"{step.variable}_zero") if needed else ""
        self.registers: dict[tuple[str, tuple[int, ...]], list[str]] = {}  # by array and its dimensions that they have
        self.held: dict[Subscript, JaxExpr] = {}  # what registers hold

    def add(self, stmt: JaxStmt) -> None:
        """Write a statement; what others do than to give a value to a name reads arrays as they are."""
        places: Places = ()
        if isinstance(stmt, Assign) and self.needed & names_read(stmt):
            stmt = replace(stmt, value=rewritten(stmt.value, self._register))
            array, value = _stored(stmt, self.step), stmt.value
            if array in self.needed and isinstance(value, Call):
                places = places_of(value)
                if isinstance(value.function, Attribute) and isinstance(value.function.value, Subscript):
                    stmt = replace(stmt, value=self._after_reads(array, value, value.function.value.items))
        self.body.append(stmt)
        bound = names_bound(stmt)
        self.held = {part: at for part, at in self.held.items() if not _changes(bound, places, part)}

    def _after_reads(self, array: str, store: Call, places: tuple[JaxExpr, ...]) -> JaxExpr:
        """A store to an array that cannot come before what was read of it: it needs a register."""
        assert isinstance(store.function, Attribute)
        (value,), own = store.args, tuple(range(len(places), len(self.step.shapes[array])))
        combined = _COMBINED.get(store.function.attr)
        if combined is not None:
            old = self._register(Subscript(Name(array), places))
            value = value if old is None else combined(old, value)
            store = store if old is None else replace(store, function=replace(store.function, attr="set"))
        names = self.registers.get((array, own))
        return replace(store, args=(self._after(names[-1], value) if names else value,))

    def _after(self, register: str, value: JaxExpr) -> JaxExpr:
        """A value that compilers work out after a register is filled, since they do not know the place in it."""
        if register in names_read(value):
            return value
        return call("jnp.where", infix(self.zero, "==", 0), value, subscript(register, self.zero))

    def result(self) -> Handed:
        """All statements, the registers, and what these are at first."""
        if self.registers:
            steps = call("jnp.abs", self.step.variable) if self.step.from_below else Name(self.step.variable)
            self.body.insert(0, assign(self.zero, call("jnp.minimum", steps, 0)))
        found = Handed(self.body)
        for (array, dims), names in self.registers.items():
            sizes = (self.step.shapes[array][d] for d in dims)
            empty = call("jnp.zeros", Tuple((Literal(1), *sizes)), self.step.dtypes[array])
            found.names += names
            found.first += [empty] * len(names)
            found.then += map(Name, names)
        return found

    def _register(self, node: JaxExpr) -> JaxExpr | None:
        """A register in place of an element or a row of an array; None for what is none."""
        if not (isinstance(node, Subscript) and isinstance(node.value, Name) and node.value.id in self.needed):
            return None
        if node not in self.held:
            array = node.value.id
            single = [i != ALL for i in node.items]
            if not all(is_number(i, self.step.numbers, self.step.shapes) for i in node.items if i != ALL):
                return None
            rank = len(self.step.shapes[array])
            own = tuple(d for d in range(rank) if d >= len(single) or not single[d])
            names = self.registers.setdefault((array, own), [])
            value = self._after(names[-1], node) if names else node
            names.append(self.fresh(f"{array}_read"))
            self.body.append(assign(names[-1], updated(Name(names[-1]), (Name(self.zero),), "set", value)))
            self.held[node] = subscript(names[-1], self.zero)
        return self.held[node]


def is_number(expr: JaxExpr, numbers: frozenset[str], shapes: Shapes) -> bool:
    """Whether an expression is known to be a single value."""

    def inner(e: JaxExpr) -> bool:
        return is_number(e, numbers, shapes)

    match expr:
        case Literal(value=bool() | int() | float()):
            return True
        case Name(id=name):
            return name in numbers or shapes.get(name) == ()
        case Subscript(value=Name(id=name), items=items):
            return len(items) == len(shapes.get(name, (None,) * (len(items) + 1))) and all(map(inner, items))
        case Infix(left=left, right=right):
            return inner(left) and inner(right)
        case Unary(operand=operand):
            return inner(operand)
        case Call(function=Attribute(value=Name(id="jnp"), attr=attr), args=args) if attr in _ELEMENTWISE:
            return all(map(inner, args))
        case Call(function=Attribute(value=value, attr="astype")):
            return inner(value)
        case _:
            return False
