"""loopsat from Python: the names that most programs need, each from its home.

    import loopsat
    from loopsat import T

`python -m loopsat` is the command line.
"""

from __future__ import annotations

from importlib.metadata import version

from egraph_rules import Rule, check_rule, prove, rule, simplify
from ir import LoopsatError, PrimFunc, interpret, parse
from ir import script as T
from ir.schedule import Schedule
from ir.script.plain.library import assume
from lower import compile, emit, export
from lower.price.search import optimize
from lower.runtime.jit import jit

__version__ = version("loopsat")

__all__ = [
    "LoopsatError", "PrimFunc", "Rule", "Schedule", "T", "__version__", "assume", "check_rule", "compile", "emit",
    "export", "interpret", "jit", "optimize", "parse", "prove", "rule", "simplify",
]  # fmt: skip
