"""Counterexamples to the equality of two programs, as users read them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ir.floats import Floats
from ir.nodes import PrimFunc
from ir.page import Section
from ir.printing.printer import to_script
from ir.semantics.inputs import Inputs
from ir.semantics.machine import Array
from ir.shown import Shown
from ir.testing.refinement import Difference, Outcome, compare
from ir.traverse import stmt_exprs, walk, walk_expr


class Counterexample(Shown, Struct, frozen=True):
    """A program, what is made of it, and inputs on which the two differ.

    `equal` says that an equality is claimed: with it the original must not be less defined either. `relation` says how
    the second came from the first.
    """

    original: PrimFunc
    rewritten: PrimFunc
    inputs: Inputs
    floats: Floats
    equal: bool
    difference: Difference
    relation: str = "becomes"

    @property
    def size(self) -> int:
        """How much there is to read: statements, expressions and elements."""
        stmts = list(walk(self.original.body))
        exprs = sum(1 for s in stmts for e in stmt_exprs(s) for _ in walk_expr(e))
        return 4 * len(stmts) + exprs + sum(np.size(v) for v in self.inputs.values()) + len(self.original.params)

    def again(self) -> Difference | None:
        """How the two programs differ when they are run again."""
        return compare(self.original, self.rewritten, self.inputs, self.floats, equal=self.equal).difference

    def holds(self) -> bool:
        """Whether the two programs still differ when they are run again."""
        return self.again() is not None

    def brief(self) -> str:
        """How the two differ."""
        return f"Counterexample: {self.difference.what}"

    def sections(self) -> Iterator[Section]:
        """The two programs, the inputs and what they give."""
        yield Section(lines=(str(self),))

    def __str__(self) -> str:
        values = "\n".join(f"    {name} = {shown_value(v)}" for name, v in self.inputs.items())
        given = f"with\n{values}" if values else "without inputs"
        found = self.difference
        return (
            f"{found.what}\n"
            f"the program\n{_indented(to_script(self.original))}\n"
            f"{self.relation}\n{_indented(to_script(self.rewritten))}\n"
            f"{given}\n"
            f"the original gives\n{_results(found.original)}\n"
            f"the rewritten one gives\n{_results(found.rewritten)}"
        )


def _results(outcome: Outcome) -> str:
    if outcome.fault is not None:
        notes = "".join(f" ({note})" for note in outcome.fault.notes)
        return f"    {outcome.fault.code}: {outcome.fault.message}{notes}"
    lines = [f"    {name} = {shown_value(v, undef)}" for name, (v, undef) in outcome.results.items()]
    return "\n".join(lines) if lines else "    no fault"


def shown_value(value: object, undef: npt.NDArray[np.bool_] | None = None) -> str:
    """An array as nested lists, with undef elements named."""
    if not isinstance(value, np.ndarray):
        return repr(value)
    return _nested(value, undef)


def _nested(values: Array, undef: npt.NDArray[np.bool_] | None) -> str:
    if values.ndim == 0:
        return "undef" if undef is not None and undef[()] else repr(_plain(values[()]))
    parts = (
        _nested(np.asarray(values[k]), None if undef is None else np.asarray(undef[k])) for k in range(len(values))
    )
    return f"[{', '.join(parts)}]"


def _plain(value: object) -> object:
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        return value.item()
    return float(value) if isinstance(value, np.generic) else value


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.rstrip("\n").split("\n"))
