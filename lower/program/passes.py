"""The passes over array programs, in the order in which they run: one function each, its law, and why it stands there.

What is decided by prices (barriers, scans, contractions, stores that are held back) is decided where the program is
built, since nodes know no extents; a pass makes of a program another one that means the same, by its form alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

from msgspec import Struct

from lower.program.dead_code import without_dead_code
from lower.program.masked_stores import as_one_choice
from lower.program.outer_padding import padded_outside
from lower.program.read_back import read_back
from lower.program.register_rotation import handed_on
from lower.program.rerolling import folded
from lower.program.shared_planes import sharing_planes
from lower.program.stores_in_turn import in_turn

P = ParamSpec("P")
R = TypeVar("R")


class ArrayPass(Struct, Generic[P, R], frozen=True):
    """A pass: its name, what it is given, what equals what, and why it runs where it does."""

    name: str
    over: str
    law: str
    because: str
    run: Callable[P, R]


ROTATION = ArrayPass(
    "register rotation",
    "the body of a step, as soon as it is built",
    "for k: X = f(X, X[k])  =  row = X[low]; for k: X = f(X, row); row = X[k + 1]",
    "first, while a step stands alone: it gives the step further results, and bodies of phases are compared after it",
    handed_on,
)
READ_BACK = ArrayPass(
    "read back",
    "the body of a step",
    "v = f(X[k]); X[p] = v; Y[q] = g(v)  =  X[p] = f(X[k]); Y[q] = g(X[p])",
    "before stores in turn, which those that are left over need",
    read_back,
)
STORES_IN_TURN = ArrayPass(
    "stores in turn",
    "the body of a step",
    "X[p] = a; X[q] = b  =  for k: X[(p, q)[k]] = (a, b)[k]   where b reads X elsewhere than at p",
    "after rotation, which needs each store by itself, and reading back, which leaves fewer",
    in_turn,
)
SHARED_PLANES = ArrayPass(
    "shared planes",
    "the body of a step",
    "f(X[k, 1:, :], X[k, :-1, :])  =  plane = X[k]; f(plane[1:, :], plane[:-1, :])",
    "after stores in turn, which look at the places that parts are read from",
    sharing_planes,
)
REROLLING = ArrayPass(
    "re-rolling",
    "the bodies of the phases of a loop",
    "s(1); s(2); s(3)  =  for n in (1, 2, 3): s(n)",
    "before dead code: bodies are alike as long as nothing was taken out of one of them",
    folded,
)
MASKED_STORES = ArrayPass(
    "stores under masks",
    "the body of a function",
    "X[p] = c ? a : X[p]; X[p] = d ? b : X[p]  =  X[p] = d ? b : (c ? a : X[p])",
    "when all stores are written, and before dead code, which takes masks that no store is left of",
    as_one_choice,
)
OUTER_PADDING = ArrayPass(
    "outer padding",
    "the body of a function",
    "where(pad(m), pad(x), c)  =  pad(where(m, x, c), c)",
    "when all is written: operands are padded one by one",
    padded_outside,
)
DEAD_CODE = ArrayPass(
    "dead code",
    "the body of a function",
    "x = e; s  =  s, where nothing reads x",
    "last: what other passes and writers leave behind is known when all is written",
    without_dead_code,
)
STORING = (READ_BACK, STORES_IN_TURN)  # where stores of a step would copy arrays
ARRAY_PASSES = (
    ROTATION, *STORING, SHARED_PLANES, REROLLING, MASKED_STORES, OUTER_PADDING, DEAD_CODE,
)  # fmt: skip
