"""Checks of accesses at small sizes: a product of names is linear once sizes are numbers. Proves nothing."""

from __future__ import annotations

from collections.abc import Iterator

from ir.analysis.access import check_accesses
from ir.analysis.witness import Words
from ir.errors import VerifyError
from ir.nodes import PrimFunc
from ir.semantics.specialize import specialize
from ir.traverse import shape_vars

_EQUAL = (1, 2, 3, 4, 7)  # one size for all; an odd one and an even one of each order tell quotients apart
_UNEQUAL = (3, 5, 2, 7, 4)  # in turn, for sizes of which none is the others' bound


def check_small_sizes(func: PrimFunc, *, allow_stray_loads: bool, words: Words) -> None:
    """Check the accesses of a well-formed function where its sizes and integer scalars are some small numbers.

    Raises:
        VerifyError: an access can leave its buffer at such sizes, which a note names.
    """
    for sizes in _samples(func):
        try:
            check_accesses(specialize(func, sizes), allow_stray_loads=allow_stray_loads, words=words)
        except VerifyError as error:
            if error.code == "assumption-false":  # the program is not for these sizes
                continue
            notes = (*error.notes, f"this is at {', '.join(f'{name} = {size}' for name, size in sizes.items())}")
            help = f"guard it with a condition that holds at every size, or state with {words.assume} what sizes may be"
            raise VerifyError(error.code, error.message, error.span, notes=notes, help=help) from None


def _samples(func: PrimFunc) -> Iterator[dict[str, int]]:
    names = [v.name for v in (*shape_vars(func), *(s for s in func.scalars if s.dtype.is_integer))]
    if names:
        yield from (dict.fromkeys(names, size) for size in _EQUAL)
    if len(names) > 1:
        turned = (_UNEQUAL[k:] + _UNEQUAL[:k] for k in range(len(_UNEQUAL)))
        yield from ({name: turn[k % len(turn)] for k, name in enumerate(names)} for turn in turned)
