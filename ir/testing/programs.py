"""Hypothesis strategies: programs of the kind people write over padded layouts, as source text or parsed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeVar

from hypothesis import strategies as st

from ir.nodes import Module, PrimFunc
from ir.script.parser import parse

DTYPES = ("int32", "float32", "int32", "float32", "float64", "int64", "uint8")
NUMBERS = {"f": ("0.0", "1.0", "-0.5", "2.0"), "i": ("0", "1", "2", "-3"), "u": ("0", "1", "2", "7")}

_Option = TypeVar("_Option")

Scope = dict[str, tuple[int, int]]  # the values of integer names: from the first to before the second


@dataclass
class _Writer:
    """Writes one program; `draw` decides, and indices are in bounds by what the scope knows.

    Buffers starting with `L` are local and start undef; `C` is never written, so bindings of its elements are defined.
    """

    draw: st.DrawFn
    dtype: str
    buffers: dict[str, tuple[int, ...]]
    lines: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)  # names bound to elements, in scope
    fresh: int = 0

    def pick(self, *options: _Option) -> _Option:
        return self.draw(st.sampled_from(options))

    def number(self) -> str:
        number = self.pick(*NUMBERS[self.dtype[0]])
        return (
            number if self.dtype[0] in "fi" else f"T.{self.dtype}({number})"
        )  # bare ones are folded, and may turn negative

    def name(self, stem: str) -> str:
        self.fresh += 1
        return f"{stem}{self.fresh}"

    def emit(self, depth: int, text: str) -> None:
        self.lines.append("    " * (depth + 1) + text)

    # Expressions -----------------------------------------------------------------------------------------------------

    def index(self, extent: int, scope: Scope) -> str:
        """An index inside 0..extent: a name that fits, also shifted or mirrored, or something reduced."""
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
            if len(scope) > 1:
                w = self.pick(*scope)
                choices.append(f"({v} + {w}) % {extent}")
        return self.pick(*choices)

    def place(self, buffer: str, scope: Scope) -> str:
        return f"{buffer}[{', '.join(self.index(n, scope) for n in self.buffers[buffer])}]"

    @property
    def writable(self) -> list[str]:
        return [b for b in self.buffers if b != "C"]

    @property
    def readable(self) -> list[str]:
        """Buffers whose elements start defined."""
        return [b for b in self.buffers if not b.startswith("L")]

    def condition(self, scope: Scope) -> str:
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
        first = self.pick(*options)
        kind = self.pick("plain", "plain", "plain", "and", "or", "not", "data")
        if kind == "plain":
            return first
        if kind == "not":
            return f"not ({first})"
        if kind == "data":
            zero = "0.0" if self.dtype[0] == "f" else "0"
            return f"{first} and {self.place(self.pick(*self.readable), scope)} > {zero}"
        return f"{first} {kind} {self.pick(*options)}"

    def value(self, scope: Scope, depth: int = 2) -> str:
        kind = self.pick("number", "load", "load", "load", "add", "mul", "max", "select", "sub", "name")
        if kind == "name" and self.values:
            return self.pick(*self.values)
        if depth == 0 or kind == "number":
            return self.number()
        if kind in ("load", "name"):
            return self.place(self.pick(*self.buffers), scope)
        a, b = self.value(scope, depth - 1), self.value(scope, depth - 1)
        match kind:
            case "add":
                return f"({a} + {b})"
            case "sub":
                return f"({a} - {b})"
            case "mul":
                return f"({a} * {self.number()})"
            case "max":
                cast = f"T.{self.dtype}"
                return f"T.{self.pick('max', 'min')}({cast}({a}), {cast}({b}))"
            case _:
                cast = f"T.{self.dtype}"
                return f"T.if_then_else({self.condition(scope)}, {cast}({a}) , {cast}({b}))"

    # Statements ------------------------------------------------------------------------------------------------------

    def statement(self, depth: int, scope: Scope, budget: int) -> None:
        kinds = ["store", "store", "update", "back"]
        if budget > 0:
            kinds += ["if", "if", "if_else", "for", "for", "let", "bind"] + ["for"] * (0 if scope else 4)
        kind = self.pick(*kinds)
        target = self.place(self.pick(*self.writable), scope)
        match kind:
            case "store":
                self.emit(depth, f"{target} = {self.value(scope)}")
            case "update":
                self.emit(depth, f"{target} = {target} {self.pick('+', '+', '-')} {self.value(scope, 1)}")
            case "back":
                self.emit(depth, f"{target} = {self.pick(target, f'{target} + {self.number()}', 'T.undef()')}")
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
                    self.emit(depth, f"{name} = {v} * 2 + {self.pick(0, 1)}")
                    scope = {**scope, name: (2 * low, 2 * high)}
                else:
                    self.emit(depth, f"{name} = 0")
                    scope = {**scope, name: (0, 1)}
                self.statement(depth, scope, budget - 1)
            case "bind":
                name = self.name("y")
                source = "C" if "C" in self.buffers else None
                place = self.number() if source is None else self.place(source, scope)
                self.emit(depth, f"{name} = T.{self.dtype}({place})")
                self.values.append(name)
                self.statement(depth, scope, budget - 1)
                self.values.pop()
            case _:
                self.loop(depth, scope, budget)

    def loop(self, depth: int, scope: Scope, budget: int) -> None:
        name = self.name("i")
        low, high = 0, self.pick(0, 1, 2, 3, 4)
        kind = self.pick("plain", "plain", "start", "start", "inner", "inner", "scalar", "kind")
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
        else:
            spelling = self.pick("unroll", "vectorized") if kind == "kind" else "serial"
            self.emit(depth, f"for {name} in T.{spelling}({high}):")
        self.block(depth + 1, {**scope, name: (low, max(high, low + 1))}, budget - 1)

    def block(self, depth: int, scope: Scope, budget: int) -> None:
        for _ in range(self.pick(1, 1, 2)):
            self.statement(depth, scope, budget)

    # Stages ----------------------------------------------------------------------------------------------------------

    def nest(self, buffer: str) -> tuple[Scope, str, str, int]:
        """A nest over all of a buffer: its scope, the element, the place in the logical order, how many there are."""
        shape = self.buffers[buffer]
        names = [self.name("io" if k + 1 < len(shape) else "ii") for k in range(len(shape))]
        self.emit(0, f"for {', '.join(names)} in T.grid({', '.join(map(str, shape))}):")
        flat, size = names[-1], shape[-1]
        if len(shape) > 1:  # the last two axes are one logical axis, as after a split
            flat, size = f"{shape[-1]} * {names[-2]} + {names[-1]}", shape[-2] * shape[-1]
        scope = {v: (0, n) for v, n in zip(names, shape, strict=True)}
        return scope, f"{buffer}[{', '.join(names)}]", flat, size

    def padded_stage(self, buffer: str) -> None:
        """A nest over a buffer, guarded in the way layouts are."""
        scope, here, flat, size = self.nest(buffer)
        valid = self.pick(*{max(v, 0) for v in (1, size - 1, size - 2, size)})
        kind = self.pick("if", "if", "if", "all", "else", "block")
        if kind == "all":
            self.emit(1, f"{here} = {self.value(scope)}")
            return
        if kind == "block":
            self.emit(1, f'with T.block("{self.name("stage")}"):')
            axes = {v: self.name("v") for v in scope}
            for v, axis in axes.items():
                self.emit(2, f"{axis} = T.axis.spatial({scope[v][1]}, {v})")
            self.emit(2, f"T.where({flat} {self.pick('<', '<', '>=')} {valid})")
            inner = {axis: scope[v] for v, axis in axes.items()}
            self.emit(2, f"{buffer}[{', '.join(axes.values())}] = {self.value(inner)}")
            return
        self.emit(1, f"if {flat} {self.pick('<', '<', '>=')} {valid}:")
        store = self.pick(f"{here} = {self.number()}", f"{here} = {self.value(scope)}", f"{here} = T.undef()", "other")
        if store == "other":
            self.block(2, scope, 1)
        else:
            self.emit(2, store)
        if kind == "else":
            self.emit(1, "else:")
            self.emit(2, f"{here} = {self.pick(self.number(), self.value(scope), 'T.undef()')}")

    def reduction_stage(self, target: str, source: str) -> None:
        """A sum or extremum of one buffer along its last axes into elements of another, over the valid part."""
        rows, inner = self.buffers[target][0], self.buffers[source]
        row = self.name("r")
        rest = [str(k) for k in (self.pick(0, n - 1) for n in self.buffers[target][1:])]
        here = f"{target}[{', '.join([row, *rest])}]"
        self.emit(0, f"for {row} in T.serial({rows}):")
        self.emit(1, f"{here} = {self.number()}")
        names = [self.name("k") for _ in inner]
        self.emit(1, f"for {', '.join(names)} in T.grid({', '.join(map(str, inner))}):")
        flat, size = names[-1], inner[-1]
        if len(inner) > 1:
            flat, size = f"{inner[-1]} * {names[-2]} + {names[-1]}", inner[-2] * inner[-1]
        depth = 2
        if self.pick(True, True, False):
            self.emit(depth, f"if {flat} < {self.pick(*{1, max(size - 1, 0), max(size - 2, 0)})}:")
            depth += 1
        first = f"{row} % {inner[0]}" if len(inner) > 1 and self.pick(True, False) else names[0]
        element = f"{source}[{', '.join([first, *names[1:]])}]"
        match self.pick("+", "+", "+", "max", "min", "*"):
            case "+":
                self.emit(depth, f"{here} = {here} + {self.pick(element, element, f'{element} * {self.number()}')}")
            case "*":
                self.emit(depth, f"{here} = {here} * {self.pick('1', '2', '1')}{'.0' if self.dtype[0] == 'f' else ''}")
            case op:
                self.emit(depth, f"{here} = T.{op}({here}, {element})")

    def assumption(self, buffer: str) -> None:
        _, here, flat, size = self.nest(buffer)
        valid = self.pick(0, 1, max(size - 1, 0), max(size - 2, 0))
        known = self.pick(self.number(), self.number(), "T.undef()")
        form = self.pick(f"{flat} < {valid} or {here} == {known}", f"{here} == {known} or not ({flat} >= {valid})")
        self.emit(1, f"T.assume({form})")

    def stage(self) -> None:
        match self.pick("padded", "padded", "padded", "reduction", "any", "any"):
            case "padded":
                self.padded_stage(self.pick(*self.writable))
            case "reduction":
                target = self.pick(*self.writable)
                self.reduction_stage(target, self.pick(*[b for b in self.buffers if b != target]))
            case _:
                self.statement(0, {}, 3)


@st.composite
def program_texts(draw: st.DrawFn) -> str:
    """Source text of a kernel whose accesses stay in bounds; padded layouts, guards, reductions, assumptions."""
    dtype = draw(st.sampled_from(DTYPES))
    plane = st.tuples(st.integers(1, 3), st.integers(1, 3))
    shape = st.one_of(plane, plane, plane, st.tuples(st.integers(1, 6)), st.tuples(*[st.integers(1, 3)] * 3))
    writer = _Writer(draw, dtype, {"A": draw(shape), "B": draw(shape)})
    if draw(st.booleans()):
        writer.buffers["C"] = draw(shape)
    params = [f'{b}: T.Buffer({s}, "{dtype}")' for b, s in writer.buffers.items()]
    for buffer in draw(st.sampled_from(([], [], ["A"], ["B"], ["A", "B"]))):
        writer.assumption(buffer)
    if draw(st.booleans()):
        writer.buffers["L"] = draw(shape)
        writer.emit(0, f'L = T.alloc_buffer({writer.buffers["L"]}, "{dtype}")')
    for _ in range(draw(st.integers(1, 4))):
        writer.stage()
    head = f"@T.prim_func\ndef f({', '.join(params)}, n: T.int32):\n    T.assume(n >= 0 and n < 5)\n"
    return head + "\n".join(writer.lines) + "\n"


@st.composite
def programs(draw: st.DrawFn) -> PrimFunc:
    """Kernels as parsed: valid, and defined on some inputs unless their assumptions contradict each other."""
    return parse(draw(program_texts())).funcs[0]


@st.composite
def modules(draw: st.DrawFn, max_functions: int = 3) -> Module:
    """Modules of up to so many functions, called `f0`, `f1` and so on."""
    funcs = draw(st.lists(programs(), min_size=1, max_size=max_functions))
    return Module(tuple(replace(func, name=f"f{k}") for k, func in enumerate(funcs)))
