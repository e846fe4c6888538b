"""Smaller forms of integer and boolean expressions, found by what they compute.

Forms are put together from the parts of an expression, its variables and numbers that follow from its own. Those that
agree with it at many points are asked about, the smallest first; provers decide. (Bottom-up enumeration modulo observed
equality, as in Albarghouthi, Gulwani, Kincaid, "Recursive Program Synthesis", CAV 2013, with the operands of the last
operator looked up by their values.) No form is tied to a pattern; what is too large to be put together is not found.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from functools import cache, reduce
from itertools import chain, islice, product
from math import gcd

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.contexts.sampled import Sample
from ir.dtypes import DType
from ir.fold import chosen, fold
from ir.nodes import Binary, BinaryOp, Const, Expr, Select, Unary, UnaryOp, const
from ir.presburger.points import DIVISIONS, Array, Mask, NoValueError, Points, Values, operate
from ir.presburger.polynomials import polynomial, summed, written
from ir.traverse import children, free_vars, node_count, walk_expr, with_children

_MAX_SIZE = 40  # larger parts are only looked into
_MAX_VARIABLES = 6
_WORK = 500  # nodes of all parts together that are looked at
_ATOMS = 20
_NUMBERS = 10  # that are operands inside of forms
_PAIRS = 400  # forms of one operator that become operands
_CHAIN = 7  # nodes from which on forms may be a number and an operator on another such
_LARGE = 14  # nodes from which on they may not
_CHOICES = 4  # conditions of choices in forms
_TRUTHS = 40  # conditions that are operands of others
_QUESTIONS = 6  # to provers, about one part
_FEW = 3  # points at which most fail to agree
_MATCHES = 24  # of one operator, the smallest ones
_TOGETHER = 1 << 11  # pairs that are looked at together
_FORMS = 40  # that agree with a part, and are put in order


class Known(Struct, frozen=True):
    """What is known where an expression is evaluated.

    `points`: values of variables that it allows, and `values` of parts there; `allowed` says it of any other points.
    `proven`: whether the second expression equals the first one there, None where that is open; `better`: whether it is
    preferred to it. `left`: charges the search for forms of one part, and says whether there is time for it. `settled`:
    parts for which none was found.
    """

    points: Points
    values: Values
    allowed: Callable[[Points], Mask]
    better: Callable[[Expr, Expr], bool]
    proven: Callable[[Expr, Expr], bool | None]
    left: Callable[[int], bool]
    settled: set[Expr]


def smaller(expr: Expr, known: Known) -> Expr:
    """An expression with smaller forms for its parts, which equal them where it is evaluated."""
    done: dict[Expr, Expr] = {}
    left = _WORK

    def visit(part: Expr) -> Expr:
        nonlocal left
        if (arm := chosen(part)) is not part:  # the other one is not evaluated
            return visit(arm)
        if part not in done and (whole := _rejoined(part, known)) is not part:  # before parts of it lose each other
            done[part] = visit(whole)
        if part not in done:
            new = fold(chosen(with_children(part, tuple(map(visit, children(part))))))
            most = node_count(new) - 1
            if new not in known.settled and 2 <= most < min(_MAX_SIZE, left):
                left -= most
                found = _smaller_whole(new, most, known)
                if found is new:
                    known.settled.add(new)
                new = found
            done[part] = new
        return done[part]

    return visit(expr)


def _rejoined(expr: Expr, known: Known) -> Expr:
    """A sum with `x` in place of `x // n * n + x % n`, however often."""
    if not (isinstance(expr, Binary) and expr.op in ("add", "sub") and expr.dtype.is_signed):
        return expr
    terms = polynomial(expr)
    for factors, count in terms.items():
        match factors:
            case (Binary(op="floormod", lhs=x, rhs=n),):
                product = polynomial(Binary("mul", Binary("floordiv", x, n), n))
                gone = {factors: count, **{k: count * c for k, c in product.items()}}
                if all(terms.get(k) == c for k, c in gone.items()):
                    left = [(k, c) for k, c in terms.items() if k not in gone]
                    several = [*left, *((k, count * c) for k, c in polynomial(x).items())]
                    form = written(summed(several), expr) if left or count != 1 else x
                    return form if known.better(form, expr) and known.proven(expr, form) else expr
            case _:
                pass
    return expr


def _smaller_whole(expr: Expr, most: int, known: Known) -> Expr:
    """A form of at most so many nodes, or the expression itself."""
    if len(free_vars(expr)) > _MAX_VARIABLES or not known.left(most):
        return expr
    try:
        sample = Sample.of(expr, known.points, known.allowed, known.values)
    except NoValueError:
        return expr
    if sample is None:
        return expr
    still_open: set[Expr] = set()
    for forms in _Forms.of(expr, sample, most).stages():
        for form in _in_order(forms):
            if not known.better(form, expr) or any(part in still_open for part in walk_expr(form)):
                continue  # what has the values of one of its parts is no easier to prove
            answer = known.proven(expr, form)
            if answer:
                return form
            if answer is None:
                still_open.add(form)
            if len(still_open) >= _QUESTIONS:
                return expr
    return expr


def _in_order(forms: Iterator[Expr]) -> list[Expr]:
    """The first of some forms, the smallest first; one of those that differ in the order of operands."""
    found: dict[Expr, int] = {}
    for form in forms:
        if not any(
            isinstance(e, (Binary, Unary)) and all(isinstance(a, Const) for a in children(e)) for e in walk_expr(form)
        ):
            found.setdefault(_ordered(form, found), node_count(form))
        if len(found) >= _FORMS:
            break
    return sorted(found, key=lambda e: found[e])


def _ordered(form: Expr, known: Container[Expr]) -> Expr:
    """A form, or one that is known and differs in the order of its operands."""
    if isinstance(form, Binary) and form.op in ("add", *_COMMUTE):
        other = Binary(form.op, form.rhs, form.lhs)
        return other if other in known else form
    return form


class _Made(Struct, frozen=True):
    """What an operator makes of operands of two banks, by their places."""

    op: BinaryOp
    left: Array
    right: Array
    values: Array

    @staticmethod
    def of(op: BinaryOp, left: _Bank, right: _Bank, where: Mask, dtype: DType) -> _Made:
        one, other = np.nonzero(where)
        values, bad = operate(op, left.values[one], right.values[other], dtype)
        fine = ~np.broadcast_to(bad, values.shape).any(axis=1)
        return _Made(op, one[fine], other[fine], values[fine])


class _Bank:
    """Expressions of one dtype by what they compute at the points, the smaller ones first, no two the same."""

    def __init__(self, exprs: Sequence[Expr], values: Array, sizes: Array) -> None:
        order = _distinct(values, sizes)
        self.exprs: list[Expr] = [exprs[k] for k in order]
        self.values: Array = values[order]
        self.sizes: Array = sizes[order]

    @staticmethod
    def of(exprs: Sequence[Expr], rows: Sequence[Array], length: int) -> _Bank:
        values = np.stack(rows) if rows else np.zeros((0, length), np.int64)
        return _Bank(exprs, values, np.array([node_count(e) for e in exprs], np.int64))

    @staticmethod
    def made(left: _Bank, right: _Bank, parts: Sequence[_Made]) -> _Bank:
        """The first of what operators make of two banks."""
        values = np.concatenate([left.values[:0], *(p.values for p in parts)])
        one = np.concatenate([np.zeros(0, np.int64), *(p.left for p in parts)])
        other = np.concatenate([np.zeros(0, np.int64), *(p.right for p in parts)])
        sizes = left.sizes[one] + right.sizes[other] + 1
        ops = [p.op for p in parts for _ in p.left]
        order = _distinct(values, sizes)[:_PAIRS]
        exprs = [Binary(ops[k], left.exprs[one[k]], right.exprs[other[k]]) for k in order]
        return _Bank(exprs, values[order], sizes[order])

    def joined(self, other: _Bank) -> _Bank:
        both = ((self.values, other.values), (self.sizes, other.sizes))
        return _Bank([*self.exprs, *other.exprs], *map(np.concatenate, both))

    def up_to(self, most: int) -> int:
        """How many are no larger than that."""
        return int(np.searchsorted(self.sizes, most, side="right"))


def _distinct(values: Array, sizes: Array) -> Array:
    """Rows of which none has the values of another, by size."""
    order = np.argsort(sizes, kind="stable")
    _, first = np.unique((values[order] * _mix(values.shape[1])).sum(axis=1), return_index=True)
    return order[np.sort(first)]


@cache
def _mix(length: int) -> Array:
    """Factors that make a number of a row of values, which hardly any other row has."""
    return np.random.default_rng(1).integers(-(2**62), 2**62, length)


class _Forms(Struct, frozen=True):
    """The forms of at most so many nodes that have the `target` values at some points."""

    expr: Expr
    sample: Sample
    target: Array
    most: int
    parts: Sequence[Expr]
    operators: Sequence[BinaryOp]
    numbers: Sequence[int]

    @staticmethod
    def of(expr: Expr, sample: Sample, most: int) -> _Forms:
        parts = list(walk_expr(expr))
        inner = list(dict.fromkeys(parts[1:]))
        return _Forms(expr, sample, sample.values, most, inner, _operators(parts), _numbers(parts))

    def stages(self) -> Iterator[Iterator[Expr]]:
        """The forms, those that take longer to put together later; of large parts only what is a small change."""
        dtype = self.expr.dtype
        if dtype is DType.BOOL:
            yield self._truths()
            return
        atoms = self._atoms(dtype)
        yield chain(self._same(atoms), self._with_number(atoms, dtype))
        bank = self._pairs(atoms, dtype, self.most - 1)
        yield chain(self._same(bank), self._with_number(bank, dtype), self._selections(bank))
        if 3 <= self.most < _LARGE:
            yield chain(self._operations(bank, dtype), self._scaled(bank, dtype))
        if _CHAIN <= self.most < _LARGE:
            yield self._with_number(self._chained(bank, dtype), dtype)

    # What forms are made of -------------------------------------------------------------------------------------------

    def _atoms(self, dtype: DType) -> _Bank:
        """Variables, numbers and parts."""
        length = len(self.target)
        exprs: list[Expr] = []
        rows: list[Array] = []
        parts = [p for p in self.parts if p.dtype is dtype and not isinstance(p, Const)]
        parts.sort(key=node_count)
        numbers = [const(n, dtype) for n in self.numbers[:_NUMBERS] if dtype.min <= n <= dtype.max]
        for part in (*parts[:_ATOMS], *numbers):
            values, bad = self.sample.part(part)
            if not bad.any():
                exprs.append(part)
                rows.append(np.broadcast_to(values, (length,)))
        return _Bank.of(exprs, rows, length)

    def _pairs(self, atoms: _Bank, dtype: DType, most: int) -> _Bank:
        """Atoms, and what one operator makes of them."""
        if most < 3:
            return atoms
        count = len(atoms.exprs)
        grid = np.add.outer(atoms.sizes, atoms.sizes) + 1 <= most
        constant = np.array([isinstance(e, Const) for e in atoms.exprs], bool)
        grid &= ~np.logical_and.outer(constant, constant)
        parts: list[_Made] = []
        for op in self.operators:
            allowed: Mask = grid.copy()
            if op in ("add", "mul", "min", "max", *_BITS):
                allowed &= np.tri(count, count, 0, dtype=bool).T
            if op in DIVISIONS and not self._divides_by_unknowns():
                allowed &= constant[None, :]
            parts.append(_Made.of(op, atoms, atoms, allowed, dtype))
        return atoms.joined(_Bank.made(atoms, atoms, parts)) if parts else atoms

    def _chained(self, bank: _Bank, dtype: DType) -> _Bank:
        """What one operator makes of a small form and a number of the expression."""
        few = np.array([not isinstance(e, Const) and n <= 3 for e, n in zip(bank.exprs, bank.sizes, strict=True)], bool)
        operators: list[BinaryOp] = [o for o in (*_RING, *_FLOOR, *_TRUNC) if o in self.operators and o != "sub"]
        found = [n for n in self.numbers[:_NUMBERS] if n not in (0, 1) and dtype.min <= n <= dtype.max]
        length = len(self.target)
        numbers = _Bank.of([const(n, dtype) for n in found], [np.full(length, n) for n in found], length)
        where: Mask = np.logical_and.outer(few, np.ones(len(numbers.exprs), bool))
        parts = [_Made.of(op, bank, numbers, where, dtype) for op in operators]
        return _Bank.made(bank, numbers, parts) if parts else bank

    def _divides_by_unknowns(self) -> bool:
        return any(
            isinstance(p, Binary) and p.op in DIVISIONS and not isinstance(p.rhs, Const)
            for p in (self.expr, *self.parts)
        )

    # What agrees ------------------------------------------------------------------------------------------------------

    def _same(self, bank: _Bank) -> Iterator[Expr]:
        equal = (bank.values == self.target).all(axis=1) & (bank.sizes <= self.most)
        yield from (bank.exprs[k] for k in np.flatnonzero(equal))
        dtype = self.expr.dtype
        unary: list[tuple[UnaryOp, Array]] = []
        if dtype.is_signed:
            unary = [("neg", -bank.values), ("abs", np.abs(bank.values))]
        if "bitand" in self.operators:
            wrapped = dtype.is_signed or dtype.bits == 64
            unary.append(("bitnot", ~bank.values if wrapped else dtype.max - bank.values))
        for op, row in unary:
            same = (row == self.target).all(axis=1) & (bank.sizes < self.most)
            yield from (Unary(op, bank.exprs[k]) for k in np.flatnonzero(same)[:2])

    def _with_number(self, bank: _Bank, dtype: DType) -> Iterator[Expr]:
        """One operator on an expression and a number that the values tell."""
        few = bank.up_to(self.most - 2)
        values, target = bank.values[:few], self.target

        def number(n: int) -> Const | None:
            return const(n, dtype) if dtype.min <= n <= dtype.max else None

        def pick(op: BinaryOp, k: int, n: int, *, first: bool = False) -> Iterator[Expr]:
            constant = number(n)
            if constant is not None:
                yield Binary(op, constant, bank.exprs[k]) if first else Binary(op, bank.exprs[k], constant)

        if len(target) and (target == target[0]).all():
            constant = number(int(target[0]))
            if constant is not None:
                yield constant
        wrap = 0 if dtype.is_signed or dtype.bits == 64 else dtype.max
        for op, rest in (("add", target - values), ("sub", target + values)):
            rest = rest & wrap if wrap else rest
            plain = rest[:, :1] == 0 if op == "add" else False  # the form itself
            for k in np.flatnonzero(((rest == rest[:, :1]) & ~np.asarray(plain)).all(axis=1)):
                yield from pick("add" if op == "add" else "sub", int(k), int(rest[k, 0]), first=op == "sub")
        if "mul" in self.operators:
            yield from self._multiples(bank, few, pick)
        for op in ("min", "max"):
            edge = int(target.max() if op == "min" else target.min())
            found = np.minimum(values, edge) if op == "min" else np.maximum(values, edge)
            for k in np.flatnonzero((found == target).all(axis=1)):
                yield from pick("min" if op == "min" else "max", int(k), edge)
        if "bitand" in self.operators:
            kept, lost = (np.bitwise_or.reduce(values & row, axis=1) for row in (target, ~target))
            for k in np.flatnonzero((values & kept[:, None] == target).all(axis=1)):
                for n in dict.fromkeys((int(kept[k]), int(~lost[k]) if dtype.is_signed else int(~lost[k]) & dtype.max)):
                    yield from pick("bitand", int(k), n)
        if "shr" in self.operators:
            for n in range(1, dtype.bits - 1):
                for k in np.flatnonzero((values >> n == target).all(axis=1)):
                    yield from pick("shr", int(k), n)
        divisions: list[BinaryOp] = [o for o in (*_FLOOR, *_TRUNC) if o in self.operators]
        if "floormod" in divisions:
            steps = np.gcd.reduce(np.abs(target - values), axis=1)
            for k in np.flatnonzero((steps > max(1, int(target.max()))) & (target.min() >= 0)):
                yield from pick("floormod", int(k), int(steps[k]))
        numbers = np.array([n for n in self.numbers if n not in (0, 1) and dtype.min <= n <= dtype.max], np.int64)
        for op in divisions:
            found, bad = operate(op, values[None, :, :_FEW], numbers[:, None, None], dtype)
            n, k = np.nonzero(((found == target[:_FEW]) & ~bad).all(axis=2))
            for a, b in zip(*self._agree(op, (values, k), (numbers[:, None], n), dtype), strict=True):
                yield from pick(op, int(a), int(numbers[b]))

    def _multiples(self, bank: _Bank, few: int, pick: Callable[[BinaryOp, int, int], Iterator[Expr]]) -> Iterator[Expr]:
        values, target = bank.values[:few], self.target
        where = np.argmax(values != 0, axis=1)
        base = values[np.arange(few), where]
        factor = target[where] // np.where(base == 0, 1, base)
        for k in np.flatnonzero((values * factor[:, None] == target).all(axis=1) & (base != 0) & (factor != 1)):
            yield from pick("mul", int(k), int(factor[k]))

    def _selections(self, bank: _Bank) -> Iterator[Expr]:
        """One of some expressions, by conditions that occur."""
        tests: list[tuple[Expr, Mask]] = []
        for cond in (p for p in self.parts if p.dtype is DType.BOOL and not isinstance(p, Const)):
            found, bad = self.sample.part(cond)
            if not bad.any():
                tests.append((cond, np.broadcast_to(found, self.target.shape) != 0))
        if tests:
            equal = bank.values == self.target
            yield from self._chosen(bank, equal, tests[:_CHOICES], np.ones(len(self.target), bool), self.most)

    def _chosen(
        self, bank: _Bank, equal: Mask, tests: Sequence[tuple[Expr, Mask]], where: Mask, most: int
    ) -> Iterator[Expr]:
        """Choices of at most so many nodes that have the values at some of the points."""
        for n, (cond, test) in enumerate(tests):
            yes, no = where & test, where & ~test
            rest = most - node_count(cond) - 1
            if rest < 2 or not yes.any() or not no.any():
                continue
            others = [*tests[:n], *tests[n + 1 :]]
            thens, elses = (self._arms(bank, equal, others, at, rest - 1) for at in (yes, no))
            for then, other in product(thens, elses):
                if node_count(then) + node_count(other) <= rest:
                    yield Select(cond, then, other)

    def _arms(self, bank: _Bank, equal: Mask, tests: Sequence[tuple[Expr, Mask]], where: Mask, most: int) -> list[Expr]:
        """The smallest expressions that have the values at some points."""
        plain = [bank.exprs[k] for k in np.flatnonzero(equal[:, where].all(axis=1))[:3]]
        if plain or len(tests) < 1:
            return [e for e in plain if node_count(e) <= most]
        return list(islice(self._chosen(bank, equal, tests, where, most), 2))

    def _operations(self, bank: _Bank, dtype: DType) -> Iterator[Expr]:
        """One operator on two expressions."""
        for op in self.operators:
            if op in DIVISIONS and not self._divides_by_unknowns():
                continue  # numbers as divisors are told by the values
            for i, j in self._agreeing(op, bank, self._operands(op, bank.values, dtype), dtype):
                yield Binary(op, bank.exprs[i], bank.exprs[j])

    def _operands(self, op: BinaryOp, values: Array, dtype: DType) -> Mask:
        """Which values may be those of an operand, on either side, of an operator that commutes."""
        match op:
            case "min":
                return _always(values >= self.target)
            case "max":
                return _always(values <= self.target)
            case "bitand":
                return _always(values & self.target == self.target)
            case "bitor":
                return _always(values | self.target == self.target)
            case "mul" if dtype.is_signed:
                zero = values == 0
                return _always(np.where(zero, self.target == 0, self.target % np.where(zero, 1, values) == 0))
            case _:
                every: Mask = np.ones(len(values), bool)
                return every

    def _agreeing(self, op: BinaryOp, bank: _Bank, rows: Mask, dtype: DType) -> Iterator[tuple[int, int]]:
        """Pairs whose values give those of the target: of a sum the other operand is known, else point by point."""
        picked = np.flatnonzero(rows & (bank.sizes <= self.most - 2))
        if len(picked):
            values, sizes = bank.values[picked], bank.sizes[picked]
            a, b = (self._completed if op in _INVERSES else self._tried)(op, values, sizes, dtype)
            order = np.argsort(sizes[a] + sizes[b], kind="stable")[:_MATCHES]
            yield from zip(picked[a[order]].tolist(), picked[b[order]].tolist(), strict=True)

    def _completed(self, op: BinaryOp, values: Array, sizes: Array, dtype: DType) -> tuple[Array, Array]:
        """Pairs of operands that an operator makes the target of which tells one operand by the other."""
        mix = _mix(values.shape[1])
        known = (values * mix).sum(axis=1)
        others, _ = operate(_INVERSES[op], *((self.target, values) if op == "add" else (values, self.target)), dtype)
        wanted = (others * mix).sum(axis=1)
        order = np.argsort(known, kind="stable")
        at = np.minimum(np.searchsorted(known[order], wanted), len(order) - 1)
        a = np.flatnonzero(known[order[at]] == wanted)
        b = order[at[a]]
        found, bad = operate(op, values[a], values[b], dtype)
        fits = ((found == self.target) & ~bad).all(axis=1) & (sizes[a] + sizes[b] < self.most)
        return a[fits], b[fits]

    def _tried(self, op: BinaryOp, values: Array, sizes: Array, dtype: DType) -> tuple[Array, Array]:
        """Pairs by what the operator gives; most fail at the first points, which all of them are looked at for."""
        where: Mask = np.add.outer(sizes, sizes) < self.most
        if op in _COMMUTE:
            where &= np.tri(len(sizes), dtype=bool).T
        for at in range(min(values.shape[1], 4 * _FEW)):
            found, bad = operate(op, values[:, at, None], values[None, :, at], dtype)
            where &= (found == self.target[at]) & ~bad
            if np.count_nonzero(where) << 6 < where.size:
                break
        a, b = np.nonzero(where)
        order = np.argsort(sizes[a] + sizes[b], kind="stable")
        kept: list[tuple[Array, Array]] = [(order[:0], order[:0])]
        while len(order) and sum(len(rows) for rows, _ in kept) < _MATCHES:
            some, order = order[:_TOGETHER], order[_TOGETHER:]
            kept.append(self._agree(op, (values, a[some]), (values, b[some]), dtype))
        return np.concatenate([one for one, _ in kept]), np.concatenate([other for _, other in kept])

    def _agree(
        self, op: BinaryOp, one: tuple[Array, Array], other: tuple[Array, Array], dtype: DType
    ) -> tuple[Array, Array]:
        """Pairs of rows of two tables whose values an operator makes the target of; most fail at the first points."""
        (left, a), (right, b) = one, other
        for at in (slice(0, _FEW), slice(_FEW, 8), slice(8, 24), slice(24, None)):
            if len(a):
                found, bad = operate(op, left[a, at], right[b, at] if right.shape[1] > 1 else right[b], dtype)
                fine = ((found == self.target[at]) & ~bad).all(axis=1)
                a, b = a[fine], b[fine]
        return a, b

    def _scaled(self, bank: _Bank, dtype: DType) -> Iterator[Expr]:
        """A multiple of an operation, by what all values have in common."""
        common = int(np.gcd.reduce(np.abs(self.target)))
        if not dtype.is_signed or common < 2 or self.most < 5 or "mul" not in self.operators:
            return
        for factor in (common, -common):
            rest = replace(self, target=self.target // factor, most=self.most - 2)
            for form in rest._operations(bank, dtype):
                yield Binary("mul", form, const(factor, dtype))

    # Conditions -------------------------------------------------------------------------------------------------------

    def _truths(self) -> Iterator[Expr]:
        target = self.target
        if (target == target[0]).all():
            yield Const(bool(target[0]), DType.BOOL)
        conditions = [p for p in self.parts if p.dtype is DType.BOOL and not isinstance(p, Const)]
        compared: list[_Bank] = []
        for dtype in dict.fromkeys(p.dtype for p in self.parts if p.dtype.is_integer):
            atoms = self._atoms(dtype)
            bank = self._pairs(atoms, dtype, self.most - 2)
            yield from self._bounded(bank, dtype)
            for op in _COMPARED:
                for i, j in self._agreeing(op, bank, np.ones(len(bank.exprs), bool), dtype):
                    yield Binary(op, bank.exprs[i], bank.exprs[j])
            if any(isinstance(p, Binary) and p.op in ("and", "or", "eq", "ne") for p in (self.expr, *conditions)):
                compared.append(self._comparisons(atoms, dtype))
        yield from self._combined(conditions, compared)

    def _comparisons(self, atoms: _Bank, dtype: DType) -> _Bank:
        """Comparisons of variables and numbers."""
        constant = np.array([isinstance(e, Const) for e in atoms.exprs], bool)
        where: Mask = np.logical_and.outer(atoms.sizes == 1, atoms.sizes == 1)
        where &= ~np.logical_and.outer(constant, constant) & ~np.eye(len(constant), dtype=bool)
        return _Bank.made(atoms, atoms, [_Made.of(op, atoms, atoms, where, dtype) for op in _COMPARED])

    def _bounded(self, bank: _Bank, dtype: DType) -> Iterator[Expr]:
        """An expression compared with a number, where its values tell which."""
        yes, no = self.target != 0, self.target == 0
        if not yes.any() or not no.any():
            return
        few = bank.up_to(self.most - 2)
        values = bank.values[:few]
        holds, fails = values[:, yes], values[:, no]
        for op, low, high in (
            ("lt", holds.max(axis=1), fails.min(axis=1)),
            ("gt", fails.max(axis=1), holds.min(axis=1)),
        ):
            for k in np.flatnonzero(low < high):
                if isinstance(bank.exprs[k], Const):
                    continue
                for n in dict.fromkeys((int(low[k]) + 1, int(high[k]), *self._between(int(low[k]) + 1, int(high[k])))):
                    at = n if op == "lt" else n - 1
                    if dtype.min <= at <= dtype.max:
                        yield Binary("lt" if op == "lt" else "gt", bank.exprs[k], const(at, dtype))
        for op, side, other in (("eq", holds, fails), ("ne", fails, holds)):
            one = side[:, :1]
            for k in np.flatnonzero((side == one).all(axis=1) & (other != one).all(axis=1)):
                if not isinstance(bank.exprs[k], Const):
                    yield Binary("eq" if op == "eq" else "ne", bank.exprs[k], const(int(one[k, 0]), dtype))

    def _between(self, low: int, high: int) -> list[int]:
        return [n for n in self.numbers if low < n < high][:2]

    def _combined(self, conditions: Sequence[Expr], compared: Sequence[_Bank]) -> Iterator[Expr]:
        """Conditions, their negations, and two of them together."""
        exprs: list[Expr] = []
        found: list[Array] = []
        for cond in dict.fromkeys(conditions):
            values, bad = self.sample.part(cond)
            if not bad.any():
                exprs.append(cond)
                found.append(np.broadcast_to(values, self.target.shape))
        bank = reduce(_Bank.joined, compared, _Bank.of(exprs, found, len(self.target)))
        equal = (bank.values == self.target).all(axis=1)
        yield from (bank.exprs[k] for k in np.flatnonzero(equal))
        yield from (Unary("not", bank.exprs[k]) for k in np.flatnonzero((1 - bank.values == self.target).all(axis=1)))
        for op in _LOGIC:
            for several in (bank, self._paired(bank, op)):
                rows = _always(several.values >= self.target if op == "and" else several.values <= self.target)
                for i, j in self._agreeing(op, several, rows, DType.BOOL):
                    if i != j:
                        yield Binary(op, several.exprs[i], several.exprs[j])

    def _paired(self, bank: _Bank, op: BinaryOp) -> _Bank:
        """Conditions, and two together by the operator other than the one that they become operands of."""
        few = bank.up_to(self.most - 4)
        where: Mask = ~np.tri(len(bank.exprs), k=0, dtype=bool)
        where[min(few, _TRUTHS) :] = False
        where[:, min(few, _TRUTHS) :] = False
        where &= np.add.outer(bank.sizes, bank.sizes) + 3 <= self.most
        if not where.any():
            return bank
        other: BinaryOp = "or" if op == "and" else "and"
        return bank.joined(_Bank.made(bank, bank, [_Made.of(other, bank, bank, where, DType.BOOL)]))


def _always(matrix: Mask) -> Mask:
    """Which rows hold at all points."""
    found: Mask = np.all(matrix, axis=1)
    return found


_COMPARED: tuple[BinaryOp, ...] = ("lt", "le", "eq", "ne")
_LOGIC: tuple[BinaryOp, ...] = ("and", "or")
_RING: tuple[BinaryOp, ...] = ("add", "sub", "mul")
_ORDER: tuple[BinaryOp, ...] = ("min", "max")
_FLOOR: tuple[BinaryOp, ...] = ("floordiv", "floormod")
_TRUNC: tuple[BinaryOp, ...] = ("truncdiv", "truncmod")
_BITS: tuple[BinaryOp, ...] = ("bitand", "bitor", "bitxor")
_INVERSES: dict[str, BinaryOp] = {"add": "sub", "sub": "sub", "bitxor": "bitxor"}
_COMMUTE = frozenset(("mul", "min", "max", "eq", "ne", "and", "or", *_BITS))


def _compared_together(parts: Sequence[Expr]) -> bool:
    """Whether a condition says of two numbers that both, or one of them, are on one side of a third."""
    return any(
        isinstance(p, Binary)
        and p.op in _LOGIC
        and isinstance(p.lhs, Binary)
        and isinstance(p.rhs, Binary)
        and p.lhs.lhs.dtype.is_integer
        and any(a.same(b) for a in children(p.lhs) for b in children(p.rhs))
        for p in parts
    )


def _operators(parts: Sequence[Expr]) -> tuple[BinaryOp, ...]:
    """Operators that forms may have: those of the expression, and those that they often are other forms of."""
    present = {p.op for p in parts if isinstance(p, (Binary, Unary))}
    chosen = any(isinstance(p, Select) for p in parts)
    out: list[BinaryOp] = []
    if chosen or present & {*_RING, *_FLOOR, *_TRUNC, "neg", "shl", "shr", "bitand", "bitor", "bitxor"}:
        out += _RING
    if chosen or present & {*_ORDER, "abs"} or _compared_together(parts):
        out += _ORDER
    if chosen or present & {*_FLOOR, "shr", "bitand"}:
        out += _FLOOR
    if present & set(_TRUNC):
        out += _TRUNC
    if present & {*_BITS, "bitnot"}:
        out += _BITS
    elif present >= {"shl", "shr"}:
        out.append("bitand")
    if "shr" in present:
        out.append("shr")
    return tuple(out)


def _numbers(parts: Sequence[Expr]) -> list[int]:
    """Numbers of an expression, then what they give with each other, then the smallest ones."""
    own = list(dict.fromkeys(int(p.value) for p in parts if isinstance(p, Const) and p.dtype.is_integer))[:8]
    derived: set[int] = {2}
    for a, b in product(own, own):
        if b not in (0, 1, -1) and a not in (0, 1, -1):
            derived |= {gcd(a, b), a * b} | ({a // b, -(-a // b)} if a != b else set())
    shifts = [1 << n for n in _operands(parts, ("shl", "shr")) if 0 < n < 31]
    masks = [n + 1 for n in _operands(parts, _BITS) if n > 0 and n & (n + 1) == 0]
    found = [*own, 0, 1, *shifts, *masks, *sorted(derived, key=lambda n: (abs(n), n)), *(-n for n in own)]
    return list(dict.fromkeys(n for n in found if abs(n) < 1 << 31))[:32]


def _operands(parts: Sequence[Expr], ops: Sequence[BinaryOp]) -> list[int]:
    """The numbers that some operators have for an operand."""
    found = (n for p in parts if isinstance(p, Binary) and p.op in ops for n in (p.lhs, p.rhs) if isinstance(n, Const))
    return list(dict.fromkeys(int(n.value) for n in found))[:8]
