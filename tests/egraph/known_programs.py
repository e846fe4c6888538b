"""Random programs about what is known of elements: names, bounds, undef, accumulations, padding, places by data."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

PARAMETERS, LOCALS = ("A", "B", "C"), ("D", "E")
SIZE = 6


@dataclass
class Writer:
    """Writes one program of a dtype; buffers have `SIZE` elements, of which those from `pad` on are padding."""

    rng: random.Random
    dtype: str = field(init=False)
    pad: int = field(init=False)
    names: int = 0

    def __post_init__(self) -> None:
        self.dtype = "int32" if self.rng.random() < 0.4 else "float32"
        self.pad = self.rng.choice((4, 5))

    def program(self) -> str:
        """The text of a program."""
        body = [f'{name} = T.alloc_buffer(({SIZE},), "{self.dtype}")' for name in LOCALS]
        body += [line for name in PARAMETERS for line in self._assumed(name)]
        body += [f"T.assume(t {self._relation()} {self._number()})"]
        body += [f"for i in range({SIZE}):", f"    T.assume(0 <= idx[i] and idx[i] < {SIZE})"]
        for name in LOCALS:
            if self.rng.random() < 0.8:
                value = self.rng.choice((self._number(), "A[i]", f"T.max(A[i], {self._number()})"))
                body += [f"for i in range({self.rng.choice((SIZE, SIZE, self.pad))}):", f"    {name}[i] = {value}"]
        for _ in range(self.rng.randint(1, 3)):
            body.append(f"for i in range({self.rng.choice((SIZE, SIZE, SIZE, self.pad))}):")
            for _ in range(self.rng.randint(1, 2)):
                body += _indented(self._statement(2, ()))
        buffers = ", ".join(f'{name}: T.Buffer(({SIZE},), "{self.dtype}")' for name in PARAMETERS)
        scalars = f'idx: T.Buffer(({SIZE},), "int32"), t: T.{self.dtype}, m: T.int32'
        return "\n".join(["@T.prim_func", f"def f({buffers}, {scalars}):", *_indented(body)]) + "\n"

    def _number(self) -> str:
        if self.dtype == "int32":
            return str(self.rng.choice((0, 1, 2, -1, 3)))
        return str(self.rng.choice((0.0, 1.0, -1.0, 2.5, -1e30, 0.5, -1000.0)))

    def _relation(self) -> str:
        return self.rng.choice((">=", "<=", ">"))

    def _assumed(self, name: str) -> list[str]:
        lines: list[str] = []
        if self.rng.random() < 0.6:
            lines += [f"for i in range({self.pad}, {SIZE}):", f"    T.assume({name}[i] == {self._number()})"]
        if self.rng.random() < 0.4:
            lines += [f"for i in range({SIZE}):", f"    T.assume({name}[i] {self._relation()} {self._number()})"]
        return lines

    def _index(self) -> str:
        return self.rng.choice(("i",) * 5 + ("0", "5", "(5 - i)", "i // 2", "idx[i]"))

    def _value(self, depth: int, names: tuple[str, ...]) -> str:
        kind = self.rng.random()
        if depth == 0 or kind < 0.25:
            return self._leaf(names)
        a, b = self._value(depth - 1, names), self._value(depth - 1, names)
        if kind < 0.7:
            return f"({a} {self.rng.choice('+-*')} {b})"
        if kind < 0.85:
            return f"T.{self.rng.choice(('max', 'min'))}({a}, {b})"
        if self.dtype == "float32" and self.rng.random() < 0.6:
            return f"T.{self.rng.choice(('exp', 'abs', 'tanh', 'sqrt', 'sigmoid'))}({a})"
        return f"T.if_then_else({self._condition()}, {a}, {b})"

    def _leaf(self, names: tuple[str, ...]) -> str:
        kind = self.rng.random()
        if names and kind < 0.4:
            return self.rng.choice(names)
        if kind < 0.8:
            return f"{self.rng.choice(PARAMETERS + LOCALS)}[{self._index()}]"
        return self.rng.choice(("t", self._number()))

    def _condition(self) -> str:
        data = f"{self.rng.choice(PARAMETERS)}[i] > t"
        return self.rng.choice((f"i < {self.pad}",) * 3 + ("i % 2 == 0", "i < m", data, "i * m < 7"))

    def _statement(self, depth: int, names: tuple[str, ...]) -> list[str]:
        kind, target = self.rng.random(), self.rng.choice(PARAMETERS + LOCALS)
        place = f"{target}[{self.rng.choice(('i',) * 6 + ('0', '5 - i', 'idx[i]'))}]"
        if kind < 0.35:
            undef = self.rng.random() < 0.08
            return [f'{place} = T.undef("{self.dtype}")' if undef else f"{place} = {self._value(2, names)}"]
        if kind < 0.55:
            return self._accumulation(f"{target}[0]", names)
        if kind < 0.75 and depth:
            return self._branch(depth, names)
        if depth:
            self.names += 1
            name = f"v{self.names}"
            inner = [line for _ in range(2) for line in self._statement(depth - 1, (*names, name))]
            return [f"{name} = {self._value(1, names)}", *inner]
        return [f"{place} = {self._value(1, names)}"]

    def _accumulation(self, place: str, names: tuple[str, ...]) -> list[str]:
        value = self._value(1, names)
        forms = (f"{place} + {value}", f"{place} * {value}", f"T.max({place}, {value})", f"T.min({place}, {value})")
        step = f"{place} = {self.rng.choice(forms)}"
        return [f"if {self._condition()}:", f"    {step}"] if self.rng.random() < 0.6 else [step]

    def _branch(self, depth: int, names: tuple[str, ...]) -> list[str]:
        cond, then = self._condition(), self._statement(depth - 1, names)
        lines = [f"if {cond}:", *_indented(then)]
        if self.rng.random() < 0.5:
            other = then if self.rng.random() < 0.3 else self._statement(depth - 1, names)
            lines += ["else:", *_indented(other)]
        if self.rng.random() < 0.3:
            lines += [*self._statement(0, names), f"if {cond}:", *_indented(self._statement(0, names))]
        return lines


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
