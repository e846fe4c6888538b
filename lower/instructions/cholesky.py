"""Plan nodes for a Cholesky factorization by the target's library, with the loops where that gives up.

For a matrix that is not positive definite the library gives NaN everywhere, the loops only from the bad step on. So the
diagonal of the factor is looked at: an element that is not finite makes the sum of its row's diagonal not finite, and
numbers there mean numbers everywhere. Otherwise the loops run.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.dependence import Loop, Statement
from ir.dtypes import DType, float_max
from ir.nodes import Binary, Buffer, Const, Expr, Load, Select, Store, Unary, Var
from lower.analysis.freedoms import ORDER, Form
from lower.instructions.cholesky_recognition import Factorization
from lower.nest.nodes import ArrayStatement, Box, Factor, Fresh, Node, Versions, array_over, loop_over

FACTORS = Form(
    "instructions.cholesky",
    "a loop that takes roots on the diagonal of A  =  cholesky(A), and the loop where that fails",
    "the factor with a positive diagonal is unique",
    ORDER,
)

CHOLESKY = '''
@jax.custom_jvp
def cholesky_factor(a):
    """L with L L' = a, of whose lower triangle alone it depends."""
    return lax.linalg.cholesky(a, symmetrize_input=False)


@cholesky_factor.defjvp
def cholesky_factor_jvp(primals, tangents):
    whole = [jnp.tril(x) + jnp.tril(x, -1).mT for x in (*primals, *tangents)]
    return jax.jvp(lambda a: lax.linalg.cholesky(a, symmetrize_input=False), whole[:1], whole[1:])
'''


class Factored(Struct, frozen=True):
    """`before`, one of two versions follows; `arrays` are the locals that this takes."""

    before: tuple[Node, ...]
    fast: tuple[Node, ...]
    test: Expr
    arrays: tuple[Buffer, ...]

    def nodes(self, exact: Sequence[Node]) -> tuple[Node, ...]:
        reason = "a Cholesky factorization by the library fails as a whole where a pivot is not positive"
        return (*self.before, Versions(self.test, self.fast, tuple(exact), reason))


def factored(
    found: Factorization,
    around: Sequence[Loop],
    pending: frozenset[Loop],
    boxes: dict[Loop, Box],
    new: Fresh,
) -> Factored | None:
    """A factorization inside of loops, of which those that are `pending` become axes; None if those are no boxes."""
    outer = [o for o in around if o in pending]
    if any(o not in boxes or not boxes[o].exact for o in outer):
        return None
    box, dtype = boxes[found.loop], found.target.dtype
    row, column = (loop_over(Var(new.name(n), found.loop.var.dtype), box, boxes) for n in ("row", "column"))

    def over(*inner: Loop) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
        return array_over((*outer, *inner), [boxes[o] for o in (*outer, *inner)])

    sizes, _ = over(row, column)
    factor = Buffer(new.name(f"{found.target.name}_factor"), sizes, dtype, "local")
    definite = Buffer(new.name("definite"), (), DType.BOOL, "local")

    def element(r: Loop, c: Loop) -> Load:
        return Load(factor, over(r, c)[1])

    def node(store: Store, *axes: Loop, scan: Factor | None = None) -> ArrayStatement:
        batch = outer if axes else []
        loops = (*(o for o in around if o not in pending or o in batch), *axes)
        return ArrayStatement(Statement(new.position(), loops, (), store), (*batch, *axes), scan)

    square = found.source(row.var, column.var)
    work = node(Store(factor, element(row, column).indices, square), row, column, scan=Factor(row, column))
    numbers = Binary("le", Unary("abs", element(row, row)), Const(float_max(dtype), dtype))
    start = node(Store(definite, (), Const(True, DType.BOOL)))
    test = node(Store(definite, (), Binary("and", Load(definite, ()), numbers)), row)
    test = replace(test, statement=replace(test.statement, update=("and", numbers)))
    place = found.place(row.var, column.var)
    lower = Binary("le", column.var, row.var)
    # a choice between two reads by place is not vectorized by XLA:CPU, and above the diagonal the factor is zero anyway
    kept = Select(lower, Const(0.0, dtype), Load(found.target, place))
    store = node(Store(found.target, place, Binary("add", element(row, column), kept)), row, column)
    return Factored((work, start, test), (store,), Load(definite, ()), (factor, definite))
