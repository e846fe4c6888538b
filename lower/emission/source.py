"""The text of an emitted module: imports, helpers, functions and what decorates them. Owns the layout, no statement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

from msgspec import Struct, field
from ruff_api import FormatOptions, format_string

from ir.naming import lengthened
from lower.array.exact_values import EXACT_HELPERS
from lower.array.index_tables import STORES, WRITERS
from lower.array.moving_windows import WINDOWS_AT
from lower.array.values import AS_NUMBER, NUMBERS, TRUNCDIV
from lower.emission.in_place_conditional import BETWEEN, BETWEEN_UNTIL, CHOSEN, GIVEN, UNTIL
from lower.emission.stage_barrier import KEPT, KEPT_BY_CALL
from lower.instructions.argmax import FIRST_BEST, FIRST_TRUE, LAST_BEST
from lower.instructions.cholesky import CHOLESKY
from lower.instructions.filters import FILTER_HELPERS
from lower.instructions.scans import HELPERS
from lower.instructions.segmented_reduction import IN_RANGES, REDUCE_RANGES, REDUCE_ROWS
from lower.instructions.sliding_windows import WINDOWS
from lower.instructions.sorted_insertion import IN_PASSES, LARGEST, LAST_FIRST
from lower.program.build import call, code, dotted
from lower.program.constant_tables import ONCE
from lower.program.loop_functions import AS_FUNCTION
from lower.program.nodes import (
    Function,
    JaxExpr,
    JaxStmt,
    Lambda,
    Literal,
    Name,
    Parameter,
    Return,
    Starred,
    Tuple,
    With,
    names_read,
)
from lower.program.passes import WINDOW_STARTS
from lower.program.print_jax import print_jax
from lower.tensor.exact import INTEGER_EINSUM

WIDTH = 120  # of source lines
LONG = 10_000  # characters of a line that the formatter, which is recursive, may not have the stack for
LIBRARY = {
    "truncdiv": TRUNCDIV,
    "numbers": NUMBERS,
    "as_number": AS_NUMBER,
    "kept": KEPT,
    "once": ONCE,
    "as_function": AS_FUNCTION,
    "windows": WINDOWS,
    "windows_at": WINDOWS_AT,
    "stores": STORES,
    "writers": WRITERS,
    **HELPERS,
    **FILTER_HELPERS,
    **EXACT_HELPERS,
    "in_ranges": IN_RANGES,
    "reduce_ranges": REDUCE_RANGES,
    "reduce_rows": REDUCE_ROWS,
    "cholesky_factor": CHOLESKY,
    "with_all_given": GIVEN,
    "loop_between": BETWEEN,
    "loop_until": UNTIL,
    "loop_between_until": BETWEEN_UNTIL,
    "chosen": CHOSEN,
    "first_best": FIRST_BEST,
    "places_of_largest": LARGEST,
    "places_in_passes": IN_PASSES,
    "last_first": LAST_FIRST,
    "first_true": FIRST_TRUE,
    "last_best": LAST_BEST,
    "integer_einsum": INTEGER_EINSUM,
}


class Piece(Struct, frozen=True):
    """One function: its parameters in order, those to be left out at will, those that are Python numbers, its body."""

    name: str
    params: tuple[str, ...]
    optional: frozenset[str]
    static: tuple[str, ...]
    body: tuple[JaxStmt, ...]
    helpers: frozenset[str]
    wide: bool
    instructions: tuple[Function, ...] = ()  # that users have written, of those that it calls

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters, with what may be left out, and all that follows it, as None."""
        first = next((k for k, p in enumerate(self.params) if p in self.optional), len(self.params))
        return tuple(Parameter(p, Literal(None) if k >= first else None) for k, p in enumerate(self.params))


class Module(Struct):
    """A function with its contract (`doc`), and what it takes its derivatives and its checks from, if from others."""

    main: Piece
    doc: tuple[str, ...] = ()
    donated: tuple[str, ...] = ()
    as_written: Piece | None = None
    checks: Piece | None = None
    title: str = "as JAX array operations"
    imports: tuple[str, ...] = ()
    above: tuple[Function, ...] = ()  # that the functions call
    beside: Mapping[str, str] = field(default_factory=dict[str, str])  # sources of further functions, by name
    fuses_barriers: bool = False  # whether the compiler takes barriers away before it fuses

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """All functions with statements."""
        return tuple(p for p in (self.main, self.as_written, self.checks) if p is not None)

    @property
    def static(self) -> tuple[str, ...]:
        """Parameters that are Python numbers for one of them, and so for all."""
        return tuple(p for p in self.main.params if any(p in piece.static for piece in self.pieces))

    @property
    def wide(self) -> bool:
        """Whether 64-bit types occur."""
        return any(p.wide for p in self.pieces)

    def helpers(self, read: Set[str]) -> tuple[str, ...]:
        """Functions of the library that are called, and what these call, in the order in which they stand; `read` are
        the names that the functions of the module read."""
        used = frozenset[str]().union(*(p.helpers for p in self.pieces))
        keeps = "kept" in read or any("kept(" in LIBRARY[h] for h in used)
        used |= {h for h in ("once",) if h in read} | ({"kept"} if keeps else set())
        return tuple(h for h in LIBRARY if h in used)

    def functions(self) -> tuple[Function, ...]:
        """The array program: all functions but those of the library."""
        instructions = dict.fromkeys(f for p in self.pieces for f in p.instructions)
        own = (*self.above, *self._functions())
        return (*instructions, *(map(WINDOW_STARTS.run, own) if self.wide else own))

    def text(self) -> str:
        """The module as source that needs nothing but JAX."""
        functions = self.functions()
        read = frozenset[str]().union(*map(names_read, functions))
        library = {**LIBRARY, "kept": KEPT_BY_CALL} if self.fuses_barriers else LIBRARY
        sources = [*(library[h].rstrip() for h in self.helpers(read)), *self.beside.values()]
        called = "\n".join(sources)
        lines = [f'"""{self.main.name}, {self.title}."""', ""]
        if "partial" in read:
            lines += ["from functools import partial", ""]
        if "functools" in read or "functools." in called:
            lines += ["import functools", ""]
        if "Fraction(" in called:
            lines += ["from fractions import Fraction", ""]
        lines += ["import jax", "import jax.numpy as jnp"]
        if "np" in read or "np." in called.replace("jnp.", ""):
            lines.append("import numpy as np")
        if "lax" in read or "lax." in called:
            lines.append("from jax import lax")
        if "@custom_vmap" in called:
            lines.append("from jax.custom_batching import custom_vmap")
        if "set_xla_metadata(" in called:
            lines.append("from jax.experimental.xla_metadata import set_xla_metadata")
        lines += self.imports
        for source in sources:
            lines += ["", "", *source.strip("\n").split("\n")]
        for function in functions:
            lines += ["", "", *print_jax([function])]
        return _formatted("\n".join(lines).rstrip() + "\n")

    def _functions(self) -> Iterator[Function]:
        main = self.main
        alone = len(self.pieces) == 1
        body = main.body if alone else self._parts()
        inner = f"_{main.name}" if self.wide else main.name
        yield Function(inner, main.parameters, body, (self._jit(),), () if self.wide else self.doc)
        if self.wide:
            called = Return(call(inner, **{p: Name(p) for p in main.params}))
            yield Function(main.name, main.parameters, (With(code("jax.enable_x64(True)"), (called,)),), (), self.doc)
        if alone:
            return
        own = self._own("optimized")
        if self.as_written is None:
            yield Function(own, main.parameters, main.body)
        else:
            yield from self._differentiated(own, self.as_written)
        if self.checks is not None:
            yield Function(self._own("checks"), self.checks.parameters, self.checks.body)

    def _jit(self) -> JaxExpr:
        options = {"static_argnames": self.static, "donate_argnames": self.donated}
        given = {k: _strings(names) for k, names in options.items() if names}
        return call("partial", "jax.jit", **given) if given else dotted("jax.jit")

    def _own(self, what: str) -> str:
        """A name for another function of the module, which no parameter has."""
        return lengthened(f"_{self.main.name}_{what}", self.main.params)

    def _parts(self) -> tuple[JaxStmt, ...]:
        """The results of the functions that share the work."""
        results = call(self._own("optimized"), *self.main.params)
        if self.checks is None:
            return (Return(results),)
        return (Return(Tuple((Starred(results), Starred(call(self._own("checks"), *self.main.params))))),)

    def _differentiated(self, own: str, written: Piece) -> Iterator[Function]:
        """The function with the derivatives of another one; these are traced only where somebody asks for them."""
        main = self.main
        at = tuple(k for k, p in enumerate(main.params) if p in self.static)
        rule, other = self._own("jvp"), self._own("as_written")
        free = [p for p in main.params if p not in self.static]
        function = Lambda(tuple(free), call(other, *main.params)) if at else Name(other)
        # Rules are traced when JAX comes to them, which may be behind the call that has set the types of the program.
        result = Return(code("jax.jvp({}, primals, tangents)", function))
        body = (With(code("jax.enable_x64(True)"), (result,)),) if self.wide else (result,)
        custom = code("partial(jax.custom_jvp, nondiff_argnums={})", at) if at else dotted("jax.custom_jvp")
        yield Function(own, main.parameters, main.body, (custom,))
        params = tuple(map(Parameter, (*self.static, "primals", "tangents")))
        yield Function(rule, params, body, (dotted(f"{own}.defjvp"),))
        yield Function(other, written.parameters, written.body)


def _strings(names: Iterable[str]) -> JaxExpr:
    """A tuple of texts."""
    return Tuple(tuple(map(Literal, names)))


def names(names: Iterable[str]) -> str:
    """A tuple of names as text."""
    return repr(tuple(names))


def _formatted(source: str) -> str:
    """Source as `ruff format` leaves it."""
    if max(map(len, source.split("\n"))) > LONG:
        return source
    return format_string("kernel.py", source, FormatOptions(line_width=WIDTH))
