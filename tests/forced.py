"""All forms that lowering may give a program: each decision by price taken otherwise, one after the other.

`alternatives` goes through the decisions of a program as they come. Taking one of them otherwise may lead to others, of
which the cheapest is taken then; `at_random` takes any form everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from compare import TOLERANCE
from egraph_rules.cost.target import CPU, Target
from ir import PrimFunc, to_script
from ir.semantics.inputs import Inputs
from ir.semantics.interpret import interpret_with_undef
from ir.traverse import results_of
from lower.analysis.deciding import deciding, least
from lower.emission.emitted import Emitted
from lower.emission.function import emit_function


@dataclass
class Forced:
    """Takes what is asked for at some decisions, by their number, and the cheapest elsewhere; notes what there was."""

    asked: Mapping[int, int] = field(default_factory=dict[int, int])
    seen: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])  # name, number of forms, taken

    def __call__(self, decision: str, prices: Sequence[float]) -> int:
        taken = self.asked.get(len(self.seen), least(decision, prices))
        self.seen.append((decision, len(prices), taken))
        return taken


def alternatives(func: PrimFunc, target: Target = CPU) -> Iterator[tuple[str, Emitted]]:
    """The function as it is lowered, and with each single decision taken otherwise, where that gives other source; with
    the names of the decisions."""
    usual = Forced()
    with deciding(usual):
        emitted = emit_function(func, target=target)
    yield "", emitted
    sources = {emitted.source}
    for number, (decision, count, taken) in enumerate(usual.seen):
        for other in range(count):
            if other == taken:
                continue
            with deciding(Forced({number: other})):
                emitted = emit_function(func, target=target)
            if emitted.source not in sources:
                sources.add(emitted.source)
                yield f"{decision}: {other} of {count}", emitted


def at_random(func: PrimFunc, seed: int, target: Target = CPU) -> Emitted:
    """The function with any form at each decision."""
    random = Random(seed)
    with deciding(lambda _, prices: random.randrange(len(prices))):
        return emit_function(func, target=target)


def assert_all_agree(func: PrimFunc, inputs: Inputs, target: Target = CPU, tolerance: float | None = None) -> set[str]:
    """Compare all forms of a function with the interpreter; returns the names of decisions that led to other source."""
    expected = interpret_with_undef(func, **{k: np.copy(v) for k, v in inputs.items()})
    decisions: set[str] = set()
    for decision, emitted in alternatives(func, target):
        assert_same(func, emitted, inputs, expected, decision, tolerance)
        decisions.add(decision.partition(":")[0])
    return decisions - {""}


def assert_same(
    func: PrimFunc,
    emitted: Emitted,
    inputs: Inputs,
    expected: Sequence[tuple[Any, Any]],
    decision: str = "",
    tolerance: float | None = None,
) -> None:
    """Compare emitted source with results of the interpreter, where these are not undef."""
    space: dict[str, Any] = {}
    exec(emitted.source, space)
    found = space[emitted.name](**{emitted.names[name]: value for name, value in inputs.items()})
    written = [b for b in func.buffers if b in results_of(func)]
    for buffer, (values, undef), got in zip(written, expected, found, strict=True):
        want, have = np.asarray(values)[~undef].astype(float), np.asarray(got)[~undef].astype(float)
        close = TOLERANCE.get(buffer.dtype, 0.0) if tolerance is None else tolerance
        scale = max(1.0, float(np.abs(want[np.isfinite(want)]).max(initial=0.0)))
        same = np.allclose(want, have, rtol=close, atol=close * scale, equal_nan=True)
        assert same, f"{decision}\n{buffer.name}: {want}\n{have}\n{to_script(func)}\n{emitted.source}"
