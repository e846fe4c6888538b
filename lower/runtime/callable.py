"""Callable kernels: the call contract and its checks. Owns nothing of how source is made, nor who chooses it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax import core as jax_core
from msgspec import Struct

from egraph_rules.cost.target import CPU, Target
from ir.errors import LowerError, LowerTypeError, LowerValueError, suggest
from ir.floats import DEFAULT_FLOATS, Floats
from ir.later import later
from ir.nodes import Assert, Assume, Buffer, PrimFunc, Var, const
from ir.page import Section
from ir.semantics.specialize import specialize
from ir.shown import Shown
from ir.traverse import results_of, shape_vars, substitute_expr
from lower.analysis.freedoms import HIGHEST, Precision
from lower.analysis.linear_forms import linear
from lower.emission.donation import Donate, check_given_away
from lower.emission.emitted import Emitted
from lower.runtime import kept
from lower.runtime.empty import broken, has_empty, with_extents
from lower.runtime.platforms import device_of

if TYPE_CHECKING:
    from jax.experimental import checkify

    from ir.schedule import layout as layouts
    from lower.emission import function as emission
    from lower.runtime import forward_only, padded_array, sharding
else:
    checkify = later("jax.experimental.checkify")
    forward_only = later("lower.runtime.forward_only")
    layouts = later("ir.schedule.layout")
    emission = later("lower.emission.function")
    padded_array = later("lower.runtime.padded_array")
    sharding = later("lower.runtime.sharding")

Array = Any


class Kernel(Shown):
    """A compiled function. Call it with arrays and scalars in parameter order or by name; inputs are never changed.

    `source` is the JAX source, `report` says which form each statement took, `jitted` is what JAX compiles (use it
    inside `context()`), `params` names the parameters, `optional` those that may be left out, `func` is the program.
    `assumptions` says what the program rests on, each with its place. A kernel with checks tests them at each call;
    inside `jax.jit`, `jax.vmap` and the like, where nothing can be raised, by checks of `jax.experimental.checkify`.
    `donated` names the parameters whose JAX arrays a call takes away from the caller; NumPy arrays stay as they are.
    """

    _sharded = False

    def __init__(self, emitted: Emitted, device: Any, notes: Sequence[str] = ()) -> None:
        self.func = emitted.func
        self.params = tuple(p.name for p in emitted.func.params)
        self.optional = tuple(b.name for b in emitted.optional)
        self.donated = tuple(p for p in self.params if emitted.names[p] in emitted.donated)
        self.source = emitted.source
        self.report = [*emitted.report, *notes]
        self.assumptions = emitted.assumptions
        self.results = tuple(b.name for b in results_of(emitted.func))
        self._keywords = tuple(emitted.names[p] for p in self.params)  # parameters as the source calls them
        self.device = device
        self._emitted = emitted
        namespace: dict[str, Any] = {}
        exec(self.source, namespace)  # our own text, made above
        self._elsewhere = device != jax.devices()[0]
        self._fitting: set[tuple[Any, ...]] = set()  # shapes and dtypes of arguments that have been checked
        self.jitted: Any = namespace[f"_{emitted.name}" if emitted.wide else emitted.name]
        self._in_order = tuple(inspect.signature(self.jitted).parameters) == self._keywords
        self._sizes = (*shape_vars(self.func), *(s for s in self.func.scalars if s in emitted.static))
        self._plain = not (self._sizes or self.donated or emitted.checks or self._sharded)
        self._empty: dict[tuple[Any, ...], Kernel | None] = {}  # by static arguments and the shapes of others
        self._notes = tuple(notes)
        self.__name__ = self.__qualname__ = self.func.name
        self.__signature__ = _signature(self.params, self.optional)
        self.__doc__ = "\n\n".join(filter(None, (self.func.as_written.docstring, self.brief())))

    def __reduce__(self) -> tuple[Any, ...]:
        """Made anew from its source, on the first device of its platform in the process that asks."""
        return _remade, (self._emitted, self.device.platform, self._notes)

    def __deepcopy__(self, memo: object) -> Self:
        return self  # it never changes

    def brief(self) -> str:
        """Its signature, results and device."""
        return f"Kernel {self.func.signature} -> ({', '.join(self.results)}) on {self.device}"

    def sections(self) -> Iterator[Section]:
        """Its signature, source, report and assumptions."""
        yield Section(self.brief())
        yield self.made
        if self.assumptions:
            yield Section("assumptions", lines=tuple(f"- {a}" for a in self.assumptions))

    @property
    def made(self) -> Section:
        """The JAX source, and which form each statement took."""
        return Section("JAX source", self.source, tuple(f"- {note}" for note in self.report))

    @property
    def emitted(self) -> Emitted:
        """What the kernel was made of."""
        return self._emitted

    def context(self) -> Any:
        """The JAX configuration under which `jitted` has the program's dtypes."""
        return jax.enable_x64(self._emitted.wide)  # pyright: ignore[reportCallIssue]

    def __call__(self, *arguments: Any, **named: Any) -> tuple[Array, ...]:
        """Run the kernel; the written buffers in parameter order.

        Raises LowerError for arguments of a wrong number, name, shape or dtype, for arrays that are gone or that are
        donated and given twice, and for failed checks.
        """
        if named:
            arguments, named = self._in_a_row(arguments, named)
        key = None if named or not self._plain or len(arguments) > len(self.params) else self._key(arguments)
        if key in self._fitting:
            return self.run_fitting(arguments)
        with self._configured():
            results = self._run(arguments, named)
        checks = self._emitted.checks
        if checks:
            results, held = results[: -len(checks)], results[-len(checks) :]
            for check, ok in zip(checks, held, strict=True):
                _insist(check.node, ok)
        if key is not None:
            self._fitting.add(key)
        return tuple(results)

    def _in_a_row(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments by their places, where those that are named are the parameters next to the others."""
        names = self.params[len(arguments) : len(arguments) + len(named)]
        together = len(names) == len(named) and all(name in named for name in names)
        return ((*arguments, *(named[name] for name in names)), {}) if together else (arguments, named)

    @property
    def simple(self) -> bool:
        """Whether arguments in the order of the parameters go to `jitted` as they are."""
        return self._in_order and not self._elsewhere

    def run_fitting(self, arguments: Sequence[Any]) -> tuple[Array, ...]:
        """Run with arguments, in parameter order, of which a call has shown that shapes and dtypes are right.

        It is for kernels without checks, donated arrays and open sizes.
        """
        named = {} if self._in_order else dict(zip(self._keywords, arguments, strict=False))
        if self._elsewhere or jax.config.read("jax_enable_x64") != self._emitted.wide:
            with self._configured():
                results = self.jitted(**named) if named else self.jitted(*arguments)
        else:
            results = self.jitted(**named) if named else self.jitted(*arguments)
        return self._derivable(results, arguments)

    def _derivable(self, results: Sequence[Array], arguments: Iterable[Any]) -> tuple[Array, ...]:
        """Results that refuse derivatives which they do not have, if somebody may ask for these."""
        loops = self._emitted.forward_only
        traced = bool(loops) and any(isinstance(a, jax_core.Tracer) for a in arguments)
        return tuple(forward_only.forward_only(results, self.func.name, loops) if traced else results)

    def _key(self, arguments: Sequence[Any]) -> tuple[Any, ...] | None:
        """The shapes and dtypes of arrays and floats, which decide about all that a call checks; None if more does."""
        key: list[Any] = []
        for param, value in zip(self.func.params, arguments, strict=False):
            kind: type = type(value)
            if kind is float and isinstance(param, Var):
                key.append(float)
            elif is_array(value) or (isinstance(value, np.generic) and value.dtype == param.dtype.numpy):
                key.append((value.shape, value.dtype))
            else:
                return None
        return tuple(key)

    def _configured(self) -> Any:
        """The configuration that a call runs under."""
        return self.on_device() if self._elsewhere else self.context()

    @contextmanager
    def on_device(self) -> Generator[None]:
        """The JAX configuration under which it runs on its device."""
        with self.context(), jax.default_device(self.device):
            yield

    def _run(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> Sequence[Any]:
        """The results of `jitted`."""
        bound = self._bind(arguments, named)
        own = self._for_empty(bound)
        if own is None:
            return self._derivable(self.jitted(**bound), bound.values())
        return *own(**self._given(own, bound)), *(True for _ in self._emitted.checks)  # it has made its own checks

    def _for_empty(self, bound: Mapping[str, Any]) -> Kernel | None:
        """The kernel for the sizes of a call that leave something empty, and None for others."""
        if not self._sizes:
            return None
        key = tuple((name, v if isinstance(v, int) else v.shape) for name, v in bound.items())
        if key not in self._empty:
            names = self._emitted.names
            sizes = {v: int(bound[names[v.name]]) for v in self.func.scalars if v in self._sizes}
            self._check_shapes(bound, sizes)
            for claim in broken(self.func.as_written, sizes) if self._emitted.checks else ():
                _insist(claim, False)  # of code for other sizes nothing is known, not even that it can be traced
            self._empty[key] = None
            if len(sizes) == len(self._sizes) and has_empty(self.func, self._emitted.extents, sizes):
                func = with_extents(specialize(self.func, {v.name: n for v, n in sizes.items()}))
                own = self._emitted
                emitted = emission.emit_function(
                    func, bool(own.checks), floats=own.floats, precision=own.precision, without=own.without
                )
                self._empty[key] = Kernel(emitted, self.device)
                given = ", ".join(f"{v.name} = {n}" for v, n in sizes.items())
                self.report.append(f"for {given} something is empty: these sizes have a program of their own")
        return self._empty[key]

    def _given(self, own: Kernel, bound: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments by the names of the program for another kernel."""
        names = self._emitted.names
        return {p.name: bound[names[p.name]] for p in own.func.params if names[p.name] in bound}

    def layout(self, name: str) -> layouts.Layout:
        """How a buffer parameter is stored: its shapes, index map and padding. LoopsatError if there is none such."""
        return layouts.layout_of(self.func, name)

    def lower(self, *arguments: Any, **named: Any) -> Any:
        """JAX's lowered form for these arguments, to compile or inspect."""
        with self.context(), jax.default_device(self.device):
            bound = self._bind(arguments, named)
            own = self._for_empty(bound)
            return self.jitted.lower(**bound) if own is None else own.lower(**self._given(own, bound))

    def arguments(self, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as `jitted` takes them, checked and converted."""
        with self.context(), jax.default_device(self.device):
            return self._bind(args, named)

    def _bind(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        func = self.func
        if len(arguments) > len(func.params):
            message = f"{func.name} takes {len(func.params)} arguments, but {len(arguments)} were given"
            raise LowerTypeError("arguments", message, help=f"call it as {func.signature}")
        given = {p.name: a for p, a in zip(func.params, arguments, strict=False)}
        known = [p.name for p in func.params]
        for name, value in named.items():
            if name not in known:
                raise LowerTypeError("arguments", f"{func.name} has no parameter {name}", help=suggest(name, known))
            if name in given:
                raise LowerTypeError("arguments", f"parameter {name} of {func.name} was given twice")
            given[name] = value
        if self.donated:
            check_given_away(given, self.donated)
        bound: dict[str, Any] = {}
        sizes: dict[Var, int] = {}
        for param in func.params:
            value = given.get(param.name)
            if value is None and param.name not in self.optional:
                raise LowerTypeError(
                    "arguments",
                    f"argument {param.name} of {func.name} is missing",
                    help="only buffers that are never read before they are written may be left out",
                )
            if value is not None and isinstance(param, Var):
                value = self._scalar(param, value)
                if param in self._emitted.static:
                    sizes[param] = value
            elif value is not None and isinstance(param, Buffer):
                value = self._convert(_array(func, param, value))
            if value is not None:
                bound[self._emitted.names[param.name]] = value
        self._check_shapes(bound, sizes)
        return bound

    def _convert(self, value: Any) -> Any:
        """An array of the right dtype as the kernel takes it; making one of JAX of it would compile a program."""
        return value if isinstance(value, (np.ndarray, jax.Array)) else jnp.asarray(value)

    def _scalar(self, param: Var, value: Any) -> Any:
        traced = isinstance(value, jax_core.Tracer)
        array = value if traced else np.asarray(value)
        if traced and (param.dtype.is_integer and param in self._emitted.static):
            message = f"scalar {param.name} of {self.func.name} decides about shapes or loops: it cannot be traced"
            help = f"make it a static argument of jax.jit, or fix {param.name}"
            raise LowerTypeError("arguments", message, help=help)
        if array.shape != ():
            message = f"scalar {param.name} of {self.func.name}: expected {param.dtype}, found shape {array.shape}"
            raise LowerTypeError("arguments", message, help="pass one number")
        if param.dtype.is_float:
            fits = array.dtype.kind in "fiu" or array.dtype == param.dtype.numpy
        elif param.dtype.is_integer:
            same = array.dtype == param.dtype.numpy  # of what is traced nothing else is known
            fits = same if traced else array.dtype.kind in "iu" and param.dtype.min <= int(array) <= param.dtype.max
        else:
            fits = array.dtype.kind == "b"
        if not fits:
            message = f"scalar {param.name} of {self.func.name}: expected {param.dtype}, found {value!r}"
            wide = param.dtype.is_integer and array.dtype.kind in "iu"  # a number of the right kind that does not fit
            raise (LowerValueError if wide else LowerTypeError)("arguments", message)
        if param in self._emitted.static:
            return int(array)
        return array.astype(param.dtype.numpy)

    def _check_shapes(self, bound: Mapping[str, Any], sizes: dict[Var, int]) -> None:
        buffers = [(b, bound.get(self._emitted.names[b.name])) for b in self.func.buffers]
        shapes = [(b, tuple(int(n) for n in a.shape)) for b, a in buffers if a is not None]
        for buffer, shape in shapes:
            if len(shape) == len(buffer.shape):
                for dim, extent in zip(buffer.shape, shape, strict=True):
                    form = linear(dim)
                    if len(form.terms) == 1:
                        ((name, c),) = form.terms.items()
                        if isinstance(name, Var) and (extent - form.const) % c == 0:
                            sizes.setdefault(name, (extent - form.const) // c)
        values = {v: const(n, v.dtype) for v, n in sizes.items()}
        for buffer, shape in shapes:
            expected = [linear(substitute_expr(d, values)) for d in buffer.shape]
            extents = [max(e.const, 0) if e.is_const else None for e in expected]  # of a negative one there is nothing
            right = len(shape) == len(extents) and all(e in (None, n) for e, n in zip(extents, shape, strict=True))
            if not right:
                wanted = ", ".join("?" if e is None else str(e) for e in extents)
                name = f"parameter {buffer.name} of {self.func.name}"
                raise LowerValueError("arguments", f"{name}: expected shape ({wanted}), found {shape}")


_ARRAY_TYPES: dict[type, bool] = {}  # those seen so far: asking JAX costs as much as the rest of a call's checks


class _Kept(Struct, frozen=True):
    """A kernel as it is kept: its source with what callers must know, and notes on it."""

    emitted: Emitted
    notes: tuple[str, ...]


def _remade(emitted: Emitted, platform: str, notes: Sequence[str]) -> Kernel:
    device, missing = device_of(platform)
    return Kernel(emitted, device, [*notes, *missing])


def _signature(params: Sequence[str], optional: Iterable[str]) -> inspect.Signature:
    """Parameters by their names; those at the end that may be left out have a default."""
    left = set(optional)
    last = max((k for k, name in enumerate(params) if name not in left), default=-1)
    empty, kind = inspect.Parameter.empty, inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature(
        [inspect.Parameter(name, kind, default=... if k > last else empty) for k, name in enumerate(params)]
    )


def keep(key: str, kernel: Kernel) -> None:
    """Keep a kernel on disk for later processes."""
    kept.keep(key, _Kept(kernel.emitted, tuple(kernel.report[len(kernel.emitted.report) :])))


def recalled(key: str, device: Any) -> Kernel | None:
    """The kernel that was kept under a key; None if there is none."""
    found = kept.recall(key)
    return Kernel(found.emitted, device, found.notes) if isinstance(found, _Kept) else None


def is_array(value: Any) -> bool:
    """Whether a value is an array of NumPy or JAX, or one that JAX traces."""
    kind: type = type(value)
    known = _ARRAY_TYPES.get(kind)
    if known is None:
        known = _ARRAY_TYPES[kind] = isinstance(value, (np.ndarray, jax.Array))
    return known


def _array(func: PrimFunc, param: Buffer, value: Any) -> Any:
    """A value as an array of the parameter's dtype; lists and numbers have that of NumPy."""
    given = getattr(value, "dtype", None)
    try:
        array = np.asarray(value) if given is None else value
    except ValueError as error:  # rows of different lengths
        message = f"parameter {param.name} of {func.name} is no array: {error}"
        raise LowerValueError("arguments", message, help="rows must have the same length") from error
    if np.dtype(array.dtype) == param.dtype.numpy:
        return array
    name, dtype = f"parameter {param.name} of {func.name}", np.dtype(array.dtype).name
    if given is None:
        message = f"{name}: expected an array of {param.dtype}, found a {type(value).__name__}"
        raise LowerTypeError("arguments", message, help=f"pass np.array({param.name}, dtype={str(param.dtype)!r})")
    help = f"convert it with .astype({str(param.dtype)!r})"
    raise LowerTypeError("arguments", f"{name}: expected dtype {param.dtype}, found {dtype}", help=help)


def _insist(node: Assert | Assume, held: Any) -> None:
    """Fail where a check does not hold: at once, or inside of a function that JAX traces as a check of `checkify`."""
    if isinstance(node, Assume):
        code, message = "assumption-false", "an assumption does not hold for these inputs"
    else:
        code, message = "assert-failed", f"an assertion failed{': ' + node.message if node.message else ''}"
    try:
        ok = bool(held)
    except jax.errors.TracerBoolConversionError:
        place = "" if node.span is None else f" at {node.span}"
        text = f"{message}{place}".replace("{", "{{").replace("}", "}}")  # checkify fills in what stands in braces
        checkify.check(held, text)
        return
    if not ok:
        raise LowerError(code, message, node.span)


class ShardedKernel(Kernel):
    """A kernel over the devices of a mesh; dimensions that their mesh axes do not divide are padded inside.

    Where sizes are not known before a call, a program is made for each (`at`), and `source`, `report` and `jitted` are
    those of the unsharded function.
    """

    _sharded = True

    def __init__(
        self,
        func: PrimFunc,
        layout: sharding.MeshLayout,
        checks: bool,
        target: Target = CPU,
        donate: Donate = False,
        floats: Floats = DEFAULT_FLOATS,
        precision: Precision = HIGHEST,
        without: frozenset[str] = frozenset(),
        keep_padding: bool = False,
    ) -> None:
        emitted = emission.emit_function(
            func, checks, target, donate, floats=floats, precision=precision, without=without
        )
        super().__init__(emitted, layout.mesh.local_devices[0])
        self._target = target
        self.mesh_layout = layout
        self._with_checks = checks
        self._keep_padding = keep_padding
        self._programs: dict[tuple[tuple[str, int], ...], tuple[sharding.Sharded, Any]] = {}
        if self._sizes:
            names = ", ".join(v.name for v in self._sizes)
            self.report.append(f"sharded, and padded where needed, for each {names} that is called with")
        else:
            program, self.jitted = self._program({})
            self.source, self.report = program.emitted.source, program.report

    def __reduce__(self) -> tuple[Any, ...]:
        message = f"the kernel of {self.func.name} is for the devices of a mesh, and cannot be pickled"
        raise LowerTypeError("arguments", message, help="compile it in the process that calls it")

    def at(self, **sizes: int) -> sharding.Sharded:
        """The program on the mesh for these sizes, with a report of its own.

        Raises LowerError where they are not the sizes that come with a call.
        """
        names = [v.name for v in self._sizes]
        if sizes.keys() != set(names):
            message = f"{self.func.name} has the sizes {', '.join(names) or '(none)'}, given were {', '.join(sizes)}"
            raise LowerError("unbound-size", message, self.func.span, help="give each of them a number")
        return self._program(sizes)[0]

    def _program(self, sizes: Mapping[str, int]) -> tuple[sharding.Sharded, Any]:
        key = tuple(sorted(sizes.items()))
        if key not in self._programs:
            func = specialize(self.func, sizes) if sizes else self.func
            floats, precision = self._emitted.floats, self._emitted.precision
            program = sharding.sharded(
                func,
                self.mesh_layout,
                checks=self._with_checks,
                target=self._target,
                floats=floats,
                precision=precision,
                without=self._emitted.without,
            )
            jitted = program.jit(Kernel(program.emitted, self.device).jitted, self.donated)
            self._programs[key] = (program, jitted)
        return self._programs[key]

    def _prepared(
        self, arguments: Sequence[Any], named: Mapping[str, Any]
    ) -> tuple[sharding.Sharded, Any, dict[str, Any]]:
        """The program for a call, what JAX compiles for it, and the arguments on the mesh."""
        bound = self._bind(arguments, named)
        given = {p.name: bound[n] for p in self.func.params if (n := self._emitted.names[p.name]) in bound}
        sizes = {v: given[v.name] for v in self._sizes if v.name in given}
        self._check_shapes(bound, sizes)
        program, jitted = self._program({v.name: sizes[v] for v in self._sizes})
        placed = program.place({name: value for name, value in given.items() if name not in sizes})
        return program, jitted, placed

    def _run(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> Sequence[Any]:
        program, jitted, placed = self._prepared(arguments, named)
        return program.results(jitted(**program.named(placed)), placed, padded=self._keep_padding)

    def from_blocks(self, name: str, read: Callable[[tuple[slice, ...]], Any], **sizes: int) -> Any:
        """An array for a parameter on the mesh, of which no process needs to have more than its devices do.

        `read` is called with ranges of each dimension, and gives the elements there. Sizes that come with calls are
        given by name. Raises LowerError where there is no such parameter, or sizes are missing.
        """
        buffers = [b.name for b in self.func.buffers]
        if name not in buffers:
            message = f"{self.func.name} has no buffer parameter `{name}`"
            raise LowerError("sharding-parameter", message, self.func.span, help=suggest(name, buffers))
        return self.at(**sizes).from_blocks(name, read)

    def lower(self, *arguments: Any, **named: Any) -> Any:
        """JAX's lowered form of the program on the mesh for these arguments, to compile or inspect."""
        with self.context():
            program, jitted, placed = self._prepared(arguments, named)
            return jitted.lower(**program.named(placed))

    def arguments(self, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments checked, padded and on the mesh, as `jitted` takes them where sizes are known."""
        with self.context():
            program, _, placed = self._prepared(args, named)
            return program.named(placed)

    def _convert(self, value: Any) -> Any:
        return value if isinstance(value, (np.ndarray, jax.Array, padded_array.PaddedArray)) else jnp.asarray(value)
