"""The float policy: named freedoms that a caller grants. Owns their names and meaning; who uses one declares it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Flag, auto

from ir.errors import OptionError, suggest


class Floats(Flag):
    """Freedoms that rewrites, idioms and lowering forms over floats may take; a caller can give or withdraw each.

    `REASSOCIATE`: sums and products in another order. `FINITE`: what the program reads, and what it computes from
    that, is neither NaN nor infinite: `T.max(x, T.min_value("float32"))` is `x` then. `NO_SIGNED_ZEROS`: 0.0 and -0.0
    are the same. `DISTRIBUTE`: products over sums and differences, which loses digits where terms cancel.
    `FINITE_UNDEF`: what nobody has written is finite too, so that a product of it with zero may be introduced.
    `APPROXIMATE`: functions and quotients with larger errors than the source's, by some units in the last place.
    """

    STRICT = 0
    REASSOCIATE = auto()
    FINITE = auto()
    NO_SIGNED_ZEROS = auto()
    DISTRIBUTE = auto()
    FINITE_UNDEF = auto()
    APPROXIMATE = auto()


DEFAULT_FLOATS = Floats.REASSOCIATE | Floats.FINITE | Floats.NO_SIGNED_ZEROS

FREEDOMS = {str(freedom.name).lower(): freedom for freedom in Floats if freedom}


def floats_named(names: Floats | str | Iterable[str] | None) -> Floats:
    """The policy that grants freedoms by name ("strict", "default" or a list of them); None means the default one.

    Raises:
        LoopsatError: a name is unknown.
    """
    if names is None:
        return DEFAULT_FLOATS
    if isinstance(names, Floats):
        return names
    policies = {**FREEDOMS, "strict": Floats.STRICT, "default": DEFAULT_FLOATS}
    granted = Floats.STRICT
    try:
        given = [names] if isinstance(names, str) else list(names)
    except TypeError as error:
        message = f"floats must be a list of freedoms, not {names!r}"
        raise OptionError("argument", message, help=f"use {', '.join(FREEDOMS)}") from error
    for name in given:
        if name not in policies:
            help = suggest(name, policies) or f"use {', '.join(policies)}"
            raise OptionError("unknown-freedom", f"there is no float freedom `{name}`", help=help)
        granted |= policies[name]
    return granted


def freedom_names(floats: Floats) -> tuple[str, ...]:
    """The freedoms that a policy grants, by name."""
    return tuple(name for name, freedom in FREEDOMS.items() if freedom in floats)
