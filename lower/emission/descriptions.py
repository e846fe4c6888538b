"""Statements, loops and extents in words, for reports and docstrings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import PurePath

from ir.analysis.dependence import Statement
from ir.nodes import Buffer, Const, Expr, Var
from ir.printing.printer import to_script
from lower.analysis.linear_forms import linear, to_expr
from lower.array.values import Translator, Value
from lower.nest.nodes import SequentialLoop, inner_statements
from lower.program.nodes import Name
from lower.program.print_jax import text_of


def described(statement: Statement) -> str:
    """What a statement does to which buffer."""
    span = statement.store.span
    where = "" if span is None else f" (line {span.line})"
    kind = "update of" if statement.update is not None else "store to"
    return f"{kind} {statement.buffer.name}{where}"


def loop_described(node: SequentialLoop) -> str:
    """The range of a loop, with the place of the first statement in it."""
    loop, span = node.loop, next(inner_statements(node.body)).statement.store.span
    stop = to_expr(linear(loop.start) + linear(loop.extent), loop.var)
    place = "" if span is None else f" ({PurePath(span.file).name}:{span.line})"
    return f"{to_script(loop.start)} <= {loop.var.name} < {to_script(stop)}{place}"


def extent_described(expr: Expr) -> str:
    """An extent of an array as it stands in documentation."""
    return str(expr.value) if isinstance(expr, Const) else text_of(_EXTENTS.expr(expr).code)


def parameters_described(params: Iterable[Var | Buffer], name: Callable[[Var | Buffer], str]) -> list[str]:
    """Parameters with their dtypes and shapes."""

    def shape(param: Var | Buffer) -> str:
        return f"[{', '.join(map(extent_described, param.shape))}]" if isinstance(param, Buffer) else ""

    return [f"{name(p)}: {p.dtype}{shape(p)}" for p in params]


def listed(head: str, texts: Iterable[str]) -> list[str]:
    """Lines of documentation under a head, if there are any."""
    found = [f"    {text}" for text in texts]
    return ["", head, *found] if found else []


_EXTENTS = Translator((), lambda load: Value(Name(load.buffer.name)), lambda v: Value(Name(v.name), static=True))
