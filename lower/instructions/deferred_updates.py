"""Updates put off: a loop that reads what its own steps update gets all updates at once, at its end.

In `X[t, J] = sum_i q[t, i] * Y[i, J]`, then `Y[i, J] -= c[t, i] * X[t, J]`, each step reads all of Y and writes all of
it. With Y as it was before the loop, less what earlier steps took away, the sum is

    X[t, J] + sum_{u < t} G[t, u] * X[u, J] = sum_i q[t, i] * Y[i, J]    where G[t, u] = sum_i q[t, i] * c[u, i]:

a product for all steps, a triangular system with a unit diagonal, and one product that updates Y. Blocked forms of
Gram and Schmidt's method (inverse compact WY: Bjoerck 1994; Swirydowicz et al. 2021), of reflectors applied one after
the other (Schreiber and Van Loan 1989) and of Kaczmarz's sweeps are of this kind. It is the same algebra in another
order, exact but for rounding; q and c need not be orthogonal, and nothing but the unit triangle is solved for.

What is known of rounding: the loss of orthogonality of modified Gram-Schmidt stays proportional to the precision times
the condition of the columns, as in the loop. Entries of G are numbers that the program does not form: they may overflow
where it does not, which the policy on floats (reassociated, finite) allows. Elements that it does not read have no part
in results: q and c are read where some step reads them, and what no step stores is masked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.dependence import Loop, Statement, may_meet
from ir.dtypes import DType
from ir.naming import lengthened
from ir.nodes import Binary, Buffer, Expr, Load, Store, Unary, Var, const
from ir.presburger import sets as presburger
from ir.traverse import free_vars, has_load, loads, map_expr, substitute_expr
from lower.analysis.freedoms import ORDER, Form
from lower.analysis.linear_forms import atom, linear, to_expr
from lower.analysis.value_flow import adds
from lower.nest.nodes import ArrayStatement, Box, Fresh, Node, SequentialLoop, Solve, array_over, own_bounds

DELAYED = Form(
    "instructions.deferred_updates",
    "for k: S(k); A -= u(k) * v(k)  =  for blocks: S(k) on what it reads; A -= U * V",
    "updates add up, and steps read what they need with the updates due (compact WY)",
    ORDER,
)

_DTYPES = (DType.FLOAT32, DType.FLOAT64)


def may_delay(statements: Sequence[Statement]) -> bool:
    """Whether some statement adds to what another one sums up: a first look, by buffers."""
    return any(True for _ in _sums(statements))


def delayed(node: SequentialLoop, boxes: dict[Loop, Box], new: Fresh) -> tuple[Node, ...] | None:
    """Statements for all steps of a loop at once, with its updates last; None if the steps are of another kind.

    Bounds of new loops are added to `boxes`. New locals are those buffers that nothing else has.
    """
    leaves = [n for n in node.body if isinstance(n, ArrayStatement) and n.scan is None]
    if len(leaves) < len(node.body):
        return None

    def question() -> tuple[Node, ...] | None:
        for total in _sums([n.statement for n in leaves]):
            try:
                return _Delay(node.loop, leaves, total, boxes, new).nodes()
            except _OtherError:
                continue
        return None

    return presburger.within_budget(question, None)


class _OtherError(Exception):
    """The steps of a loop are of another kind."""


def _require(condition: object) -> None:
    if not condition:
        raise _OtherError


def _sums(statements: Sequence[Statement]) -> Iterator[Buffer]:
    """Buffers that statements only add to, and that updates of others read."""
    for buffer in sorted({s.buffer for s in statements}, key=lambda b: b.name):
        own = [s for s in statements if s.buffer == buffer]
        read = any(buffer in s.buffers() and adds(s) for s in statements if s.buffer != buffer)
        if read and buffer.dtype in _DTYPES and all(map(adds, own)):
            yield buffer


class _Slope(Struct, frozen=True):
    """What a value gains for each 1 that a load in it gains: `sign * factor`, with 1 for no factor."""

    sign: int = 1
    factor: Expr | None = None

    def times(self, other: _Slope) -> _Slope:
        return _Slope(self.sign * other.sign, _product(self.factor, other.factor))

    def vars(self) -> set[Var]:
        return set() if self.factor is None else free_vars(self.factor)


def _product(a: Expr | None, b: Expr | None) -> Expr | None:
    return a if b is None else b if a is None else Binary("mul", a, b)


def _slope(e: Expr, load: Load) -> _Slope | None:
    """The slope of a value that is affine in a load; None for others."""
    if e.same(load):
        return _Slope()
    match e:
        case Unary(op="neg", operand=a):
            return _scaled(_slope(a, load), _Slope(-1))
        case Binary(op="add" | "sub" as op, lhs=a, rhs=b) if has_load(a, load) != has_load(b, load):
            sign = -1 if op == "sub" and has_load(b, load) else 1
            return _scaled(_slope(a if has_load(a, load) else b, load), _Slope(sign))
        case Binary(op="mul", lhs=a, rhs=b) if has_load(a, load) != has_load(b, load):
            inner, other = (a, b) if has_load(a, load) else (b, a)
            return _scaled(_slope(inner, load), _Slope(1, other))
        case Binary(op="div", lhs=a, rhs=b) if not has_load(b, load):
            inner = _slope(a, load)
            if inner is None:
                return None
            top = const(1.0, e.dtype) if inner.factor is None else inner.factor
            return _Slope(inner.sign, Binary("div", top, b))
        case _:
            return None


def _scaled(slope: _Slope | None, by: _Slope) -> _Slope | None:
    return None if slope is None else slope.times(by)


def _term(e: Expr, load: Load, rows: set[Var]) -> tuple[Expr, _Slope]:
    """The least part of a value around a load that the value is a multiple of, and of which; the factor has none of the
    variables `rows`."""
    match e:
        case Unary(op="neg", operand=inner):
            own = _Slope(-1)
        case Binary(op="mul", lhs=a, rhs=inner) if (
            has_load(inner, load) and not has_load(a, load) and not free_vars(a) & rows
        ):
            own = _Slope(1, a)
        case Binary(op="mul", lhs=inner, rhs=b) if not has_load(b, load) and not free_vars(b) & rows:
            own = _Slope(1, b)
        case Binary(op="div", lhs=inner, rhs=b) if not has_load(b, load) and not free_vars(b) & rows:
            own = _Slope(1, Binary("div", const(1.0, e.dtype), b))
        case _:
            return e, _Slope()
    part, slope = _term(inner, load, rows)
    return part, slope.times(own)


def _match(a: Sequence[Expr], b: Sequence[Expr], mine: set[Var], theirs: set[Var]) -> dict[Var, Var] | None:
    """Which variable of `a` stands where one of `b` does; None unless each is alone in its index, the rest alike."""
    found: dict[Var, Var] = {}
    if len(a) != len(b):
        return None
    for x, y in zip(a, b, strict=True):
        one, other = linear(x), linear(y)
        own, their = one.vars() & mine, other.vars() & theirs
        if len(own) != len(their) or len(own) > 1 or one.has_loads() or other.has_loads():
            return None
        if own:
            (v,), (w,) = own, their
            if abs(one.slope(v)) != 1 or v in found or w in found.values():
                return None
            found[v] = w
        if not linear(substitute_expr(x, found)).equals(other):
            return None
    return found


class _Member(Struct, frozen=True):
    """A statement of the loop, its axes along results called as everybody's.

    `load` is what it reads of what other steps change, and `slope` what it adds for that; `inner` are its conditions on
    steps and on axes that are not along results: `others`. `called` has the names of the axes along results.
    """

    node: ArrayStatement
    store: tuple[Expr, ...]
    value: Expr
    load: Load
    others: tuple[Loop, ...]
    inner: tuple[Expr, ...]
    called: Mapping[Var, Var]

    @property
    def sign(self) -> int:
        """Whether it adds or subtracts."""
        update = self.node.statement.update
        return -1 if update is not None and update[0] == "sub" else 1


class _Delay:
    """The parts of one loop: reads of the sum `total`, results that follow from them, and updates of it."""

    def __init__(
        self, loop: Loop, body: Sequence[ArrayStatement], total: Buffer, boxes: dict[Loop, Box], new: Fresh
    ) -> None:
        self.loop = loop
        self.t = loop.var
        self.results = [n for n in body if n.statement.buffer != total]
        self.updates = [n for n in body if n.statement.buffer == total]
        self.boxes = boxes
        self.new = new
        _require(self.results and list(body) == [*self.results, *self.updates])
        _require(all(n.statement.buffer.dtype is total.dtype for n in self.results))
        loops = body[0].statement.loops
        self.around = loops[: loops.index(loop)]
        self.rows: tuple[Loop, ...] = ()  # along results, as in the first statement, whose names all others take
        self.outer: tuple[Expr, ...] = ()  # for which results
        self.places: dict[Buffer, tuple[Expr, ...]] = {}  # where results are
        self.slopes: dict[Buffer, _Slope] = {}  # what they gain for what the reads add up
        self.last = self.results[0].statement.buffer
        self.touched = presburger.never()  # the results that steps read or store

    def nodes(self) -> tuple[Node, ...]:
        """All steps at once."""
        reads: list[_Member] = []
        for node in self.results:
            if self._sums_up(node.statement):
                reads.append(self._read(node))
            else:
                self._follow(node)
        updates = [self._update(n) for n in self.updates]
        first = self.results[0].statement
        every = replace(first, loops=(*self.around, self.loop, *self.rows), guards=self.outer).domain
        _require(every.is_subset(self.touched))  # else a system of all steps would have in it what no step reads
        return self._written(reads, updates)

    def _sums_up(self, s: Statement) -> bool:
        """Whether a statement reads what other steps update."""
        return any(self._meets(s, load, self.updates) for load in loads(s.store.value) if load.buffer != s.buffer)

    def _read(self, node: ArrayStatement) -> _Member:
        """A statement that sums up what other steps update, or begins with one element of it."""
        s = node.statement
        _require(s.update is None or adds(s))
        _require(not self.places or (s.update is not None and {s.buffer: _SAME} == self.slopes))
        value = s.store.value if s.update is None else s.update[1]
        found = self._member(node, s.store.indices, value, self._changed(s, value, self.updates))
        _require(s.update is not None or not (found.others or found.inner))
        self.places.setdefault(s.buffer, found.store)
        self.slopes.setdefault(s.buffer, _SAME)
        return found

    def _follow(self, node: ArrayStatement) -> None:
        """A statement that stores a result that follows from the one before, element by element."""
        s = node.statement
        load = self._changed(s, s.store.value, self.results)
        found = self._member(node, load.indices, s.store.value, load)
        slope = _slope(found.value, found.load)
        _require(slope is not None and not (found.others or found.inner) and load.buffer == self.last)
        assert slope is not None
        names = {self.t, *(o.var for o in self.rows)}
        _require(not slope.vars() & (names - {self.t}))
        _require(_match(found.store, self.places.get(s.buffer, found.store), names, names) == {v: v for v in names})
        self.places[s.buffer] = found.store
        self.slopes[s.buffer] = self.slopes[self.last].times(slope)
        self.last = s.buffer

    def _update(self, node: ArrayStatement) -> _Member:
        """A statement that adds multiples of results."""
        s = node.statement
        _require(s.update is not None)
        assert s.update is not None
        load = self._changed(s, s.update[1], self.results)
        _require(load.buffer == self.last)
        return self._member(node, load.indices, s.update[1], load)

    def _changed(self, s: Statement, value: Expr, writers: Sequence[ArrayStatement]) -> Load:
        """The only load of a statement that reads what steps of this loop change, here what `writers` do."""
        everything = [*loads(value), *(load for e in (*s.guards, *s.store.indices) for load in loads(e))]
        changed = {load for load in everything if self._meets(s, load, [*self.results, *self.updates])}
        _require(len(changed) == 1)
        (load,) = changed
        _require(load.buffer in {w.statement.buffer for w in writers} and has_load(value, load))
        _require(not any(has_load(e, load) for e in (*s.guards, *s.store.indices)))
        return load

    def _meets(self, s: Statement, load: Load, writers: Sequence[ArrayStatement]) -> bool:
        """Whether a load may read what some step of writers stores."""
        same = [w.statement for w in writers if w.statement.buffer == load.buffer]
        return any(may_meet(w, s, load, self.around) for w in same)

    def _member(self, node: ArrayStatement, place: Sequence[Expr], value: Expr, load: Load) -> _Member:
        """A statement whose result is at a place; it must have the axes of all others, and run for the same results."""
        s, axes = node.statement, {a.var for a in node.axes}
        if self.places:
            like = self.places[self.last]
            names = _match(place, like, {self.t, *axes}, {self.t, *(o.var for o in self.rows)})
            count = len(self.rows)
        else:
            count = len(axes & free_vars(*place))
            names = _match(place, place, {self.t, *axes}, {self.t, *axes})
        _require(names is not None and self.t in names)
        assert names is not None
        _require(names.pop(self.t).same(self.t) and len(names) == count)
        others = tuple(a for a in node.axes if a.var not in names)
        _require(not {o.var for o in others} & (set(names.values()) | {self.t}))

        def new(e: Expr) -> Expr:
            return substitute_expr(e, names)

        inside = {self.t, *(o.var for o in others)}
        inner = tuple(g for g in s.guards if free_vars(g) & inside)
        _require(not any(free_vars(g) & set(names) for g in inner))
        rows = self._same_results(node, names, tuple(new(g) for g in s.guards if g not in inner))
        if all(presburger.condition(g).exact for g in inner):
            all_ = replace(s, loops=(*self.around, self.loop, *rows, *others), guards=(*self.outer, *inner))
            self.touched = self.touched.union(presburger.forget(all_.domain, [o.var.name for o in others]))
        store, there = (tuple(map(new, i)) for i in (s.store.indices, load.indices))
        return _Member(node, store, new(value), Load(load.buffer, there), others, inner, names)

    def _same_results(
        self, node: ArrayStatement, names: Mapping[Var, Var], outer: tuple[Expr, ...]
    ) -> tuple[Loop, ...]:
        """That a statement runs for the results that all others run for."""
        _require(all(presburger.condition(g).exact for g in outer))
        rows: list[Loop] = []
        for axis in node.axes:
            if axis.var in names:
                rows.append(Loop(names[axis.var], axis.start, axis.extent))
                self.boxes[rows[-1]] = self.boxes[axis]
        if not self.places:
            self.rows, self.outer = tuple(rows), outer
        own, all_ = (
            replace(node.statement, loops=(*self.around, *loops), guards=guards).domain
            for loops, guards in ((rows, outer), (self.rows, self.outer))
        )
        _require(own.is_equal(all_))
        return tuple(rows)

    def _written(self, reads: Sequence[_Member], updates: Sequence[_Member]) -> tuple[Node, ...]:
        rows = {o.var for o in self.rows}
        found = [_term(u.value, u.load, rows) for u in updates]
        (part, *more) = [part for part, _ in found]
        _require(all(p.same(part) for p in more))
        nodes: list[Node] = [self._over(n, n.statement) for n in self.results]
        slope = self.slopes[self.last]
        solution = Load(self.last, self.places[self.last])
        if not part.same(solution):
            own = _slope(part, solution)
            _require(own is not None and not own.vars() & rows)
            _require(free_vars(part) <= {self.t, *rows, *(o.var for o in self.around)})
            assert own is not None
            solution, slope = self._named(part, nodes), slope.times(own)
        others = [b for b in self.places if b != solution.buffer]
        column = Loop(self._free(self.t), self.loop.start, self.loop.extent)
        self.boxes[column] = self.boxes[self.loop]
        matrix = self._matrix(reads, list(zip(updates, (s for _, s in found), strict=True)), column, nodes)
        square = self._scaled(matrix, slope, column, nodes)
        nodes.append(self._system(square, solution, column.var))
        for b in others:
            nodes.append(self._corrected(b, matrix, solution, column))
        for u in updates:
            nodes.append(self._updated(u, solution))
        return tuple(nodes)

    def _free(self, var: Var) -> Var:
        """Another variable, which no loop has."""
        taken = {o.var.name for n in (*self.results, *self.updates) for o in n.statement.loops}
        return Var(lengthened(var.name, taken), var.dtype)

    def _over(self, node: ArrayStatement, statement: Statement) -> ArrayStatement:
        """A statement for all steps at once."""
        return ArrayStatement(replace(statement, position=self.new.position()), (self.loop, *node.axes))

    def _statement(self, axes: Sequence[Loop], guards: Sequence[Expr], to: Load, op: str | None, value: Expr) -> Node:
        """A new statement: `to = value`, or `to = to op value`."""
        if op is None:
            s = Statement(
                self.new.position(), (*self.around, *axes), tuple(guards), Store(to.buffer, to.indices, value)
            )
            return ArrayStatement(s, tuple(axes))
        assert op in ("add", "sub")
        store = Store(to.buffer, to.indices, Binary(op, to, value))
        s = Statement(self.new.position(), (*self.around, *axes), tuple(guards), store, (op, value))
        return ArrayStatement(s, tuple(axes))

    def _local(self, name: str, axes: Sequence[Loop]) -> Load:
        """A new local with an axis for each loop, at the place of an iteration."""
        shape, place = array_over(axes, [self.boxes[a] for a in axes])
        buffer = replace(self.last, name=self.new.name(name), shape=shape, scope="local")
        return Load(buffer, place)

    def _named(self, part: Expr, nodes: list[Node]) -> Load:
        """A result of its own for what updates are multiples of."""
        axes = (self.loop, *self.rows)
        found = self._local(f"{self.last.name}_part", axes)
        nodes.append(self._statement(axes, self.outer, found, None, part))
        return found

    def _matrix(
        self, reads: Sequence[_Member], updates: Sequence[tuple[_Member, _Slope]], column: Loop, nodes: list[Node]
    ) -> Load:
        """What the sum of a step loses for each 1 in the result of another."""
        square = self._local(f"{self.last.name}_system", (self.loop, column))
        nodes.append(self._statement((self.loop, column), (), square, None, const(0.0, square.dtype)))
        for read in reads:
            slope = _slope(read.value, read.load)
            _require(slope is not None and not slope.vars() & {o.var for o in self.rows})
            assert slope is not None
            for update, by in updates:
                if may_meet(update.node.statement, read.node.statement, _own(read), self.around):
                    nodes.append(self._products(square, read, slope, update, by, column))
        return square

    def _products(self, square: Load, read: _Member, slope: _Slope, update: _Member, by: _Slope, column: Loop) -> Node:
        """The sums of products of what a read and an update multiply, where they meet."""
        taken = {o.var: Var(f"{o.var.name}'", o.var.dtype) for o in update.others}  # what a read has is called alike
        names: dict[Var, Expr] = {**taken, self.t: column.var}
        store = [substitute_expr(i, names) for i in update.store]
        values, same = self._meeting(store, read.load.indices, set(taken.values()))

        def there(e: Expr) -> Expr:
            return substitute_expr(substitute_expr(e, names), values)

        guards = [*read.inner, *same, *map(there, update.inner)]
        ranges = {o.var: (linear(o.start), linear(o.extent)) for o in read.others}
        for o in update.others:
            value = values[taken[o.var]]
            start, extent = ranges.get(value, (None, None)) if isinstance(value, Var) else (None, None)
            if (
                start is None
                or extent is None
                or not (linear(o.start).equals(start) and linear(o.extent).equals(extent))
            ):
                guards += map(there, own_bounds(o))
        value = _product(slope.factor, None if by.factor is None else there(by.factor))
        op = "sub" if read.sign * slope.sign * update.sign * by.sign > 0 else "add"
        loops = (self.loop, column, *read.others)
        return self._statement(loops, guards, square, op, const(1.0, square.dtype) if value is None else value)

    def _meeting(
        self, store: Sequence[Expr], load: Sequence[Expr], unknown: set[Var]
    ) -> tuple[dict[Var, Expr], list[Expr]]:
        """Where a store meets a load of the same result: its `unknown` variables, and what must hold besides."""
        rows, found = {o.var for o in self.rows}, set[Var]()
        values: dict[Var, Expr] = {}
        same: list[Expr] = []
        for x, y in zip(store, load, strict=True):
            form, other = linear(substitute_expr(x, values)), linear(y)
            _require(not form.has_loads() and not other.has_loads())
            own, along = form.vars() & unknown, (form.vars() | other.vars()) & rows
            if along:
                _require(form.equals(other) and all(v in form.terms for v in along) and len(along) == 1)
                found |= along
            elif own:
                (v, *more) = own
                c = form.slope(v)
                _require(not more and abs(c) == 1)
                values[v] = to_expr((other - (form - atom(v) * c)) * c, x)
            elif not form.equals(other):
                same.append(Binary("eq", y, to_expr(form, x)))
        _require(found == rows and set(values) == unknown)
        return values, same

    def _scaled(self, matrix: Load, slope: _Slope, column: Loop, nodes: list[Node]) -> Load:
        """The matrix of the system for results of a slope."""
        factor = slope.factor
        if factor is None and slope.sign > 0:
            return matrix
        value: Expr = matrix if factor is None else Binary("mul", factor, matrix)
        square = self._local(f"{self.last.name}_system", (self.loop, column))
        value = value if slope.sign > 0 else Unary("neg", value)
        nodes.append(self._statement((self.loop, column), (), square, None, value))
        return square

    def _system(self, square: Load, solution: Load, column: Var) -> ArrayStatement:
        """Results of all steps from what they would be without the steps before."""
        other = Load(solution.buffer, tuple(substitute_expr(i, {self.t: column}) for i in solution.indices))
        value = Binary("sub", solution, Binary("mul", square, other))
        store = Store(solution.buffer, solution.indices, value)
        s = Statement(self.new.position(), (*self.around, self.loop, *self.rows), self.outer, store)
        down = any(linear(i).terms.get(self.t, 0) < 0 for i in solution.indices)
        return ArrayStatement(s, (self.loop, *self.rows), Solve(self.loop, square, column, down, unit=True))

    def _corrected(self, buffer: Buffer, matrix: Load, solution: Load, column: Loop) -> Node:
        """What a result besides loses for those of the steps before."""
        to, slope = Load(buffer, self.places[buffer]), self.slopes[buffer]
        other = Load(solution.buffer, tuple(substitute_expr(i, {self.t: column.var}) for i in solution.indices))
        value = Binary("mul", matrix if slope.factor is None else Binary("mul", slope.factor, matrix), other)
        guards = (*self.outer, Binary("lt", column.var, self.t))
        return self._statement((self.loop, column, *self.rows), guards, to, "sub" if slope.sign > 0 else "add", value)

    def _updated(self, update: _Member, solution: Load) -> ArrayStatement:
        """An update by the results of all steps."""
        s = update.node.statement
        assert s.update is not None
        op, value = s.update
        part, _ = _term(value, _own(update), set(update.called))
        back = {w: v for v, w in update.called.items()}
        result = Load(solution.buffer, tuple(substitute_expr(i, back) for i in solution.indices))
        value = map_expr(value, lambda e: result if e.same(part) else e)
        assert op in ("add", "sub")
        store = replace(s.store, value=Binary(op, Load(s.buffer, s.store.indices), value))
        return self._over(update.node, replace(s, store=store, update=(op, value)))


_SAME = _Slope()


def _own(member: _Member) -> Load:
    """What a member reads, in its own names."""
    back = {w: v for v, w in member.called.items()}
    return Load(member.load.buffer, tuple(substitute_expr(i, back) for i in member.load.indices))
