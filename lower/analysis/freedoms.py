"""Which freedoms of the float policy each form of the lowering takes. A form that rounds otherwise than the program, or
counts on finite numbers, is declared here and asks before it is taken; no other place decides by the policy.

Rules declare theirs where they are written: those of the search (`egraph_rules/rules`), of tensor terms
(`lower/tensor/rules.py`) and of statements that change nothing (`lower/nest/silent_stores.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ir.dtypes import DType
from ir.errors import OptionError, suggest
from ir.floats import DEFAULT_FLOATS, Floats

_ORDER = Floats.REASSOCIATE
_APART = Floats.DISTRIBUTE
_SIGNS = Floats.NO_SIGNED_ZEROS
_FINITE = Floats.FINITE
_NUMBERS = _FINITE | _SIGNS


@dataclass(frozen=True, slots=True)
class Form:
    """Something that lowering may do with floats, by what it does, and the freedoms that it takes then."""

    what: str
    floats: Floats


UPDATES = Form("sums and products in any order from a zero or one, by array operations and libraries", _ORDER | _SIGNS)
EXTREMES = Form("minima and maxima in any order", _SIGNS)
COLLECTED = Form("like terms of linear combinations collected", _ORDER | _FINITE)
EXPANDED = Form("products of sums and differences taken apart though terms may cancel", _ORDER | _FINITE | _APART)
CHOICE_AS_EXTREME = Form("a choice between two numbers that are compared as their minimum or maximum", _NUMBERS)
SCANS = Form("recurrences by composing steps, in blocks or by sums over windows that double", _ORDER | _FINITE)
FILTERS = Form("filters by responses to single terms within blocks", _ORDER | _FINITE)
DELAYED = Form("updates of a block of steps in one product", _ORDER | _FINITE)
FACTORS = Form("a library's factorization", _ORDER | _FINITE)
SYSTEMS = Form("a library's solution of triangular systems", _ORDER | _FINITE)
SEARCHES = Form("the place of the largest or smallest by its value", _NUMBERS)
MERGED = Form("updates of one place in one statement, zero where a guard does not hold", _ORDER | _NUMBERS)
MASKED = Form("padding with zeros in place of a guard", _NUMBERS)
PALLAS = Form("kernels by Pallas, with sums by tiles", _ORDER | _NUMBERS)

FORMS = (
    UPDATES, EXTREMES, COLLECTED, EXPANDED, CHOICE_AS_EXTREME, SCANS, FILTERS, DELAYED, FACTORS, SYSTEMS, SEARCHES,
    MERGED, MASKED, PALLAS,
)  # fmt: skip


Precision = Literal["highest", "high", "default"]  # of products of float32 arrays, as `jax.lax.Precision` has them
PRECISIONS: tuple[Precision, ...] = ("highest", "high", "default")
HIGHEST: Precision = "highest"


def precision_named(name: str) -> Precision:
    """A precision by its name.

    Raises:
        LoopsatError: there is none of this name.
    """
    for precision in PRECISIONS:
        if name == precision:
            return precision
    help = suggest(name, PRECISIONS) or f"use {', '.join(PRECISIONS)}"
    raise OptionError("unknown-precision", f"there is no precision `{name}`", help=help)


@dataclass(slots=True)
class Policy:
    """What a caller grants. `withheld` are the forms that were asked for and not granted."""

    floats: Floats = DEFAULT_FLOATS
    precision: Precision = HIGHEST
    withheld: dict[Form, None] = field(default_factory=dict[Form, None])

    def may(self, form: Form, dtype: DType) -> bool:
        """Whether a form may be taken with elements of a dtype."""
        if not dtype.is_float or form.floats in self.floats:
            return True
        self.withheld[form] = None
        return False

    @property
    def exact(self) -> bool:
        """Whether each result of an operation over floats is rounded as the program says, and has its sign."""
        return (_ORDER | _SIGNS) not in self.floats
