"""loopsat from Python: the names that most programs need, each from its home.

    import loopsat
    from loopsat import T, testing

`python -m loopsat` is the command line. Names load on first use: `loopsat.parse` waits neither for JAX nor for egglog.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from egraph_rules import Rule, check_rule, padding_of, prove, rule, simplify, suggest_padding
    from ir import LoopsatError, PrimFunc, interpret, parse
    from ir import script as T
    from ir.schedule import Schedule
    from ir.script.plain.library.names import assume, bound
    from lower import compile, emit, export, form, structure, why_not
    from lower.check import testing
    from lower.runtime.jit import jit
    from lower.runtime.padded_array import PaddedArray
    from lower.runtime.searched import optimize

    __version__: str

_HOMES = {
    "egraph_rules": ("Rule", "check_rule", "padding_of", "prove", "rule", "simplify", "suggest_padding"),
    "ir": ("LoopsatError", "PrimFunc", "interpret", "parse"),
    "ir.schedule": ("Schedule",),
    "ir.script.plain.library.names": ("assume", "bound"),
    "lower": ("compile", "emit", "export", "form", "structure", "why_not"),
    "lower.runtime.searched": ("optimize",),
    "lower.runtime.jit": ("jit",),
    "lower.runtime.padded_array": ("PaddedArray",),
}
_MODULES = {"T": "ir.script", "testing": "lower.check.testing"}

__all__ = [
    "LoopsatError", "PaddedArray", "PrimFunc", "Rule", "Schedule", "T", "__version__", "assume", "bound", "check_rule",
    "compile", "emit", "export", "form", "interpret", "jit", "optimize", "padding_of", "parse", "prove", "rule",
    "simplify", "structure", "suggest_padding", "testing", "why_not",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """A public name, from its home, which is then imported."""
    if name in _MODULES:
        value: Any = importlib.import_module(_MODULES[name])
    elif name == "__version__":
        value = importlib.import_module("importlib.metadata").version("loopsat")
    else:
        home = next((home for home, names in _HOMES.items() if name in names), None)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        with importlib.import_module("ir.later").uncollected():
            value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


def _interrupted(*_: object) -> None:
    print("interrupted", file=sys.stderr, flush=True)
    os._exit(130)


def _command() -> int:
    """Run the command line, which Ctrl-C ends also while it loads: what loads is no place for an exception."""
    before = signal.signal(signal.SIGINT, _interrupted)
    try:
        main = importlib.import_module("lower.commands.cli").main
        return main(loaded=lambda: signal.signal(signal.SIGINT, before))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(_command())
