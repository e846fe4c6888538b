"""Random programs about what iterations hand to the next: counters, registers that take turns, rings, loops that run
no time, numbers at the ends of narrow dtypes, elements that are undef in the first iteration."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

SIZE = 16
ENDS = {"int8": ("120", "-128", "127"), "uint8": ("250", "255"), "int32": ("2147483640", "-2147483648", "7")}


@dataclass
class Writer:
    """Writes one program over arrays of a dtype and counters of another; loops run at most 6 times, from 4 at most."""

    rng: random.Random
    dtype: str = field(init=False)
    counter: str = field(init=False)
    registers: int = field(init=False)
    ring: bool = field(init=False)
    source: str = field(init=False)
    looping: bool = False

    def __post_init__(self) -> None:
        self.dtype = self.rng.choice(("int32", "int32", "int8", "uint8", "float32", "float32"))
        self.counter = self.rng.choice(("int32", "int32", "int8", "uint8"))
        self.registers = self.rng.randint(1, 3)
        self.ring = self.rng.random() < 0.4
        self.source = self.rng.choice("AAB")

    def program(self) -> str:
        """The text of a program."""
        buffers = ", ".join(f'{b}: T.Buffer(({SIZE},), "{self.dtype}")' for b in "AB")
        others = f'D: T.Buffer(({SIZE},), "int32"), idx: T.Buffer(({SIZE},), "int32"), n: T.int32, m: T.int32'
        size = self.registers + self.ring
        body = [
            f'R = T.alloc_buffer(({size},), "{self.dtype}")',
            f'C = T.alloc_buffer((2,), "{self.counter}")',
            "T.assume(0 <= n and n < 5)",
            "T.assume(0 <= m and m < 6)",
            f"for i in range({SIZE}):",
            "    T.assume(0 <= idx[i] and idx[i] < 6)",
        ]
        body += [f"C[{k}] = {self._first_count()}" for k in range(2) if self._one_in(0.85)]
        body += [f"R[{k}] = {self._first(k)}" for k in range(self.registers) if self._one_in(0.9)]
        for _ in range(self.rng.choice((1, 1, 2))):
            body += self._loop()
        return "\n".join(["@T.prim_func", f"def f({buffers}, {others}):", *_indented(body)]) + "\n"

    def _one_in(self, share: float) -> bool:
        return self.rng.random() < share

    def _loop(self) -> list[str]:
        start, count = self.rng.choice(("0", "0", "0", "1", "n")), self.rng.choice(("6", "6", "n", "n - 1", "(m - n)"))
        self.looping = True
        body = self._turns() if self._one_in(0.5) else []
        if self._one_in(0.5):
            body += self._tally()
        for _ in range(self.rng.choice((0, 0, 1)) if body else 3):
            statement = self._statement(2)
            body = [*body, *statement] if self._one_in(0.5) else [*statement, *body]
        self.looping = False
        after = [f"D[{self.rng.randrange(SIZE)}] = T.if_then_else({self._on_count()}, 1, 2)"]
        after += [f"B[{self.rng.randrange(SIZE)}] = R[{self.rng.randrange(self.registers)}]"]
        return [f"for i in range({start}, {start} + {count}):", *_indented(body), *after]

    def _turns(self) -> list[str]:
        """Registers that are read and moved on, or a ring of them."""
        last, size = self.registers, self.registers + self.ring
        new = f"{self.source}[i + {last}]" if self._one_in(0.9) else f"({self.source}[i + {last}] + {self._number()})"
        if self.ring:
            moves, places = [f"R[(i + {last}) % {size}] = {new}"], [f"(i + {k}) % {size}" for k in range(last)]
        else:
            moves = [*(f"R[{k}] = R[{k + 1}]" for k in range(last - 1)), f"R[{last - 1}] = {new}"]
            places = [str(k) for k in range(last)]
        if self._one_in(0.15):
            self.rng.shuffle(moves)
        if self._one_in(0.15):
            moves = [f"if {self._condition()}:", *_indented(moves)]
        use = [f"{'D' if self.dtype == 'int32' else 'B'}[i] = {' - '.join(f'R[{p}]' for p in places)}"]
        near = self.rng.choice(("i", "i + 1", "i + 2", f"i + {last}"))
        written = [f"{self.source}[{near}] = {self._value(1)}"] if self._one_in(0.3) else []
        return [*use, *written, *moves] if self._one_in(0.7) else [*moves, *written, *use]

    def _tally(self) -> list[str]:
        """A count of something, and a question how far it has come."""
        step = [self._counting("0")]
        if self._one_in(0.4):
            step = [f"if {self._condition()}:", *_indented(step)]
        asked = [f"D[i] = T.if_then_else({self._on_count()}, 1, 2)"]
        return [*asked, *step] if self._one_in(0.5) else [*step, *asked]

    def _number(self) -> str:
        return {"float32": ("0.0", "1.0", "-1.0"), "uint8": ("0", "1", "3")}.get(self.dtype, ("0", "1", "-1"))[
            self.rng.randrange(3)
        ]

    def _first(self, register: int) -> str:
        held = f"{self.source}[{register}]"
        return held if self._one_in(0.8) else self.rng.choice((self._number(), f"A[{self.rng.randrange(3)}]"))

    def _first_count(self) -> str:
        if self._one_in(0.15):
            return "idx[0]" if self.counter == "int32" else f'T.cast(idx[0], "{self.counter}")'
        return self.rng.choice(ENDS[self.counter] if self._one_in(0.2) else ("0", "0", "1", "3"))

    def _count(self) -> str:
        element = f"C[{self.rng.choice((0, 0, 1))}]"
        return element if self.counter == "int32" else f'T.cast({element}, "int32")'

    def _on_count(self) -> str:
        numbers = ("5", "n", "0", "6", "m", "n - 1", "12", "2 * n", "-6", "7")
        inside = ("i", "2 * i", "i + 1", "i + 2", "3 - i", "i * 2 + 1", "5", "n")
        other = self.rng.choice(inside if self.looping else numbers)
        return f"{self._count()} {self.rng.choice(('<', '<=', '==', '>=', '>'))} {other}"

    def _condition(self) -> str:
        data = ("A[i] > B[i]", f"R[0] == A[{self._place()}]", "idx[i] < 3")
        return self.rng.choice((self._on_count(), self._on_count(), "i % 2 == 0", "i < 3", "i > n", "i == 0", *data))

    def _place(self) -> str:
        return self.rng.choice(("i", "i", "i", "i + 1", f"(i + {SIZE - 1}) % {SIZE}", "0", "i % 2", "idx[i]", "i + 2"))

    def _value(self, depth: int) -> str:
        register = f"R[{self.rng.randrange(self.registers)}]"
        if depth == 0 or self._one_in(0.55):
            cast = f'T.cast(i + 1, "{self.dtype}")'
            return self.rng.choice((f"A[{self._place()}]", register, register, f"B[{self._place()}]", cast))
        a, b = self._value(depth - 1), self._value(depth - 1)
        forms = (f"({a} + {b})", f"({a} - {b})", f"T.max({a}, {b})", f"T.if_then_else({self._condition()}, {a}, {b})")
        return self.rng.choice(forms)

    def _counting(self, place: str = "") -> str:
        dtype, place = self.counter, place or self.rng.choice(("0", "0", "1", "i % 2"))
        amounts = ("1", "1", "1", "2", "0", f'T.cast(i, "{dtype}")', f'T.cast(idx[i] % 3, "{dtype}")')
        amounts += (
            f'T.cast(A[i] > B[i], "{dtype}")',
            f"T.if_then_else(A[i] > B[i], T.{dtype}(1), T.{dtype}(0))",
            "C[1]",
        )
        return f"C[{place}] = C[{place}] {self.rng.choice('+++-')} {self.rng.choice(amounts)}"

    def _statement(self, depth: int) -> list[str]:
        kind = self.rng.random()
        if kind < 0.3 or (depth == 0 and kind > 0.7):
            return [self._counting()]
        if kind < 0.45:
            return [f"R[{self.rng.randrange(self.registers)}] = {self._value(1)}"]
        if kind < 0.55:
            return [f"{self.rng.choice('AB')}[{self._place()}] = {self._value(1)}"]
        if kind < 0.7:
            return [f"D[i] = {self.rng.choice((self._count(), f'T.if_then_else({self._on_count()}, 1, 2)'))}"]
        if kind < 0.9:
            lines = [f"if {self._condition()}:", *_indented(self._statement(depth - 1))]
            return [*lines, "else:", *_indented(self._statement(depth - 1))] if self._one_in(0.3) else lines
        return [f"for j in range({self.rng.choice(('2', '3', 'n', '0'))}):", *_indented(self._statement(depth - 1))]


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
