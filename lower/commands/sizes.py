"""`--sizes` of commands: numbers, or the name of a set that the script defines, and the script's own inputs.

A script may say how large its kernels are used and what they are run on, in plain Python:

    SIZES = {"small": {"n": 30}, "large": {"n": 4000}}

    def inputs(rng, n):
        return {"A": rng.standard_normal((n, n)).astype("float32")}

It is executed only where that is asked for: by the name of a set, or by numbers if it defines `inputs`. Buffers that a
kernel writes before it reads them may be left out.
"""

from __future__ import annotations

import ast
import contextlib
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from msgspec import Struct, field

from ir.errors import LoopsatError, suggest
from ir.nodes import PrimFunc
from ir.semantics.inputs import Inputs, random_inputs
from ir.semantics.machine import Machine
from ir.semantics.specialize import specialize
from ir.syntax import python_syntax
from ir.traverse import free_vars, shape_vars
from lower.commands.cli import read_text
from lower.commands.scripts import execute
from lower.nest.normalize import normalize

MakeInputs = Callable[..., Any]


class Sized(Struct, frozen=True):
    """A kernel for given sizes, and what makes its inputs, if the script says so."""

    func: PrimFunc
    sizes: Mapping[str, int] = field(default_factory=lambda: dict[str, int]())
    make: MakeInputs | None = None

    @property
    def text(self) -> str:
        """The sizes in words."""
        return ", ".join(f"{name}={size}" for name, size in self.sizes.items())

    def inputs(self, rng: np.random.Generator) -> Inputs:
        """Inputs in parameter order: those of the script, or random ones that satisfy the assumptions.

        Raises:
            LoopsatError: there are none, or the script's are not those that the kernel takes.
        """
        if self.make is None:
            return random_inputs(self.func, rng)
        try:
            with contextlib.redirect_stdout(sys.stderr):  # what the script prints is no part of the command's output
                made = self.make(rng, **self.sizes)
        except Exception as error:  # whatever a user's function raises
            message = f"`inputs` of the script fails: {type(error).__name__}: {error}"
            raise LoopsatError("script-failed", message) from error
        return _named(self.func, self.sizes, made)


def sized(path: Path, func: PrimFunc, text: str | None) -> Sized:
    """The kernel for the sizes that an option gives.

    Raises:
        LoopsatError: they are no sizes of the kernel, or the script fails or does not define them.
    """
    if text is None:
        return Sized(func)
    numbers = parse_sizes(text)
    names = _executed(path) if numbers is None or _defines_inputs(path) else {}
    sizes = _set_of(names, text, path) if numbers is None else numbers
    make = names.get("inputs")
    known = {*(v.name for v in shape_vars(func)), *(s.name for s in func.scalars)}
    # A set may have sizes of other kernels of the script.
    own = {name: size for name, size in sizes.items() if numbers is not None or name in known}
    return Sized(specialize(func, own), sizes, cast(MakeInputs, make) if callable(make) else None)


def parse_sizes(text: str) -> dict[str, int] | None:
    """The sizes of `n=30,m=4`; None for the name of a set.

    Raises:
        LoopsatError: it is neither.
    """
    if text.isidentifier():
        return None
    found: dict[str, int] = {}
    for item in text.split(","):
        name, sign, value = (part.strip() for part in item.partition("="))
        if not sign or not name.isidentifier() or not value.removeprefix("-").isdecimal():
            message = f"`{item.strip()}` is no size"
            raise LoopsatError("bad-size", message, help="write --sizes n=30,m=4, or the name of a set in SIZES")
        if name in found:
            raise LoopsatError("bad-size", f"size {name} is given twice")
        found[name] = int(value)
    return found


def _executed(path: Path) -> Mapping[str, object]:
    with contextlib.redirect_stdout(sys.stderr):
        return execute(path)


def _defines_inputs(path: Path) -> bool:
    return any(isinstance(s, ast.FunctionDef) and s.name == "inputs" for s in python_syntax(read_text(path)).body)


def _set_of(names: Mapping[str, object], name: str, path: Path) -> dict[str, int]:
    sets = names.get("SIZES")
    if not isinstance(sets, Mapping):
        help = f'write SIZES = {{"{name}": {{"n": 30}}}} into it, or give numbers as in --sizes n=30'
        raise LoopsatError("no-sizes", f"{path} defines no sets of sizes", help=help)
    known = cast("Mapping[str, Mapping[str, object]]", sets)
    if name not in known:
        help = suggest(name, known) or f"it has {', '.join(map(str, known))}"
        raise LoopsatError("unknown-sizes", f"{path} has no set of sizes `{name}`", help=help)
    chosen = known[name]
    if not all(isinstance(size, int) for size in chosen.values()):
        raise LoopsatError("bad-size", f"SIZES[{name!r}] of {path} has sizes that are no integers: {chosen}")
    return {size: cast(int, value) for size, value in chosen.items()}


def _named(func: PrimFunc, sizes: Mapping[str, int], made: object) -> Inputs:
    """What a script's function gave, by parameter; the sizes themselves may be among it."""
    params = [p.name for p in func.params]
    if isinstance(made, Mapping):
        given = dict(cast("Mapping[str, Any]", made))
    elif isinstance(made, Sequence) and not isinstance(made, str):
        given = dict(zip(params, cast("Sequence[Any]", made), strict=False))
        if len(cast("Sequence[Any]", made)) != len(params):
            message = f"`inputs` of the script gives {len(cast('Sequence[Any]', made))} values"
            raise LoopsatError("inputs", message, help=f"{func.name} takes {', '.join(params)}")
    else:
        message = f"`inputs` of the script gives {type(made).__name__}, not values by name"
        raise LoopsatError("inputs", message, help=f"return a dict with {', '.join(params)}")
    for name in given:
        if name not in params and name not in sizes:
            message = f"`inputs` of the script gives `{name}`, which {func.name} does not take"
            raise LoopsatError("inputs", message, help=suggest(name, params) or f"it takes {', '.join(params)}")
    given = {**_unread(func, {**sizes, **given}), **given}
    missing = [name for name in params if name not in given]
    if missing:
        raise LoopsatError("inputs", f"`inputs` of the script gives no value for {', '.join(missing)}")
    return {name: given[name] for name in params}


def _unread(func: PrimFunc, given: Mapping[str, Any]) -> Inputs:
    """Zeros for the buffers that a kernel writes before it reads them, which a script need not give."""
    machine = Machine(False, np.random.default_rng(0))
    machine.scalars.update({v: given[v.name] for v in (*func.scalars, *shape_vars(func)) if v.name in given})
    buffers = [b for b in normalize(func).optional if free_vars(*b.shape) <= {*machine.scalars}]
    return {b.name: np.zeros(machine.shape(b), b.dtype.numpy) for b in buffers}
