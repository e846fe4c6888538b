"""Writes random programs, statement by statement: expressions and statements whose accesses stay in bounds."""

from __future__ import annotations

from typing import TypeVar

from hypothesis import strategies as st
from msgspec import Struct, field

NUMBERS = {
    "f": ("0.0", "1.0", "-0.5", "2.0"), "i": ("0", "1", "2", "-3"), "u": ("0", "1", "2", "7"), "b": ("False", "True"),
}  # fmt: skip
_BARE = ("int32", "int64", "float32", "float64", "bool")  # of these, numbers take the dtype of where they stand
_SMALL = 20  # floats become integers within so much, where all dtypes have them

_Option = TypeVar("_Option")

Scope = dict[str, tuple[int, int]]  # the values of names and other integer terms: from the first to before the second
Place = tuple[str, str]  # an element as it is written, and its dtype


def zero(dtype: str) -> str:
    return {"f": f"T.{dtype}(0.0)", "b": "False"}.get(dtype[0], f"T.{dtype}(0)")


def converted(value: str, given: str, dtype: str) -> str:
    """A value of one dtype as one of another; floats are brought into the range of all integers first."""
    if given == dtype:
        return value
    if dtype == "bool":
        return f"({value} != {zero(given)})"
    if given[0] == "f" and dtype[0] in "iu":
        low = 0 if dtype[0] == "u" else -_SMALL
        value = f"T.min(T.max({value}, T.{given}({low}.0)), T.{given}({_SMALL}.0))"
    return f'T.cast({value}, "{dtype}")'


class Writer(Struct):
    """Writes one program; `draw` decides, and indices are in bounds by what the scope knows.

    Buffers starting with `L` are local and start undef; `C` is never written, so bindings of its elements are defined.
    """

    draw: st.DrawFn
    buffers: dict[str, tuple[int, ...]]
    dtypes: dict[str, str]
    lines: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)  # names bound to elements, in scope, with their dtypes
    fresh: int = 0

    def pick(self, *options: _Option) -> _Option:
        return self.draw(st.sampled_from(options))

    def number(self, dtype: str) -> str:
        number = self.pick(*NUMBERS[dtype[0]])
        return number if dtype in _BARE else f"T.{dtype}({number})"  # bare ones are folded, and may turn negative

    def name(self, stem: str) -> str:
        self.fresh += 1
        return f"{stem}{self.fresh}"

    def emit(self, depth: int, text: str) -> None:
        self.lines.append("    " * (depth + 1) + text)

    def local(self, shape: tuple[int, ...], dtype: str) -> str:
        """A new local buffer."""
        name = "L" if "L" not in self.buffers else self.name("L")
        self.emit(0, f'{name} = T.alloc_buffer({shape}, "{dtype}")')
        self.buffers[name], self.dtypes[name] = shape, dtype
        return name

    # Expressions -----------------------------------------------------------------------------------------------------

    def index(self, extent: int, scope: Scope) -> str:
        """An index inside 0..extent: a term that fits, also shifted or mirrored, or something reduced."""
        choices = [str(k) for k in (0, extent - 1)]
        for v, (low, high) in scope.items():
            if low >= 0 and high <= extent:
                choices += [v, v]
            elif high - low <= extent:
                choices.append(f"{v} - {low}" if low > 0 else f"{v} + {-low}")
            if low >= 0 and high <= extent and extent > 1:
                choices.append(f"{extent - 1} - {v}")
        if scope:
            v = self.pick(*scope)
            choices.append(f"({v} * {self.pick(1, 2, 3)} + {self.pick(0, 1, 5)}) % {extent}")
            choices.append(f"{v} // {self.pick(1, 2)} % {extent}")
            choices.append(f"T.max(T.min({v} + {self.pick(-1, 1, 2)}, {extent - 1}), 0)")
            if len(scope) > 1:
                w = self.pick(*scope)
                choices.append(f"({v} + {w}) % {extent}")
        return self.pick(*choices)

    def place(self, buffer: str, scope: Scope) -> str:
        """An element of a buffer; one index may hang on data, which is always defined in `C`."""
        indices = [self.index(n, scope) for n in self.buffers[buffer]]
        if "C" in self.buffers and self.pick(*[False] * 15, True):
            at = ", ".join(self.index(n, scope) for n in self.buffers["C"])
            indices[0] = f"{converted(f'C[{at}]', self.dtypes['C'], 'int32')} % {self.buffers[buffer][0]}"
        return f"{buffer}[{', '.join(indices)}]"

    @property
    def writable(self) -> list[str]:
        return [b for b in self.buffers if b != "C"]

    @property
    def readable(self) -> list[str]:
        """Buffers whose elements start defined."""
        return [b for b in self.buffers if not b.startswith("L")]

    def target(self, scope: Scope) -> Place:
        """An element that may be stored to."""
        buffer = self.pick(*self.writable)
        return self.place(buffer, scope), self.dtypes[buffer]

    def order(self, scope: Scope) -> str:
        """A condition on the terms of a scope."""
        options = [self.pick("n < 3", "n >= 1", "n == 2")]
        if scope:
            v = self.pick(*scope)
            bound = self.pick(0, 1, 2, 3, scope[v][1])
            options += [f"{v} < {bound}", f"{v} >= {bound}", f"{v} == {bound}", f"{v} % 2 == 0", f"{v} // 2 == 0"]
            options += [f"{v} < n", f"0 <= {v} < {bound}"]
            if len(scope) > 1:
                w = self.pick(*scope)
                k = self.pick(2, 3, 4)
                options += [f"{k} * {v} + {w} < {self.pick(3, 5, 6, 7)}", f"{v} <= {w}", f"{v} != {w}"]
        return self.pick(*options)

    def condition(self, scope: Scope) -> str:
        first = self.order(scope)
        kind = self.pick("plain", "plain", "plain", "and", "or", "not", "data")
        if kind == "plain":
            return first
        if kind == "not":
            return f"not ({first})"
        if kind == "data":
            buffer = self.pick(*self.readable)
            dtype, element = self.dtypes[buffer], self.place(buffer, scope)
            return f"{first} and {element}" if dtype == "bool" else f"{first} and {element} > {zero(dtype)}"
        return f"{first} {kind} {self.order(scope)}"

    def value(self, scope: Scope, dtype: str, depth: int = 2) -> str:
        kind = self.pick("number", "load", "load", "load", "add", "mul", "max", "select", "sub", "name", "other")
        names = [name for name, own in self.values.items() if own == dtype]
        if kind == "name" and names:
            return self.pick(*names)
        if depth == 0 or kind == "number":
            return self.number(dtype)
        if kind in ("load", "name"):
            buffer = self.pick(*self.buffers)
            return converted(self.place(buffer, scope), self.dtypes[buffer], dtype)
        if dtype == "bool":
            return f"({self.condition(scope)})"
        a, b = self.value(scope, dtype, depth - 1), self.value(scope, dtype, depth - 1)
        match kind:
            case "add":
                return f"({a} + {b})"
            case "sub":
                return f"({a} - {b})"
            case "mul":
                return f"({a} * {self.number(dtype)})"
            case "max":
                cast = f"T.{dtype}"
                return f"T.{self.pick('max', 'min')}({cast}({a}), {cast}({b}))"
            case "other":
                return self.of_one(f"T.{dtype}({a})", scope, dtype)
            case _:
                cast = f"T.{dtype}"
                return f"T.if_then_else({self.condition(scope)}, {cast}({a}) , {cast}({b}))"

    def of_one(self, value: str, scope: Scope, dtype: str) -> str:
        """A function of one value that only its kind of dtypes has, or a term of the scope in its place."""
        if scope and self.pick(True, False):
            return converted(f"({self.pick(*scope)})", "int32", dtype)
        if dtype[0] == "f":
            quotients = f"({value} / T.{dtype}(2.0))", f"(T.{dtype}(1.0) / {value})"
            return self.pick(f"T.abs({value})", f"(-{value})", f"T.floor({value})", *quotients)
        k = self.pick(1, 2, 3)
        options = [f"({value} // T.{dtype}({k}))", f"({value} % T.{dtype}({k + 1}))", f"({value} & T.{dtype}({k}))"]
        return self.pick(*options, f"({value} >> T.{dtype}({k - 1}))", f"(~{value})", f"({value} ^ T.{dtype}({k}))")

    def updated(self, element: str, dtype: str, value: str) -> str:
        """An element after an update that a reduction may repeat."""
        if dtype == "bool":
            return f"{element} {self.pick('and', 'or')} {value}"
        op = self.pick("+", "+", "+", "-", "max", "min")
        cast = f"T.{dtype}"
        return f"T.{op}({element}, {cast}({value}))" if op in ("max", "min") else f"{element} {op} {value}"

    # Statements ------------------------------------------------------------------------------------------------------

    def statement(self, depth: int, scope: Scope, budget: int) -> None:
        kinds = ["store", "store", "update", "back"]
        if budget > 0:
            kinds += ["if", "if", "if_else", "for", "for", "let", "bind"] + ["for"] * (0 if scope else 4)
        kind = self.pick(*kinds)
        match kind:
            case "store" | "update" | "back":
                self.store(depth, kind, scope)
            case "if" | "if_else":
                self.emit(depth, f"if {self.condition(scope)}:")
                self.block(depth + 1, scope, budget - 1)
                if kind == "if_else":
                    self.emit(depth, "else:")
                    self.block(depth + 1, scope, budget - 1)
            case "let":
                name = self.name("x")
                if scope:
                    v = self.pick(*scope)
                    low, high = scope[v]
                    self.emit(depth, f"{name} = ({v}) * 2 + {self.pick(0, 1)}")
                    scope = {**scope, name: (2 * low, 2 * high)}
                else:
                    self.emit(depth, f"{name} = 0")
                    scope = {**scope, name: (0, 1)}
                self.statement(depth, scope, budget - 1)
            case "bind":
                name = self.name("y")
                dtype = self.dtypes.get("C", self.dtypes["A"])
                place = self.place("C", scope) if "C" in self.buffers else self.number(dtype)
                self.emit(depth, f"{name} = T.{dtype}({place})")
                self.values[name] = dtype
                self.statement(depth, scope, budget - 1)
                del self.values[name]
            case _:
                self.loop(depth, scope, budget)

    def store(self, depth: int, kind: str, scope: Scope) -> None:
        """A store of a value, an update, or one that leaves what was there, adds to it or forgets it."""
        target, dtype = self.target(scope)
        match kind:
            case "store":
                value = self.value(scope, dtype)
            case "update":
                value = self.updated(target, dtype, self.value(scope, dtype, 1))
            case _:
                more = f"{target} + {self.number(dtype)}" if dtype != "bool" else f"not {target}"
                value = self.pick(target, more, "T.undef()")
        self.emit(depth, f"{target} = {value}")

    def loop(self, depth: int, scope: Scope, budget: int) -> None:
        name = self.name("i")
        low, high = 0, self.pick(0, 1, 2, 3, 4)
        inner = ["inner"] * (4 if scope else 0)
        kind = self.pick("plain", "start", "start", "scalar", "kind", "step", *inner)
        outer = [v for v, (start, _) in scope.items() if start >= 0]
        if kind == "start":
            low = self.pick(-2, -1, 1, 2)
            high += low
            self.emit(depth, f"for {name} in T.serial({low}, {high}):")
        elif kind == "inner" and outer:
            v = self.pick(*outer)
            self.emit(depth, f"for {name} in T.serial({self.pick(f'{v} + 1', v)}):")
            high = scope[v][1]
        elif kind == "scalar":
            self.emit(depth, f"for {name} in range(n):")
            high = 4
        elif kind == "step":
            self.emit(depth, f"for {name} in T.serial(0, {high}, {self.pick(2, 3)}):")
        else:
            spelling = self.pick("unroll", "vectorized") if kind == "kind" else "serial"
            self.emit(depth, f"for {name} in T.{spelling}({high}):")
        self.block(depth + 1, {**scope, name: (low, max(high, low + 1))}, budget - 1)

    def block(self, depth: int, scope: Scope, budget: int) -> None:
        for _ in range(self.pick(1, 1, 2)):
            self.statement(depth, scope, budget)
