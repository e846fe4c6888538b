"""Testing rules over tensor terms: both sides are evaluated on random small integers, which sums keep exact."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lower.tensor.rules import TensorRule

_AXES = 3  # of sizes 2, 3 and 4
_SIZES = (2, 3, 4)

Array = npt.NDArray[np.float64]
Sexp = str | list["Sexp"]


@dataclass(frozen=True, slots=True)
class Tensor:
    """An array over all axes, of size 1 along those that are not its own."""

    axes: int
    value: Array
    finite: bool = True


def check_tensor_rule(rule: TensorRule, examples: int = 200, seed: int = 0) -> str:
    """What is wrong with a rule: a counterexample, or that it never applied; empty if both sides always agreed."""
    rng = np.random.default_rng(seed)
    applied = 0
    for _ in range(40 * examples):
        if applied == examples:
            return ""
        names = _Names(rule, rng)
        if not names.hold():
            continue
        applied += 1
        left, right = (names.term(side) for side in (names.lhs, names.rhs))
        same = left.value.shape == right.value.shape or left.axes & ~right.axes == 0 or right.axes & ~left.axes == 0
        if not same or not np.array_equal(*np.broadcast_arrays(left.value, right.value), equal_nan=True):
            values = {n: t.value.squeeze().tolist() for n, t in names.terms.items()}
            return f"{rule.law}: with {names.sets} and {values}: {left.value.tolist()} is not {right.value.tolist()}"
    return "" if applied else f"{rule.law}: never applied"


class _Names:
    """Random values for the variables of a rule."""

    def __init__(self, rule: TensorRule, rng: np.random.Generator) -> None:
        self.rng = rng
        rewrite = _parse(rule.program)
        assert isinstance(rewrite, list)
        self.lhs, self.rhs = rewrite[1], rewrite[2]
        when = rewrite[4] if ":when" in rewrite else []
        self.conditions = when if isinstance(when, list) else []
        finite = {c[1] for c in self.conditions if isinstance(c, list) and c[0] == "finite" and isinstance(c[1], str)}
        masks = _masks(self.lhs) | _masks(self.rhs)
        self.sets: dict[str, int] = {}
        self.terms: dict[str, Tensor] = {}
        for name in sorted(_variables(self.lhs)):
            if name in ("k", "j"):
                self.sets[name] = int(rng.integers(1, 1 << _AXES))
            else:
                self.terms[name] = self._random(name in masks, name in finite)

    def _random(self, mask: bool, finite: bool) -> Tensor:
        axes = int(self.rng.integers(0, 1 << _AXES))
        shape = [n if axes >> k & 1 else 1 for k, n in enumerate(_SIZES)]
        if mask:
            return Tensor(axes, self.rng.integers(0, 2, shape).astype(np.float64))
        value = self.rng.choice([-4.0, -2.0, -1.0, 1.0, 2.0, 4.0], size=shape)  # quotients of these stay exact
        if not finite and self.rng.random() < 0.5:  # what is no number must come out where it went in, and only there
            value.flat[self.rng.integers(0, value.size)] = np.nan
        return Tensor(axes, value, finite)

    def hold(self) -> bool:
        """Whether the conditions of the rule hold; binds the names that they introduce."""
        return all(self._holds(c) for c in self.conditions if isinstance(c, list))

    def _holds(self, condition: list[Sexp]) -> bool:
        match condition:
            case ["=", str() as name, ["axes", str() as term]] if name.startswith("axes_"):
                self.sets[name] = self.terms[term].axes
                return True
            case ["=", a, b]:
                return self._set(a) == self._set(b)
            case ["!=", a, b]:
                return self._set(a) != self._set(b)
            case ["finite", str() as name]:
                return self.terms[name].finite
            case ["rounds", str()]:
                return True  # a matter of digits: both sides are equal without it
            case _:
                raise ValueError(f"no such condition: {condition}")

    def _set(self, expr: Sexp) -> int:
        if isinstance(expr, str):
            return self.sets[expr] if expr in self.sets else int(expr)
        combine: Mapping[str, Callable[[int, int], int]] = {
            "&": lambda a, b: a & b,
            "|": lambda a, b: a | b,
            "^": lambda a, b: a ^ b,
        }
        op, a, b = expr
        assert isinstance(op, str)
        return combine[op](self._set(a), self._set(b))

    def term(self, expr: Sexp) -> Tensor:
        """The value of a term."""
        if isinstance(expr, str):
            return self.terms[expr]
        op, *args = expr
        assert isinstance(op, str)
        if op in ("Sum", "Times", "Ones", "Contract"):
            k, *rest = args
            return _over_axes(op, self._set(k), [self.term(a) for a in rest])
        values = [self.term(a) for a in args]
        axes = 0
        for v in values:
            axes |= v.axes
        return Tensor(axes, _ELEMENTWISE[op](*(v.value for v in values)))


def _where(mask: Array, value: Array) -> Array:
    return np.where(mask != 0, value, 0.0)


_ELEMENTWISE: Mapping[str, Callable[..., Array]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Neg": np.negative,
    "Where": _where, "Flag": np.abs,
}  # fmt: skip


def _over_axes(op: str, k: int, args: list[Tensor]) -> Tensor:
    places = tuple(a for a in range(_AXES) if k >> a & 1)
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


def _parse(text: str) -> Sexp:
    """An s-expression."""
    tokens = text.replace("(", " ( ").replace(")", " ) ").split()

    def read(at: int) -> tuple[Sexp, int]:
        if tokens[at] != "(":
            return tokens[at], at + 1
        items: list[Sexp] = []
        at += 1
        while tokens[at] != ")":
            item, at = read(at)
            items.append(item)
        return items, at + 1

    return read(0)[0]


def _variables(expr: Sexp) -> set[str]:
    if isinstance(expr, str):
        return {expr}
    return {v for part in expr[1:] for v in _variables(part)}


def _masks(expr: Sexp) -> set[str]:
    """Variables that stand for masks."""
    if isinstance(expr, str):
        return set()
    own = {expr[1]} if expr[0] in ("Where", "Flag") and isinstance(expr[1], str) else set[str]()
    return own.union(*(_masks(part) for part in expr[1:]))
