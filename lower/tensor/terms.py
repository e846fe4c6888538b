"""Tensor terms: the sums and products of one array statement over named axes. Leaves are expressions of the IR.

Axes have names, not positions, so a product of a matrix and a vector needs no broadcasting and a contraction no
transposes. A set of axes is an integer with a bit for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from msgspec import Struct
from msgspec.structs import replace

from ir.dtypes import DType
from ir.nodes import Binary, Const, Expr, Select, Unary, const
from ir.traverse import factors


class Term(Struct, frozen=True):
    """A node. `op` is one of those below, `number` the leaf's place in the list of leaves or a set of axes.

    `Leaf n`; `Add`, `Sub`, `Mul`, `Div`, `Neg` by element; `Where m x`: x where m holds, else 0; `Flag m`: 1 where m
    holds, else 0; `Number x`: x where it is a number, else 0; `Sum k x` over the axes k; `Contract k x y`: the same of
    a product that is never formed; `Ones k`; `Times k x`: x as many times as there are positions on the axes k.
    """

    op: str
    args: tuple[Term, ...] = ()
    number: int = 0

    def walk(self) -> Iterator[Term]:
        """This term and all inside it."""
        yield self
        for arg in self.args:
            yield from arg.walk()

    def axes(self, leaves: Sequence[int]) -> int:
        """The axes of the array that this term is written as, from those of its leaves."""
        inside = 0
        for arg in self.args:
            inside |= arg.axes(leaves)
        match self.op:
            case "Leaf":
                return leaves[self.number]
            case "Ones":
                return self.number
            case "Sum" | "Contract":
                return inside & ~self.number
            case _:
                return inside


ARITY = {
    "Leaf": 0, "Add": 2, "Sub": 2, "Mul": 2, "Div": 2, "Neg": 1, "Where": 2, "Flag": 1, "Number": 1,
    "Sum": 1, "Contract": 2, "Ones": 0, "Times": 1,
}  # fmt: skip
NUMBERED = frozenset(("Leaf", "Sum", "Contract", "Ones", "Times"))
_OPERATORS = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div"}


def term_of(expr: Expr, leaves: list[Expr]) -> Term:
    """An expression taken apart at its arithmetic; appends what is not to `leaves`."""
    match expr:
        case Binary(op=op, lhs=lhs, rhs=rhs) if op in _OPERATORS:
            return Term(_OPERATORS[op], (term_of(lhs, leaves), term_of(rhs, leaves)))
        case Unary(op="neg", operand=operand):
            return Term("Neg", (term_of(operand, leaves),))
        case _:
            return leaf(expr, leaves)


def factored(expr: Expr) -> Expr:
    """An expression with what both sides of its choices are multiples of outside of them.

    `choose(c, p * a, p * b / d)` is `p * choose(c, a, b / d)`: a sum of such terms is a product of arrays.
    """
    match expr:
        case Binary(op=op, lhs=lhs, rhs=rhs) if op in _OPERATORS:
            return replace(expr, lhs=factored(lhs), rhs=factored(rhs))
        case Unary(op="neg", operand=operand):
            return replace(expr, operand=factored(operand))
        case Select(cond=cond, then=then, other=other):
            (up, down), (others, below) = _fraction(then), _fraction(other)
            common: list[Expr] = []
            for f in [f for f in up if not isinstance(f, Const)]:
                k = next((k for k, g in enumerate(others) if f.same(g)), None)
                if k is not None:
                    common.append(f)
                    up.remove(f)
                    del others[k]
            if not common:
                return expr
            choice = Select(cond, _quotient(up, down, expr.dtype), _quotient(others, below, expr.dtype))
            return Binary("mul", reduce(_product, common), choice)
        case _:
            return expr


def _fraction(expr: Expr) -> tuple[list[Expr], list[Expr]]:
    """The factors of an expression, and those of what it is divided by."""
    if isinstance(expr, Binary) and expr.op in ("mul", "div") and expr.dtype.is_float:
        (up, down), (others, below) = _fraction(expr.lhs), _fraction(expr.rhs)
        return ([*up, *others], [*down, *below]) if expr.op == "mul" else ([*up, *below], [*down, *others])
    return factors(expr), []


def _quotient(up: Sequence[Expr], down: Sequence[Expr], dtype: DType) -> Expr:
    whole = reduce(_product, up) if up else const(1, dtype)
    return Binary("div", whole, reduce(_product, down)) if down else whole


def _product(a: Expr, b: Expr) -> Expr:
    return Binary("mul", a, b)


def leaf(expr: Expr, leaves: list[Expr]) -> Term:
    """A leaf; equal expressions are one."""
    known = next((k for k, e in enumerate(leaves) if e.same(expr)), None)
    if known is None:
        known = len(leaves)
        leaves.append(expr)
    return Term("Leaf", number=known)
