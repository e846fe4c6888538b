"""The text of an emitted module: imports, helpers, functions and what decorates them. Owns the layout, no statement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ruff_api import FormatOptions, format_string

from ir.naming import lengthened
from lower.array.exact_values import EXACT_HELPERS
from lower.array.values import TRUNCDIV, WITH_NAN
from lower.emission.in_place_conditional import BETWEEN, CHOSEN, GIVEN
from lower.instructions.argmax import FIRST_BEST, LAST_BEST
from lower.instructions.cholesky import CHOLESKY
from lower.instructions.convolution import BANDED_SOURCE
from lower.instructions.filters import FILTER_HELPERS
from lower.instructions.scans import HELPERS
from lower.instructions.segmented_reduction import REDUCE_RANGES, REDUCE_ROWS
from lower.instructions.sliding_windows import WINDOWS

WIDTH = 120  # of source lines
LONG = 10_000  # characters of a line that the formatter, which is recursive, may not have the stack for
_HELPERS = {
    "truncdiv": TRUNCDIV,
    "with_nan": WITH_NAN,
    "windows": WINDOWS,
    "banded": BANDED_SOURCE,
    **HELPERS,
    **FILTER_HELPERS,
    **EXACT_HELPERS,
    "reduce_ranges": REDUCE_RANGES,
    "reduce_rows": REDUCE_ROWS,
    "cholesky_factor": CHOLESKY,
    "with_all_given": GIVEN,
    "loop_between": BETWEEN,
    "chosen": CHOSEN,
    "first_best": FIRST_BEST,
    "last_best": LAST_BEST,
}


@dataclass(frozen=True, slots=True)
class Piece:
    """One function: its parameters in order, those to be left out at will, those that are Python numbers, its lines."""

    name: str
    params: tuple[str, ...]
    optional: frozenset[str]
    static: tuple[str, ...]
    lines: tuple[str, ...]
    helpers: frozenset[str]
    wide: bool

    @property
    def signature(self) -> str:
        """The parameters, with what may be left out, and all that follows it, as None."""
        first = next((k for k, p in enumerate(self.params) if p in self.optional), len(self.params))
        return ", ".join(p + "=None" * (k >= first) for k, p in enumerate(self.params))


@dataclass(slots=True)
class Module:
    """A function with its contract (`doc`), and what it takes its derivatives and its checks from, if from others."""

    main: Piece
    doc: tuple[str, ...] = ()
    donated: tuple[str, ...] = ()
    as_written: Piece | None = None
    checks: Piece | None = None
    title: str = "as JAX array operations"
    imports: tuple[str, ...] = ()
    above: tuple[str, ...] = ()  # code that the functions use

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

    def text(self) -> str:
        """The module as source that needs nothing but JAX."""
        functions = [line for part in self._functions() for line in ("", "", *part)]
        text = "\n".join([*self.above, *(line for p in self.pieces for line in p.lines)])
        helpers = frozenset[str]().union(*(p.helpers for p in self.pieces))
        lines = [f'"""{self.main.name}, {self.title}."""', ""]
        if any(line.startswith("@partial(") for line in functions):
            lines += ["from functools import partial", ""]
        if "functools." in text or helpers & {"windows", "loop_between", "chosen"}:
            lines += ["import functools", ""]
        if any("Fraction(" in _HELPERS[h] for h in helpers):
            lines += ["from fractions import Fraction", ""]
        lines += ["import jax", "import jax.numpy as jnp"]
        if "lax." in text or any("lax." in _HELPERS[h] for h in helpers):
            lines.append("from jax import lax")
        lines += self.imports
        for helper, code in _HELPERS.items():
            if helper in helpers:
                lines += ["", *code.rstrip().split("\n")]
        above = ["", "", *self.above] if self.above else []
        return _formatted("\n".join([*lines, *above, *functions]) + "\n")

    def _functions(self) -> Iterator[list[str]]:
        main = self.main
        alone = len(self.pieces) == 1
        inner = f"_{main.name}" if self.wide else main.name
        doc = [] if self.wide else [*self.doc]
        yield [self._jit(), f"def {inner}({main.signature}):", *doc, *(main.lines if alone else self._parts())]
        if self.wide:
            arguments = ", ".join(f"{p}={p}" for p in main.params)
            call = ["    with jax.enable_x64(True):", f"        return {inner}({arguments})"]
            yield [f"def {main.name}({main.signature}):", *self.doc, *call]
        if alone:
            return
        own = self._own("optimized")
        if self.as_written is None:
            yield [f"def {own}({main.signature}):", *main.lines]
        else:
            yield from self._differentiated(own, self.as_written)
        if self.checks is not None:
            yield [f"def {self._own('checks')}({self.checks.signature}):", *self.checks.lines]

    def _jit(self) -> str:
        options = [f"static_argnames={names(self.static)}"] if self.static else []
        options += [f"donate_argnames={names(self.donated)}"] if self.donated else []
        return f"@partial(jax.jit, {', '.join(options)})" if options else "@jax.jit"

    def _own(self, what: str) -> str:
        """A name for another function of the module, which no parameter has."""
        return lengthened(f"_{self.main.name}_{what}", self.main.params)

    def _parts(self) -> list[str]:
        """The results of the functions that share the work."""
        arguments = ", ".join(self.main.params)
        own = f"{self._own('optimized')}({arguments})"
        if self.checks is None:
            return [f"    return {own}"]
        return [f"    return *{own}, *{self._own('checks')}({arguments})"]

    def _differentiated(self, own: str, written: Piece) -> Iterator[list[str]]:
        """The function with the derivatives of another one; these are traced only where somebody asks for them."""
        main = self.main
        at = tuple(k for k, p in enumerate(main.params) if p in self.static)
        rule, other = self._own("jvp"), self._own("as_written")
        free = [p for p in main.params if p not in self.static]
        call = f"lambda {', '.join(free)}: {other}({', '.join(main.params)})" if at else other
        # Rules are traced when JAX comes to them, which may be behind the call that has set the types of the program.
        result = f"return jax.jvp({call}, primals, tangents)"
        body = ["    with jax.enable_x64(True):", f"        {result}"] if self.wide else [f"    {result}"]
        custom = f"@partial(jax.custom_jvp, nondiff_argnums={at})" if at else "@jax.custom_jvp"
        yield [custom, f"def {own}({main.signature}):", *main.lines]
        yield [f"@{own}.defjvp", f"def {rule}({', '.join([*self.static, 'primals', 'tangents'])}):", *body]
        yield [f"def {other}({written.signature}):", *written.lines]


def names(names: Iterable[str]) -> str:
    """A tuple of names as source."""
    return repr(tuple(names))


def _formatted(source: str) -> str:
    """Source as `ruff format` leaves it."""
    if max(map(len, source.split("\n"))) > LONG:
        return source
    return format_string("kernel.py", source, FormatOptions(line_width=WIDTH))
