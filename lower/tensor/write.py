"""Sums over array axes as JAX source: taken apart to tensor terms, brought to their cheapest form, written."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from egraph_rules.cost import Target
from ir.dtypes import DType
from ir.nodes import Expr
from lower.linear import Linear
from lower.reduce import einsum, reduction
from lower.tensor.search import Facts, cheapest
from lower.tensor.terms import Term, leaf, term_of
from lower.tensor.twins import renamings
from lower.values import POSTFIX, Translator, Value, dtype_code, layout_order, literal, ordered, typed, union
from lower.views import Axis

# A sum of long rows is fastest as a product with ones (benchmarks/README.md); short ones are not worth the constant.
_LONG_ROW = 256


class SumWriter:
    """Writes sums of one statement. `forms` says afterwards which idioms were used; `named` gives code a name."""

    def __init__(
        self,
        translator: Translator,
        finite: Callable[[Expr], bool],
        size: Callable[[Linear], str],
        target: Target,
        named: Callable[[str], str],
    ) -> None:
        self.translator = translator
        self.order = translator.order
        self.finite = finite
        self.size = size
        self.target = target
        self.named = named
        self.forms: list[str] = []

    def sum(self, expr: Expr, mask: tuple[Expr, Value] | None, reduced: Sequence[Axis]) -> Value:
        """The sum of an expression over axes, where a mask (a condition and its source) holds."""
        self.dtype = expr.dtype
        leaves: list[Expr] = []
        term = term_of(expr, leaves)
        self.values = [typed(self.translator.expr(e), self.dtype) for e in leaves]
        finite = [self.finite(e) for e in leaves]
        if mask is not None:
            condition = leaf(mask[0], leaves)
            if condition.number == len(self.values):
                self.values.append(mask[1])
                finite.append(False)
            term = Term("Where", (condition, term))
        facts = Facts(
            tuple(self._bits(v.axes) for v in self.values),
            tuple(finite),
            self._positions,
            self.dtype.is_float,
            self._long_rows,
        )
        best = cheapest(Term("Sum", (term,), self._bits(reduced)), facts, self.target)
        contracted = any(t.op == "Contract" and t.args[1].op != "Ones" for t in best.walk())
        self.forms.append("contraction" if contracted else "add reduction")
        self.shared = self._with_twins(best)
        self.made: dict[Term, Value] = {}
        return self._write(best)

    def _with_twins(self, term: Term) -> set[Term]:
        """Contractions that occur again, maybe with other axes."""
        found = [t for t in term.walk() if t.op == "Contract" and t.args[1].op != "Ones"]
        pairs = ((a, b) for k, a in enumerate(found) for b in found[k + 1 :])
        return {a for a, b in pairs if any(renamings(a, b, self._layout))}

    def _layout(self, number: int) -> tuple[str, Sequence[int]]:
        """The array that a leaf is, and the axes of its dimensions."""
        value = self.values[number]
        code, axes = value.plain or (value.code, value.axes)
        names = [a.var for a in self.order]
        return code, [names.index(a.var) for a in axes]

    def _bits(self, axes: Sequence[Axis]) -> int:
        """A set of axes."""
        names = [a.var for a in axes]
        return sum(1 << k for k, a in enumerate(self.order) if a.var in names)

    def _axes(self, bits: int) -> list[Axis]:
        return [a for k, a in enumerate(self.order) if bits >> k & 1]

    def _positions(self, bits: int) -> float:
        total = 1.0
        for axis in self._axes(bits):
            total *= axis.extent.const if axis.extent.is_const else self.target.default_extent
        return total

    def _long_rows(self, bits: int) -> bool:
        """Whether axes are one, the innermost, and long."""
        axes = self._axes(bits)
        return len(axes) == 1 and bits >> len(self.order) - 1 == 1 and self._positions(bits) >= _LONG_ROW

    def _write(self, term: Term) -> Value:
        match term:
            case Term(op="Leaf", number=number):
                return self._leaf(self.values[number])
            case Term(op="Add" | "Sub" | "Mul" | "Div" as op, args=(a, b)):
                return self.translator.binary(op.lower(), self._write(a), self._write(b), self.dtype)
            case Term(op="Neg", args=(a,)):
                return self.translator.negated(self._write(a), self.dtype)
            case Term(op="Where", args=(m, a)):
                return self.translator.select(self._write(m), self._write(a), literal(0, self.dtype), self.dtype)
            case Term(op="Flag", args=(m,)):
                mask = self._write(m)
                return Value(f"{mask.at(POSTFIX)}.astype({dtype_code(self.dtype)})", mask.axes, POSTFIX)
            case Term(op="Ones", number=bits):
                axes = tuple(self._axes(bits))
                shape = ", ".join(self.size(a.extent) for a in axes)
                return Value(f"jnp.ones(({shape},), {dtype_code(self.dtype)})", axes)
            case Term(op="Times", args=(a,), number=bits):
                return self._reduced(self._write(a), bits)
            case Term(op="Sum", args=(a,), number=bits):
                return self._in_layout(a, bits)
            case Term(op="Contract"):
                return self._contraction(term)
            case other:
                raise TypeError(f"no such term: {other.op}")

    def _leaf(self, value: Value) -> Value:
        """A leaf with its axes in the order that the translator has at present."""
        code, axes = value.plain or (value.code, value.axes)
        if value.plain is None and value.axes == union(self.translator.order, axes):
            return value
        return ordered(code if value.plain else value.at(POSTFIX), axes, self.translator.order)

    def _in_layout(self, term: Term, bits: int) -> Value:
        """A sum whose elements are gone through in the order in which the largest array has them."""
        usual = self.translator.order
        leaves = [self.values[t.number] for t in term.walk() if t.op == "Leaf"]
        self.translator.order = layout_order(leaves, usual, lambda v: self._positions(self._bits(v.axes)))
        value = self._reduced(self._write(term), bits)
        self.translator.order = usual
        return ordered(value.code, value.axes, usual) if value.axes != union(usual, value.axes) else value

    def _contraction(self, term: Term) -> Value:
        """A contraction, or the transpose of one that was written before."""
        order = self.translator.order
        for made, value in self.made.items():
            for renaming in renamings(made, term, self._layout):
                places = {a.var: self.order[renaming[k]] for k, a in enumerate(self.order) if k in renaming}
                return ordered(value.code, [places[a.var] for a in value.axes], order)
        over = {axis.var for axis in self._axes(term.number)}
        value = einsum([self._write(a) for a in term.args], over, self.dtype, self.translator)
        if term in self.shared:
            value = self.made[term] = Value(self.named(value.code), value.axes)
        return value

    def _reduced(self, value: Value, bits: int) -> Value:
        return reduction("add", value, None, self._axes(bits), self.dtype, self.translator, self.size)


def sums_as_terms(op: str | None, dtype: DType) -> bool:
    """Whether a reduction is written by tensor terms."""
    return op == "add" and dtype is not DType.BOOL
