"""Stores of a step to elements or rows of arrays that it reads too: as a loop over them, or at once.

XLA works a value out again in the pass that stores it. Of two stores to an array, the second so reads the array as it
was before the first, which cannot be in place then: each step of a loop that swaps or rotates two rows copies all of
the array. So it does where what is read of one array is stored to another. A loop over the stores has their values
before it begins, and stores in place; parts that are next to each other are one. Measured on CPU: swaps in 10,000
elements take 0.01 times as long, in 64 elements 0.6 times, rotations of rows next to each other in 128 x 128 elements
0.1 times.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
    walk,
)

STORED_IN_TURN = '''
def stored_in_turn(array, places, values):
    """An array with values at places, stored one after the other by a loop: written out, each would copy the array."""
    return all_stored_in_turn((array,), (places,), (values,))[0]
'''
ALL_STORED_IN_TURN = '''
def all_stored_in_turn(arrays, places, values):
    """Arrays with values at places, stored by a loop: written out, what reads one for another would copy it."""
    at = [[jnp.stack(positions) for positions in zip(*own)] for own in places]
    shapes = [array.shape[len(own) :] for array, own in zip(arrays, at)]
    parts = [
        jnp.stack([jnp.broadcast_to(jnp.asarray(v, array.dtype), shape) for v in own])
        for array, shape, own in zip(arrays, shapes, values)
    ]

    def store(k, arrays):
        def stored(array, at, parts):
            own = jnp.minimum(k, len(parts) - 1)  # the last one again, of which compilers do not know
            return array.at[tuple(p[own] for p in at)].set(parts[own], mode="drop", wrap_negative_indices=False)

        return tuple(map(stored, arrays, at, parts))

    return lax.fori_loop(0, max(2, *map(len, values)), store, tuple(arrays))
'''
STORED_AT_ONCE = '''
def stored_at_once(array, first, values):
    """An array with values at positions from a first one on, stored at once: apart, each would copy the array."""
    parts = [jnp.broadcast_to(jnp.asarray(v, array.dtype), array.shape[1:]) for v in values]
    return lax.dynamic_update_slice_in_dim(array, jnp.stack(parts), first, 0)
'''
_HELPERS = {"stored_in_turn": {"all_stored_in_turn"}, "all_stored_in_turn": set[str](), "stored_at_once": set[str]()}
_MOST = 16  # stores in one loop
_WORTH = 32  # elements that take as long to copy as a step of a loop: measured, with 2 of 64 and 16 of 49 elements
_ELEMENTWISE = {"where", "minimum", "maximum", "abs", "clip", "exp", "log", "sqrt", *map(str, DType)}
_OPTIONS = {"mode", "wrap_negative_indices"}  # of a store that drops what is outside

Shapes = Mapping[str, tuple[JaxExpr, ...]]
Steps = tuple[str, JaxExpr, JaxExpr]  # the variable of the loop, and from which number it goes up to which


class ArrayStore(Struct, frozen=True):
    """`array.at[places].set(value)`, with a single number in each of the first dimensions, which may be known to be
    positions that there are."""

    array: str
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
    return tuple(_Turns(Stores.in_body(body, arrays, numbers, shapes, steps)).body(body))


def helpers_of(body: Sequence[JaxStmt]) -> set[str]:
    """The functions that statements call to store in turn, and those that these call."""
    called = _HELPERS.keys() & frozenset[str]().union(*map(names_read, body))
    return called.union(*(_HELPERS[name] for name in called))


class Stores(Struct, frozen=True):
    """Knows stores to elements or rows of some arrays that a step carries: `numbers` are names of single values,
    `shapes` those of arrays."""

    arrays: Collection[str]
    numbers: frozenset[str]
    shapes: Shapes
    steps: Steps

    @staticmethod
    def in_body(
        body: Sequence[JaxStmt], arrays: Sequence[str], numbers: frozenset[str], shapes: Shapes, steps: Steps
    ) -> Stores:
        """Those of a step; names that its statements bind to single values are found."""
        for stmt in body:
            match stmt:
                case Assign(target=Name(id=name), value=value) if name not in shapes:
                    numbers |= {name} if is_number(value, numbers, shapes) else set()
                case _:
                    pass
        return Stores({a for a in arrays if shapes[a]}, numbers, shapes, steps)

    def is_number(self, expr: JaxExpr) -> bool:
        """Whether an expression is known to be a single value."""
        return is_number(expr, self.numbers, self.shapes)

    def store(self, stmt: JaxStmt) -> ArrayStore | None:
        """A store to an element or a row of one of the arrays."""
        if not (isinstance(stmt, Assign) and isinstance(stmt.target, Name) and stmt.target.id in self.arrays):
            return None
        array = stmt.target
        match stmt.value:
            case Call(
                function=Attribute(value=Subscript(value=place, items=items), attr="set"),
                args=(value,),
                keywords=options,
            ) if place == Attribute(array, "at") and {k for k, _ in options} <= _OPTIONS:
                inside = all(map(self._is_inside, items, self.shapes[array.id]))
                return ArrayStore(array.id, stmt, items, value, inside) if all(map(self.is_number, items)) else None
            case Call(
                function=function,
                args=(held, Call(function=Attribute(value=value, attr="reshape"), args=sizes), Tuple(items=items)),
            ) if held == array and function == dotted("lax.dynamic_update_slice"):
                return self._row(array.id, stmt, items, sizes, value)
            case _:
                return None

    def _row(
        self, array: str, stmt: Assign, starts: tuple[JaxExpr, ...], sizes: tuple[JaxExpr, ...], value: JaxExpr
    ) -> ArrayStore | None:
        """A store to one position of each of the first dimensions, and all of the others."""
        one, shape = Literal(1), self.shapes[array]
        count = next((d for d, size in enumerate(sizes) if size != one), len(sizes))
        places = starts[:count]
        whole = sizes[count:] == shape[count:] and all(s == Literal(0) for s in starts[count:])
        if one in shape or one in sizes[count:] or not (0 < count < len(sizes) and whole):
            return None
        return ArrayStore(array, stmt, places, value, inside=True) if all(map(self.is_number, places)) else None

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


class _Turns:
    def __init__(self, stores: Stores) -> None:
        self.arrays, self.shapes, self.store = stores.arrays, stores.shapes, stores.store
        self.result: list[JaxStmt] = []
        self.run: list[ArrayStore] = []
        # statements among the stores of the run, each with how many come before it, that say nothing of their arrays
        self.between: list[tuple[int, JaxStmt]] = []
        self.read: set[str] = set()  # arrays
        self.made_of: dict[str, frozenset[str]] = {}  # of each name the arrays that it comes from

    def body(self, stmts: Sequence[JaxStmt]) -> Sequence[JaxStmt]:
        """The statements with one loop for each run of stores that would copy arrays."""
        for stmt in stmts:
            store = self.store(stmt)
            if store is not None:
                if not self._continues(store):
                    self._end()
                self.run.append(store)
                self.read |= store.reads()
                continue
            if self.run and self._passes(stmt):
                self.between.append((len(self.run), stmt))
            else:
                self._end()
                self.result.append(stmt)
            self.read |= names_read(stmt)
            anew = all(map(_elementwise, walk(stmt))) if isinstance(stmt, Assign) else False
            sources = self._sources(names_read(stmt)) if anew else frozenset[str]()
            self.made_of |= dict.fromkeys(names_bound(stmt) - {*self.arrays}, sources)
        self._end()
        return self.result

    def _sources(self, names: Iterable[str]) -> frozenset[str]:
        """The arrays of which elements or rows are, or may be, read anew where what is made of names is stored."""
        return frozenset[str]().union(*(self.made_of.get(n, {n} & {*self.arrays}) for n in names))

    def _end(self) -> None:
        """Write the run out."""
        own: dict[str, list[ArrayStore]] = {}
        for s in self.run:
            own.setdefault(s.array, []).append(s)
        pairs = [(s.array, a) for s in self.run for a in self._sources(s.reads()) if a != s.array and a in own]
        together = {a for pair in pairs if self._is_long(pair[1], 2 * len(self.run)) for a in pair}
        taken = together | {
            a for a, stores in own.items() if len(stores) > 1 and a in self.read and self._is_long(a, len(stores))
        }
        while more := {a for pair in pairs if taken & {*pair} for a in pair} - together:  # each reads what was there
            together |= more
            taken |= more
        for k in range(len(self.run) + 1):
            self.result += [stmt for at, stmt in self.between if at == k]
            self.result += [s.stmt for s in self.run[k : k + 1] if s.array not in taken]
        self.result += [assign(a, _joint(own[a])) for a in own if a in taken - together]
        if together:
            self.result.append(_all_stored({a: own[a] for a in own if a in together}))
        self.run, self.between = [], []

    def _is_long(self, array: str, steps: int) -> bool:
        """Whether a copy of an array for each of some steps takes longer than these; of open sizes it may."""
        sizes = [size.value for size in self.shapes[array] if isinstance(size, Literal) and isinstance(size.value, int)]
        return len(sizes) < len(self.shapes[array]) or prod(sizes) >= _WORTH * steps

    def _passes(self, stmt: JaxStmt) -> bool:
        """Whether the stores of the run may as well come after a statement."""
        bound, stored = names_bound(stmt), {s.array for s in self.run}
        free = stored.isdisjoint(names_read(stmt) | bound) and all(bound.isdisjoint(s.reads()) for s in self.run)
        return isinstance(stmt, Assign) and free

    def _continues(self, store: ArrayStore) -> bool:
        """Whether a store finds what it reads of arrays as it was before the run, and stores as large a part."""
        same = [len(s.places) == len(store.places) for s in self.run if s.array == store.array]
        if not self.run or len(self.run) == _MOST or not all(same):
            return False
        for s in self.run:
            found = [r for e in store.exprs() for r in _reads(e, s.array)]
            if not all(r is not None and any(map(_differ, r.items, s.places)) for r in found):
                return False
        return True


def _joint(stores: Sequence[ArrayStore]) -> Call:
    """The array with all of some stores."""
    offsets = [_offset(s.places[0]) for s in stores]
    (base, first), *_ = order = sorted(offsets, key=lambda o: o[1])
    array = stores[0].array
    beside = len(stores[0].places) == 1 and order == [(base, first + k) for k in range(len(order))]
    if beside and all(s.inside for s in stores):
        values = Tuple(tuple(stores[offsets.index(o)].value for o in order))
        return call("stored_at_once", array, stores[offsets.index(order[0])].places[0], values)
    places = Tuple(tuple(Tuple(s.places) for s in stores))
    return call("stored_in_turn", array, places, Tuple(tuple(s.value for s in stores)))


def _all_stored(own: Mapping[str, Sequence[ArrayStore]]) -> Assign:
    """The statement that stores to several arrays."""
    arrays = Tuple(tuple(map(Name, own)))
    places = Tuple(tuple(Tuple(tuple(Tuple(s.places) for s in stores)) for stores in own.values()))
    values = Tuple(tuple(Tuple(tuple(s.value for s in stores)) for stores in own.values()))
    return Assign(arrays, call("all_stored_in_turn", arrays, places, values))


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


def _elementwise(node: JaxNode) -> bool:
    """Whether what a node does is done anew where its result is used."""
    match node:
        case Call(function=Attribute(value=Name(id="jnp"), attr=attr)):
            return attr in _ELEMENTWISE
        case Call(function=Attribute(attr=attr)):
            return attr in ("astype", "reshape")
        case _:
            return not isinstance(node, Call)


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
