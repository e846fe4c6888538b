"""Bridge from IR expressions to Presburger sets (islpy). Owns the translation; holds no facts about programs.

Program variables become named *parameters* of isl objects, buffer coordinates become set dimensions. A set without
dimensions ("params") is a condition over variables; a set with k dimensions is a region of a rank-k buffer that may
depend on variables. isl aligns parameters by name, so sets that mention different variables combine freely.

What is outside Presburger arithmetic is either named by the caller (`opaque`) or answered with bounds: every condition
has a `must` set, where it certainly holds, and a `may` set, where it possibly holds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, wraps
from typing import ParamSpec, Protocol, TypeVar, assert_never, cast

import islpy as isl
from msgspec import Struct

from ir.dtypes import DType
from ir.functions import inlined
from ir.nodes import AnyExpr, Binary, Call, Cast, Const, Expr, Load, Select, Unary, Undef, Var

P = ParamSpec("P")
T = TypeVar("T")
Opaque = Callable[[Expr], str | None]

# Enough for any question of a hand-written kernel (they need a few thousand); nests of min/max explode beyond it.
MAX_OPERATIONS = 200_000
# Enough for one region of a buffer, where a question is about many at once.
REGION_OPERATIONS = 20_000
# What most questions stay below. They are counted by whoever asks; more are found out and added up.
FEW_OPERATIONS = 1024

# Constraints and quotients of a set from which variables are eliminated.
_MANY = 40

# Runs of ones in a mask: each is two quotients.
_MAX_RUNS = 3

_PARAM = isl.dim_type.param
_SET = isl.dim_type.set


class _Use:
    """Who uses isl: one thread at a time, how deep its calls are nested, and the steps that questions have taken.

    isl keeps one count of operations for all threads. Contexts of their own would make them no faster, since islpy
    holds Python's interpreter lock in every call (1.8 s alone, 3.1 s for two), and objects of two contexts must never
    meet, but results of searches hold some.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.depth = 0
        self.steps = 0


_USE = _Use()
_REMEMBERED: list[Callable[[], None]] = []  # what forgets the answers of each function that remembers some


def remembered(function: Callable[P, T]) -> Callable[P, T]:
    """Remember what a function gives for equal arguments until the outermost call of an `exclusive` one begins."""
    known = lru_cache(maxsize=4096)(function)
    _REMEMBERED.append(known.cache_clear)
    return cast("Callable[P, T]", known)


def exclusive(function: Callable[P, T]) -> Callable[P, T]:
    """Let one thread at a time be inside of `function`, and of all others decorated so.

    What callers may call, and asks isl, is: then no other thread spends the steps of its questions. The outermost call
    forgets what earlier ones have translated, so that its answers do not depend on them.
    """

    @wraps(function)
    def alone(*args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = True  # pytest shows the line of the test
        with _USE.lock:
            if _USE.depth == 0:
                for forget_all in _REMEMBERED:
                    forget_all()
            _USE.depth += 1
            try:
                return function(*args, **kwargs)
            finally:
                _USE.depth -= 1

    return alone


def within_budget(question: Callable[[], T], otherwise: T, operations: int = MAX_OPERATIONS) -> T:
    """Answer `question`, or `otherwise` when isl needs more than `operations` steps. Questions may nest.

    Raises:
        isl.Error: isl refuses for another reason, which is a defect of the question.
    """
    with _USE.lock:
        context = isl.DEFAULT_CONTEXT
        if context.get_max_operations() != 0:
            return question()
        context.set_max_operations(operations)
        context.reset_operations()
        try:
            answer = question()
        except (isl.Error, TypeError, AttributeError):  # calls that give text give None in place of an error
            if not _used_up():
                raise
            return otherwise
        else:
            return otherwise if _used_up() else answer
        finally:
            _USE.steps += _taken(operations)
            context.set_max_operations(0)
            context.reset_operations()


def _used_up() -> bool:
    """Whether no step is left: then whatever fails does so for that, and an answer may rest on a None."""
    try:
        isl.Space.params_alloc(isl.DEFAULT_CONTEXT, 0)
    except isl.Error:  # there is nothing else to refuse
        return True
    return False


def _taken(most: int) -> int:
    """The steps of a question that could have `most`, rounded down; isl keeps its count to itself."""
    least, next_ = 0, FEW_OPERATIONS
    while next_ < most:
        isl.DEFAULT_CONTEXT.set_max_operations(next_)
        if not _used_up():
            break
        least, next_ = next_, 2 * next_
    return least


def steps() -> int:
    """The steps of isl that all questions have taken so far, roughly; it grows by those asked between two looks."""
    return _USE.steps


def always() -> isl.Set:
    """The params set that holds for all values of all variables."""
    return isl.Set.universe(isl.Space.params_alloc(isl.DEFAULT_CONTEXT, 0))


def never() -> isl.Set:
    """The params set that holds nowhere."""
    return isl.Set.empty(isl.Space.params_alloc(isl.DEFAULT_CONTEXT, 0))


def whole(rank: int) -> isl.Set:
    """All integer points of a rank."""
    return isl.Set.universe(isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, rank))


def nothing(rank: int) -> isl.Set:
    """The empty region of a rank."""
    return isl.Set.empty(isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, rank))


def one_index(region: isl.Set) -> tuple[int, int]:
    """The first dimension of a region in which all elements have one index, as far as that is plain to see, and which;
    dimension -1 if there is none."""
    for dimension in range(region.dim(_SET)):
        index = region.plain_get_val_if_fixed(_SET, dimension)
        if index.is_int():
            return dimension, index.to_python()
    return -1, 0


@remembered
def symbol(name: str) -> isl.PwAff:
    """The value of a variable."""
    space = isl.Space.params_alloc(isl.DEFAULT_CONTEXT, 1).set_dim_name(_PARAM, 0, name)
    return isl.PwAff.from_aff(isl.Aff.var_on_domain(isl.LocalSpace.from_space(space), _PARAM, 0))


def number(value: int) -> isl.PwAff:
    """A constant."""
    space = isl.LocalSpace.from_space(isl.Space.params_alloc(isl.DEFAULT_CONTEXT, 0))
    return isl.PwAff.from_aff(isl.Aff.val_on_domain(space, _number(value)))


def _number(value: int) -> isl.Val:
    if -(2**63) <= value < 2**63:
        return isl.Val.int_from_si(isl.DEFAULT_CONTEXT, value)
    return isl.Val.read_from_str(isl.DEFAULT_CONTEXT, str(value))


def within(value: isl.PwAff, dtype: DType) -> isl.Set:
    """Where a function has a value of an integer dtype."""
    return value.ge_set(number(dtype.min)).intersect(value.le_set(number(dtype.max)))


@remembered
def values_of(var: Var) -> isl.Set:
    """Where an integer variable is a value of its dtype."""
    return within(symbol(var.name), var.dtype)


def affine(expr: Expr, opaque: Opaque | None = None) -> isl.PwAff | None:
    """The quasi-affine function of an integer expression, or None where it is none.

    `opaque` may name subexpressions that are not affine; equal names stand for equal values. Signed arithmetic is exact
    (leaving the width is a fault); unsigned arithmetic may wrap, so it counts as affine only where it cannot.
    """
    result = _plain_affine(expr) if opaque is None else _affine(expr, opaque)
    if result is None and opaque is not None and expr.dtype.is_integer:
        name = opaque(expr)
        return None if name is None else symbol(name)
    return result


@remembered
def _plain_affine(expr: Expr) -> isl.PwAff | None:
    """`affine` without names for parts, remembered: the same few indices are asked about all the time."""
    return _affine(expr, None)


def _affine(expr: Expr, opaque: Opaque | None) -> isl.PwAff | None:
    match cast(AnyExpr, expr):
        case Const(value=int() as value) if expr.dtype.is_integer:
            return number(int(value))
        case Var(name=name) if expr.dtype.is_integer:
            return symbol(name)
        case Unary(op="neg", operand=a) if expr.dtype.is_signed:
            pa = affine(a, opaque)
            return None if pa is None else pa.neg()
        case Unary(op="bitnot", operand=a) if expr.dtype.is_integer:
            pa = affine(a, opaque)
            return None if pa is None else number(-1 if expr.dtype.is_signed else expr.dtype.max).sub(pa)
        case Unary(op="abs", operand=a) if expr.dtype.is_signed:
            pa = affine(a, opaque)
            return None if pa is None else pa.max(pa.neg())
        case Binary(op=op, lhs=a, rhs=b) if expr.dtype.is_integer:
            pa, pb = affine(a, opaque), affine(b, opaque)
            return None if pa is None or pb is None else _arith(op, pa, pb, expr.dtype)
        case Cast(dtype=dtype, operand=a) if dtype.is_integer:
            return _cast(a, dtype, opaque)
        case Select(cond=c, then=a, other=b) if expr.dtype.is_integer:
            pa, pb, pc = affine(a, opaque), affine(b, opaque), condition(c, opaque)
            if pa is None or pb is None or not pc.exact:
                return None
            return pa.intersect_domain(pc.must).union_add(pb.intersect_domain(pc.must.complement()))
        case Call() as call:
            return affine(inlined(call), opaque)
        case Const() | Var() | Load() | Unary() | Binary() | Cast() | Select() | Undef():
            return None
        case other:
            assert_never(other)


def _arith(op: str, pa: isl.PwAff, pb: isl.PwAff, dtype: DType) -> isl.PwAff | None:
    match op:
        case "min":
            return pa.min(pb)
        case "max":
            return pa.max(pb)
        case "floordiv" | "floormod" | "truncdiv" | "truncmod":
            return _divide(op, pa, pb)
        case "add" | "sub" | "mul":
            if op == "mul" and not (pa.is_cst() or pb.is_cst()):
                return None
            result = pa.add(pb) if op == "add" else pa.sub(pb) if op == "sub" else pa.mul(pb)
            return result if dtype.is_signed else None
        case "bitand" | "bitor" | "bitxor":
            return _bits(op, pa, pb)
        case "shl" | "shr":
            return _shifted(op, pa, constant_value(pb), dtype)
        case _:
            return None


def _bits(op: str, pa: isl.PwAff, pb: isl.PwAff) -> isl.PwAff | None:
    """Bit operations with a number: `a | m = a + m - (a & m)`, and `a ^ m = a + m - 2 * (a & m)`."""
    if constant_value(pb) is None:
        pa, pb = pb, pa
    mask = constant_value(pb)
    common = None if mask is None else _masked(pa, mask)
    if common is None or op == "bitand":
        return common
    return pa.add(pb).sub(common if op == "bitor" else common.scale_val(_number(2)))


def _masked(pa: isl.PwAff, mask: int) -> isl.PwAff | None:
    """`a & mask` in two's complement, a sum over runs of ones; a negative mask leaves what its complement takes."""
    if mask < 0:
        taken = _masked(pa, -mask - 1)
        return None if taken is None else pa.sub(taken)
    total, runs, bit = number(0), 0, 0
    while mask >> bit:
        bit += (mask >> bit & -(mask >> bit)).bit_length() - 1
        ones = ((mask >> bit) + 1 & -((mask >> bit) + 1)).bit_length() - 1
        part = _remainder(pa.scale_down_val(_number(1 << bit)).floor(), 1 << ones)
        total = total.add(part.scale_val(_number(1 << bit)))
        runs, bit = runs + 1, bit + ones
        if runs > _MAX_RUNS:
            return None
    return total


def _remainder(pa: isl.PwAff, divisor: int) -> isl.PwAff:
    return pa.sub(_quotient("floordiv", pa, divisor).scale_val(_number(divisor)))


def _shifted(op: str, pa: isl.PwAff, by: int | None, dtype: DType) -> isl.PwAff | None:
    """A shift by a number, which is a fault outside of the width."""
    if by is None or not 0 <= by < dtype.bits:
        return None
    if op == "shr":
        return pa.scale_down_val(_number(1 << by)).floor()
    return pa.scale_val(_number(1 << by)) if dtype.is_signed else None


def _divide(op: str, pa: isl.PwAff, pb: isl.PwAff) -> isl.PwAff | None:
    divisor = constant_value(pb)
    if divisor is None or divisor == 0:
        return None
    # a // -c == (-a) // c, and the truncating quotient is odd in the divisor too
    quotient = _quotient(op, pa.neg(), -divisor) if divisor < 0 else _quotient(op, pa, divisor)
    return quotient if op in ("floordiv", "truncdiv") else pa.sub(quotient.mul(number(divisor)))


def _quotient(op: str, pa: isl.PwAff, divisor: int) -> isl.PwAff:
    scale = _number(divisor)
    if op.startswith("floor"):
        return pa.scale_down_val(scale).floor()
    return pa.tdiv_q(number(divisor))


def _cast(operand: Expr, dtype: DType, opaque: Opaque | None) -> isl.PwAff | None:
    source = operand.dtype
    if source is DType.BOOL:
        cond = condition(operand, opaque)
        if not cond.exact:
            return None
        one = number(1).intersect_domain(cond.must)
        return one.union_add(number(0).intersect_domain(cond.must.complement()))
    if source.is_integer and dtype.min <= source.min and source.max <= dtype.max:
        return affine(operand, opaque)
    return None  # narrowing wraps


def constant_value(pa: isl.PwAff) -> int | None:
    """The number that a function always is, if it is one constant on one piece."""
    if not pa.is_cst() or pa.n_piece() != 1:
        return None
    value = pa.get_pieces()[0][1].get_constant_val()
    return value.to_python() if value.is_int() else None


class Condition(Struct, frozen=True):
    """Where a boolean expression certainly (`must`) and possibly (`may`) holds, as params sets."""

    must: isl.Set
    may: isl.Set

    @property
    def exact(self) -> bool:
        """Whether nothing was lost in translation."""
        return self.must is self.may or self.must.is_equal(self.may)

    def negated(self) -> Condition:
        never_holds = self.may.complement()
        return Condition(never_holds, never_holds if self.must is self.may else self.must.complement())

    def both(self, other: Condition) -> Condition:
        must = self.must.intersect(other.must)
        known = self.must is self.may and other.must is other.may
        return Condition(must, must if known else self.may.intersect(other.may))

    def either(self, other: Condition) -> Condition:
        must = self.must.union(other.must)
        known = self.must is self.may and other.must is other.may
        return Condition(must, must if known else self.may.union(other.may))


def unknown() -> Condition:
    """A condition about which nothing can be said."""
    return Condition(never(), always())


def condition(expr: Expr, opaque: Opaque | None = None) -> Condition:
    """Translate a boolean expression; what is not quasi-affine widens the gap between `must` and `may`."""
    return _plain_condition(expr) if opaque is None else _condition(expr, opaque)


@remembered
def _plain_condition(expr: Expr) -> Condition:
    return _condition(expr, None)


def _condition(expr: Expr, opaque: Opaque | None) -> Condition:
    match cast(AnyExpr, expr):
        case Const(value=value):
            truth = always() if value else never()
            return Condition(truth, truth)
        case Unary(op="not", operand=a):
            return condition(a, opaque).negated()
        case Binary(op="and", lhs=a, rhs=b):
            return condition(a, opaque).both(condition(b, opaque))
        case Binary(op="or", lhs=a, rhs=b):
            return condition(a, opaque).either(condition(b, opaque))
        case Binary(op="eq" | "ne" as op, lhs=a, rhs=b) if a.dtype is DType.BOOL:
            return _same_truth(op, condition(a, opaque), condition(b, opaque))
        case Binary(op="eq" | "ne" | "lt" | "le" | "gt" | "ge" as op, lhs=a, rhs=b) if a.dtype.is_integer:
            pa, pb = affine(a, opaque), affine(b, opaque)
            if pa is not None and pb is not None:
                return _compare(op, pa, pb)
        case Select(cond=c, then=a, other=b):
            cc, ca, cb = (condition(e, opaque) for e in (c, a, b))
            no = cc.negated()
            return Condition(
                cc.must.intersect(ca.must).union(no.must.intersect(cb.must)),
                cc.may.intersect(ca.may).union(no.may.intersect(cb.may)),
            )
        case Call() as call:
            return condition(inlined(call), opaque)
        case Var(name=name):
            return _named(name)
        case _:
            pass
    name = opaque(expr) if opaque is not None else None
    if name is None:
        return unknown()
    return _named(name)


def _named(name: str) -> Condition:
    """A truth by a name: one where that is positive, so that neither it nor its negation falls into pieces."""
    truth = symbol(name).ge_set(number(1))
    return Condition(truth, truth)


def _same_truth(op: str, ca: Condition, cb: Condition) -> Condition:
    na, nb = ca.negated(), cb.negated()
    same = Condition(
        ca.must.intersect(cb.must).union(na.must.intersect(nb.must)),
        ca.may.intersect(cb.may).union(na.may.intersect(nb.may)),
    )
    return same if op == "eq" else same.negated()


def _compare(op: str, pa: isl.PwAff, pb: isl.PwAff) -> Condition:
    holds: isl.Set
    match op:
        case "eq":
            holds = pa.eq_set(pb)
        case "ne":
            holds = pa.ne_set(pb)
        case "lt":
            holds = pa.lt_set(pb)
        case "le":
            holds = pa.le_set(pb)
        case "gt":
            holds = pa.gt_set(pb)
        case _:
            holds = pa.ge_set(pb)
    return Condition(holds, holds)


def loop_domain(var: Var, start: Expr, extent: Expr, opaque: Opaque | None = None) -> Condition:
    """Values of a loop variable: `start <= var < start + extent`. Unknown bounds widen `may` only."""
    return _plain_loop_domain(var, start, extent) if opaque is None else _loop_domain(var, start, extent, opaque)


@remembered
def _plain_loop_domain(var: Var, start: Expr, extent: Expr) -> Condition:
    return _loop_domain(var, start, extent, None)


def _loop_domain(var: Var, start: Expr, extent: Expr, opaque: Opaque | None) -> Condition:
    first, count = affine(start, opaque), affine(extent, opaque)
    low = unknown() if first is None else _compare("ge", symbol(var.name), first)
    # the sum is taken here, not as an expression, since that of unsigned bounds might wrap
    high = unknown() if first is None or count is None else _compare("lt", symbol(var.name), first.add(count))
    return low.both(high)


class HasRange(Protocol):
    """A loop, whichever node it is."""

    @property
    def var(self) -> Var: ...
    @property
    def start(self) -> Expr: ...
    @property
    def extent(self) -> Expr: ...


def within_loops(known: isl.Set, loops: Iterable[HasRange]) -> isl.Set:
    """The values that variables may have in loops within which others have those that are `known`."""
    for loop in loops:
        known = known.intersect(loop_domain(loop.var, loop.start, loop.extent).may)
    return known


def point(indices: Iterable[Expr], opaque: Opaque | None = None) -> isl.Set | None:
    """The one-point region `{[i0, i1, ...]}`, or None when an index is not quasi-affine."""
    return _plain_region(_point, tuple(indices)) if opaque is None else _point(indices, opaque)


@remembered
def _plain_region(of: Callable[[Iterable[Expr], Opaque | None], T], exprs: tuple[Expr, ...]) -> T:
    return of(exprs, None)


def _point(indices: Iterable[Expr], opaque: Opaque | None) -> isl.Set | None:
    region = whole(0)
    for index in indices:
        pa = affine(index, opaque)
        if pa is None:
            return None
        region = region.flat_product(isl.Set.from_pw_aff(pa))
    return region


def box(shape: Iterable[Expr], opaque: Opaque | None = None) -> isl.Set:
    """`{[o0, ...] : 0 <= ok < shape[k]}`; an axis whose extent is not quasi-affine is only bounded below."""
    return _plain_region(_box, tuple(shape)) if opaque is None else _box(shape, opaque)


def _box(shape: Iterable[Expr], opaque: Opaque | None) -> isl.Set:
    region = whole(0)
    for extent in shape:
        axis, pa = isl.Set.read_from_str(isl.DEFAULT_CONTEXT, "{ [o] : o >= 0 }"), affine(extent, opaque)
        region = region.flat_product(axis if pa is None else axis.intersect(_less_than(pa)))
    return region


def _less_than(pa: isl.PwAff) -> isl.Set:
    """`{[o] : o < pa}`."""
    relation = isl.Map.lex_lt(isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, 1))
    return isl.Set.from_pw_aff(pa).apply(relation.reverse())


def all_along(region: isl.Set, axis: int) -> isl.Set:
    """The places that differ from some place of a region along one dimension at most."""
    return region.project_out(_SET, axis, 1).insert_dims(_SET, axis, 1)


def up_to(region: isl.Set, name: str) -> isl.Set:
    """Where a variable is no greater than it may be in a region that is like the place but for it."""
    greater = rename(region, {name: "greater"})
    return forget(greater.intersect(symbol(name).le_set(symbol("greater"))), ("greater",))


def pinned(domain: isl.Set) -> dict[str, int]:
    """The parameters that have one value in all of a params set, and which."""
    hull, param = isl.Set.from_basic_set(domain.affine_hull()), isl.dim_type.param
    values = ((str(hull.get_dim_name(param, k)), hull.plain_get_val_if_fixed(param, k)) for k in range(hull.dim(param)))
    return {name: value.to_python() for name, value in values if value.is_int()}


def line(region: isl.Set, name: str) -> isl.Set | None:
    """The values of one parameter of a params set, as a set of rank one; None if nothing is said of it."""
    position = region.find_dim_by_name(_PARAM, name)
    if position < 0:
        return None
    return isl.Set.from_params(region).move_dims(isl.dim_type.set, 0, _PARAM, position, 1)


def forget(region: isl.Set, names: Iterable[str]) -> isl.Set:
    """Project out variables: the union over all their values."""
    for name in sorted(names):  # in an order that is the same in every run
        position = region.find_dim_by_name(_PARAM, name)
        if position >= 0:
            region = region.project_out(_PARAM, position, 1)
    return region


def without(region: isl.Set, names: Iterable[str]) -> isl.Set:
    """A params set around another that says nothing of some variables.

    It projects them out where little is said, and else drops what mentions them: isl does not count the steps of the
    linear programs that elimination takes (over a minute for 60 remainders, within any budget).
    """
    gone = sorted(n for n in names if region.find_dim_by_name(_PARAM, n) >= 0)
    if gone and sum(b.n_constraint() + 2 * b.dim(isl.dim_type.div) for b in region.get_basic_sets()) > _MANY:
        for name in gone:
            region = region.drop_constraints_involving_dims(_PARAM, region.find_dim_by_name(_PARAM, name), 1)
    return forget(region, gone)


def only(region: isl.Set, name: str) -> isl.Set:
    """What a params set says of one variable."""
    return forget(region, variables(region) - {name})


def hull(region: isl.Set) -> isl.Set:
    """A region of one piece around another: what all pieces say, and the hull of what they say of bounds.

    With quotients, isl's own hull takes seconds.
    """
    if region.n_basic_set() <= 1:
        return region
    common, bounds = region.plain_unshifted_simple_hull(), region.remove_divs().simple_hull()
    return isl.Set.from_basic_set(common.intersect(bounds))


def extremes(region: isl.Set, name: str) -> tuple[int, int] | None:
    """The least and the greatest value of a variable in a region that bounds it; None where the region is empty."""
    line = only(region, name)
    if line.is_empty():
        return None
    line = line.move_dims(_SET, 0, _PARAM, line.find_dim_by_name(_PARAM, name), 1)
    return int(line.dim_min_val(0).to_python()), int(line.dim_max_val(0).to_python())


def bounds(line: isl.Set) -> tuple[int | None, int | None]:
    """The least and the greatest value of the one variable of a params set; None where it has none."""
    if line.dim(_PARAM) != 1 or line.is_empty():
        return None, None
    line = line.move_dims(_SET, 0, _PARAM, 0, 1)
    low, high = line.dim_min_val(0), line.dim_max_val(0)
    return (int(low.to_python()) if low.is_int() else None), (int(high.to_python()) if high.is_int() else None)


def needed(bounds: Sequence[isl.PwAff], where: isl.Set, *, upper: bool) -> list[isl.PwAff]:
    """Bounds without those that another implies everywhere."""
    kept = list(bounds)
    for bound in bounds:
        others = [b for b in kept if b is not bound]
        if any(where.is_subset(b.le_set(bound) if upper else b.ge_set(bound)) for b in others):
            kept = others
    return kept


def rename(region: isl.Set, names: Mapping[str, str]) -> isl.Set:
    """Rename variables; the new names must not occur in the set yet."""
    for old, new in names.items():
        position = region.find_dim_by_name(_PARAM, old)
        if position >= 0:
            region = region.set_dim_name(_PARAM, position, new)
    return region


def dimensions(region: isl.Set) -> list[str]:
    """Names of the variables that a set has, whether it says something of them or not."""
    return [str(region.get_dim_name(_PARAM, k)) for k in range(region.dim(_PARAM))]


def variables(region: isl.Set) -> set[str]:
    """Names of the variables that a set mentions."""
    return {name for k, name in enumerate(dimensions(region)) if region.involves_dims(_PARAM, k, 1)}


def depends(region: isl.Set, name: str) -> bool:
    """Whether a set mentions a variable."""
    position = region.find_dim_by_name(_PARAM, name)
    return position >= 0 and bool(region.involves_dims(_PARAM, position, 1))


def in_order(pairs: Iterable[tuple[isl.PwAff, isl.PwAff]], outer: int = 0) -> tuple[isl.Set, isl.Set]:
    """Where the first numbers of pairs come before the second ones, by the first two that differ, of which the `outer`
    ones do not; and where all are the same."""
    before, same = never(), always()
    for k, (x, y) in enumerate(pairs):
        if k >= outer:
            before = before.union(same.intersect(x.lt_set(y)))
        same = same.intersect(x.eq_set(y))
    return before, same


def sample(region: isl.Set) -> tuple[dict[str, int], tuple[int, ...]] | None:
    """One member: values of the variables, and the coordinates; None when the set is empty."""
    if region.is_empty():
        return None
    picked = region.sample_point()
    names = {
        str(picked.get_space().get_dim_name(_PARAM, k)): int(picked.get_coordinate_val(_PARAM, k).to_python())
        for k in range(picked.get_space().dim(_PARAM))
    }
    rank = picked.get_space().dim(_SET)
    return names, tuple(int(picked.get_coordinate_val(_SET, k).to_python()) for k in range(rank))
