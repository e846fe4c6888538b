"""Recorded schedule steps: printing as Python, saving as JSON, and replay. Owns the record; runs nothing itself."""

from __future__ import annotations

import json
import keyword
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import Protocol, cast

from msgspec import Struct, field

from ir.dtypes import DType
from ir.errors import LoopsatError, ScheduleError
from ir.functions import inline_calls
from ir.naming import unused
from ir.nodes import (
    Binary,
    BinaryOp,
    Buffer,
    Cast,
    Const,
    Expr,
    Load,
    PrimFunc,
    Select,
    Unary,
    UnaryOp,
    Undef,
    Var,
)
from ir.page import Section
from ir.presburger.index_map import IndexMap
from ir.printing.printer import to_script
from ir.script.parser import parse
from ir.shown import Shown, counted
from ir.traverse import free_vars, loads


class BlockRef(Struct, frozen=True):
    """A block of a function, by name."""

    func: str
    name: str


class LoopRef(Struct, frozen=True):
    """A loop of a function, by its variable's name."""

    func: str
    name: str


Ref = BlockRef | LoopRef


class Transform(Protocol):
    """A directed rewrite of a function, as `Schedule.apply` takes it: printable, and callable on a function."""

    @property
    def name(self) -> str: ...

    @property
    def options(self) -> Mapping[str, object]: ...

    def __call__(self, func: PrimFunc) -> PrimFunc: ...


class Runner(Protocol):
    """What a trace drives: a schedule."""

    def run(self, name: str, arguments: Mapping[str, object]) -> tuple[Ref, ...]: ...


class Step(Struct, frozen=True):
    """One step: the method's name, its arguments by name, and what it returned."""

    name: str
    arguments: tuple[tuple[str, object], ...]
    outputs: tuple[Ref, ...] = ()

    @property
    def inputs(self) -> tuple[object, ...]:
        """The arguments, lists of references spread out."""
        out: list[object] = []
        for _, value in self.arguments:
            out.extend(cast("Iterable[object]", value) if isinstance(value, tuple) else (value,))
        return tuple(out)


class Trace(Shown, Struct):
    """The steps of a schedule, in order. `str(trace)` is Python that can be pasted into a script.

    `home` is the function that names referred to when the schedule began.
    """

    steps: list[Step] = field(default_factory=lambda: list[Step]())
    home: str = ""

    def brief(self) -> str:
        """How many steps there are."""
        return f"Trace: {counted(len(self.steps), 'step')}"

    def sections(self) -> Iterator[Section]:
        """Python that takes the steps."""
        yield Section(code=str(self))

    def __str__(self) -> str:
        return "\n".join(_Writer(self.home).lines(self.steps))

    def to_json(self) -> str:
        """The trace as JSON text; `Trace.from_json` reads it back."""
        steps = [
            {
                "step": s.name,
                "arguments": {k: _encode(v) for k, v in s.arguments},
                "outputs": [_encode(o) for o in s.outputs],
            }
            for s in self.steps
        ]
        return json.dumps({"loopsat_trace": 1, "home": self.home, "steps": steps}, indent=1)

    @staticmethod
    def from_json(text: str, transforms: Mapping[str, Callable[..., Transform]] | None = None) -> Trace:
        """Read what `to_json` wrote. `transforms` makes applied steps by name: pass `egraph_rules.transforms.STEPS`.

        Raises:
            ScheduleError: the text is no trace, or names a transform that is not given.
        """
        try:
            read = json.loads(text)
            steps = [_step(item, transforms or {}) for item in read["steps"]]
            home = str(read.get("home", ""))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            message = f"this is no recorded trace: {error!r}"
            raise ScheduleError("trace", message, help="save one with `sch.trace.to_json()`") from error
        return Trace(steps, home)

    def replay(self, target: Runner) -> None:
        """Run the steps on a schedule, of this or of another program.

        Loops and blocks that the trace obtained from its steps are those that the same steps give there; names that
        were written out are looked up. The target keeps the state before the first step that does not apply.

        Raises:
            ScheduleError: a step does not apply; the error names it.
        """
        known: dict[Ref, Ref] = {}
        for number, step in enumerate(self.steps, 1):
            arguments = {k: _translate(v, known) for k, v in step.arguments}
            try:
                found = target.run(step.name, arguments)
            except LoopsatError as error:
                notes = (f"step {number} of the trace: {_Writer('').line(step)}", *error.notes)
                raise ScheduleError(error.code, error.message, error.span, notes=notes, help=error.help) from error
            if len(found) != len(step.outputs):
                message = f"step {number} made {len(found)} loops or blocks here, but {len(step.outputs)} when recorded"
                raise ScheduleError("trace", message, notes=[_shown(step)], help="the trace is from another program")
            known |= dict(zip(step.outputs, found, strict=True))


def _translate(value: object, known: Mapping[Ref, Ref]) -> object:
    if isinstance(value, tuple):
        return tuple(_translate(v, known) for v in cast("tuple[object, ...]", value))
    return known.get(value, value) if isinstance(value, (BlockRef, LoopRef)) else value


# Python --------------------------------------------------------------------------------------------------------------


class _Writer:
    """Writes steps as Python: a name for each reference that a step made, the text of others."""

    def __init__(self, home: str) -> None:
        self.current = home
        self.names: dict[Ref, str] = {}

    def lines(self, steps: Iterable[Step]) -> Iterator[str]:
        for step in steps:
            literal = next((r for r in step.inputs if isinstance(r, (BlockRef, LoopRef)) and r not in self.names), None)
            if literal is not None and self.current not in ("", literal.func):
                yield f"sch.work_on({literal.func!r})"
                self.current = literal.func
            yield self.line(step)
            if step.name in ("work_on", "get_block"):
                self.current = cast(str, dict(step.arguments).get("func", self.current))

    def line(self, step: Step) -> str:
        """One step; what it made has a name afterwards."""
        call = f"sch.{step.name}({self._arguments(step)})"
        targets = [self._name(o) for o in step.outputs]
        if not targets:
            return call
        return f"{', '.join(targets)}{',' if step.name in MANY and len(targets) == 1 else ''} = {call}"

    def _arguments(self, step: Step) -> str:
        if step.name == "apply":
            transform = cast(Transform, dict(step.arguments)["step"])
            options = ", ".join(f"{k}={v!r}" for k, v in transform.options.items())
            return f"transforms.{transform.name}({options})"
        parts: list[str] = []
        for k, (name, value) in enumerate(step.arguments):
            if step.name in SPREAD and k == 0:
                parts += [self._python(v) for v in cast("tuple[object, ...]", value)]
            else:
                parts.append(f"{name}={self._python(value)}" if k > 0 else self._python(value))
        return ", ".join(parts)

    def _name(self, ref: Ref) -> str:
        """The variable for a reference: its own name if that is free and an identifier."""
        known = self.names.get(ref)
        if known is not None:
            return known
        stem = re.sub(r"\W", "_", f"{ref.name}_block" if isinstance(ref, BlockRef) else ref.name)
        stem = stem if stem.isidentifier() else f"_{stem}"
        name = self.names[ref] = unused(stem, {*_RESERVED, *keyword.kwlist, *self.names.values()})
        return name

    def _python(self, value: object) -> str:
        match value:
            case BlockRef() | LoopRef():
                return self.names.get(value, repr(value.name))
            case PrimFunc(name=name):  # the script that it is pasted into defines it
                return name
            case IndexMap():
                names = ", ".join(v.name for v in value.params)
                body = ", ".join(_expression(r, set(value.params)) for r in value.results)
                return f"lambda {names}: {body}" if len(value.results) == 1 else f"lambda {names}: [{body}]"
            case Expr():
                return _expression(value, set())
            case tuple():
                return f"[{', '.join(map(self._python, cast('tuple[object, ...]', value)))}]"
            case float() if not math.isfinite(value):
                return f'float("{value}")'
            case _:
                return repr(value)


def _shown(step: Step) -> str:
    """One step as Python, for messages."""
    return _Writer("").line(step)


_RESERVED = ("sch", "transforms", "T", "float", "lambda")
SPREAD = ("fuse", "reorder", "merge_adjacent_loops")  # methods whose references are positional
# Methods that return a tuple even for one reference.
MANY = (
    "get_loops", "split", "loop_partition", "merge_adjacent_loops", "sequential_buffer_access", "compute_at",
    "reverse_compute_at",
)  # fmt: skip


def _expression(expr: Expr, bound: Set[Var]) -> str:
    """An expression as Python; names that are not bound there are made, and buffers fetched."""
    expr = inline_calls(expr)
    text = to_script(expr)
    for name in {load.buffer.name for load in loads(expr)}:
        text = re.sub(rf"\b{re.escape(name)}\[", f"sch.get_buffer({name!r})[", text)
    for var in free_vars(expr) - bound:
        text = re.sub(rf"\b{re.escape(var.name)}\b", f'T.{var.dtype}("{var.name}")', text)
    return text


# JSON ----------------------------------------------------------------------------------------------------------------


def _encode(value: object) -> object:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case BlockRef():
            return {"block": value.name, "func": value.func}
        case LoopRef():
            return {"loop": value.name, "func": value.func}
        case IndexMap():
            return {"params": [_encode(v) for v in value.params], "results": [_encode(r) for r in value.results]}
        case PrimFunc():
            return {"kernel": to_script(value, header=True), "name": value.name}
        case Expr():
            return _encode_expr(value)
        case tuple() | list():
            return [_encode(v) for v in cast("tuple[object, ...]", value)]
        case _:
            transform = cast(Transform, value)
            return {"transform": transform.name, "options": {k: _encode(v) for k, v in transform.options.items()}}


def _encode_expr(expr: Expr) -> dict[str, object]:
    expr = inline_calls(expr)  # a trace stands alone: it has no place for definitions

    def of(*parts: Expr) -> list[object]:
        return [_encode_expr(p) for p in parts]

    match expr:
        case Const(value=v, dtype=d):
            return {"expr": "const", "value": v.hex() if isinstance(v, float) else v, "dtype": d.value}
        case Var(name=n, dtype=d):
            return {"expr": "var", "name": n, "dtype": d.value}
        case Undef(dtype=d):
            return {"expr": "undef", "dtype": d.value}
        case Load(buffer=b, indices=i):
            shape = of(*b.shape)
            return {"expr": "load", "buffer": b.name, "shape": shape, "dtype": b.dtype.value, "parts": of(*i)}
        case Unary(op=op, operand=a):
            return {"expr": "unary", "op": op, "parts": of(a)}
        case Binary(op=op, lhs=a, rhs=b):
            return {"expr": "binary", "op": op, "parts": of(a, b)}
        case Cast(dtype=d, operand=a):
            return {"expr": "cast", "dtype": d.value, "parts": of(a)}
        case Select(cond=c, then=a, other=b):
            return {"expr": "select", "parts": of(c, a, b)}
        case _:
            raise TypeError(type(expr).__name__)


def _step(item: Mapping[str, object], transforms: Mapping[str, Callable[..., Transform]]) -> Step:
    arguments = cast("Mapping[str, object]", item["arguments"])
    outputs = tuple(_decode(o, transforms) for o in cast("list[object]", item["outputs"]))
    pairs = tuple((k, _decode(v, transforms)) for k, v in arguments.items())
    if not isinstance(item["step"], str) or not all(isinstance(o, (BlockRef, LoopRef)) for o in outputs):
        raise TypeError(f"step {item['step']!r} with outputs {outputs!r}")
    name, given = item["step"], dict(pairs)
    if (name == "apply" and not hasattr(given["step"], "options")) or (
        name in SPREAD and not isinstance(given["loops"], tuple)
    ):
        raise TypeError(f"step {name} with {given!r}")
    return Step(name, pairs, cast("tuple[Ref, ...]", outputs))


def _decode(value: object, transforms: Mapping[str, Callable[..., Transform]]) -> object:
    if isinstance(value, list):
        return tuple(_decode(v, transforms) for v in cast("list[object]", value))
    if not isinstance(value, dict):
        return value
    item = cast("dict[str, object]", value)
    if "block" in item:
        return BlockRef(cast(str, item["func"]), cast(str, item["block"]))
    if "loop" in item:
        return LoopRef(cast(str, item["func"]), cast(str, item["loop"]))
    if "kernel" in item:
        return parse(cast(str, item["kernel"]))[cast(str, item["name"])]
    if "params" in item:
        params = cast("tuple[Var, ...]", _decode(item["params"], transforms))
        return IndexMap(params, cast("tuple[Expr, ...]", _decode(item["results"], transforms)))
    if "transform" in item:
        name, options = cast(str, item["transform"]), cast("dict[str, object]", item["options"])
        if name not in transforms:
            message = f"the trace applies `{name}`, which is not among the transforms given"
            raise ScheduleError("trace", message, help="pass `transforms=egraph_rules.transforms.STEPS`")
        return transforms[name](**{k: _decode(v, transforms) for k, v in options.items()})
    return _decode_expr(item)


def _decode_expr(item: dict[str, object]) -> Expr:
    parts = [_decode_expr(p) for p in cast("list[dict[str, object]]", item.get("parts", []))]
    match item["expr"]:
        case "const":
            dtype, value = DType(item["dtype"]), item["value"]
            return Const(float.fromhex(value) if isinstance(value, str) else cast("int | bool", value), dtype)
        case "var":
            return Var(cast(str, item["name"]), DType(item["dtype"]))
        case "undef":
            return Undef(DType(item["dtype"]))
        case "load":
            shape = tuple(_decode_expr(s) for s in cast("list[dict[str, object]]", item["shape"]))
            return Load(Buffer(cast(str, item["buffer"]), shape, DType(item["dtype"])), tuple(parts))
        case "unary":
            return Unary(cast(UnaryOp, item["op"]), parts[0])
        case "binary":
            return Binary(cast(BinaryOp, item["op"]), parts[0], parts[1])
        case "cast":
            return Cast(DType(item["dtype"]), parts[0])
        case "select":
            return Select(parts[0], parts[1], parts[2])
        case other:
            raise KeyError(other)
