"""Bounds of loops as expressions: no part of one may be known to leave its dtype."""

from __future__ import annotations

import pytest

from ir.dtypes import DType
from ir.nodes import Var
from ir.presburger import sets as pb
from ir.transform.loops.ranges import bounds_of

ROW, COLUMN, SIZE = (Var(name, DType.INT32) for name in "ijn")


@pytest.mark.parametrize(("first", "fits"), [(0, True), (-(2**31), False)])
def test_a_size_leaves_room_only_for_what_is_far_from_the_limits(first: int, fits: bool) -> None:
    known = pb.condition((first <= ROW) & (first + 4 >= ROW)).must
    extent = pb.symbol("n").sub(pb.symbol("i")).sub(pb.number(7))
    found = bounds_of(pb.number(0), extent, COLUMN, {"i": ROW, "n": SIZE}, known)
    assert (found is not None) is fits
