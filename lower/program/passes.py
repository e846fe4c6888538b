"""The passes over array programs, in the order in which they run: one function each, its law, and why it stands there.

What is decided by prices (barriers, scans, contractions, stores that are held back) is decided where the program is
built, since nodes know no extents; a pass makes of a program another one that means the same, by its form alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, ParamSpec, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from lower.program.adjacent_rows import rows_at_once
from lower.program.constant_tables import with_tables
from lower.program.dead_code import without_dead_code
from lower.program.kept_slices import with_kept_slices
from lower.program.masked_stores import as_one_choice
from lower.program.narrowing import narrowed
from lower.program.nodes import JaxStmt
from lower.program.padding import padded_once, padded_outside
from lower.program.registers import Handed, Step, in_registers
from lower.program.rerolling import folded
from lower.program.shared_planes import sharing_planes
from lower.program.window_starts import in_one_dtype

P = ParamSpec("P")
R = TypeVar("R")


class ArrayPass(Struct, Generic[P, R], frozen=True):
    """A pass: its name, what it is given, what equals what, and why it runs where it does."""

    name: str
    over: str
    law: str
    because: str
    run: Callable[P, R]


ADJACENT_ROWS = ArrayPass(
    "adjacent rows",
    "the body of a step",
    "X[k] = a; X[k + 1] = b  =  X[k : k + 2] = (a, b)   where b reads no X[k]",
    "before registers, which rows that are stored at once need not",
    rows_at_once,
)
REGISTERS = ArrayPass(
    "registers",
    "the body of a step",
    "X[p] = X[q]; X[q] = X[p]; Y[k] = X[p]  =  r = (X[p], X[q]); X[p] = r[1]; X[q] = r[0]; Y[k] = r[0]",
    "while a step stands alone: it gives the step further results, and bodies of phases are compared after it",
    in_registers,
)
SHARED_PLANES = ArrayPass(
    "shared planes",
    "the body of a step",
    "f(X[k, 1:, :], X[k, :-1, :])  =  plane = X[k]; f(plane[1:, :], plane[:-1, :])",
    "after registers, which look at the places that parts are read from",
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
NARROWING = ArrayPass(
    "narrowing",
    "the body of a function",
    "X = X.at[:n].add(y); f(X[:m])  =  X = X[:n] + y; f(X[:m])   where m <= n",
    "when all is written: what nobody looks at is known then",
    narrowed,
)
JOINT_PADDING = ArrayPass(
    "joint padding",
    "the body of a function",
    "x = kept(pad(a, (0, 1))); y = kept(pad(a, (2, 0)))  =  w = kept(pad(a, (2, 1))); x = w[2:]; y = w[:-1]",
    "when all is written: what statements pad an array by is known then",
    padded_once,
)
KEPT_SLICES = ArrayPass(
    "kept slices",
    "the body of a function",
    "x = dynamic_slice(y, i); x = x.at[p].set(c ? a : x[p])  =  the same after a barrier",
    "when all stores are written, some of them as one",
    with_kept_slices,
)
DEAD_CODE = ArrayPass(
    "dead code",
    "the body of a function",
    "x = e; s  =  s, where nothing reads x",
    "last: what other passes and writers leave behind is known when all is written",
    without_dead_code,
)
CONSTANT_TABLES = ArrayPass(
    "constant tables",
    "the body of a function for CPUs",
    "f(arange(n))  =  a constant, where f takes longer than to read what it gives",
    "after dead code, of which no table is made; what is left of the statements that made one is taken out behind it",
    with_tables,
)
WINDOW_STARTS = ArrayPass(
    "window starts",
    "the functions of a module with 64-bit types",
    "dynamic_slice(x, (0, n), sizes)  =  dynamic_slice(x, (int64(0), int64(n)), sizes)",
    "after all functions: one of them decides what numbers are in the others, and passes look at places as they were",
    in_one_dtype,
)
ARRAY_PASSES = (
    ADJACENT_ROWS, REGISTERS, SHARED_PLANES, REROLLING, MASKED_STORES, OUTER_PADDING, JOINT_PADDING, NARROWING,
    KEPT_SLICES, DEAD_CODE, CONSTANT_TABLES, WINDOW_STARTS,
)  # fmt: skip


def without_copies(body: Sequence[JaxStmt], step: Step, fresh: Callable[[str], str]) -> Handed:
    """The body of a step by the passes that keep a compiler from copying arrays that it carries."""
    found = REGISTERS.run(ADJACENT_ROWS.run(body), step, fresh)
    return replace(found, body=[*SHARED_PLANES.run(found.body, step.numbers, step.shapes, fresh)])
