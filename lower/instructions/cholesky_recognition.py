"""Cholesky factorizations, recognised by what they compute: L[r, c] = (A[r, c] - sum of L[r, k] * L[c, k]) / L[c, c].

Numbers may be added to all elements of A, or to its diagonal, as a ridge regression does.
The last value of each element of a triangle is followed back through the stores that its reads see (`value_flow`), over
copies, reciprocals, and sums in arrays of their own: which element of A is in it, and which products, each how often.
So neither the order of loops matters nor where and in which steps sums are formed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

from msgspec import Struct, field

from ir.analysis.dependence import Loop, Statement
from ir.dtypes import DType
from ir.nodes import Binary, Buffer, Const, Expr, Load, Select, Unary, Var
from ir.presburger import sets as presburger
from ir.traverse import free_vars
from lower.analysis.linear_forms import Linear, atom, linear, to_expr
from lower.analysis.value_flow import At, Flow, NotAffineError, Seen, adds, require_affine, same_place
from lower.nest.nodes import Box

_OPERATIONS = 2_000_000  # isl's steps for one group; a factorization takes some ten thousand
_DTYPES = (DType.FLOAT32, DType.FLOAT64)
_DEPTH = 6  # stores that a value is followed through
_ROW, _COLUMN, _STEP = "@row", "@column", "@step"

Place = Callable[[Expr, Expr], tuple[Expr, ...]]
Source = Callable[[Expr, Expr], Expr]


class Factorization(Struct, frozen=True):
    """The lower triangle of `target`, in rows and columns, becomes the factor of that of a matrix with the elements
    `source`. Rows and columns are within the bounds of `loop`.
    """

    loop: Loop
    target: Buffer
    place: Place
    source: Source


def factorization(
    statements: Sequence[Statement],
    level: int,
    boxes: Mapping[Loop, Box],
    private: Collection[Buffer],
    others: Sequence[Statement] = (),
) -> Factorization | None:
    """The factorization that statements compute together in each iteration of the outer `level` loops.

    Nothing else of what they do matters: of `private` buffers nobody knows before or afterwards. `others` are all other
    statements that share those loops: where nothing but a zero of theirs is stored, products are none.
    """
    written = {s.buffer for s in statements} - set(private)
    if len(written) != 1 or any(len(s.loops) < level for s in statements):
        return None
    (target,) = written
    diagonal = [s for s in statements if s.buffer == target and isinstance(s.store.value, Load | Unary)]
    if target.dtype not in _DTYPES:
        return None

    def question() -> Factorization | None:
        try:
            zeros = _zeros(target, statements, others)
            for s in diagonal:
                for loop, place in _views(s, level, boxes):
                    found = _Equations(Flow(statements, level), loop, target, place, zeros).factorization()
                    if found is not None:
                        return found
        except NotAffineError:
            pass
        return None

    return presburger.within_budget(question, None, _OPERATIONS)


def _zeros(target: Buffer, statements: Sequence[Statement], others: Sequence[Statement]) -> Sequence[Statement]:
    """Whatever else stores to a buffer, if what does so first of all stores zeros; nothing otherwise.

    Raises:
        NotAffineError: when they run is not known exactly.
    """
    stores = sorted((s for s in others if s.buffer == target), key=lambda s: s.position)
    if not stores or stores[0].update is not None or not stores[0].store.value.same(Const(0.0, target.dtype)):
        return ()
    if any(s.position <= stores[0].position for s in statements):
        return ()
    require_affine(*stores)
    return stores


def takes_roots(statements: Sequence[Statement]) -> bool:
    """Whether some statement stores a root: without one, nothing is a factorization."""
    return any(isinstance(s.store.value, Unary) and s.store.value.op == "sqrt" for s in statements)


def _views(s: Statement, level: int, boxes: Mapping[Loop, Box]) -> Iterator[tuple[Loop, Place]]:
    """Ways to see a matrix in the buffer that a statement stores to along a diagonal: a loop with the bounds of its
    rows, and places for rows and columns."""
    own = {o.var: o for o in s.loops[level:]}
    indices = s.store.indices
    offsets: dict[int, Linear] = {}
    for d, index in enumerate(indices):
        for var in free_vars(index) & own.keys():
            if var not in (offset := linear(index) - atom(var)).vars():
                offsets[d] = offset
    if len(offsets) != 2 or any(o.vars() & own.keys() for o in offsets.values()):
        return
    for loop in own.values():
        box = boxes.get(loop)
        if box is not None and box.exact:
            yield loop, _placed(indices, offsets)
            yield loop, _placed(indices, dict(reversed(offsets.items())))


def _placed(indices: Sequence[Expr], offsets: Mapping[int, Linear]) -> Place:
    """Places with the row plus an offset at the first of two dimensions, and the column at the second."""

    def place(row: Expr, column: Expr) -> tuple[Expr, ...]:
        found = list(indices)
        for (d, offset), e in zip(offsets.items(), (row, column), strict=True):
            found[d] = to_expr(linear(e) + offset, e)
        return tuple(found)

    return place


class _Piece(Struct, frozen=True):
    """Terms of elements: `pairs` has the names of the instances on the way to it."""

    at: At
    pairs: presburger.isl.Set
    loads: tuple[Load, ...]


class _Scalar(Struct, frozen=True):
    """A number that is added to, or taken from, elements."""

    sign: int
    value: Expr
    on_diagonal: bool


class _Terms(Struct):
    inputs: dict[tuple[int, Buffer], list[_Piece]] = field(default_factory=dict[tuple[int, Buffer], list[_Piece]])
    products: list[_Piece] = field(default_factory=list[_Piece])
    scalars: list[tuple[int, Expr, _Piece]] = field(default_factory=list[tuple[int, Expr, _Piece]])


class _Equations:
    """What the elements of a triangle are, for one way to see it in a buffer."""

    def __init__(self, flow: Flow, loop: Loop, target: Buffer, place: Place, zeros: Sequence[Statement]) -> None:
        self.flow = flow
        self.zeros = zeros
        self.loop = loop
        self.target = target
        self.place = place
        dtype = loop.var.dtype
        self.row, self.column = (Var(n, dtype) for n in (_ROW, _COLUMN))
        inside = [presburger.loop_domain(v, loop.start, loop.extent).must for v in (self.row, self.column)]
        row, column = presburger.symbol(_ROW), presburger.symbol(_COLUMN)
        self.triangle = flow.around().intersect(inside[0]).intersect(inside[1]).intersect(row.ge_set(column))
        self.on = row.eq_set(column)
        self.below = row.gt_set(column)
        self.elements: dict[int, Seen] = {}  # by position of the statements that store elements first
        self.terms = _Terms()

    def factorization(self) -> Factorization | None:
        if not (self._stored() and self._all_elements() and self._products_once()):
            return None
        found = self._source()
        return None if found is None else Factorization(self.loop, self.target, self.place, found)

    # What stores the elements.

    def _stored(self) -> bool:
        """Find the statements that store elements; False if the triangle is not all that is stored, each for good."""
        stores, updates = list[Seen](), list[Seen]()
        all_of = presburger.never()
        for s in self.flow.statements:
            if s.buffer != self.target:
                continue
            at = self.flow.at(s)
            domain = self.flow.domain(at)
            met = domain.intersect(same_place(self.flow.place(at), self.place(self.row, self.column)))
            met = met.intersect(self.triangle)
            if not domain.is_subset(presburger.forget(met, [_ROW, _COLUMN])):
                return False
            (updates if adds(s) else stores).append(Seen(at, met))
            if not adds(s):
                all_of = all_of.union(presburger.forget(met, at.own()))
        last = self.flow.once(stores) and self.flow.in_turn(updates, stores)
        return last and bool(self.triangle.is_subset(all_of)) and all(self._first(s) for s in stores)

    def _first(self, seen: Seen) -> bool:
        """Go back through copies to what stores elements first."""
        value = seen.at.statement.store.value
        if isinstance(value, Load):
            sources = self.flow.final(seen.at, seen.pairs, value)
            if sources is None or len(self.elements) > len(self.flow.statements):
                return False
            own = seen.at.own()
            return all(self._first(Seen(s.at, presburger.forget(s.pairs, own))) for s in sources)
        position = seen.at.statement.position
        if position in self.elements or not self.flow.single(seen.pairs, [_ROW, _COLUMN]):
            return False
        self.elements[position] = seen
        return True

    # What elements are.

    def _all_elements(self) -> bool:
        return bool(self.elements) and all(self._element(s) for s in self.elements.values())

    def _element(self, s: Seen) -> bool:
        below = s.pairs.intersect(self.below).is_empty()
        on = s.pairs.intersect(self.on).is_empty()
        match s.at.statement.store.value:
            case Unary(op="sqrt", operand=number) if below:
                return self._sum(s, number, 1, _DEPTH)
            case Binary(op="div", lhs=number, rhs=pivot) if on:
                return self._pivot(s, pivot, False, _DEPTH) and self._sum(s, number, 1, _DEPTH)
            case Binary(op="mul", lhs=a, rhs=b) if on:
                number, pivot = (b, a) if self._pivot(s, a, True, _DEPTH) else (a, b)
                return self._pivot(s, pivot, True, _DEPTH) and self._sum(s, number, 1, _DEPTH)
            case _:
                return False

    def _pivot(self, s: Seen, value: Expr, reciprocal: bool, depth: int) -> bool:
        """Whether a value is the element of the diagonal in the column, or its reciprocal."""
        match value:
            case Load() if not reciprocal:
                found = self._which(s, value, _DEPTH, "pivot")
                if found is None:
                    return False
                pairs, row, column = found
                at = presburger.symbol(_COLUMN)
                wanted = presburger.symbol(row).eq_set(at).intersect(presburger.symbol(column).eq_set(at))
                return bool(pairs.is_subset(wanted))
            case Load() if depth:
                sources = self.flow.final(s.at, s.pairs, value)
                return bool(sources) and all(
                    self._pivot(t, t.at.statement.store.value, True, depth - 1) for t in sources
                )
            case Binary(op="div", lhs=Const(value=1.0), rhs=pivot) if reciprocal:
                return self._pivot(s, pivot, False, depth)
            case _:
                return False

    def _which(self, s: Seen, load: Load, depth: int, name: str) -> tuple[presburger.isl.Set, str, str] | None:
        """Of which elements a read sees the values: the set of its instances with their row and column."""
        row, column = self.flow.fresh(name), self.flow.fresh(name)
        sources = self.flow.final(s.at, s.pairs, load) if depth else None
        if not sources:
            return None
        result = presburger.never()
        for t in sources:
            element = self.elements.get(t.at.statement.position)
            value = t.at.statement.store.value
            if element is not None:
                names = dict(zip(element.at.own(), t.at.own(), strict=True))
                known = presburger.forget(element.pairs, presburger.variables(element.pairs) & _others(element))
                known = presburger.rename(known, {**names, _ROW: row, _COLUMN: column})
                found = t.pairs.intersect(known)
            elif isinstance(value, Load):
                inner = self._which(t, value, depth - 1, name)
                if inner is None:
                    return None
                found = presburger.rename(inner[0], {inner[1]: row, inner[2]: column})
            else:
                return None
            if not t.pairs.is_subset(presburger.forget(found, [row, column])):
                return None
            result = result.union(presburger.forget(found, t.at.own()))
        return result, row, column

    # What is summed up.

    def _sum(self, s: Seen, value: Expr, sign: int, depth: int) -> bool:
        """Collect the terms of a value; False if it is no sum of elements and products of two."""
        match value:
            case Const(value=0.0):
                return True
            case Unary(op="neg", operand=operand):
                return self._sum(s, operand, -sign, depth)
            case Binary(op="add" | "sub" as op, lhs=a, rhs=b):
                return self._sum(s, a, sign, depth) and self._sum(s, b, sign if op == "add" else -sign, depth)
            case Binary(op="mul", lhs=Load() as a, rhs=Load() as b) if sign < 0:
                self.terms.products.append(_Piece(s.at, s.pairs, (a, b)))
                return True
            case Var() | Const():
                self.terms.scalars.append((sign, value, _Piece(s.at, s.pairs, ())))
                return True
            case Load() if depth and value.dtype is self.target.dtype:
                return self._through(s, value, sign, depth - 1)
            case _:
                return False

    def _through(self, s: Seen, load: Load, sign: int, depth: int) -> bool:
        """Collect what a read sees: what was stored or there before, and updates of that."""
        stores, updates = self.flow.seen(s.at, s.pairs, load)
        if not self.flow.once(stores) or not self.flow.in_turn(stores, updates):
            return False
        initial = s.pairs
        for t in stores:
            initial = initial.subtract(t.readers())
            if not self._sum(t, t.at.statement.store.value, sign, depth):
                return False
        for u in updates:
            update = u.at.statement.update
            assert update is not None
            if not self._sum(u, update[1], sign if update[0] == "add" else -sign, depth):
                return False
        if not initial.is_empty():
            self.terms.inputs.setdefault((sign, load.buffer), []).append(_Piece(s.at, initial, (load,)))
        return True

    def _products_once(self) -> bool:
        """Whether products are those of all elements before in two rows, each once."""
        row, column, step = map(presburger.symbol, (_ROW, _COLUMN, _STEP))
        first = presburger.rename(self.triangle, {_ROW: self.flow.fresh("row"), _COLUMN: _STEP})
        first = presburger.forget(first, presburger.variables(first) - presburger.variables(self.triangle) - {_STEP})
        missing = self.triangle.intersect(first).intersect(step.lt_set(column))
        for piece in self.terms.products:
            at = self._where_nonzero(piece)
            a = self._which(at, piece.loads[0], _DEPTH, "left")
            b = self._which(at, piece.loads[1], _DEPTH, "right")
            if a is None or b is None:
                return False
            rows, columns = ([presburger.symbol(n) for n in pair] for pair in zip(a[1:], b[1:], strict=True))
            straight = rows[0].eq_set(row).intersect(rows[1].eq_set(column))
            crossed = rows[1].eq_set(row).intersect(rows[0].eq_set(column))
            both = a[0].intersect(b[0])
            if not both.is_subset(columns[0].eq_set(columns[1]).intersect(straight.union(crossed))):
                return False
            both = both.intersect(columns[0].eq_set(step))
            steps = presburger.forget(both, (*a[1:], *b[1:]))
            done = self._path(steps)
            if done is None or not done.is_subset(missing):
                return False
            missing = missing.subtract(done)
        return bool(missing.is_empty())

    def _where_nonzero(self, piece: _Piece) -> Seen:
        """A product, but where it reads zeros that nothing has replaced, in whatever order the others run."""
        pairs = piece.pairs
        for load in piece.loads if self.zeros else ():
            if load.buffer != self.target:
                continue
            replaced = [s.readers() for s in chain(*self.flow.seen(piece.at, pairs, load))]
            zero, *others = [self.flow.meeting(s, piece.at, pairs, load).readers() for s in self.zeros]
            for there in (*replaced, *others):
                zero = zero.subtract(there)
            pairs = pairs.subtract(zero)
        return Seen(piece.at, pairs)

    def _path(self, pairs: presburger.isl.Set) -> presburger.isl.Set | None:
        """The terms of a piece; None if one is there twice."""
        names = {n for n in presburger.variables(pairs) if "@" in n} - {_ROW, _COLUMN, _STEP}
        return presburger.forget(pairs, names) if self.flow.single(pairs, names) else None

    # What is factored.

    def _source(self) -> Source | None:
        """What each element has of buffers as they were, as a function of rows and columns."""
        written = {s.buffer for s in self.flow.statements} - {self.target}
        terms: list[tuple[int, Buffer, Place]] = []
        for (sign, buffer), pieces in self.terms.inputs.items():
            missing = self.triangle
            for piece in pieces:
                done = self._path(piece.pairs)
                if done is None or not done.is_subset(missing):
                    return None
                missing = missing.subtract(done)
            if not missing.is_empty() or buffer in written or buffer.dtype is not self.target.dtype:
                return None
            place = self._source_place(sorted(pieces, key=lambda p: bool(p.pairs.intersect(self.below).is_empty())))
            if place is None:
                return None
            terms.append((sign, buffer, place))
        terms.sort(key=lambda term: -term[0])
        scalars = [self._scalar(*term) for term in self.terms.scalars]
        if None in scalars or not terms or terms[0][0] < 0:
            return None
        return partial(_sum_of, terms, [s for s in scalars if s is not None])

    def _scalar(self, sign: int, value: Expr, piece: _Piece) -> _Scalar | None:
        """A number that is added to all elements of the triangle, or to those of the diagonal."""
        there = self._path(piece.pairs)
        diagonal = self.triangle.intersect(self.on)
        for where, on in ((self.triangle, False), (diagonal, True)):
            if there is not None and there.is_equal(where):
                return _Scalar(sign, value, on)
        return None

    def _source_place(self, pieces: Sequence[_Piece]) -> Place | None:
        """Where the elements are that pieces read, the first of which reads some below the diagonal."""
        at, pairs = pieces[0].at, pieces[0].pairs.intersect(self.below)
        if pairs.is_empty():
            return None
        indices = tuple(map(at, pieces[0].loads[0].indices))
        offsets: dict[int, Linear] = {}
        own = [d for d, i in enumerate(indices) if free_vars(i) & set(at.names.values())]
        for var in (self.row, self.column):
            for d in own:
                offset = None if d in offsets else _offset(indices[d], var, pairs)
                if offset is not None:
                    offsets[d] = offset
                    break
        if len(own) != 2 or set(offsets) != set(own):
            return None
        place = _placed(indices, offsets)
        for p in pieces:
            there = same_place(tuple(map(p.at, p.loads[0].indices)), place(self.row, self.column))
            if not p.pairs.is_subset(there):
                return None
        return place


def _sum_of(terms: Sequence[tuple[int, Buffer, Place]], scalars: Sequence[_Scalar], row: Expr, column: Expr) -> Expr:
    """The sum of elements, of which the first counts as it is, and of numbers."""
    (_, buffer, place), *rest = terms
    total: Expr = Load(buffer, place(row, column))
    for sign, buffer, place in rest:
        total = Binary("add" if sign > 0 else "sub", total, Load(buffer, place(row, column)))
    for scalar in scalars:
        more = Binary("add" if scalar.sign > 0 else "sub", total, scalar.value)
        total = Select(Binary("eq", row, column), more, total) if scalar.on_diagonal else more
    return total


def _others(s: Seen) -> set[str]:
    """Names in what is known of instances besides theirs, and their row and column."""
    return {n for n in presburger.variables(s.pairs) if "@" in n} - {_ROW, _COLUMN, *s.at.own()}


def _offset(index: Expr, var: Var, pairs: presburger.isl.Set) -> Linear | None:
    """The number by which an index is always larger than a variable."""
    found, form = presburger.sample(pairs), presburger.affine(index)
    if found is None or form is None:
        return None
    values, _ = found
    at = pairs
    for name, value in values.items():
        at = at.intersect(presburger.symbol(name).eq_set(presburger.number(value)))
    difference = form.sub(presburger.symbol(var.name)).intersect_params(at)
    constant = presburger.constant_value(difference)
    if constant is None:
        return None
    always = form.eq_set(presburger.symbol(var.name).add(presburger.number(constant)))
    return Linear({}, constant) if pairs.is_subset(always) else None
