"""Calls that store their result into an array: methods that change one, and functions and methods with `out=`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import numpy as np

from ir.script.plain import hints
from ir.script.plain.arrays import Elementwise, View
from ir.script.plain.calls import chosen_by, put_in_place
from ir.script.plain.frames import Named, shown
from ir.script.plain.library import names as library
from ir.script.plain.library.arguments import keyword
from ir.script.plain.library.ordered import in_order
from ir.script.plain.tuples import stands_for_list

if TYPE_CHECKING:
    from ir.script.plain.statements import Body


def changed_in_place(body: Body, node: ast.Call, method: ast.Attribute) -> None:
    """A method that changes an array or list, or stores its result into one."""
    read = body.read
    if (out := keyword(node, "out")) is not None:
        _stored(body, node, out, node.args)
        return
    target = body.arrays.target(method.value, node) if method.attr in ("sort", "fill", "reverse") else None
    of_list = target is not None and stands_for_list(read, target)
    if target is None or (method.attr == "reverse" and not of_list):
        hint = hints.OWN if stands_for_list(read, read.value(method.value)) else "assign its result"
        raise read.error("unsupported", f"`{shown(node)}` does nothing here", node, hint)
    args = [*read.items(node.args, read.value)]
    named = {k.arg or "**": read.value(k.value) for k in node.keywords}
    if method.attr == "sort" and of_list:
        value = in_order(read, target, method.value, node)
    elif method.attr == "sort":
        value = put_in_place(read, "np.sort", [target, *args], named, node)
    elif method.attr == "reverse":
        value = read.part(target, ast.Slice(step=ast.Constant(-1)), node)
    elif named or len(args) != 1:
        raise read.error("arguments", "fill takes a number", node, "as in A.fill(0)")
    else:
        value = args[0]
    body.store(target, value, node)


def stored_to(body: Body, node: ast.Call) -> View | None:
    """Where `np.add(x, y, out=z)` or `np.add(x, y, z)` stores its result; None for calls that say no place."""
    function = body.read.value(node.func) if isinstance(node.func, (ast.Name, ast.Attribute)) else None
    if not isinstance(function, Named) or library.qualified(function.value) is None:
        return None
    out, args = keyword(node, "out"), node.args
    if isinstance(function.value, np.ufunc) and len(args) == function.value.nin + 1:
        out, args = args[-1], args[:-1]
    if out is None or (isinstance(out, ast.Constant) and out.value is None):
        return None
    return _stored(body, node, out, args)


def _stored(body: Body, node: ast.Call, out: ast.expr, args: list[ast.expr]) -> View:
    """Store the result of a call with these arguments."""
    read, arrays = body.read, body.arrays
    made = ast.Call(node.func, args, [k for k in node.keywords if k.arg not in ("out", "where")])
    new = body.settled("out", read.value(out), node) if isinstance(out, ast.Call) else None
    target = new if isinstance(new, View) else arrays.target(out, node)
    value = read.value(ast.copy_location(made, node))
    if (where := keyword(node, "where")) is not None:
        value = chosen_by(read, [read.value(where), value, target], node)
    if not isinstance(value, (View, Elementwise)):
        number = read.as_number(value, node)
        value = Elementwise(target.shape, lambda _: number)
    arrays.check_in_place(target, value, node)
    body.store(target, value, node)
    return target
