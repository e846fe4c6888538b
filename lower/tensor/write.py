"""Sums over array axes as JAX code: taken apart to tensor terms, brought to their cheapest form, written."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod

from msgspec.structs import replace

from egraph_rules.cost import operations
from egraph_rules.cost.target import Target
from ir.dtypes import DType
from ir.nodes import Cast, Const, Expr, Load, Var
from ir.program.calls import fresh
from ir.traverse import free_vars, is_const, loads
from lower.analysis.deciding import cheaper
from lower.analysis.freedoms import HIGHEST, Policy, Precision
from lower.analysis.linear_forms import Linear, same_range
from lower.array.reduce import einsum, in_floats, reduction
from lower.array.values import (
    Translator,
    Value,
    aligned,
    dtype_code,
    in_order,
    layout_order,
    literal,
    ordered,
    typed,
    union,
)
from lower.array.views import Axis
from lower.program.build import call, method
from lower.program.nodes import Call, JaxExpr, Name
from lower.tensor.exact import EXACT, largest
from lower.tensor.known import Known, named, rebuilt, renamed
from lower.tensor.prefixes import PREFIXES, prefixes
from lower.tensor.search import EINSUM, Facts, cheapest
from lower.tensor.terms import Term, factored, leaf, term_of
from lower.tensor.triangular_blocks import in_blocks, needed, written
from lower.tensor.twins import renamings


class SumWriter:
    """Writes sums of one statement. `forms` says afterwards which idioms were used.

    `named` gives code a name, one wished or like it, and `fresh` gives just the name; `number_where` says whether
    what is made of parts of the value is a number wherever a condition holds.
    """

    def __init__(
        self,
        translator: Translator,
        finite: Callable[[Expr], bool],
        size: Callable[[Linear], JaxExpr],
        target: Target,
        named: Callable[[JaxExpr, str], str],
        known: Callable[[Load], Known | None],
        fresh: Callable[[str], str],
        number_where: Callable[[Sequence[Expr], Expr], bool],
        outside: Sequence[Expr] | None = None,
        policy: Policy | None = None,
        invariant: Callable[[Expr], bool] = lambda expr: False,
    ) -> None:
        self.invariant = invariant  # whether no step of the loop around changes an expression: compilers hoist it
        self.translator = translator
        self.order = translator.order
        self.finite = finite
        self.size = size
        self.target = target
        self.named = named
        self.known = known
        self.fresh = fresh
        self.number_where = number_where
        self.outside = outside  # conditions without which nothing of a sum is used; None where it is not to be cut
        self.policy = Policy() if policy is None else policy
        self.forms: list[str] = []

    def sum(
        self, expr: Expr, masks: Iterable[tuple[Expr, Value]], reduced: Sequence[Axis], base: Known | None = None
    ) -> Value:
        """The sum of an expression over axes, where masks (conditions and their code) hold, added to a `base`."""
        self._begin(expr)
        leaves: list[Expr] = []
        expr = factored(expr) if self.policy.may(EINSUM, expr.dtype) else expr
        term, divisor = self._divided(self._taken_apart(expr, leaves), leaves)
        conditions: list[Term] = []
        for cond, mask in masks:
            conditions.append(leaf(cond, leaves))
            if conditions[-1].number == len(self.values):
                self.values.append(self._mask_as_arrays_lie(cond, mask))
                self.are_finite.append(False)
        if len(conditions) > 1:
            term = self._hidden(term, conditions, leaves)
        elif conditions and not all(self.are_finite[: len(leaves) - 1]) and self._is_shown(term, conditions[0], leaves):
            self.hidden.append(Term("Where", (conditions[0], term)))
        for condition in conditions:
            term = Term("Where", (condition, term))
        term = Term("Sum", (term,), self._bits(reduced))
        term = term if divisor is None else Term("Div", (term, divisor))
        self.leaves = leaves
        self._graft_leaves(leaves)
        if base is not None:
            kept = [a for a in self.translator.order if a not in reduced]
            (whole, _) = self._grafted(base, kept, reduced)
            term = Term("Add", (whole, term))
        return self._cheapest(term)

    def _divided(self, term: Term, leaves: Sequence[Expr]) -> tuple[Term, Term | None]:
        """A term without the number that all of it is divided by, which a sum can be in place of its terms, masked or
        not, and that number."""
        match term:
            case Term(op="Div", args=(a, Term(op="Leaf", number=n) as c)) if self.policy.may(EINSUM, self.dtype):
                number = leaves[n]
                return (a, c) if isinstance(number, Const) and number.value else (term, None)
            case _:
                return term, None

    def prefixes(self, expr: Expr, guards: Sequence[Expr], reduced: Sequence[Axis]) -> Value | None:
        """The sum of an expression over an axis where a condition holds, as one of prefixes, if it is and pays."""
        if not (len(guards) == len(reduced) == 1 and expr.dtype.is_float and self.policy.may(PREFIXES, expr.dtype)):
            return None
        (cond,) = guards
        terms = self.translator.expr(expr)
        found = prefixes(cond, terms.axes, reduced, self.order, self.target)
        leaves: list[Expr] = []
        term_of(expr, leaves)
        if found is None or not all(self.finite(e) or self.number_where([e], cond) for e in leaves):
            return None  # each term counts in one of the sums, so is a number
        axes = (*(a for a in terms.axes if a is not found.axis), found.axis)
        self.translator.helpers.add("prefix_sums")
        self.forms.append("prefix sums")
        value = found.written(Value(aligned(typed(terms, expr.dtype), axes).code, axes))
        return ordered(value.code, value.axes, self.order)

    def _is_shown(self, term: Term, condition: Term, leaves: Sequence[Expr]) -> bool:
        """Whether a term is a number wherever a condition holds."""
        inside = [leaves[t.number] for t in term.walk() if t.op == "Leaf"]
        return self.number_where(inside, leaves[condition.number])

    def _hidden(self, term: Term, conditions: Sequence[Term], leaves: Sequence[Expr]) -> Term:
        """A term that counts under conditions, with its largest parts masked that are numbers under one of them."""
        inside = [t.number for t in term.walk() if t.op == "Leaf"]
        if not all(self.are_finite[n] for n in inside):
            parts = [leaves[n] for n in inside]
            for c in conditions:
                if self.number_where(parts, leaves[c.number]):
                    self.hidden.append(Term("Where", (c, term)))
                    return self.hidden[-1]
        return Term(term.op, tuple(self._hidden(a, conditions, leaves) for a in term.args), term.number)

    def value(self, expr: Expr) -> Value:
        """An expression without a sum of its own, whose leaves may be known to be sums."""
        self._begin(expr)
        leaves: list[Expr] = []
        term = self._taken_apart(expr, leaves)
        self.leaves = leaves
        self._graft_leaves(leaves)
        return self._cheapest(term)

    def _begin(self, expr: Expr) -> None:
        self.dtype = expr.dtype
        self.order = self.translator.order
        self.rows = 1 << len(self.order) - 1 if self.order else 0  # axes along which arrays lie in one piece
        self.made: dict[Term, Value] = {}
        self.equal: dict[int, Term] = {}
        self.only: set[int] = set()
        self.hidden: list[Term] = []
        self.masks: list[Value] = []  # under which a part of the term is written
        self.names: dict[Term, int] = {}

    def _taken_apart(self, expr: Expr, leaves: list[Expr]) -> Term:
        term = term_of(expr, leaves)
        self.values = [typed(self._as_arrays_lie(e), self.dtype) for e in leaves]
        self.are_finite = [self.finite(e) for e in leaves]
        return term

    def _as_arrays_lie(self, expr: Expr) -> Value:
        """A leaf with its axes in the order in which the largest array has them that it reads."""
        usual = self.translator.order
        arrays = [] if isinstance(expr, Load) else [self.translator.expr(load) for load in loads(expr)]
        if arrays:
            self.translator.order = layout_order(arrays, usual, lambda v: self._positions(self._bits(v.axes)))
        value = self.translator.expr(expr)
        self.translator.order = usual
        return value

    def _mask_as_arrays_lie(self, cond: Expr, mask: Value) -> Value:
        """The same for a mask, unless it is more than its condition, as one that has a name is."""
        with self.translator.under(None):
            plain = self.translator.expr(cond)
            return self._as_arrays_lie(cond) if plain.code == mask.code and plain.axes == mask.axes else mask

    def _graft_leaves(self, leaves: Sequence[Expr]) -> None:
        """Take what is known of leaves as terms that they equal."""
        for number, expr in enumerate(leaves):
            known = self.known(expr) if isinstance(expr, Load) else None
            if known is not None and known.only and isinstance(expr, Load):
                axes = {a.var: a for a in self.translator.order}
                term, best = self._grafted(known, [axes[i] for i in expr.indices if isinstance(i, Var)], ())
                self.equal[number] = term
                self.only.add(number)
                varying = [self._bits(v.axes) for v in self.values]
                if best.axes(varying) == varying[number]:  # an array may repeat what its term has once
                    self.names[best] = number

    def _grafted(self, known: Known, kept: Sequence[Axis], reduced: Sequence[Axis]) -> tuple[Term, Term]:
        """A known term, and how it was written, over other axes; its sums may run over some that are `reduced` here."""
        target = {a.var: b for a, b in zip(known.kept, kept, strict=True)}
        free = list(reduced)
        for axis in known.order:
            if axis.var not in target:
                same = next((a for a in free if same_range(a, axis)), None)
                if same is None:
                    name = fresh(axis.var.name, {a.var.name for a in self.order})
                    same = Axis(Var(name, axis.var.dtype), axis.low, axis.extent)
                    self.order = (*self.order, same)
                else:
                    free.remove(same)
                target[axis.var] = same
        places = {k: self._place(target[a.var]) for k, a in enumerate(known.order)}
        self.rows |= sum(1 << new for old, new in places.items() if known.rows >> old & 1)
        leaves: dict[int, int] = {}
        for number, (value, finite) in enumerate(zip(known.values, known.finite, strict=True)):
            leaves[number] = self._added(renamed(value, target), finite)
        return rebuilt(known.term, leaves, places), rebuilt(known.best, leaves, places)

    def _added(self, value: Value, finite: bool) -> int:
        """The number of a leaf, which may be there already."""
        key = _array(value)
        for number, other in enumerate(self.values):
            if _array(other) == key:
                return number
        self.values.append(value)
        self.are_finite.append(finite)
        return len(self.values) - 1

    def _place(self, axis: Axis) -> int:
        return [a.var for a in self.order].index(axis.var)

    def _cheapest(self, term: Term) -> Value:
        """The cheapest form of a term, as code."""
        facts = Facts(
            tuple(self._bits(v.axes) for v in self.values),
            tuple(self.are_finite),
            tuple(self._positions(1 << k) for k in range(len(self.order))),
            self.policy.floats if self.dtype.is_float else None,
            tuple(tuple(self._layout(n)[1]) for n in range(len(self.values))),
            self.rows,
            tuple(map(self._read, range(len(self.values)))),
            frozenset(n for n, e in enumerate(self.leaves) if not (isinstance(_uncast(e), Load) or self.invariant(e))),
            tuple(dict.fromkeys(self.hidden)),
            tuple(self.equal.items()),
            frozenset(self.only),
            self.policy.without,
        )
        best = named(cheapest(term, facts, self.target), self.names)
        contracted = any(t.op == "Contract" and t.args[1].op != "Ones" for t in best.walk())
        summed = any(t.op in ("Sum", "Times", "Contract") for t in best.walk())
        if summed:
            self.forms.append("contraction" if contracted else "add reduction")
        usual, self.translator.order = self.translator.order, self.order
        self.shared = self._with_twins(best)
        value = self._write(best)
        self.translator.order = usual
        forms = {n: t for t, n in self.names.items()}
        term, best = _inlined(term, self.equal), _inlined(best, forms)
        self.result = Known(term, best, tuple(self.values), tuple(self.are_finite), self.order, (), self.rows)
        return value

    def _with_twins(self, term: Term) -> set[Term]:
        """Contractions that occur again, maybe with other axes."""
        found = [t for t in term.walk() if t.op == "Contract" and t.args[1].op != "Ones"]
        pairs = ((a, b) for k, a in enumerate(found) for b in found[k + 1 :])
        return {a for a, b in pairs if any(renamings(a, b, self._layout))}

    def _layout(self, number: int) -> tuple[JaxExpr, Sequence[int]]:
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

    def _read(self, number: int) -> int:
        """The axes of the largest array that a leaf reads."""
        whole = self._bits(self.values[number].axes)
        expr = self.leaves[number] if number < len(self.leaves) else None
        if expr is None or any(v not in {a.var for a in self.order} for v in free_vars(expr)):
            return whole
        used = (free_vars(load) for load in loads(expr))
        return max(
            (sum(1 << k for k, a in enumerate(self.order) if a.var in names) for names in used),
            key=self._positions,
            default=0,
        )

    def _positions(self, bits: int) -> float:
        total = 1.0
        for axis in self._axes(bits):
            total *= axis.extent.about(self.target.default_extent)
        return total

    def _write(self, term: Term) -> Value:
        match term:
            case Term(op="Leaf", number=number):
                return in_order(self.values[number], self.translator.order)
            case Term(op="Div", args=(a, b)):
                lhs, rhs = self._write(a), self._write(b)
                if any(self._varies(t) for t in b.walk()):
                    rhs = self.translator.harmless(
                        rhs, self.dtype, 1, self.masks, union(self.order, lhs.axes, rhs.axes)
                    )
                return self.translator.binary("div", lhs, rhs, self.dtype)
            case Term(op="Mul", args=(a, b)) if self._is_one(a) or self._is_one(b):
                return self._write(b if self._is_one(a) else a)
            case Term(op="Add" | "Sub" | "Mul" as op, args=(a, b)):
                return self.translator.binary(op.lower(), self._write(a), self._write(b), self.dtype)
            case Term(op="Neg", args=(a,)):
                return self.translator.negated(self._write(a), self.dtype)
            case Term(op="Where", args=(m, a)):
                mask = self._write(m)
                while a.op == "Where":  # one choice by all conditions
                    mask = self.translator.binary("and", mask, self._write(a.args[0]), DType.BOOL)
                    a = a.args[1]
                self.masks.append(mask)
                value = self._write(a)
                self.masks.pop()
                return self.translator.select(mask, value, literal(0, self.dtype), self.dtype)
            case Term(op="Flag", args=(m,)):
                mask = self._write(m)
                return Value(method(mask.code, "astype", dtype_code(self.dtype)), mask.axes)
            case Term(op="Number", args=(a,)):
                value = self._write(a)
                self.translator.helpers.add("numbers")
                return Value(call("numbers", typed(value, self.dtype).code), value.axes)
            case Term(op="Ones", number=bits):
                axes = tuple(self._axes(bits))
                shape = tuple(self.size(a.extent) for a in axes)
                return Value(call("jnp.ones", shape, dtype_code(self.dtype)), axes)
            case Term(op="Times", args=(a,), number=bits):
                return self._reduced(self._write(a), bits)
            case Term(op="Sum", args=(a,), number=bits):
                return self._in_layout(a, bits)
            case Term(op="Contract"):
                return self._contraction(term)
            case other:
                raise TypeError(f"no such term: {other.op}")

    def _is_one(self, term: Term) -> bool:
        """Whether a term is the number one, which a count is multiplied by."""
        expr = self.leaves[term.number] if term.op == "Leaf" and term.number < len(self.leaves) else None
        return is_const(expr, 1)

    def _varies(self, term: Term) -> bool:
        """Whether a term is a leaf that is more than a number that is written out."""
        return term.op == "Leaf" and not (
            term.number < len(self.leaves) and isinstance(self.leaves[term.number], Const)
        )

    def _in_layout(self, term: Term, bits: int) -> Value:
        """A sum whose elements are gone through in the order in which the largest array has them."""
        usual = self.translator.order
        with self._as_it_lies(term.walk()):
            value = self._reduced(self._write(term), bits)
        return value if _same(value.axes, union(usual, value.axes)) else ordered(value.code, value.axes, usual)

    @contextmanager
    def _as_it_lies(self, among: Iterable[Term]) -> Generator[None]:
        """Write with axes in the order in which the largest array among some leaves has them."""
        usual = self.translator.order
        leaves = [self.values[t.number] for t in among if t.op == "Leaf"]
        self.translator.order = layout_order(leaves, usual, lambda v: self._positions(self._bits(v.axes)))
        yield
        self.translator.order = usual

    def _contraction(self, term: Term) -> Value:
        """A contraction, or the transpose of one that was written before."""
        order = self.translator.order
        for made, value in self.made.items():
            for renaming in renamings(made, term, self._layout):
                places = {a.var: self.order[renaming[k]] for k, a in enumerate(self.order) if k in renaming}
                return ordered(value.code, [places[a.var] for a in value.axes], order)
        over = {axis.var for axis in self._axes(term.number)}
        values: list[Value] = []
        for arg in term.args:
            with self._as_it_lies(_unmasked(arg)):
                values.append(self._write(arg))
        if term not in self.shared:  # of which a transpose counts elsewhere
            cut = self._in_blocks(term, values, over)
            if cut is not None:
                return cut
        own = _precision(term)
        value = self._in_floats(term, values, over) or einsum(values, over, self.dtype, self.translator, precision=own)
        if term in self.shared:
            value = self.made[term] = Value(Name(self.named(value.code, "product")), value.axes)
        return value

    def _in_floats(self, term: Term, values: Sequence[Value], over: set[Var]) -> Value | None:
        """A contraction of integers worked out in float32, where that is cheaper and all of its sums are exact."""
        t = self.target
        if not self.dtype.is_signed or self.dtype.is_float:
            return None  # differences of unsigned integers wrap
        most = largest(term, self.leaves, self._axes)
        if most is None or most > EXACT:
            return self._in_floats_if_exact(term, values, over)
        if not cheaper("in floats", t.contraction, t.integer_contraction):
            return None
        self.forms.append("in float32, exactly")
        return einsum([in_floats(v) for v in values], over, DType.FLOAT32, self.translator, self.dtype, HIGHEST)

    def _in_floats_if_exact(self, term: Term, values: Sequence[Value], over: set[Var]) -> Value | None:
        """A contraction of integers in float32 where the data are small enough, which takes a test and two products."""
        t, axes = self.target, [*self._axes(term.number), *union(self.order, *(v.axes for v in values))]
        if not all(a.extent.is_const for a in axes):
            return None
        read = sum(prod(a.extent.const for a in v.axes) for v in values)
        products = prod({a.var: a.extent.const for a in axes}.values())
        tested = operations.contraction_if_exact(t, products, read)
        if not cheaper("in floats, where exact", tested, products * t.integer_contraction):
            return None
        value = einsum(values, over, self.dtype, self.translator)
        match value.code:
            case Call(args=(spec, *operands)):
                terms = prod(a.extent.const for a in self._axes(term.number))
                self.translator.helpers.add("integer_einsum")
                self.forms.append("in float32, where that is exact")
                return replace(value, code=call("integer_einsum", terms, spec, *operands))
            case _:
                return None

    def _in_blocks(self, term: Term, values: Sequence[Value], over: set[Var]) -> Value | None:
        """A contraction in blocks, where only a part of it counts and that is cheaper."""
        conditions = None if self.outside is None else needed(term.args, self.leaves, self.outside)
        cut = None if conditions is None else in_blocks(values, self.order, over, conditions, self.target)
        if cut is None:
            return None
        operands: list[Value] = []
        for value in values:
            code, axes = value.plain or (typed(value, self.dtype).code, value.axes)
            operands.append(Value(code if isinstance(code, Name) else Name(self.named(code, "factor")), axes))
        self.forms.append(f"{len(cut.blocks)} blocks along {cut.axis.var.name}")
        return written(cut, operands, lambda parts: einsum(parts, over, self.dtype, self.translator), self.fresh)

    def _reduced(self, value: Value, bits: int) -> Value:
        return reduction("add", value, None, self._axes(bits), self.dtype, self.translator, self.size)


def _precision(term: Term) -> Precision | None:
    """The precision of a contraction that is no product of arrays in the program, but a sum."""
    return HIGHEST if any(a.op in ("Ones", "Flag") for a in term.args) else None


def _same(axes: Sequence[Axis], others: Sequence[Axis]) -> bool:
    return [a.var for a in axes] == [a.var for a in others]


def _unmasked(term: Term) -> Iterator[Term]:
    """A term and all inside it but for its masks, which are worked out in any order."""
    yield term
    for arg in {"Where": term.args[1:], "Flag": ()}.get(term.op, term.args):
        yield from _unmasked(arg)


def _array(value: Value) -> tuple[JaxExpr, list[Var]]:
    code, axes = value.plain or (value.code, value.axes)
    return code, [a.var for a in axes]


def _inlined(term: Term, equal: Mapping[int, Term]) -> Term:
    """A term with what its leaves are known to be."""
    if term.op == "Leaf" and term.number in equal:
        return equal[term.number]
    return Term(term.op, tuple(_inlined(a, equal) for a in term.args), term.number)


def sums_as_terms(op: str | None, dtype: DType) -> bool:
    """Whether a reduction is written by tensor terms."""
    return op == "add" and dtype is not DType.BOOL


def _uncast(expr: Expr) -> Expr:
    """What is cast: a product converts its operands as it reads them."""
    return _uncast(expr.operand) if isinstance(expr, Cast) else expr
