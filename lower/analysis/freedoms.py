"""What a form of the lowering declares of itself, and what callers grant: freedoms of floats, and what is switched off.

Whatever lowering may choose is a `Form` with a name, a law, a reason and the float freedoms that it takes, declared
where it is implemented; `lower/runtime/switches.py` has the table of all. It asks the `Policy` before it is taken; no
other place decides by what was granted. Rules declare theirs where they are written (`egraph_rules/rules`), and so do
those of statements that change nothing (`lower/nest/silent_stores.py`).
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from ir.dtypes import DType
from ir.errors import OptionError, suggest
from ir.floats import DEFAULT_FLOATS, Floats

ORDER = Floats.REASSOCIATE | Floats.FINITE  # sums in another order, of which no part may overflow
NUMBERS = Floats.FINITE | Floats.NO_SIGNED_ZEROS
_ROUNDED = Floats.REASSOCIATE | Floats.NO_SIGNED_ZEROS

FAMILIES: dict[str, str] = {
    "structure": "forms of loops and places of values; without any of it, loops run as they are written",
    "instructions": "loop nests that are one operation of a library or of our own",
    "mesh": "how work is spread over the devices of a mesh; without it, each does all",
    "values": "forms of single values and of the code for one statement",
}


class Form(Struct, frozen=True):
    """Something that lowering may choose: `family.name`, what becomes of what, why that is the same, and the freedoms
    that it takes where elements are floats."""

    name: str
    law: str
    reason: str
    floats: Floats = Floats.STRICT

    @property
    def family(self) -> str:
        """The part of the name before the point."""
        return self.name.partition(".")[0]


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


class Policy(Struct):
    """What a caller grants. `without` are names and families of forms that are switched off; `withheld` are the forms
    that were asked for and for whose freedoms there was no leave."""

    floats: Floats = DEFAULT_FLOATS
    precision: Precision = HIGHEST
    without: frozenset[str] = frozenset()
    withheld: dict[Form, None] = field(default_factory=dict[Form, None])

    def takes(self, form: Form) -> bool:
        """Whether a form is switched on."""
        return form.name not in self.without and form.family not in self.without

    def may(self, form: Form, dtype: DType) -> bool:
        """Whether a form may be taken with elements of a dtype."""
        if not self.takes(form):
            return False
        if not dtype.is_float or form.floats in self.floats:
            return True
        self.withheld[form] = None
        return False

    @property
    def exact(self) -> bool:
        """Whether each result of an operation over floats is rounded as the program says, and has its sign."""
        return _ROUNDED not in self.floats
