"""Loops over steps that solve a triangular system: `X[t] -= M[t, k] * X[k]` for all k before t, then `X[t] /= M[t, t]`.

Found in loops that are scheduled already, so it does not matter how the program wrote them: by rows or columns,
forward or backward, with one right-hand side or many. That a step reads just the steps before it, and that nothing of
the matrix changes on the way, is shown by isl. Only the triangle is read, as the library's routine promises too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from ir.analysis.dependence import Loop, Statement, may_meet
from ir.dtypes import DType
from ir.nodes import Binary, Buffer, Expr, Load, Unary, Var
from ir.presburger import sets as presburger
from ir.traverse import free_vars, reads, substitute_expr
from lower.analysis.freedoms import ORDER, Form
from lower.analysis.linear_forms import atom, linear, to_expr
from lower.array.values import Value, ordered
from lower.array.views import Axis
from lower.nest.nodes import ArrayStatement, SequentialLoop, Solve
from lower.program.build import Arg, call, method, subscript
from lower.program.nodes import Attribute, JaxExpr
from lower.storage.array_expansion import depends_on

SYSTEMS = Form(
    "instructions.triangular_solve",
    "for t: X[t] = (X[t] - sum of M[t, k] * X[k] over k < t) / M[t, t]  =  solve_triangular(M, X)",
    "the solution of a triangular system is unique",
    ORDER,
)

_DTYPES = (DType.FLOAT32, DType.FLOAT64)


def solve(node: SequentialLoop, depth: Mapping[Buffer, int]) -> ArrayStatement | None:
    """One statement for a loop over steps that solves a triangular system; None if it does not.

    `depth` is that of `Program`: a matrix of which there is a copy for each right-hand side is no matrix.
    """
    if len(node.body) > 2 or not all(isinstance(n, ArrayStatement) and n.scan is None for n in node.body):
        return None
    update, *scale = (n for n in node.body if isinstance(n, ArrayStatement))
    return presburger.within_budget(lambda: _solve(node.loop, update, scale[0] if scale else None, depth), None)


def _solve(
    loop: Loop, update: ArrayStatement, scale: ArrayStatement | None, depth: Mapping[Buffer, int]
) -> ArrayStatement | None:
    s = update.statement
    t, place = loop.var, s.store.indices
    product = _subtracted(s)
    if product is None or s.buffer.dtype not in _DTYPES:
        return None
    for matrix, other in (product, product[::-1]):
        if other.buffer != s.buffer or len(other.indices) != len(place):
            continue
        k = _index_of(place, other, t, update.axes)
        names = depends_on(matrix, s.loops, depth)
        if k is None or names & _vars(update.axes, k) or not names >= {t, k[0].var}:
            continue  # no matrix: more axes, or the same in all rows or columns
        rest = tuple(a for a in update.axes if a is not k[0])
        outer = tuple(g for g in s.guards if not depends_on(g, s.loops, depth) & {t, k[0].var})
        if reads(s.buffer, *outer):
            return None
        whole = replace(s, loops=(*(o for o in s.loops if o not in update.axes), *rest), guards=outer)
        earlier = (Binary("ge", k[1], loop.start), Binary("lt", k[1], t))
        triangle = replace(whole, loops=(*whole.loops, k[0]), guards=(*outer, *earlier))
        around = [o for o in whole.loops if o is not loop and o not in rest]
        changed = matrix.buffer == s.buffer and may_meet(s, s, matrix, around)
        if changed or not _same_domain(s, triangle, outer):
            return None
        if scale is not None and not _divides(scale, whole, _column(matrix, k, t)):
            return None
        found = Solve(loop, _column(matrix, k, k[0].var), k[0].var, _direction(place, t) < 0, unit=scale is None)
        loops = (*around, loop, *rest)
        return ArrayStatement(replace(whole, loops=loops, update=None), (loop, *rest), found)
    return None


def _same_domain(a: Statement, b: Statement, outer: Sequence[Expr]) -> bool:
    """Whether two statements run for the same iterations; both have the guards `outer`."""
    exact = all(presburger.condition(g).exact for s in (a, b) for g in s.guards if g not in outer)
    return exact and bool(a.domain.is_equal(b.domain))


def _divides(scale: ArrayStatement, whole: Statement, diagonal: Load) -> bool:
    """Whether a statement divides what a step has stored by an element of the matrix, for all that are stored."""
    d = scale.statement
    names: dict[Var, Var] = {}
    for mine, theirs in zip(whole.store.indices, d.store.indices, strict=False):
        mine_axes, their_axes = (
            [o.var for o in s.loops if o.var in free_vars(e)] for s, e in ((whole, mine), (d, theirs))
        )
        if len(mine_axes) == len(their_axes) == 1:
            names[their_axes[0]] = mine_axes[0]
    if d.buffer != whole.buffer or len(set(names.values())) != len(names) or d.update is not None:
        return False

    def new(e: Expr) -> Expr:
        return substitute_expr(e, names)

    loops = tuple(replace(o, var=names.get(o.var, o.var)) for o in d.loops)
    renamed = replace(d, loops=loops, guards=tuple(map(new, d.guards)))
    own = Load(whole.buffer, whole.store.indices)
    place = Load(d.buffer, tuple(map(new, d.store.indices)))
    match d.store.value:
        case Binary(op="div", lhs=Load() as value, rhs=Load() as divisor):
            parts = (place, own), (_renamed(value, new), own), (_renamed(divisor, new), diagonal)
            return all(_same_place(a, b) for a, b in parts) and _same_domain(renamed, whole, whole.guards)
        case _:
            return False


def _renamed(load: Load, new: Callable[[Expr], Expr]) -> Load:
    return Load(load.buffer, tuple(map(new, load.indices)))


def _same_place(a: Load, b: Load) -> bool:
    return a.buffer == b.buffer and all(linear(x).equals(linear(y)) for x, y in zip(a.indices, b.indices, strict=True))


def _subtracted(s: Statement) -> tuple[Load, Load] | None:
    """The factors of a product of two loads that a statement takes away."""
    match s.update:
        case ("sub", Binary(op="mul", lhs=Load() as a, rhs=Load() as b)):
            return a, b
        case ("add", Unary(op="neg", operand=Binary(op="mul", lhs=Load() as a, rhs=Load() as b))):
            return a, b
        case _:
            return None


_Inner = tuple[Loop, Expr]  # a loop over earlier steps, and its step


def _vars(axes: Sequence[Loop], k: _Inner) -> set[Var]:
    return {a.var for a in axes if a is not k[0]}


def _index_of(place: Sequence[Expr], other: Load, t: Var, axes: Sequence[Loop]) -> _Inner | None:
    """The axis along which `other` reads what other steps store, and which step that is; None if it is no such load."""
    found: _Inner | None = None
    for mine, theirs in zip(place, other.indices, strict=True):
        a, b = linear(mine), linear(theirs)
        c = a.terms.get(t, 0)
        if not c:
            if t in free_vars(mine) or not a.equals(b):
                return None
            continue
        inner = [x for x in axes if x.var in b.terms]
        if found is not None or abs(c) != 1 or len(inner) != 1 or t in b.vars():
            return None
        step = (b - (a - atom(t) * c)) * c  # c * step + rest of mine = theirs
        if abs(step.terms.get(inner[0].var, 0)) != 1 or (a - atom(t) * c).vars() & {x.var for x in axes}:
            return None
        found = inner[0], to_expr(step, t)
    stored = free_vars(*place)
    return None if found is None or found[0].var in stored else found


def _direction(place: Sequence[Expr], t: Var) -> int:
    return next(c for i in place if (c := linear(i).terms.get(t, 0)))


def _when(k: _Inner, step: Expr) -> Mapping[Var, Expr]:
    """The value of the inner variable at which its step is `step`."""
    form = linear(k[1])
    c = form.terms[k[0].var]
    return {k[0].var: to_expr((linear(step) - (form - atom(k[0].var) * c)) * c, k[0].var)}


def _column(matrix: Load, k: _Inner, step: Var) -> Load:
    """The matrix with the column of a step."""
    values = _when(k, step)
    return Load(matrix.buffer, tuple(substitute_expr(i, values) for i in matrix.indices), matrix.span)


def triangular(
    matrix: JaxExpr,
    right: Value,
    row: Axis,
    transposed: bool,
    options: Mapping[str, Arg],
    extents: Callable[[Sequence[Axis]], Sequence[JaxExpr]],
) -> Value:
    """The solution of a triangular system for all columns of its right-hand side, whose rows are along `row`.

    LAPACK stores by columns, so that it reads transposed arrays as they lie: `matrix` is the transpose of one, which is
    that of the system or, if `transposed`, the transpose of that.
    """
    at = [a.var for a in right.axes].index(row.var)

    def solved(side: JaxExpr, left: bool) -> JaxExpr:
        turned: dict[str, Arg] = {"transpose_a": True} if transposed == left else {}
        return call("lax.linalg.triangular_solve", matrix, side, left_side=left, **turned, **options)

    if len(right.axes) == 1:
        return Value(subscript(solved(subscript(right.code, None), left=False), 0), right.axes)
    if len(right.axes) == 2:
        return Value(Attribute(solved(Attribute(right.code, "T"), left=at != 0), "T"), right.axes)
    last = ordered(right.code, right.axes, (*(a for a in right.axes if a is not row), row))
    rows = method(last.code, "reshape", -1, *extents((row,)))
    solution = method(solved(rows, left=False), "reshape", *extents(last.axes))
    return ordered(solution, last.axes, right.axes)
