"""Tensor expressions: stages written as functions of indices, made into kernels by `create_prim_func`.

Owns the notation and its errors. Operators are those of `ir.nodes`; functions such as `T.exp` apply as well.

    A = te.placeholder((n, 64), name="A")
    k = te.reduce_axis((0, 64), name="k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    func = te.create_prim_func([A, B])
"""

from __future__ import annotations

import inspect
import linecache
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NoReturn, cast, overload

from msgspec import Struct, field
from msgspec.structs import replace

from ir.dtypes import DType, from_name
from ir.errors import Span, VerifyError, suggest
from ir.naming import fresh
from ir.nodes import (
    Alloc,
    Binary,
    Block,
    Buffer,
    Const,
    Expr,
    For,
    IterVar,
    Load,
    Operand,
    PrimFunc,
    Stmt,
    Store,
    Var,
    as_expr,
    const,
    seq,
)
from ir.script.dialect import max_value, min_value
from ir.semantics.verify import verify
from ir.traverse import free_vars, is_const, loads, map_expr, shape_vars, substitute_expr

Size = int | Expr
Combiner = Literal["add", "mul", "min", "max"]


# Notation ------------------------------------------------------------------------------------------------------------


class Axis(Var, frozen=True, eq=False):
    """An index of a stage. Two axes of one name are two axes."""

    def _key(self) -> tuple[object, ...]:
        return (id(self),)


class ReduceAxis(Axis, frozen=True, eq=False):
    """An index that a reduction runs over: `start <= axis < start + extent`."""

    start: Expr = field(default=Const(0, DType.INT32))
    extent: Expr = field(default=Const(0, DType.INT32))


class Stage(Struct, frozen=True, eq=False):
    """What is computed together: for each point of `axes` one value, or one reduction, per output."""

    name: str
    axes: tuple[Axis, ...]
    shape: tuple[Expr, ...]
    values: tuple[Expr | Reduction, ...]
    span: Span | None

    @property
    def reduced(self) -> tuple[ReduceAxis, ...]:
        """The axes that its reductions share."""
        first = self.values[0]
        return first.axes if isinstance(first, Reduction) else ()

    @property
    def exprs(self) -> tuple[Expr, ...]:
        """What each output stores or accumulates."""
        return tuple(v.value if isinstance(v, Reduction) else v for v in self.values)


class Tensor(Struct, frozen=True, eq=False):
    """An input (`stage` is None), or output number `index` of a stage. `A[i, j]` is an element of it."""

    name: str
    shape: tuple[Expr, ...]
    dtype: DType
    stage: Stage | None = None
    index: int = 0
    span: Span | None = None

    def __getitem__(self, indices: Operand | tuple[Operand, ...]) -> Load:
        given = indices if isinstance(indices, tuple) else (indices,)
        span = _caller()
        if len(given) != len(self.shape):
            message = f"{_called(self)} has {len(self.shape)} dimensions, but {len(given)} indices are given"
            _refuse("rank", message, span, "give one index for each dimension")
        placed = _TensorBuffer(self.name, self.shape, self.dtype, span=self.span, tensor=self)
        return Load(placed, tuple(_index(i, span) for i in given), span)

    def __iter__(self) -> Iterator[Load]:
        _refuse("iteration", f"{_called(self)} cannot be iterated over", _caller(), "index it, as in A[i]")


class _TensorBuffer(Buffer, frozen=True, eq=True):
    """Stands for a tensor in a load until names are given."""

    tensor: Tensor | None = None

    def __hash__(self) -> int:
        return id(self.tensor)


class Reduction(Struct, frozen=True, eq=False):
    """The whole value of a stage: `value` accumulated over `axes`. It is no expression, and has no operators."""

    op: Combiner
    value: Expr
    axes: tuple[ReduceAxis, ...]

    @property
    def start(self) -> Expr:
        """The value that accumulation starts from."""
        match self.op:
            case "add":
                return const(0, self.value.dtype)
            case "mul":
                return const(1, self.value.dtype)
            case "min":
                return max_value(self.value.dtype)
            case "max":
                return min_value(self.value.dtype)

    def _alone(self, *_others: object) -> NoReturn:
        _refuse(
            "nested-reduction",
            "a reduction is combined with another value",
            _caller(),
            "let one te.compute hold the reduction alone, and another use its elements",
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _alone
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __neg__ = __float__ = __index__ = __bool__ = _alone
    __lt__ = __le__ = __gt__ = __ge__ = _alone


def var(name: str = "n", dtype: str | DType = "int32") -> Var:
    """A size known at run time only. Equal names are the same size."""
    if not name.isidentifier():
        _refuse("name", f"`{name}` cannot name a variable", _caller(), "use a Python identifier")
    return Var(name, _dtype(dtype))


def placeholder(shape: Size | Sequence[Size], dtype: str | DType = "float32", name: str = "") -> Tensor:
    """An input.

    Raises:
        VerifyError: an extent is no integer, or the dtype is unknown.
    """
    return Tensor(name, _shape(shape), _dtype(dtype), span=_caller())


@overload
def compute(
    shape: Size | Sequence[Size], function: Callable[..., Expr | Reduction | int | float], name: str = ""
) -> Tensor: ...
@overload
def compute(
    shape: Size | Sequence[Size], function: Callable[..., tuple[object, ...]], name: str = ""
) -> tuple[Tensor, ...]: ...
def compute(
    shape: Size | Sequence[Size], function: Callable[..., object], name: str = ""
) -> Tensor | tuple[Tensor, ...]:
    """A stage: element `[i, j, ...]` is `function(i, j, ...)`. A function that returns a tuple gives several tensors.

    Loops are named after the function's parameters.

    Raises:
        VerifyError: the function takes another number of indices, or what it returns is no value.
    """
    span, extents = _caller(), _shape(shape)
    axes = tuple(
        Axis(n, e.dtype, span) for n, e in zip(_axis_names(function, len(extents), span), extents, strict=True)
    )
    result = function(*axes)
    several = isinstance(result, tuple)
    values = tuple(_value(v, span) for v in (cast("tuple[object, ...]", result) if several else (result,)))
    if not values:
        _refuse("value", f"the function of {name or 'this stage'} returns nothing", span, "return at least one value")
    stage = Stage(name, axes, extents, values, span)
    for value in values[1:]:
        axes_here = value.axes if isinstance(value, Reduction) else ()
        if isinstance(value, Reduction) != isinstance(values[0], Reduction) or axes_here != stage.reduced:
            help = "give them the same axis list, or write two stages"
            _refuse("reduction", "the outputs of one stage reduce over different axes", span, help)
    outputs = tuple(
        Tensor(f"{name}_{k}" if several and name else name, extents, expr.dtype, stage, k, span)
        for k, expr in enumerate(stage.exprs)
    )
    return outputs if several else outputs[0]


def reduce_axis(domain: tuple[Size, Size], name: str = "k") -> ReduceAxis:
    """An index to reduce over, from `domain[0]` to before `domain[1]`.

    Where the domain is empty, reductions over it leave their elements undef.
    """
    span = _caller()
    low, high = (_index(bound, span) for bound in domain)
    if low.dtype is not high.dtype:
        low, high = (const(int(b.value), w.dtype) if isinstance(b, Const) else b for b, w in ((low, high), (high, low)))
    extent = high if is_const(low, 0) else high - low
    if isinstance(low, Const) and isinstance(high, Const):
        count = int(high.value) - int(low.value)
        extent = const(count if count > 0 else 0, high.dtype)
    return ReduceAxis(name, high.dtype, span, low, extent)


def _reducer(op: Combiner, what: str) -> Callable[[Operand, ReduceAxis | Iterable[ReduceAxis]], Reduction]:
    def build(expr: Operand, axis: ReduceAxis | Iterable[ReduceAxis]) -> Reduction:
        span = _caller()
        axes = cast("tuple[object, ...]", (axis,) if isinstance(axis, Expr) else tuple(axis))
        value = _value(expr, span)
        if isinstance(value, Reduction):
            _refuse("nested-reduction", "a reduction is reduced again", span, "give all axes in one list")
        if not axes or not all(isinstance(a, ReduceAxis) for a in axes):
            _refuse("reduction", "`axis` must list reduce axes", span, "make one with te.reduce_axis((0, n))")
        return Reduction(op, value, cast("tuple[ReduceAxis, ...]", axes))

    build.__doc__ = f"The {what} of an expression over reduce axes; the whole value of a stage."
    return build


sum, prod = _reducer("add", "sum"), _reducer("mul", "product")
min, max = _reducer("min", "least"), _reducer("max", "greatest")


def _shape(shape: Size | Sequence[Size]) -> tuple[Expr, ...]:
    span = _caller()
    return tuple(_index(e, span) for e in ((shape,) if isinstance(shape, (int, Expr)) else shape))


def _index(value: object, span: Span | None) -> Expr:
    if isinstance(value, Expr) and value.dtype.is_integer:
        return value
    if isinstance(value, (Expr, bool)) or not hasattr(value, "__index__"):
        found = value.dtype if isinstance(value, Expr) else type(value).__name__
        _refuse("dtype-mismatch", f"an index or extent must be an integer, found {found}", span, "use int32 values")
    number = int(cast(int, value))
    return const(number, DType.INT32 if abs(number) < 2**31 else DType.INT64)


def _value(value: object, span: Span | None) -> Expr | Reduction:
    if isinstance(value, (Expr, Reduction)):
        return value
    if isinstance(value, Tensor):
        _refuse("value", f"{_called(value)} is a tensor, not an element of it", span, "index it, as in A[i, j]")
    if not isinstance(value, (bool, int, float)):
        found = type(value).__name__
        _refuse("value", f"a stage computes expressions, found {found}", span, "return an expression")
    kind = DType.BOOL if isinstance(value, bool) else DType.FLOAT32 if isinstance(value, float) else DType.INT32
    return as_expr(value, kind)


def _dtype(dtype: str | DType) -> DType:
    found = dtype if isinstance(dtype, DType) else from_name(dtype)
    if found is None:
        _refuse("unknown-dtype", f"`{dtype}` is not a dtype", _caller(), suggest(str(dtype), (d.value for d in DType)))
    return found


def _axis_names(function: Callable[..., object], rank: int, span: Span | None) -> list[str]:
    names: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}{k}" for k in range(rank - len(names))]
        elif parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD):
            continue
        elif parameter.default is parameter.empty or len(names) < rank:
            names.append(parameter.name)  # one with a default carries a value into the function
    if len(names) != rank:
        message = f"the function takes {len(names)} indices, but the shape has {rank} dimensions"
        _refuse("rank", message, span, "let it take one index for each dimension")
    return names


# Kernels -------------------------------------------------------------------------------------------------------------


def create_prim_func(arguments: Sequence[Tensor | Var], name: str = "main") -> PrimFunc:
    """The kernel with the given parameters: placeholders, stages to be returned, and scalar sizes.

    Each stage becomes a block of its name, in an order that computes what is used first. Stages that are not listed are
    local buffers; sizes that are not listed are taken from the arrays' shapes.

    Raises:
        VerifyError: an input or a size is missing from the list, nothing is computed, a reduce axis is used outside its
            reduction, or the kernel is not valid otherwise, such as by an access that leaves a tensor.
    """
    span = _caller()
    for k, argument in enumerate(arguments):
        if not isinstance(argument, (Tensor, Var)) or isinstance(argument, Axis):  # pyright: ignore[reportUnnecessaryIsInstance]
            message = f"argument {k} is a {type(argument).__name__}; parameters are tensors and sizes"
            _refuse("arguments", message, span, "list placeholders, computed tensors and te.var sizes")
        if any(argument is other for other in arguments[:k]):
            _refuse("arguments", f"{argument.name or 'a tensor'} is listed twice", span, "list each once")
    func = _Builder(tuple(arguments), span).build(name)
    verify(func)
    return func


class _Builder:
    """Builds one kernel: finds the stages, names everything, writes the loops."""

    def __init__(self, arguments: tuple[Tensor | Var, ...], span: Span | None) -> None:
        self.arguments = arguments
        self.span = span
        self.stages: dict[Stage, list[Tensor]] = {}
        self.taken: set[str] = set()  # by buffers and sizes; blocks have names of their own
        self.blocks: set[str] = set()
        self.buffers: dict[Tensor, Buffer] = {}
        self.outputs: dict[tuple[Stage, int], Buffer] = {}

    def build(self, name: str) -> PrimFunc:
        listed = [a for a in self.arguments if isinstance(a, Tensor)]
        for tensor in listed:
            if tensor.stage is not None:
                self._visit(tensor.stage)
        if not self.stages:
            _refuse("no-output", "nothing is computed", self.span, "list at least one tensor made by te.compute")
        self._check_inputs(listed)
        params = self._parameters()
        func = PrimFunc(name, params, seq(), span=self.span)
        sizes = {v.name for v in (*func.scalars, *shape_vars(func))}
        body = seq(*(self._stage(stage, sizes) for stage in self.stages))
        for buffer in reversed(list(self.outputs.values())):
            if buffer not in func.buffers:
                self._known(buffer.shape, sizes, buffer.span)
                body = Alloc(buffer, body, buffer.span)
        return replace(func, body=body)

    def _visit(self, stage: Stage) -> None:
        """Add a stage after those it reads; without recursion, since chains are long."""
        pending: list[tuple[Stage, bool]] = [(stage, False)]
        while pending:
            current, ready = pending.pop()
            if current in self.stages:
                continue
            if ready:
                self.stages[current] = []
                continue
            pending.append((current, True))
            for tensor in reversed(list(_inputs(current))):
                if tensor.stage is not None:
                    pending.append((tensor.stage, False))

    def _check_inputs(self, listed: list[Tensor]) -> None:
        for stage in self.stages:
            for tensor in _inputs(stage):
                if tensor.stage is None and tensor not in listed:
                    message = f"{_called(tensor)} is read, but it is not among the arguments"
                    _refuse("unlisted-input", message, tensor.span, "list it: create_prim_func([A, ..., C])")

    def _parameters(self) -> tuple[Var | Buffer, ...]:
        shapes = [t.shape for t in self.arguments if isinstance(t, Tensor)] + [s.shape for s in self.stages]
        self.taken |= {v.name for shape in shapes for e in shape for v in free_vars(e)}
        self.taken |= {a.name for a in self.arguments if isinstance(a, Var)}
        params: list[Var | Buffer] = []
        for argument in self.arguments:
            if isinstance(argument, Var):
                params.append(argument)
            else:
                params.append(self._buffer(argument))
                if argument.stage is not None:
                    self.outputs[argument.stage, argument.index] = cast(Buffer, params[-1])
        for stage in self.stages:
            for k, expr in enumerate(stage.exprs):
                if (stage, k) not in self.outputs:
                    several = len(stage.values) > 1 and stage.name
                    tensor = Tensor(
                        f"{stage.name}_{k}" if several else stage.name, stage.shape, expr.dtype, stage, k, stage.span
                    )
                    self.outputs[stage, k] = self._buffer(tensor)
        return tuple(params)

    def _buffer(self, tensor: Tensor) -> Buffer:
        name = fresh(tensor.name or ("placeholder" if tensor.stage is None else "compute"), self.taken)
        buffer = Buffer(name, tensor.shape, tensor.dtype, span=tensor.span)
        self.buffers[tensor] = buffer
        return buffer

    def _stage(self, stage: Stage, sizes: set[str]) -> Stmt:
        """The loops and the block of a stage."""
        taken = set(self.taken)
        zeros = (const(0, e.dtype) for e in stage.shape)
        bounds = [*zip(zeros, stage.shape, strict=True), *((a.start, a.extent) for a in stage.reduced)]
        loops: list[tuple[Var, Expr, Expr]] = []
        for axis, (start, extent) in zip((*stage.axes, *stage.reduced), bounds, strict=True):
            loops.append((Var(fresh(axis.name, taken), axis.dtype, stage.span), start, extent))
        names = [Var(fresh(f"v_{v.name}", taken), v.dtype, stage.span) for v, _, _ in loops]
        axes = tuple(
            IterVar(n, "spatial" if k < len(stage.axes) else "reduce", start, extent, v)
            for k, (n, (v, start, extent)) in enumerate(zip(names, loops, strict=True))
        )
        for axis in axes:
            self._known((axis.start, axis.extent), sizes, stage.span)
        values = dict[Var, Expr](zip((*stage.axes, *stage.reduced), names, strict=True))
        init, body = self._statements(stage, values, tuple(names[: len(stage.axes)]), sizes)
        result: Stmt = Block(self._block_name(stage), body, axes, init=init, span=stage.span)
        for v, start, extent in reversed(loops):
            result = For(v, start, extent, result, span=stage.span)
        return result

    def _block_name(self, stage: Stage) -> str:
        own = stage.name if len(stage.values) > 1 else ""
        return fresh(own if own else self.outputs[stage, 0].name, self.blocks)

    def _statements(
        self, stage: Stage, values: Mapping[Var, Expr], place: tuple[Var, ...], sizes: set[str]
    ) -> tuple[Stmt | None, Stmt]:
        inits: list[Stmt] = []
        stores: list[Stmt] = []
        for k, value in enumerate(stage.values):
            target = self.outputs[stage, k]
            expr = self._placed(stage.exprs[k], values, sizes, stage)
            if isinstance(value, Reduction):
                inits.append(Store(target, place, value.start, stage.span))
                expr = Binary(value.op, Load(target, place, stage.span), expr)
            stores.append(Store(target, place, expr, stage.span))
        return (seq(*inits) if inits else None), seq(*stores)

    def _placed(self, expr: Expr, values: Mapping[Var, Expr], sizes: set[str], stage: Stage) -> Expr:
        """An expression with buffers for tensors and block axes for axes."""

        def visit(e: Expr) -> Expr:
            if not isinstance(e, Load):
                return e
            if not isinstance(e.buffer, _TensorBuffer) or e.buffer.tensor is None:
                _refuse("unknown-tensor", f"{e.buffer.name} is a buffer, not a tensor", e.span, "use te.placeholder")
            tensor = e.buffer.tensor
            stored = self.buffers[tensor] if tensor.stage is None else self.outputs[tensor.stage, tensor.index]
            return replace(e, buffer=stored)

        placed = substitute_expr(map_expr(expr, visit), values)
        self._known((placed,), sizes | {cast(Var, v).name for v in values.values()}, stage.span)
        return placed

    def _known(self, exprs: Iterable[Expr], names: set[str], span: Span | None) -> None:
        """Check that expressions mention known names only."""
        for found in (v for e in exprs for v in free_vars(e)):
            if isinstance(found, ReduceAxis):
                message = f"the reduce axis {found.name} is used outside a reduction over it"
                _refuse("reduce-axis", message, span, f"reduce over it: te.sum(..., axis={found.name})")
            if isinstance(found, Axis):
                _refuse("axis", f"{found.name} is an index of another stage", span, "use the function's own parameters")
            if found.name not in names:
                message = f"the size {found.name} is neither an argument nor in the shape of one"
                _refuse("unknown-size", message, span, f"list {found.name} among the arguments")


def _inputs(stage: Stage) -> Iterator[Tensor]:
    """Tensors that a stage reads, in order of first use."""
    found = dict.fromkeys(load.buffer for expr in stage.exprs for load in loads(expr))
    return (b.tensor for b in found if isinstance(b, _TensorBuffer) and b.tensor is not None)


def _called(tensor: Tensor) -> str:
    return tensor.name if tensor.name else "the tensor"


def _caller() -> Span | None:
    """The line of the user's script that is being executed."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("ir."):
        frame = frame.f_back
    if frame is None:
        return None
    file, line = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(file, line).rstrip("\n")
    column = len(text) - len(text.lstrip())
    return Span(file, line, column, len(text), text)


def _refuse(code: str, message: str, span: Span | None, help: str = "") -> NoReturn:
    raise VerifyError(code, message, span, help=help)
