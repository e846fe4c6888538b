"""Tests of rules over tensor terms: both sides are evaluated on random small integers, which sums keep exact."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from egraph_rules.authoring.rule import Rule
from egraph_rules.authoring.tensor import Axes, Condition, Pattern, TensorTerms
from egraph_rules.check.verdict import Verdict

_SIZES = (2, 3, 4)  # of the axes
_TRIES = 40  # for each example, of which the conditions leave some

Array = npt.NDArray[np.float64]


class Tensor(Struct, frozen=True):
    """An array over all axes, of size 1 along those that are not its own."""

    axes: int
    value: Array
    finite: bool = True


def check_terms(rule: Rule, terms: TensorTerms, examples: int, seed: int) -> Verdict:
    """Test a rule on random tensors for which its conditions hold."""
    rng = np.random.default_rng(seed)
    applied = 0
    for _ in range(_TRIES * examples):
        if applied == examples:
            break
        drawn = _Drawn(terms, rng)
        if not all(map(drawn.holds, terms.conditions)):
            continue
        applied += 1
        wrong = drawn.difference()
        if wrong:
            return Verdict(rule.name, "refuted", f"{wrong} (after {applied} random tensors)", applied)
    how = f"{applied} random tensors agree"
    if not applied:
        return Verdict(rule.name, "not checked", how, idle="never matched")
    return Verdict(rule.name, "tested", how, applied)


class _Drawn:
    """Random values for the variables of a rule."""

    def __init__(self, terms: TensorTerms, rng: np.random.Generator) -> None:
        self.given = terms
        self.rng = rng
        both = (*terms.pattern.parts(), *terms.replacement.parts())
        masks = {p.args[0] for p in both if isinstance(p, Pattern) and p.op in ("Where", "Flag")}
        finite = {c.term for c in terms.conditions if c.what == "finite"}
        self.sets: dict[str, int] = {}
        self.terms: dict[str, Tensor] = {}
        for part in sorted((p for p in {*terms.pattern.parts()} if p.name), key=lambda p: p.name):
            if isinstance(part, Pattern):
                self.terms[part.name] = self._random(part in masks, part.name in finite)
            elif part.op == "set":
                self.sets[part.name] = int(rng.integers(1, 1 << len(_SIZES)))

    def _random(self, mask: bool, finite: bool) -> Tensor:
        axes = int(self.rng.integers(0, 1 << len(_SIZES)))
        shape = [n if axes >> k & 1 else 1 for k, n in enumerate(_SIZES)]
        if mask:
            return Tensor(axes, self.rng.integers(0, 2, shape).astype(np.float64))
        value = self.rng.choice([-4.0, -2.0, -1.0, 1.0, 2.0, 4.0], size=shape)  # quotients of these stay exact
        if not finite and self.rng.random() < 0.5:  # what is no number must come out where it went in, and only there
            value.flat[self.rng.integers(0, value.size)] = np.nan
        return Tensor(axes, value, finite)

    def holds(self, condition: Condition) -> bool:
        """Whether a side condition holds."""
        sets = [self._set(a) for a in condition.sets]
        match condition.what:
            case "apart":
                return sets[0] & sets[1] == 0
            case "within":
                return sets[0] & ~sets[1] == 0
            case "some":
                return sets[0] != 0
            case "differ":
                return sets[0] != sets[1]
            case "finite":
                return self.terms[condition.term].finite
            case "shown":
                mask, value = self.terms[condition.mask].value, self.terms[condition.term].value
                return bool(np.isfinite(_where(mask, value)).all())
            case "rounds":
                return True  # a matter of digits: both sides are equal without it

    def difference(self) -> str:
        """How both sides differ; empty if they are the same."""
        left, right = (self._term(side) for side in (self.given.pattern, self.given.replacement))
        same = left.value.shape == right.value.shape or left.axes & ~right.axes == 0 or right.axes & ~left.axes == 0
        if same and np.array_equal(*np.broadcast_arrays(left.value, right.value), equal_nan=True):
            return ""
        values = {n: t.value.squeeze().tolist() for n, t in self.terms.items()}
        return f"with {self.sets} and {values}: {left.value.tolist()} is not {right.value.tolist()}"

    def _set(self, a: Axes) -> int:
        match a.op:
            case "set":
                return self.sets[a.name]
            case "of":
                return self.terms[a.name].axes
            case "or":
                return self._set(a.args[0]) | self._set(a.args[1])
            case "and":
                return self._set(a.args[0]) & self._set(a.args[1])
            case "without":
                return self._set(a.args[0]) & ~self._set(a.args[1])

    def _term(self, expr: Pattern) -> Tensor:
        """The value of a term."""
        if expr.name:
            return self.terms[expr.name]
        values = [self._term(a) for a in expr.args if isinstance(a, Pattern)]
        over = next((self._set(a) for a in expr.args if isinstance(a, Axes)), None)
        if over is not None:
            return _over_axes(expr.op, over, values)
        axes = 0
        for v in values:
            axes |= v.axes
        return Tensor(axes, _ELEMENTWISE[expr.op](*(v.value for v in values)))


def _where(mask: Array, value: Array) -> Array:
    return np.where(mask != 0, value, 0.0)


def _number(value: Array) -> Array:
    return np.where(np.isfinite(value), value, 0.0)


_ELEMENTWISE: Mapping[str, Callable[..., Array]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Neg": np.negative,
    "Where": _where, "Flag": np.abs, "Number": _number,
}  # fmt: skip


def _over_axes(op: str, k: int, args: list[Tensor]) -> Tensor:
    places = tuple(a for a in range(len(_SIZES)) if k >> a & 1)
    count = float(np.prod([_SIZES[a] for a in places]))
    if op == "Ones":
        return Tensor(k, np.ones([n if k >> a & 1 else 1 for a, n in enumerate(_SIZES)]))
    if op == "Times":
        return Tensor(args[0].axes, args[0].value * count)
    value, axes = args[0].value, args[0].axes
    if op == "Contract":
        value, axes = value * args[1].value, axes | args[1].axes
    full = np.broadcast_to(value, [n if k >> a & 1 else value.shape[a] for a, n in enumerate(_SIZES)])
    return Tensor(axes & ~k, full.sum(axis=places, keepdims=True))
