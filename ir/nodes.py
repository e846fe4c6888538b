"""The loop IR on one page. Owns the node classes and their operators; passes and printing live elsewhere.

Expressions are trees of frozen nodes. Python operators on them build larger ones: `x // 4 == y` is a node, not a bool.
The truth value of such an `==` node is structural equality, so nodes work as dictionary keys and in tuples.

    function   f ::= PrimFunc(name, params, body)
    statement  s ::= Store | Seq | If | For | Let | Alloc | Assume | Assert | Evaluate | Block | CallStmt
    expression e ::= Const | Var | Load | Unary | Binary | Cast | Select | Call | Undef

Spans say where a node was written; they take no part in equality.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from msgspec import Struct
from msgspec.structs import force_setattr

from ir.dtypes import DType
from ir.errors import VerifyError
from ir.shown import Node

if TYPE_CHECKING:
    from ir.errors import Span
    from ir.sections import Section

FloatBinary = Literal["div", "atan2", "hypot"]  # of floats only
Arith = Literal["add", "sub", "mul", FloatBinary, "floordiv", "floormod", "truncdiv", "truncmod", "min", "max", "pow"]
Bitwise = Literal["bitand", "bitor", "bitxor", "shl", "shr"]
Compare = Literal["eq", "ne", "lt", "le", "gt", "ge"]
Logical = Literal["and", "or"]
BinaryOp = Literal[Arith, Bitwise, Compare, Logical]
Rounding = Literal["floor", "ceil", "round", "trunc"]  # `round` takes ties to the even neighbour
FloatFunction = Literal[
    "exp", "exp2", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "tanh", "sin", "cos", "tan", "sinh", "cosh",
    "asin", "acos", "atan", "erf", "sigmoid",
]  # fmt: skip
BitCount = Literal["popcount", "clz"]  # of the two's complement of the dtype's width: ones, and zeros above all ones
UnaryOp = Literal["neg", "not", "bitnot", "abs", BitCount, FloatFunction, Rounding]
LoopKind = Literal["serial", "parallel", "vectorized", "unroll"]
IterKind = Literal["spatial", "reduce", "opaque"]

COMPARE_OPS: tuple[Compare, ...] = get_args(Compare)
LOGICAL_OPS: tuple[str, ...] = get_args(Logical)
MIRRORED: dict[str, Compare] = {"eq": "eq", "ne": "ne", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
NEGATED: dict[str, Compare] = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
BITWISE_OPS: tuple[str, ...] = get_args(Bitwise)
INTEGER_ONLY_OPS = ("floordiv", "floormod", "truncdiv", "truncmod", *BITWISE_OPS)
FLOAT_FUNCTIONS: tuple[FloatFunction, ...] = get_args(FloatFunction)
BIT_COUNTS: tuple[BitCount, ...] = get_args(BitCount)
FLOAT_UNARY_OPS: tuple[UnaryOp, ...] = (*FLOAT_FUNCTIONS, *get_args(Rounding))


class Expr(Node):
    """Base of expressions. Every expression has a `dtype`."""

    __slots__ = ("_hash", "kinds_below", "nodes_below")
    dtype: DType
    span: Span | None
    _hash: int  # remembered: nodes never change, and dictionaries ask again and again
    kinds_below: int  # remembered by `traverse.has_loads` and its like
    nodes_below: tuple[Expr, ...]  # remembered by `traverse.walk_expr`; without the expression itself, so no cycle

    def brief(self) -> str:
        """Its dtype and text."""
        return f"{self.dtype} {self}"

    def _key(self) -> tuple[object, ...]:
        """The fields that structural equality and hashing compare."""
        raise NotImplementedError

    def same(self, other: object) -> bool:
        """Structural equality, spans ignored; floats compare by bits, so NaN equals itself and -0.0 is not 0.0."""
        if self is other:
            return True
        if type(self) is not type(other) or not isinstance(other, Expr) or hash(self) != hash(other):
            return False
        return all(map(_same_field, self._key(), other._key()))

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            force_setattr(cast(Any, self), "_hash", hash((type(self).__name__, self._key())))
            return self._hash

    # Operators build nodes, also `==`, which object's signature does not foresee; what is no operand is no equal.
    def __eq__(self, other: object) -> Expr:  # pyright: ignore[reportIncompatibleMethodOverride]
        if isinstance(other, Expr):  # tables ask all the time
            return Binary("eq", self, other)
        return binary("eq", self, other) if isinstance(other, (int, float)) else NotImplemented

    def __ne__(self, other: object) -> Expr:  # pyright: ignore[reportIncompatibleMethodOverride]
        return binary("ne", self, other) if isinstance(other, (Expr, int, float)) else NotImplemented

    def __lt__(self, other: Operand) -> Expr:
        return binary("lt", self, other)

    def __le__(self, other: Operand) -> Expr:
        return binary("le", self, other)

    def __gt__(self, other: Operand) -> Expr:
        return binary("gt", self, other)

    def __ge__(self, other: Operand) -> Expr:
        return binary("ge", self, other)

    def __add__(self, other: Operand) -> Expr:
        return binary("add", self, other)

    def __radd__(self, other: Operand) -> Expr:
        return binary("add", other, self)

    def __sub__(self, other: Operand) -> Expr:
        return binary("sub", self, other)

    def __rsub__(self, other: Operand) -> Expr:
        return binary("sub", other, self)

    def __mul__(self, other: Operand) -> Expr:
        return binary("mul", self, other)

    def __rmul__(self, other: Operand) -> Expr:
        return binary("mul", other, self)

    def __truediv__(self, other: Operand) -> Expr:
        return binary("div", self, other)

    def __rtruediv__(self, other: Operand) -> Expr:
        return binary("div", other, self)

    def __floordiv__(self, other: Operand) -> Expr:
        return binary("floordiv", self, other)

    def __rfloordiv__(self, other: Operand) -> Expr:
        return binary("floordiv", other, self)

    def __mod__(self, other: Operand) -> Expr:
        return binary("floormod", self, other)

    def __rmod__(self, other: Operand) -> Expr:
        return binary("floormod", other, self)

    def __and__(self, other: Operand) -> Expr:
        return binary("and" if self.dtype is DType.BOOL else "bitand", self, other)

    def __or__(self, other: Operand) -> Expr:
        return binary("or" if self.dtype is DType.BOOL else "bitor", self, other)

    def __xor__(self, other: Operand) -> Expr:
        return binary("bitxor", self, other)

    def __lshift__(self, other: Operand) -> Expr:
        return binary("shl", self, other)

    def __rshift__(self, other: Operand) -> Expr:
        return binary("shr", self, other)

    def __invert__(self) -> Expr:
        return Unary("not" if self.dtype is DType.BOOL else "bitnot", self)

    def __neg__(self) -> Expr:
        return Unary("neg", self)

    def __bool__(self) -> bool:
        raise TypeError("an expression has no truth value; combine conditions with & | ~ instead of and, or, not")

    def __iter__(self) -> Iterator[Expr]:
        raise TypeError("an expression cannot be iterated over")


def _same_field(one: object, other: object) -> bool:
    """Structural equality of what nodes hold, without building `==` nodes on the way."""
    if one is other:
        return True
    if isinstance(one, Expr):
        return one.same(other)
    if isinstance(one, tuple) and isinstance(other, tuple):
        ones, others = cast("tuple[object, ...]", one), cast("tuple[object, ...]", other)
        return len(ones) == len(others) and all(map(_same_field, ones, others))
    return one == other


Operand = Expr | int | float


class Const(Expr, Struct, frozen=True, eq=False):
    """A literal: a Python bool, int or float according to `dtype`."""

    value: bool | int | float
    dtype: DType
    span: Span | None = None

    def _key(self) -> tuple[object, ...]:
        return (self.value.hex() if isinstance(self.value, float) else int(self.value), self.dtype)


class Var(Expr, Struct, frozen=True, eq=False):
    """A scalar name: parameter, shape variable, loop variable, block axis or let binding.

    Along any path from the root of a function a name is bound at most once (the parser renames); siblings may reuse it.
    """

    name: str
    dtype: DType
    span: Span | None = None

    def _key(self) -> tuple[object, ...]:
        return (self.name, self.dtype)


class Load(Expr, Struct, frozen=True, eq=False):
    """`buffer[indices]`; out of bounds it yields undef."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    span: Span | None = None

    @property
    def dtype(self) -> DType:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.buffer.dtype

    def _key(self) -> tuple[object, ...]:
        return (self.buffer, self.indices)


class Unary(Expr, Struct, frozen=True, eq=False):
    """A one-operand operator; the result has the operand's dtype."""

    op: UnaryOp
    operand: Expr
    span: Span | None = None

    @property
    def dtype(self) -> DType:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.operand.dtype

    def _key(self) -> tuple[object, ...]:
        return (self.op, self.operand)


class Binary(Expr, Struct, frozen=True, eq=False):
    """A two-operand operator over equal dtypes; comparisons and logic give bool.

    `and` and `or` evaluate the right operand only when the left one does not decide. `div` is true division, of floats.
    """

    op: BinaryOp
    lhs: Expr
    rhs: Expr
    span: Span | None = None

    @property
    def dtype(self) -> DType:  # pyright: ignore[reportIncompatibleVariableOverride]
        return DType.BOOL if self.op in COMPARE_OPS or self.op in LOGICAL_OPS else self.lhs.dtype

    def _key(self) -> tuple[object, ...]:
        return (self.op, self.lhs, self.rhs)

    def __bool__(self) -> bool:
        """Structural (in)equality of the operands, for `==` and `!=` only."""
        if self.op in ("eq", "ne"):
            return self.lhs.same(self.rhs) is (self.op == "eq")
        return Expr.__bool__(self)


class Cast(Expr, Struct, frozen=True, eq=False):
    """Conversion to `dtype`: integers wrap when narrowed, float to integer truncates toward zero."""

    dtype: DType
    operand: Expr
    span: Span | None = None

    def _key(self) -> tuple[object, ...]:
        return (self.dtype, self.operand)


class Select(Expr, Struct, frozen=True, eq=False):
    """`T.if_then_else(cond, then, other)`: evaluates one arm."""

    cond: Expr
    then: Expr
    other: Expr
    span: Span | None = None

    @property
    def dtype(self) -> DType:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.then.dtype

    def _key(self) -> tuple[object, ...]:
        return (self.cond, self.then, self.other)


class Undef(Expr, Struct, frozen=True, eq=False):
    """An arbitrary value; two occurrences need not agree."""

    dtype: DType
    span: Span | None = None

    def _key(self) -> tuple[object, ...]:
        return (self.dtype,)


class Function(Node, Struct, frozen=True, eq=False):
    """A scalar function that the user defines: `body` is its meaning, an expression over `params` and nothing else.

    `cost` is the price of a call in the units of the cost tables (None: that of the body), `jax` the JAX expression to
    emit, with the parameters' names in braces (None: the body's). Functions are equal when all that is.
    """

    name: str
    params: tuple[Var, ...]
    body: Expr
    cost: float | None = None
    jax: str | None = None
    span: Span | None = None

    @property
    def dtype(self) -> DType:
        """The dtype of the result."""
        return self.body.dtype

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Function) and _same_field(self._key(), other._key())

    __ne__ = object.__ne__  # what a Struct brings does not ask `__eq__`

    def __hash__(self) -> int:
        return hash(self.name)  # names nearly always tell functions apart

    def _key(self) -> tuple[object, ...]:
        return (self.name, self.params, self.body, self.cost, self.jax)

    def __call__(self, *args: Operand) -> Call:
        """A call; numbers take the dtype of the parameter, int32 widens to int64.

        Raises:
            VerifyError: the number of arguments or the dtype of one is wrong.
        """
        if len(args) != len(self.params):
            plural = "argument" if len(self.params) == 1 else "arguments"
            message = f"{self.name} takes {len(self.params)} {plural}, {len(args)} given"
            raise VerifyError("arguments", message, self.span, help=f"call it as {self.signature}")
        return Call(self, tuple(self._argument(p, a) for p, a in zip(self.params, args, strict=True)))

    def _argument(self, param: Var, value: Operand) -> Expr:
        found: Expr | None = None
        if isinstance(value, Expr):
            found = value
        elif isinstance(value, bool) == (param.dtype is DType.BOOL) and not (
            isinstance(value, float) and not param.dtype.is_float
        ):
            found = const(value, param.dtype)
        if found is not None and found.dtype is DType.INT32 and param.dtype is DType.INT64:
            found = Cast(DType.INT64, found, found.span)
        if found is None or found.dtype is not param.dtype:
            shown = value.dtype if isinstance(value, Expr) else repr(value)
            message = f"argument `{param.name}` of {self.name} must be {param.dtype}, found {shown}"
            span = value.span if isinstance(value, Expr) and value.span is not None else self.span
            raise VerifyError("dtype-mismatch", message, span, help=f'convert it with T.cast(..., "{param.dtype}")')
        return found

    @property
    def signature(self) -> str:
        """Name, parameters and dtypes, as a hint shows them."""
        return f"{self.name}({', '.join(f'{p.name}: {p.dtype}' for p in self.params)})"

    def brief(self) -> str:
        """Its signature."""
        return f"Function {self.signature} -> {self.dtype}"


class Call(Expr, Struct, frozen=True, eq=False):
    """`function(args)`: the body on the values of the arguments, which are all evaluated first (see `ir.functions`)."""

    function: Function
    args: tuple[Expr, ...]
    span: Span | None = None

    @property
    def dtype(self) -> DType:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.function.dtype

    def _key(self) -> tuple[object, ...]:
        return (self.function, self.args)


AnyExpr = Const | Var | Load | Unary | Binary | Cast | Select | Call | Undef

TRUE = Const(True, DType.BOOL)
FALSE = Const(False, DType.BOOL)


def const(value: bool | int | float, dtype: DType) -> Const:
    """A literal of `dtype`; the Python value is converted to the dtype's kind."""
    number = bool if dtype is DType.BOOL else float if dtype.is_float else operator.index
    return Const(number(value), dtype)  # pyright: ignore[reportArgumentType]


def as_expr(value: Operand, dtype: DType) -> Expr:
    """`value` as an expression: literals take `dtype` where they fit its kind."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, bool):
        return Const(value, DType.BOOL)
    if isinstance(value, float) and not dtype.is_float:
        raise TypeError(f"the number {value} has a fraction but stands next to a {dtype} operand")
    return const(value, dtype)


def binary(op: BinaryOp, lhs: Operand, rhs: Operand) -> Expr:
    """Build `lhs op rhs`, giving a Python number the dtype of the other operand."""
    dtype = lhs.dtype if isinstance(lhs, Expr) else rhs.dtype if isinstance(rhs, Expr) else DType.INT32
    return Binary(op, as_expr(lhs, dtype), as_expr(rhs, dtype))


class Buffer(Node, Struct, frozen=True, eq=False):
    """A named array. `shape` holds expressions over scalar parameters; `scope` is kept for printing."""

    name: str
    shape: tuple[Expr, ...]
    dtype: DType
    scope: str = "global"
    span: Span | None = None

    def brief(self) -> str:
        """Name, dtype and shape."""
        return f"Buffer {self}"

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}[{', '.join(map(str, self.shape))}]"

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Buffer and self.name == other.name and Node.__eq__(self, other))

    __ne__ = object.__ne__

    def __hash__(self) -> int:
        return hash(self.name)  # buffers are dictionary keys everywhere, and names nearly always tell them apart

    def __getitem__(self, indices: Operand | tuple[Operand, ...]) -> Load:
        """`buffer[i, j]` as an expression; the rank is checked where the expression is used."""
        places = indices if isinstance(indices, tuple) else (indices,)
        return Load(self, tuple(as_expr(i, DType.INT32) for i in places))


class Stmt(Node):
    """Base of statements."""

    __slots__ = ("buffers_within", "exprs_within", "kinds_within")
    exprs_within: tuple[Expr, ...]  # remembered by `traverse.all_exprs`
    kinds_within: frozenset[type[Stmt]]  # by `traverse.has_kind`
    buffers_within: frozenset[Buffer]  # by `traverse.buffers_accessed`
    span: Span | None

    def brief(self) -> str:
        """Its kind and first line."""
        first, *rest = str(self).splitlines()
        return f"{type(self).__name__}: {first}{f' … {len(rest)} more' if rest else ''}"


class Store(Stmt, Struct, frozen=True, eq=False):
    """`buffer[indices] = value`."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    value: Expr
    span: Span | None = None


class Seq(Stmt, Struct, frozen=True, eq=False):
    """Statements in order; an empty one does nothing. Built through `seq`, which flattens."""

    stmts: tuple[Stmt, ...]
    span: Span | None = None


class If(Stmt, Struct, frozen=True, eq=False):
    """`if cond: then else: other`; no else branch is `SKIP`."""

    cond: Expr
    then: Stmt
    other: Stmt
    span: Span | None = None


class For(Stmt, Struct, frozen=True, eq=False):
    """`for var in range(start, start + extent)`; a non-positive extent runs no iteration.

    Every kind means the serial loop; the others are the author's promise (`parallel`) or wish (`vectorized`, `unroll`).
    """

    var: Var
    start: Expr
    extent: Expr
    body: Stmt
    kind: LoopKind = "serial"
    annotations: tuple[tuple[str, object], ...] = ()
    span: Span | None = None


class Let(Stmt, Struct, frozen=True, eq=False):
    """`var = value` for the statements in `body`; an undef value is frozen to one arbitrary value."""

    var: Var
    value: Expr
    body: Stmt
    span: Span | None = None


class Alloc(Stmt, Struct, frozen=True, eq=False):
    """`buffer = T.alloc_buffer(...)` for the statements in `body`; its contents start undef."""

    buffer: Buffer
    body: Stmt
    span: Span | None = None


class Assume(Stmt, Struct, frozen=True, eq=False):
    """No obligations where `cond` is false. `A[i] == T.undef()` permits reading A[i], which is undef."""

    cond: Expr
    span: Span | None = None


class Assert(Stmt, Struct, frozen=True, eq=False):
    """Checked at run time."""

    cond: Expr
    message: str = ""
    span: Span | None = None


class Evaluate(Stmt, Struct, frozen=True, eq=False):
    """Evaluate and drop the value."""

    value: Expr
    span: Span | None = None


class Region(Struct, frozen=True):
    """A box of a buffer, as `T.reads`/`T.writes` state it: (start, extent) for each axis."""

    buffer: Buffer
    ranges: tuple[tuple[Expr, Expr], ...]


class IterVar(Struct, frozen=True):
    """A block axis: `var = T.axis.<kind>(extent, value)`, with domain `start <= var < start + extent`."""

    var: Var
    kind: IterKind
    start: Expr
    extent: Expr
    value: Expr


class Block(Stmt, Struct, frozen=True, eq=False):
    """`with T.block(name)`.

    Axes bind like lets; `predicate` guards init and body; `init` runs where all reduce axes are at their start.
    `reads` and `writes` are None when not stated: they are notes of the author and carry no meaning.
    """

    name: str
    body: Stmt
    axes: tuple[IterVar, ...] = ()
    predicate: Expr = TRUE
    init: Stmt | None = None
    reads: tuple[Region, ...] | None = None
    writes: tuple[Region, ...] | None = None
    annotations: tuple[tuple[str, object], ...] = ()
    span: Span | None = None


class CallStmt(Stmt, Struct, frozen=True, eq=False):
    """`callee(args)`: the body of a kernel on sections of buffers and values of scalars (see `ir.program.calls`)."""

    callee: PrimFunc
    args: tuple[Expr | Section, ...]
    span: Span | None = None


AnyStmt = Store | Seq | If | For | Let | Alloc | Assume | Assert | Evaluate | Block  # of one kernel: calls inlined
WrittenStmt = AnyStmt | CallStmt  # as an author writes them, and a module has them

SKIP = Seq(())


def seq(*stmts: Stmt, span: Span | None = None) -> Stmt:
    """Statements in order, nested sequences flattened; a single one stands for itself."""
    flat = [s for stmt in stmts for s in (stmt.stmts if isinstance(stmt, Seq) else (stmt,))]
    return flat[0] if len(flat) == 1 else Seq(tuple(flat), span)


class PrimFunc(Node, Struct, frozen=True, eq=False, dict=True):
    """A kernel. Parameters are buffers and scalars in call order.

    Names that occur in buffer shapes without being parameters are shape variables: a call binds them from the arrays.
    `origin` is the program as written, of which this one was made by rewrites that rest on assumptions and permissions
    too; it has the same parameters, and no origin itself. `verified` is set by `ir.verify`; copies are checked again.
    """

    name: str
    params: tuple[Var | Buffer, ...]
    body: Stmt
    attrs: tuple[tuple[str, object], ...] = ()
    span: Span | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return PrimFunc, (self.name, self.params, self.body, self.attrs, self.span), self.__dict__

    @cached_property
    def origin(self) -> PrimFunc | None:
        """The program as it was written, if this one is made of it."""
        return None

    @cached_property
    def verified(self) -> bool:
        """Whether it needs no check."""
        return False

    @property
    def signature(self) -> str:
        """Name and parameters with dtypes and shapes, in one line."""
        params = (f"{p.name}: {p.dtype}" if isinstance(p, Var) else str(p) for p in self.params)
        return f"{self.name}({', '.join(params)})"

    def brief(self) -> str:
        """Its signature."""
        return f"PrimFunc {self.signature}"

    @property
    def docstring(self) -> str:
        """What its author says about it."""
        return str(dict(self.attrs).get("docstring", ""))

    @property
    def as_written(self) -> PrimFunc:
        """The program that this one refines: whose interface, derivatives and assumptions are those of both."""
        return self if self.origin is None else self.origin

    def refines(self, origin: PrimFunc) -> PrimFunc:
        """This function, which does what `origin` does where that has obligations: an optimized form of it.

        A copy by `msgspec.structs.replace` refines nothing: its body may be any other. `origin` must have the same
        parameters, and is taken as what it refines itself, if it does.
        """
        written = origin.as_written
        if written.params != self.params:
            raise TypeError(f"{self.name} has other parameters than what it is to refine")
        new, same = copy(self), written.body == self.body
        force_setattr(new, "origin", None if same else written)
        force_setattr(new, "verified", self.verified or (same and written.verified))
        return new

    def vouched(self) -> PrimFunc:
        """This function, taken as verified from here on."""
        force_setattr(self, "verified", True)  # of no consequence for what it is
        return self

    def as_form_of(self, func: PrimFunc) -> PrimFunc:
        """This function, which equals `func` in every respect: it refines what that refines."""
        return self if func.origin is None else self.refines(func)

    def with_origin(self, change: Callable[[PrimFunc], PrimFunc]) -> PrimFunc:
        """`change` of this function, which refines `change` of what this one refines."""
        new = change(self)
        return new if self.origin is None else new.refines(change(self.origin))

    @cached_property
    def buffers(self) -> tuple[Buffer, ...]:
        """Buffer parameters, in order."""
        return tuple(p for p in self.params if isinstance(p, Buffer))

    @cached_property
    def scalars(self) -> tuple[Var, ...]:
        """Scalar parameters, in order."""
        return tuple(p for p in self.params if isinstance(p, Var))


class Module(Node, Struct, frozen=True):
    """Functions of one file or class, in order; names are distinct."""

    funcs: tuple[PrimFunc, ...]
    name: str = ""

    def brief(self) -> str:
        """Its functions."""
        return f"{f'Module {self.name}'.strip()}: {', '.join(f.name for f in self.funcs)}"

    def __getitem__(self, name: str) -> PrimFunc:
        return {func.name: func for func in self.funcs}[name]
