"""loopsat from Python: the names that most programs need, each from its home.

    import loopsat
    from loopsat import T

`python -m loopsat` is the command line.
"""

from __future__ import annotations

import sys
from importlib.metadata import version

from egraph_rules import Rule, check_rule, padding_of, prove, rule, simplify, suggest_padding
from ir import LoopsatError, PrimFunc, interpret, parse
from ir import script as T
from ir.schedule import Schedule
from ir.script.plain.library import assume
from lower import compile, emit, export
from lower.commands.cli import main
from lower.price.search import optimize
from lower.runtime.jit import jit

__version__ = version("loopsat")

__all__ = [
    "LoopsatError", "PrimFunc", "Rule", "Schedule", "T", "__version__", "assume", "check_rule", "compile", "emit",
    "export", "interpret", "jit", "optimize", "padding_of", "parse", "prove", "rule", "simplify", "suggest_padding",
]  # fmt: skip

if __name__ == "__main__":
    sys.exit(main())
