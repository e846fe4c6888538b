"""Comparison of programs that may differ in the names of loops, axes, local buffers and blocks."""

from __future__ import annotations

from msgspec.structs import replace

from ir import parse, to_script
from ir.nodes import Alloc, Block, For, Let, PrimFunc, Stmt, Var
from ir.program.edit import replace_buffer
from ir.traverse import map_stmt, substitute


def assert_same_up_to_names(found: PrimFunc, expected: str | PrimFunc, *, blocks: bool = True) -> None:
    """Check that a function is the expected one; with `blocks=False` blocks that only give a name do not count."""
    wanted = parse(expected).funcs[0] if isinstance(expected, str) else expected
    assert to_script(_renamed(found, blocks)) == to_script(_renamed(wanted, blocks)), to_script(found)


def _renamed(func: PrimFunc, blocks: bool) -> PrimFunc:
    names = iter(range(10_000))

    def new(var: Var) -> Var:
        return replace(var, name=f"v{next(names)}")

    def visit(stmt: Stmt) -> Stmt:
        match stmt:
            case Block(axes=()) if not blocks and stmt.init is None and stmt.predicate.same(Block("", stmt).predicate):
                return stmt.body
            case Block():
                variables = {a.var: new(a.var) for a in stmt.axes}
                axes = tuple(replace(a, var=variables[a.var]) for a in stmt.axes)
                return replace(substitute(stmt, variables), axes=axes, name="block")
            case For() | Let():
                var = new(stmt.var)
                return replace(stmt, var=var, body=substitute(stmt.body, {stmt.var: var}))
            case Alloc(buffer=old, body=body):
                buffer = replace(old, name=f"L{next(names)}")
                return replace(stmt, buffer=buffer, body=replace_buffer(body, old, buffer, lambda i: i))
            case _:
                return stmt

    return replace(func, name="f", attrs=(), body=map_stmt(func.body, on_stmt=visit))
