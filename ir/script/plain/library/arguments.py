"""Arguments of calls of NumPy and Python, by place and by name, as NumPy itself has them."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from ir.errors import suggest
from ir.script.plain.frames import Named, Value
from ir.script.plain.syntax.cells import is_none

if TYPE_CHECKING:
    from ir.script.plain.expressions import Evaluator

_INSTEAD = {  # of options
    "where": "choose elements first, as in np.where(condition, A, 0)",
    "initial": "combine it with the result, as in np.maximum(start, A.max())",
    "dtype": "convert with .astype(...)",
}
ABSENT = Named(None)  # an argument that is not given


@cache
def _signature(function: Callable[..., object]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):  # built-in functions, of which some have none
        return None


def arguments(
    read: Evaluator,
    node: ast.Call,
    name: str,
    least: int,
    most: int,
    keywords: Sequence[str] = (),
    function: object = None,
) -> list[ast.expr]:
    """The arguments of a call by place, with those that NumPy's `function` has in these places and that are named.

    Raises:
        ParseError: there are too few or too many, or an option is no keyword, and not as it is by default.
    """
    signature = _signature(function) if callable(function) else None
    parameters = {} if signature is None else signature.parameters
    places = [n for n, p in parameters.items() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][:most]
    named = {k.arg: k.value for k in node.keywords if k.arg and not is_none(k.value)}
    found = [*node.args]
    while len(found) < len(places) and places[len(found)] in named:
        found.append(named[places[len(found)]])
    taken = {*places[len(node.args) : len(found)], *keywords}
    for key in (k.arg or "**" for k in node.keywords if not _usual(k, parameters)):
        if key not in taken:
            hint = _INSTEAD.get(key) or suggest(key, (*places, *keywords))
            raise read.error("arguments", f"the option `{key}` of {name} is not supported", node, hint)
    if starred := [a for a in found if isinstance(a, ast.Starred)]:
        raise read.error("arguments", f"{name} takes no `*` here", starred[0], "write its arguments out, or a function")
    if not least <= len(found) <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        raise read.error("arguments", f"{name} takes {wanted} arguments here, {len(found)} given", node)
    return found


def only(read: Evaluator, node: ast.Call, name: str, function: object = None) -> ast.expr:
    """The one argument of a call."""
    return arguments(read, node, name, 1, 1, (), function)[0]


def keyword(node: ast.Call, name: str) -> ast.expr | None:
    """An argument that is given by name, and not `None`."""
    return next((k.value for k in node.keywords if k.arg == name and not is_none(k.value)), None)


def without_usual(node: ast.Call, function: object, names: Iterable[str]) -> ast.Call:
    """A call without the options that are as they are by default, and that are not among the names."""
    signature = _signature(function) if callable(function) else None
    parameters = {} if signature is None else signature.parameters
    kept = [k for k in node.keywords if k.arg is None or k.arg in names or not _usual(k, parameters)]
    return node if len(kept) == len(node.keywords) else ast.copy_location(ast.Call(node.func, node.args, kept), node)


def _usual(given: ast.keyword, parameters: Mapping[str, inspect.Parameter]) -> bool:
    """Whether an option is given as it is by default."""
    default = parameters[given.arg].default if given.arg and given.arg in parameters else inspect.Parameter.empty
    nowhere = given.arg == "out" and is_none(given.value)  # as all functions of NumPy have it
    return nowhere or (isinstance(given.value, ast.Constant) and given.value.value == default)


def values(
    read: Evaluator, name: str, names: Sequence[str], least: int, node: ast.Call, first: Sequence[Value] = ()
) -> list[Value]:
    """A value for each of the names: the `first` ones, those by place, and those by name; `ABSENT` for others.

    Raises:
        ParseError: there are too few or too many, or one has another name.
    """
    given = [*first, *read.items(node.args, read.array_or)]
    if len(given) > len(names):
        wanted = str(least) if least == len(names) else f"{least} to {len(names)}"
        raise read.error("arguments", f"{name} takes {wanted} arguments here, {len(given)} given", node)
    found = dict(zip(names, given, strict=False))
    for key, part in ((k.arg, k.value) for k in node.keywords):
        if key is None or key not in names or key in found:
            hint = suggest(key or "", names) or f"its arguments are {', '.join(names)}"
            raise read.error("arguments", f"the option `{key or '**'}` of {name} is not supported", node, hint)
        found[key] = read.array_or(part)
    if not all(n in found for n in names[:least]):
        raise read.error("arguments", f"{name} needs {' and '.join(names[:least])}", node)
    return [ABSENT if _is_none(found.get(n, ABSENT)) else found[n] for n in names]


def _is_none(value: Value) -> bool:
    return isinstance(value, Named) and value.value is None
