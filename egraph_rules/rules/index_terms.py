"""Parts of expressions computed at the outermost loop that they depend on, sums and products rearranged for that.

    for i, j, k: A[k + j * n + i * m * n] = ..
  = let t = m * n: for i: let u = i * t: for j: let v = u + j * n: for k: A[v + k] = ..

A sum is the same in any order as long as no partial sum leaves the range of its dtype, which is proven at the place
where it is computed; sums of floats need the caller's leave.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import pairwise, product

from msgspec import Struct, field
from msgspec.structs import replace

from egraph_rules.authoring.proposal import Here, flat, rewrite
from egraph_rules.rules.lets import (
    Names,
    following,
    inside,
    is_fixed,
    is_work,
    may_bind,
    roots,
    shared,
    under,
    without_aliases,
)
from ir.arith import ArithmeticFault, in_range
from ir.dtypes import DType, Kind
from ir.floats import Floats
from ir.nodes import Alloc, Binary, Block, Const, Evaluate, Expr, For, If, Let, Seq, Stmt, Store, Unary, Var, const, seq
from ir.traverse import children, free_vars, walk, walk_expr, with_children

_MAX_TERMS = 16  # products of sums are written out up to so many terms

_LAW = "for i in n: s  =  let v = e: for i in n: s with v for e   where e cannot fault unless the loop does"
_BECAUSE = "e does not change from one iteration to the next, and reads nothing"


@rewrite(law=_LAW, because=_BECAUSE, family="hoist")
def as_written(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """Compute parts of numeric expressions at the outermost loop they depend on, in a whole nest at once.

    What is repeated after that is computed once.
    """
    yield from _moved(stmt, here, ())


@rewrite(
    law=_LAW + "; integer sums and products in any order",
    because=_BECAUSE + "; integers may be added and multiplied in any order as long as nothing leaves its range",
    family="hoist",
)
def terms(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """As `as_written`, with integer sums and products in the order in which loops provide their operands."""
    yield from _moved(stmt, here, (Kind.INT, Kind.UINT))


@rewrite(
    law=_LAW + "; sums and products in any order",
    because=_BECAUSE + "; sums and products may be reassociated where the caller allows that for floats",
    family="hoist",
)
def _terms_of_floats(stmt: Stmt, here: Here) -> Iterator[Stmt]:
    """As `terms`, for floats too."""
    yield from _moved(stmt, here, (Kind.INT, Kind.UINT, Kind.FLOAT))


float_terms = replace(_terms_of_floats, name="hoist.float_terms", floats=Floats.REASSOCIATE | Floats.NO_SIGNED_ZEROS)


TERM_RULES = (as_written, terms, float_terms)


def _moved(stmt: Stmt, here: Here, arranged: tuple[Kind, ...]) -> Iterator[Stmt]:
    for nest, rebuilt in roots(stmt, here):
        if isinstance(nest, For) or (isinstance(stmt, Block) and any(isinstance(s, For) for s in walk(nest))):
            moved = _Mover(Names.of(nest, here), arranged).whole(nest, here)
            new = without_aliases(shared(moved, here))
            if new != nest:
                yield rebuilt(new)


class _Frame(Struct):
    """The body of a loop or binding, or the whole statement: what is computed at its start, by name."""

    var: Var | None
    is_loop: bool
    here: Here
    body: Stmt
    bound: dict[Expr, Var] = field(default_factory=lambda: dict[Expr, Var]())
    values: list[tuple[Var, Expr]] = field(default_factory=lambda: list[tuple[Var, Expr]]())


class _Mover(Struct):
    names: Names
    kinds: tuple[Kind, ...]  # whose sums and products may be rearranged
    frames: list[_Frame] = field(default_factory=lambda: list[_Frame]())
    forms: dict[Expr, Expr] = field(default_factory=lambda: dict[Expr, Expr]())  # in one place

    def whole(self, stmt: Stmt, here: Here) -> Stmt:
        """A statement with all that can be computed further out computed there."""
        return self._framed(None, stmt, here, is_loop=False)

    def _framed(self, var: Var | None, body: Stmt, here: Here | None, *, is_loop: bool) -> Stmt:
        """The body of a loop or binding; one that never runs stays as it is."""
        if here is None:
            return body
        frame = _Frame(var, is_loop, here, body)
        self.frames.append(frame)
        new = self._visit(body, here)
        self.frames.pop()
        return reduce(lambda rest, pair: Let(*pair, rest), reversed(frame.values), new)

    def _visit(self, stmt: Stmt, here: Here) -> Stmt:
        def move(expr: Expr) -> Expr:
            self.forms.clear()
            return self._move(self._arranged(expr, here), len(self.frames) - 1)

        match stmt:
            case Store(indices=indices, value=value):
                return replace(stmt, indices=tuple(map(move, indices)), value=move(value))
            case Evaluate(value=value):
                return replace(stmt, value=move(value))
            case For(var=var, start=start, extent=extent, body=body):
                new = self._framed(var, body, inside(stmt, here), is_loop=True)
                return replace(stmt, start=move(start), extent=move(extent), body=new)
            case Let(var=var, value=value, body=body):
                moved = move(value)
                return replace(stmt, value=moved, body=self._framed(var, body, inside(stmt, here), is_loop=False))
            case If(cond=cond, then=yes, other=no):
                arms = ((yes, under(cond, here, truth=True)), (no, under(cond, here, truth=False)))
                new_arms = [arm if place is None else self._visit(arm, place) for arm, place in arms]
                return replace(stmt, cond=move(cond), then=new_arms[0], other=new_arms[1])
            case Seq():
                return self._sequence(list(flat(stmt)), here)
            case Alloc(body=body) | Block(body=body):
                return replace(stmt, body=self._visit(body, here))
            case _:
                return stmt

    def _sequence(self, parts: list[Stmt], here: Here) -> Stmt:
        done: list[Stmt] = []
        place: Here | None = here
        for k, part in enumerate(parts):
            if place is None:
                return seq(*done, *parts[k:])
            done.append(self._visit(part, place))
            place = following(part, place)
        return seq(*done)

    # Where to compute -------------------------------------------------------------------------------------------------

    def _level(self, expr: Expr) -> int:
        """The outermost frame in which an expression can be computed; the innermost if it reads a buffer."""
        last = len(self.frames) - 1
        if not is_fixed(expr):
            return last
        names = {v.name for v in free_vars(expr)}
        return next((k for k in range(last, 0, -1) if _name(self.frames[k].var) in names), 0)

    def _move(self, expr: Expr, at: int) -> Expr:
        """An expression computed in frame `at`, with names for its parts that are computed further out."""
        if is_work(expr) and is_fixed(expr):
            level = self._level(expr)
            frame = self.frames[level]
            known = frame.bound.get(expr)
            if known is not None:
                return known
            if any(f.is_loop for f in self.frames[level + 1 : at + 1]) and may_bind(expr, frame.body, frame.here):
                return self._bind(expr, level)
        return with_children(expr, tuple(self._move(c, at) for c in children(expr)))

    def _bind(self, expr: Expr, level: int) -> Var:
        frame = self.frames[level]
        value = with_children(expr, tuple(self._move(c, level) for c in children(expr)))
        var = self.names.new("term", expr.dtype, "" if frame.var is None else frame.var.name)
        frame.bound[expr] = var
        frame.values.append((var, value))
        return var

    # In which order ---------------------------------------------------------------------------------------------------

    def _arranged(self, expr: Expr, here: Here) -> Expr:
        """An expression with its sums and products in the order in which loops provide their operands."""
        if not self._may_arrange(expr):
            return with_children(expr, tuple(self._arranged(c, here) for c in children(expr)))
        if expr not in self.forms:
            forms = [self._kept(expr, here)]
            for expand in (False, True):
                form = self._sum(expr, here, expand=expand)
                if not form.dtype.is_signed or here.decided(form):  # nothing else can leave its range
                    forms.append(form)
            self.forms[expr] = min(forms, key=self._operations)
        return self.forms[expr]

    def _may_arrange(self, expr: Expr) -> bool:
        match expr:
            case Binary(op="add" | "sub" | "mul", dtype=dtype):
                return dtype.kind in self.kinds and (dtype.is_float or is_fixed(expr))
            case _:
                return False

    def _kept(self, expr: Expr, here: Here) -> Expr:
        """A sum in its own order, what is not a sum or product in it arranged."""
        if not self._may_arrange(expr):
            return self._arranged(expr, here)
        return with_children(expr, tuple(self._kept(c, here) for c in children(expr)))

    def _operations(self, expr: Expr) -> tuple[int, ...]:
        """How many operations are done in each loop, the innermost first."""
        counts = [0] * len(self.frames)
        for part in walk_expr(expr):
            if is_work(part):
                counts[self._level(part)] += 1
        return tuple(reversed(counts))

    def _sum(self, expr: Expr, here: Here, *, expand: bool) -> Expr:
        found = [
            (sign, self._product(self._factors(term, here)))
            for sign, term in signed_terms(expr, positive=True, expand=expand)
        ]
        constants = [(sign, t) for sign, t in found if isinstance(t, Const)]
        rest = [(sign, t) for sign, t in found if not isinstance(t, Const)]
        # within a level what is added comes first, since a sum cannot begin with what is subtracted
        rest.sort(key=lambda pair: (self._level(pair[1]), not pair[0]))
        total = _constant_sum(constants, expr.dtype)
        if total is None:
            return expr
        if not rest:
            return total
        if total.value == 0:
            return _signed_sum(rest)
        lowest = [pair for pair in rest if self._level(pair[1]) == self._level(rest[0][1])]
        return _signed_sum([*lowest, (True, total), *rest[len(lowest) :]])

    def _factors(self, term: Expr, here: Here) -> list[Expr]:
        match term:
            case Binary(op="mul", lhs=a, rhs=b):
                return [*self._factors(a, here), *self._factors(b, here)]
            case _:
                return [self._arranged(term, here)]

    def _product(self, factors: Sequence[Expr]) -> Expr:
        # what reads a buffer comes last: it may be undef, and the more is known to be zero before it, the better
        factors = sorted(factors, key=lambda e: (not is_fixed(e), self._level(e)))
        whole = factors[0]
        for previous, factor in pairwise(factors):
            folded = _folded(whole, factor)
            if folded is not None:
                whole = folded
            elif self._level(factor) > self._level(previous):
                whole = Binary("mul", factor, whole)
            else:
                whole = Binary("mul", whole, factor)
        return whole


def _name(var: Var | None) -> str | None:
    return None if var is None else var.name


def signed_terms(expr: Expr, *, positive: bool = True, expand: bool = False) -> Iterator[tuple[bool, Expr]]:
    """The terms of a sum, with whether each is added; with `expand` products of sums are written out."""
    match expr:
        case Binary(op="add" | "sub" as op, lhs=a, rhs=b):
            yield from signed_terms(a, positive=positive, expand=expand)
            yield from signed_terms(b, positive=positive == (op == "add"), expand=expand)
        case Unary(op="neg", operand=a):
            yield from signed_terms(a, positive=not positive, expand=expand)
        case Binary(op="mul", lhs=a, rhs=b) if expand and expr.dtype.is_integer:
            left = list(signed_terms(a, positive=True, expand=True))
            right = list(signed_terms(b, positive=True, expand=True))
            if len(left) * len(right) > _MAX_TERMS:
                yield positive, expr
                return
            for (one, x), (other, y) in product(left, right):
                yield positive == (one == other), Binary("mul", x, y)
        case _:
            yield positive, expr


def _signed_sum(found: Sequence[tuple[bool, Expr]]) -> Expr:
    """A sum of terms in this order; terms that are subtracted before any is added are subtracted from that one."""
    (positive, whole), *rest = found
    for plus, term in rest:
        if positive:
            whole = Binary("add" if plus else "sub", whole, term)
        elif plus:
            whole, positive = Binary("sub", term, whole), True
        else:
            whole = Binary("add", whole, term)
    return whole if positive else Unary("neg", whole)


def _constant_sum(found: Sequence[tuple[bool, Expr]], dtype: DType) -> Const | None:
    """The sum of constants; None if it leaves the dtype, or is one of several floats, which round."""
    values = [t.value if plus else -t.value for plus, t in found if isinstance(t, Const)]
    if dtype.is_float and len(values) > 1:
        return None
    try:
        total = sum(values) if dtype.is_float else in_range(int(sum(values)), dtype)
    except ArithmeticFault:
        return None
    return const(total, dtype)


def _folded(a: Expr, b: Expr) -> Const | None:
    """The product of two integer constants, if it is in range."""
    if not isinstance(a, Const) or not isinstance(b, Const) or a.dtype.is_float:
        return None
    try:
        return const(in_range(int(a.value) * int(b.value), a.dtype), a.dtype)
    except ArithmeticFault:
        return None
