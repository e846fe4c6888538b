"""How much of what is dear the default run of the tests takes; the rest is `fuzz`, or runs by night."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from typing import Any

import pytest
from hypothesis import settings

NIGHTLY = "nightly"


def few(count: int) -> settings:
    """So many random examples by default, since each takes long; as many as any test by night."""
    by_night = settings.get_current_profile_name() == NIGHTLY
    return settings() if by_night else settings(max_examples=count)


def some(cases: Iterable[Any], count: float) -> list[Any]:
    """Parameters of a test, of which `count`, evenly spread, are taken by default; `-m fuzz` takes the others.

    A count below one is a share. As in `pytest.mark.parametrize`, a tuple has the values of several parameters.
    """
    given = list(cases)
    number = ceil(count * len(given)) if count < 1 else int(count)
    assert 0 < number <= len(given)
    taken = {k * len(given) // number for k in range(number)}
    return [case if k in taken else _by_night(case) for k, case in enumerate(given)]


def _by_night(case: Any) -> Any:
    if hasattr(case, "marks"):  # made by `pytest.param`
        return pytest.param(*case.values, marks=[*case.marks, pytest.mark.fuzz], id=case.id)
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.fuzz)
