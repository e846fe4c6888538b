"""Python's `round(x, digits)`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ir.nodes import Expr
from ir.script.plain.frames import Value
from ir.script.plain.library.arguments import arguments, keyword
from ir.script.plain.library.composed import composed

if TYPE_CHECKING:
    from ir.script.plain.expressions import Evaluator

_EXACT_TENS = 12  # up to which the product of a power of ten and the upper half of a float is a float


def rounded(read: Evaluator, node: ast.Call) -> Value:
    """The number of so many digits that is nearest to x as it is stored, if x is one of Python.

    Where floats may be reassociated, what a product lost has no meaning: halves are then those of NumPy.
    """
    given = arguments(read, node, "round", 1, 2, ("ndigits",))
    x, digits = read.number(given[0]), read.number(given[1] if len(given) > 1 else keyword(node, "ndigits") or node)
    if not isinstance(digits, int):
        raise read.error("arguments", "how many digits are kept must be known", node, "as in round(x, 2)")
    if isinstance(x, (bool, int, float)):
        return round(x, digits)
    of_float = read.numbers.dtype_of(x).is_float
    if isinstance(x, Expr) or (of_float and not read.numbers.exact):
        found = composed("np.round", read.numbers, [x, digits], node)
        return found if isinstance(x, Expr) else read.numbers.of_python(found, node)
    if digits < 0:
        return read.caller.of_library("round.multiple", [x, 10**-digits], node)
    if not of_float:
        return x
    if digits > _EXACT_TENS:
        raise read.error("arguments", f"more than {_EXACT_TENS} digits are kept", node, "leave the rounding out")
    return read.caller.of_library("round.digits", [x, 10.0**digits], node)
