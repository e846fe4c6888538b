"""Stores of a step to elements or rows of one array, which it reads too: as a loop over them, or at once.

XLA works a value out again in the pass that stores it. Of two stores to an array, the second so reads the array as it
was before the first, which cannot be in place then: each step of a loop that swaps or rotates two rows copies all of
the array. A loop over the stores has their values before it begins, and stores in place; parts that are next to each
other are one. Measured on CPU: swaps in 10,000 elements take 0.01 times as long, in 64 elements 0.6 times, rotations of
rows next to each other in 128 x 128 elements 0.1 times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod

from msgspec import Struct

from ir.dtypes import DType
from lower.program.build import assign, call, dotted
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
)

STORED_IN_TURN = '''
def stored_in_turn(array, places, values):
    """An array with values at places, stored one after the other by a loop: written out, each would copy the array."""
    at = [jnp.stack(positions) for positions in zip(*places)]
    parts = [jnp.broadcast_to(jnp.asarray(v, array.dtype), array.shape[len(at) :]) for v in values]
    parts = jnp.stack(parts)

    def store(k, array):
        return array.at[tuple(p[k] for p in at)].set(parts[k], mode="drop", wrap_negative_indices=False)

    return lax.fori_loop(0, len(values), store, array)
'''
STORED_AT_ONCE = '''
def stored_at_once(array, first, values):
    """An array with values at positions from a first one on, stored at once: apart, each would copy the array."""
    parts = [jnp.broadcast_to(jnp.asarray(v, array.dtype), array.shape[1:]) for v in values]
    return lax.dynamic_update_slice_in_dim(array, jnp.stack(parts), first, 0)
'''
_MOST = 16  # stores in one loop
_WORTH = 32  # elements that take as long to copy as a step of a loop: measured, with 2 of 64 and 16 of 49 elements
_ELEMENTWISE = {"where", "minimum", "maximum", "abs", "clip", "exp", "log", "sqrt", *map(str, DType)}
_OPTIONS = {"mode", "wrap_negative_indices"}  # of a store that drops what is outside

Shapes = Mapping[str, tuple[JaxExpr, ...]]
Steps = tuple[str, JaxExpr, JaxExpr]  # the variable of the loop, and from which number it goes up to which


class _Store(Struct, frozen=True):
    """`array.at[places].set(value)`, with a single number in each of the first dimensions, which may be known to be
    positions that there are."""

    stmt: Assign
    places: tuple[JaxExpr, ...]
    value: JaxExpr
    inside: bool

    def exprs(self) -> tuple[JaxExpr, ...]:
        return (*self.places, self.value)

    def reads(self) -> frozenset[str]:
        return frozenset[str]().union(*map(names_read, self.exprs()))


def in_turn(
    body: Sequence[JaxStmt], arrays: Sequence[str], numbers: frozenset[str], shapes: Shapes, steps: Steps
) -> tuple[JaxStmt, ...]:
    """The body of a step that carries `arrays`, with loops over its stores to each of them.

    `numbers` are names of single values, `shapes` of arrays; names that statements bind to single values are found.
    """
    for stmt in body:
        match stmt:
            case Assign(target=Name(id=name), value=value) if name not in shapes and is_number(value, numbers, shapes):
                numbers |= {name}
            case _:
                pass
    for array in arrays:
        if shapes[array]:
            body = _Turns(array, lambda e, known=numbers: is_number(e, known, shapes), shapes[array], steps).body(body)
    return tuple(body)


class _Turns:
    def __init__(
        self, array: str, is_number: Callable[[JaxExpr], bool], shape: tuple[JaxExpr, ...], steps: Steps
    ) -> None:
        self.array, self.is_number, self.shape, self.steps = array, is_number, shape, steps
        self.result: list[JaxStmt] = []
        self.run: list[_Store] = []
        self.between: list[JaxStmt] = []  # since the first store of the run, none of which says anything of the array
        self.written: list[JaxStmt] = []  # all of these in their order
        self.is_read = False

    def body(self, stmts: Sequence[JaxStmt]) -> Sequence[JaxStmt]:
        """The statements with one loop for each run of stores to the array."""
        for stmt in stmts:
            store = self._store(stmt)
            if store is not None:
                if not self._continues(store):
                    self._end()
                self.run.append(store)
                self.written.append(stmt)
                self.is_read |= self.array in store.reads()
            elif self.run and self._passes(stmt):
                self.between.append(stmt)
                self.written.append(stmt)
            else:
                self._end()
                self.result.append(stmt)
                self.is_read |= self.array in names_read(stmt)
        self._end()
        return self.result

    def _end(self) -> None:
        """Write the run out."""
        if len(self.run) > 1 and self.is_read and self._is_long():
            self.result += [*self.between, assign(self.array, self._joint())]
        else:
            self.result += self.written
        self.run, self.between, self.written = [], [], []

    def _is_long(self) -> bool:
        """Whether the copies of the array that the run would make take longer than a loop; of open sizes they may."""
        sizes = [size.value for size in self.shape if isinstance(size, Literal) and isinstance(size.value, int)]
        return len(sizes) < len(self.shape) or prod(sizes) >= _WORTH * len(self.run)

    def _joint(self) -> Call:
        """The array with all stores of the run."""
        offsets = [_offset(s.places[0]) for s in self.run]
        (base, first), *_ = order = sorted(offsets, key=lambda o: o[1])
        beside = len(self.run[0].places) == 1 and order == [(base, first + k) for k in range(len(order))]
        if beside and all(s.inside for s in self.run):
            values = Tuple(tuple(self.run[offsets.index(o)].value for o in order))
            return call("stored_at_once", self.array, self.run[offsets.index(order[0])].places[0], values)
        places = Tuple(tuple(Tuple(s.places) for s in self.run))
        return call("stored_in_turn", self.array, places, Tuple(tuple(s.value for s in self.run)))

    def _passes(self, stmt: JaxStmt) -> bool:
        """Whether the stores of the run may as well come after a statement."""
        bound = names_bound(stmt)
        free = self.array not in names_read(stmt) | bound and all(bound.isdisjoint(s.reads()) for s in self.run)
        return isinstance(stmt, Assign) and free

    def _continues(self, store: _Store) -> bool:
        """Whether a store finds what it reads of the array as it was before the run, and stores as large a part."""
        if not self.run or len(self.run) == _MOST or len(self.run[0].places) != len(store.places):
            return False
        found = [r for e in store.exprs() for r in _reads(e, self.array)]
        return all(r is not None and any(map(_differ, r.items, s.places)) for r in found for s in self.run)

    def _store(self, stmt: JaxStmt) -> _Store | None:
        """A store to an element or a row of the array."""
        array = Name(self.array)
        match stmt:
            case Assign(
                target=Name(id=name),
                value=Call(
                    function=Attribute(value=Subscript(value=place, items=items), attr="set"),
                    args=(value,),
                    keywords=options,
                ),
            ) if name == self.array and place == Attribute(array, "at") and {k for k, _ in options} <= _OPTIONS:
                inside = all(map(self._is_inside, items, self.shape))
                return _Store(stmt, items, value, inside) if all(map(self.is_number, items)) else None
            case Assign(
                target=Name(id=name),
                value=Call(
                    function=function,
                    args=(held, Call(function=Attribute(value=value, attr="reshape"), args=sizes), Tuple(items=items)),
                ),
            ) if name == self.array and held == array and function == dotted("lax.dynamic_update_slice"):
                return self._row(stmt, items, sizes, value)
            case _:
                return None

    def _row(
        self, stmt: Assign, starts: tuple[JaxExpr, ...], sizes: tuple[JaxExpr, ...], value: JaxExpr
    ) -> _Store | None:
        """A store to one position of each of the first dimensions, and all of the others."""
        one = Literal(1)
        count = next((d for d, size in enumerate(sizes) if size != one), len(sizes))
        whole = sizes[count:] == self.shape[count:] and all(s == Literal(0) for s in starts[count:])
        if one in self.shape or one in sizes[count:] or not (0 < count < len(sizes) and whole):
            return None
        return _Store(stmt, starts[:count], value, inside=True) if all(map(self.is_number, starts[:count])) else None

    def _is_inside(self, place: JaxExpr, size: JaxExpr) -> bool:
        """Whether a place is known to be one of so many positions."""
        variable, *ends = self.steps
        base, number = _offset(place)
        match (*ends, size):
            case Literal(value=int(low)), Literal(value=int(high)), Literal(value=int(count)):
                first, last = (number, number) if base is None else (low + number, high - 1 + number)
                return base in (None, Name(variable)) and first >= 0 and last < count
            case _:
                return False


def _reads(node: JaxNode, array: str) -> Iterator[Subscript | None]:
    """The parts that are read of an array; None for one that is read otherwise."""
    if isinstance(node, Subscript) and node.value == Name(array):
        yield node
        for item in node.items:
            yield from _reads(item, array)
    elif node == Name(array):
        yield None
    else:
        for child in children(node):
            yield from _reads(child, array)


def _differ(one: JaxExpr, other: JaxExpr) -> bool:
    """Whether two positions differ by a number, whatever the variables are."""
    (a, m), (b, n) = _offset(one), _offset(other)
    return a == b and m != n and (a is not None or min(m, n) >= 0)


def _offset(expr: JaxExpr) -> tuple[JaxExpr | None, int]:
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
