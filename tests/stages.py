"""Random programs of stages that hand buffers on: element-wise, guarded, permuted, in place, overwritten, reduced."""

from __future__ import annotations

import random

import numpy as np

from ir import PrimFunc, interpret
from ir.errors import InterpretError

INVERTIBLE = ("i", "7 - i", "(i + 3) % 8", "4 * (i % 2) + i // 2")
PLACES = (*INVERTIBLE[:3], "i // 2", "i % 4", "T.min(i + 1, 7)")
ON_PLACES = ("i < 6", "i >= 2", "i % 2 == 0", "i < 6 and i >= 2")
CONDITIONS = (*ON_PLACES, "i != 5", "A[i] > 3", "i < A[2]")
SMALL = " and ".join(f"{b}[i] > -9 and {b}[i] < 9" for b in "ADE")  # sums of larger integers would be faults


class _Writer:
    """The lines of one program; `readable` are the buffers that hold something."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.dtype = rng.choice(("uint8", "uint8", "float32", "int32"))
        self.conditions = CONDITIONS if self.dtype == "int32" else CONDITIONS[:-1]
        self.local = [f"L{k}" for k in range(rng.randint(1, 3))]
        self.readable = ["A", "D", "E"]
        self.lines = [f'{name} = T.alloc_buffer((8,), "{self.dtype}")' for name in self.local]

    def element(self) -> str:
        return f"{self.rng.choice(self.readable)}[{self.rng.choice(PLACES)}]"

    def value(self) -> str:
        pick = self.rng.choice
        one, other = self.element(), self.element()
        forms = [
            one, "0", "1", f"T.max({one}, {pick(('0', '2', other))})",
            f"T.if_then_else({pick(self.conditions)}, {one}, {pick(('0', other))})",
        ]  # fmt: skip
        if self.dtype == "int32":
            return pick((*forms, f"T.min(T.max({one} - {other}, -9), 9)"))
        return pick((*forms, f"{one} + {other}", f"{one} * {pick(('2', '0', other))}"))

    def assumptions(self) -> None:
        pick = self.rng.choice
        if self.dtype == "int32":
            self.lines += ["for i in range(8):", f"    T.assume({SMALL})"]
        if self.rng.random() < 0.6:
            unless = pick((*ON_PLACES, "A[i] == 0", "i < D[2]" if self.dtype == "int32" else "D[i] > 2"))
            self.lines += ["for i in range(8):", f"    T.assume({unless} or A[i] == {pick(('0', '1', 'D[i]'))})"]

    def reduction(self) -> None:
        most = self.dtype == "int32" or self.rng.random() < 0.5
        body = f"C[0] = T.max(C[0], {self.element()})" if most else f"C[0] = C[0] + {self.element()}"
        guarded = [f"    if {self.rng.choice(self.conditions)}:", f"        {body}"]
        self.lines += ["C[0] = 0", "for i in range(8):", *(guarded if self.rng.random() < 0.7 else [f"    {body}"])]

    def stage(self) -> None:
        pick, kind, target = self.rng.choice, self.rng.random(), self.rng.choice([*self.local, *self.local, "E", "C"])
        if kind < 0.1:
            self.reduction()
            return
        if kind < 0.2:
            self.lines += [f"{target}[{self.rng.randint(0, 7)}] = {pick(('0', '1', 'A[2]', 'T.undef()'))}"]
        elif kind < 0.3 and target in self.readable:
            before = pick((f"{target}[i]", f"T.max({target}[i], A[i])"))
            self.lines += ["for i in range(7):", f"    {target}[i + 1] = {before}"]
        elif kind < 0.4:
            value = pick(("A[ii]", "D[4 * io + ii]", "A[2 * ii + io]", "E[io]"))
            self.lines += ["for io, ii in T.grid(2, 4):", f"    {target}[4 * io + ii] = {value}"]
        elif kind < 0.7:
            store = f"{target}[{pick(INVERTIBLE)}] = {self.value()}"
            self.lines += ["for i in range(8):", f"    if {pick(self.conditions)}:", f"        {store}"]
            if self.rng.random() < 0.5:
                other = pick(("0", "T.undef()", self.element()))
                self.lines += ["    else:", f"        {target}[{pick(INVERTIBLE)}] = {other}"]
        else:
            self.lines += ["for i in range(8):", f"    {target}[{pick((*INVERTIBLE, 'i // 2'))}] = {self.value()}"]
        if target not in self.readable:
            self.readable.append(target)

    def text(self) -> str:
        params = ", ".join(f'{n}: T.Buffer((8,), "{self.dtype}")' for n in "ADEC")
        return f"@T.prim_func\ndef f({params}):\n" + "".join(f"    {line}\n" for line in self.lines)


def staged(rng: random.Random) -> str:
    """The text of a program over A, D (given), E (given and written), C (written) and up to three local buffers."""
    writer = _Writer(rng)
    writer.assumptions()
    for _ in range(rng.randint(2, 6)):
        writer.stage()
    final = rng.choice([b for b in writer.readable if b not in ("A", "D")])
    read = f"C[i] = {final}[{rng.choice(PLACES)}]"
    writer.lines += ["for i in range(8):", f"    if {rng.choice(writer.conditions)}:", f"        {read}"]
    return writer.text()


def inputs(func: PrimFunc, rng: np.random.Generator) -> dict[str, np.ndarray] | None:
    """Arrays that satisfy the assumptions of a staged program, on which it does not fault; None if none are found."""
    dtype = func.buffers[0].dtype.numpy
    for _ in range(20):
        found = {name: rng.integers(0, 9, 8).astype(dtype) for name in "ADEC"}
        found["A"] = np.where(rng.random(8) < rng.choice((0, 0.5, 1)), rng.integers(0, 2), found["A"]).astype(dtype)
        if rng.random() < 0.5:
            found["D"] = np.where(rng.random(8) < 0.5, found["A"], found["D"])
        if rng.random() < 0.2:
            found["D"] = found["A"].copy()
        try:
            interpret(func, sanitize=True, **found)
        except InterpretError:
            continue
        return found
    return None
