"""Hypothesis strategies: programs of the kind people write over padded layouts, as source text, and expressions."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

from ir import PrimFunc, parse
from ir.dtypes import DType
from ir.nodes import Binary, Cast, Const, Expr, Select, Unary, Var, const

DTYPES = ("int32", "float32")


@dataclass
class _Writer:
    """Writes one program; `draw` decides, `scope` knows which loop variables have which extent."""

    draw: st.DrawFn
    dtype: str
    buffers: dict[str, tuple[int, ...]]
    lines: list[str] = field(default_factory=list)
    fresh: int = 0

    def pick(self, *options):
        return self.draw(st.sampled_from(options))

    def number(self) -> str:
        return self.pick("0", "1", "2", "-3") if self.dtype == "int32" else self.pick("0.0", "1.0", "-0.5", "2.0")

    def name(self, stem: str) -> str:
        self.fresh += 1
        return f"{stem}{self.fresh}"

    def emit(self, depth: int, text: str) -> None:
        self.lines.append("    " * (depth + 1) + text)

    def index(self, extent: int, scope: dict[str, int]) -> str:
        """An index inside 0..extent for stores; half the time a variable that fits, else reduced."""
        fitting = [v for v, n in scope.items() if n <= extent]
        choices = [*fitting, *(str(k) for k in (0, extent - 1))]
        if scope:
            v = self.pick(*scope)
            choices.append(f"({v} * {self.pick(1, 2, 3)} + {self.pick(0, 1, 5)}) % {extent}")
            choices.append(f"{v} // {self.pick(1, 2)} % {extent}")
            if len(scope) > 1:
                w = self.pick(*scope)
                choices.append(f"({v} + {w}) % {extent}")
        return self.pick(*choices)

    def place(self, buffer: str, scope: dict[str, int]) -> str:
        return f"{buffer}[{', '.join(self.index(n, scope) for n in self.buffers[buffer])}]"

    def condition(self, scope: dict[str, int]) -> str:
        options = [self.pick("n < 3", "n >= 1", "n == 2")]
        if scope:
            v = self.pick(*scope)
            bound = self.pick(0, 1, 2, 3, scope[v])
            options += [f"{v} < {bound}", f"{v} >= {bound}", f"{v} == {bound}", f"{v} % 2 == 0", f"{v} // 2 == 0"]
            if len(scope) > 1:
                w = self.pick(*scope)
                k = self.pick(2, 3, 4)
                options += [f"{k} * {v} + {w} < {self.pick(3, 5, 6, 7)}", f"{v} <= {w}", f"{v} != {w}"]
        first = self.pick(*options)
        kind = self.pick("plain", "plain", "and", "or", "not", "data")
        if kind == "plain":
            return first
        if kind == "not":
            return f"not ({first})"
        if kind == "data":
            zero = "0" if self.dtype == "int32" else "0.0"
            return f"{first} and {self.place(self.pick(*self.readable), scope)} > {zero}"
        return f"{first} {kind} {self.pick(*options)}"

    @property
    def readable(self) -> list[str]:
        return [b for b in self.buffers if not b.startswith("L")] or list(self.buffers)

    def value(self, scope: dict[str, int], depth: int = 2) -> str:
        kind = self.pick("number", "load", "load", "load", "add", "mul", "max", "select", "sub")
        if depth == 0 or kind == "number":
            return self.number()
        if kind == "load":
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
                return f"T.{self.pick('max', 'min')}({a}, {b})"
            case _:
                cast = f"T.{self.dtype}"
                return f"T.if_then_else({self.condition(scope)}, {cast}({a}) , {cast}({b}))"

    def statement(self, depth: int, scope: dict[str, int], budget: int) -> None:
        kinds = ["store", "store", "update", "back"]
        if budget > 0:
            kinds += ["if", "if", "if_else", "for", "for", "let"]
        kind = self.pick(*kinds)
        target = self.place(self.pick(*self.buffers), scope)
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
                    self.emit(depth, f"{name} = {v} * 2 + {self.pick(0, 1)}")
                    scope = {**scope, name: 2 * scope[v] + 2}
                else:
                    self.emit(depth, f"{name} = 0")
                self.statement(depth, scope, budget - 1)
            case _:
                name = self.name("i")
                extent = self.pick(0, 1, 2, 3, 4)
                if scope and self.pick(False, False, True):
                    v = self.pick(*scope)
                    self.emit(depth, f"for {name} in T.serial({v} + 1):")
                    extent = scope[v] + 1
                else:
                    self.emit(depth, f"for {name} in T.serial({extent}):")
                self.block(depth + 1, {**scope, name: max(extent, 1)}, budget - 1)

    def block(self, depth: int, scope: dict[str, int], budget: int) -> None:
        for _ in range(self.pick(1, 1, 2)):
            self.statement(depth, scope, budget)

    def padded_stage(self, buffer: str) -> None:
        """A nest over a two-dimensional buffer, guarded in the way layouts are."""
        rows, columns = self.buffers[buffer]
        v, w = self.name("io"), self.name("ii")
        valid = self.pick(1, rows * columns - 1, rows * columns - 2, rows * columns)
        guard = f"{columns} * {v} + {w} {self.pick('<', '<', '>=')} {valid}"
        scope = {v: rows, w: columns}
        self.emit(0, f"for {v}, {w} in T.grid({rows}, {columns}):")
        kind = self.pick("if", "if", "if", "all", "else")
        here = f"{buffer}[{v}, {w}]"
        if kind == "all":
            self.emit(1, f"{here} = {self.value(scope)}")
            return
        self.emit(1, f"if {guard}:")
        store = self.pick(f"{here} = {self.number()}", f"{here} = {self.value(scope)}", f"{here} = T.undef()", "other")
        if store == "other":
            self.block(2, scope, 1)
        else:
            self.emit(2, store)
        if kind == "else":
            self.emit(1, "else:")
            self.emit(2, f"{here} = {self.pick(self.number(), self.value(scope), 'T.undef()')}")

    def assumption(self, buffer: str) -> None:
        rows, columns = self.buffers[buffer]
        v, w = self.name("io"), self.name("ii")
        valid = self.pick(0, 1, rows * columns - 1, rows * columns - 2)
        known = self.pick(self.number(), self.number(), "T.undef()")
        self.emit(0, f"for {v}, {w} in T.grid({rows}, {columns}):")
        self.emit(1, f"T.assume({columns} * {v} + {w} < {valid} or {buffer}[{v}, {w}] == {known})")


@st.composite
def program_texts(draw: st.DrawFn) -> str:
    """Source text of a kernel whose stores stay in bounds."""
    dtype = draw(st.sampled_from(DTYPES))
    shape = st.tuples(st.integers(1, 3), st.integers(1, 3))
    writer = _Writer(draw, dtype, {"A": draw(shape), "B": draw(shape)})
    params = [f'{b}: T.Buffer({s}, "{dtype}")' for b, s in writer.buffers.items()]
    if draw(st.booleans()):
        writer.assumption(draw(st.sampled_from(["A", "B"])))
    if draw(st.booleans()):
        writer.buffers["L"] = draw(shape)
        writer.emit(0, f'L = T.alloc_buffer({writer.buffers["L"]}, "{dtype}")')
    for _ in range(draw(st.integers(1, 4))):
        if draw(st.integers(0, 2)):
            writer.padded_stage(draw(st.sampled_from(sorted(writer.buffers))))
        else:
            writer.statement(0, {}, 3)
    head = f"@T.prim_func\ndef f({', '.join(params)}, n: T.int32):\n    T.assume(n >= 0 and n < 5)\n"
    return head + "\n".join(writer.lines) + "\n"


@st.composite
def programs(draw: st.DrawFn) -> PrimFunc:
    """Kernels as parsed."""
    return parse(draw(program_texts())).funcs[0]


_INT_OPS = (
    "add",
    "sub",
    "mul",
    "floordiv",
    "floormod",
    "truncdiv",
    "truncmod",
    "min",
    "max",
    "bitand",
    "bitor",
    "bitxor",
)
_FLOAT_OPS = ("add", "sub", "mul", "div", "min", "max")


@st.composite
def exprs(draw: st.DrawFn, dtype: DType = DType.INT32, depth: int = 3) -> Expr:
    """Expressions over variables x, y, z of `dtype` (of int32 where the dtype is bool)."""
    if dtype is DType.BOOL:
        return draw(_conditions(depth))
    leaf = st.one_of(
        st.sampled_from([Var(n, dtype) for n in "xyz"]),
        st.integers(-9 if dtype.is_signed or dtype.is_float else 0, 9).map(lambda v: const(v, dtype)),
    )
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(leaf)
    kind = draw(st.sampled_from(("binary", "binary", "binary", "unary", "select", "cast")))
    inner = exprs(dtype, depth - 1)
    match kind:
        case "unary" if dtype.is_signed or dtype.is_float:
            return Unary(draw(st.sampled_from(("neg", "abs"))), draw(inner))
        case "select":
            return Select(draw(exprs(DType.BOOL, depth - 1)), draw(inner), draw(inner))
        case "cast" if dtype.is_integer:
            other = draw(st.sampled_from((DType.INT8, DType.INT64, DType.UINT8)))
            return Cast(dtype, Cast(other, draw(inner)))
        case _:
            op = draw(st.sampled_from(_FLOAT_OPS if dtype.is_float else _INT_OPS))
            return Binary(op, draw(inner), draw(inner))


@st.composite
def _conditions(draw: st.DrawFn, depth: int) -> Expr:
    kind = draw(st.sampled_from(("compare", "compare", "and", "or", "not", "const")))
    if depth == 0 or kind == "compare":
        inner = exprs(DType.INT32, max(depth - 1, 0))
        return Binary(draw(st.sampled_from(("eq", "ne", "lt", "le", "gt", "ge"))), draw(inner), draw(inner))
    if kind == "const":
        return Const(draw(st.booleans()), DType.BOOL)
    if kind == "not":
        return Unary("not", draw(_conditions(depth - 1)))
    return Binary(kind, draw(_conditions(depth - 1)), draw(_conditions(depth - 1)))
