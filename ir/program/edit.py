"""Finding and replacing parts of a function for schedule primitives: paths, names, facts at a place.

Loop variables of a scheduled function are unique, and so are block names: a name is enough to find either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NoReturn

from msgspec import Struct
from msgspec.structs import replace

from ir.errors import ScheduleError, Span, suggest
from ir.functions import functions_in
from ir.naming import fresh
from ir.nodes import (
    Alloc,
    Binary,
    Block,
    Buffer,
    CallStmt,
    Const,
    Expr,
    For,
    If,
    Let,
    Load,
    PrimFunc,
    Seq,
    Stmt,
    Store,
    const,
    seq,
)
from ir.sections import passed
from ir.traverse import (
    bound_var,
    map_expr,
    map_stmt,
    shape_vars,
    stmt_children,
    substitute,
    walk,
)

ROOT = "root"  # the block name that stands for a whole function body

Path = tuple[int, ...]  # which child it is of each statement around


class Changed(Struct, frozen=True):
    """What a primitive gives back: the new function, and the names of the loops or blocks it made."""

    func: PrimFunc
    outputs: tuple[str, ...] = ()


def refuse(code: str, message: str, span: Span | None = None, *, notes: Iterable[str] = (), help: str = "") -> NoReturn:
    """Raise a ScheduleError."""
    raise ScheduleError(code, message, span, notes=notes, help=help)


# Finding -------------------------------------------------------------------------------------------------------------


def path_to(root: Stmt, wanted: Callable[[Stmt], bool]) -> tuple[Stmt, ...] | None:
    """Statements from `root` to the first one `wanted`, both included; None if there is none."""
    if wanted(root):
        return (root,)
    for child in stmt_children(root):
        found = path_to(child, wanted)
        if found is not None:
            return (root, *found)
    return None


def statement_at(stmt: Stmt, path: Path) -> Stmt:
    """The statement at a path."""
    return statement_at(stmt_children(stmt)[path[0]], path[1:]) if path else stmt


def with_statement_at(stmt: Stmt, path: Path, new: Stmt) -> Stmt:
    """A statement with the one at a path replaced."""
    if not path:
        return new
    parts = [*stmt_children(stmt)]
    parts[path[0]] = with_statement_at(parts[path[0]], path[1:], new)
    return with_children(stmt, parts)


def loops_of(func: PrimFunc) -> dict[str, For]:
    """All loops by variable name, in program order."""
    return {s.var.name: s for s in walk(func.body) if isinstance(s, For)}


def blocks_of(func: PrimFunc) -> dict[str, Block]:
    """All blocks by name, in program order."""
    return {s.name: s for s in walk(func.body) if isinstance(s, Block)}


def loop_path(func: PrimFunc, name: str) -> tuple[Stmt, ...]:
    """The path to a loop.

    Raises:
        ScheduleError: there is no such loop.
    """
    found = path_to(func.body, lambda s: isinstance(s, For) and s.var.name == name)
    if found is None:
        known = loops_of(func)
        listed = f"the loops are {', '.join(known)}" if known else "the function has no loops"
        refuse("unknown-loop", f"{func.name} has no loop `{name}`", func.span, help=suggest(name, known) or listed)
    return found


def block_path(func: PrimFunc, name: str) -> tuple[Stmt, ...]:
    """The path to a block; `root` is the whole body.

    Raises:
        ScheduleError: there is no such block.
    """
    found = path_to(func.body, lambda s: isinstance(s, Block) and s.name == name)
    if found is None:
        if name == ROOT:
            return (func.body,)
        known = blocks_of(func)
        listed = f"the blocks are {', '.join(known)}" if known else f"the function has no blocks; use `{ROOT}`"
        refuse("unknown-block", f"{func.name} has no block `{name}`", func.span, help=suggest(name, known) or listed)
    return found


def loops_around(path: Iterable[Stmt]) -> tuple[For, ...]:
    """The loops on a path, outermost first."""
    return tuple(s for s in path if isinstance(s, For))


def find_buffer(func: PrimFunc, name: str) -> Buffer:
    """A parameter or local buffer by name.

    Raises:
        ScheduleError: there is none, or two local buffers share the name.
    """
    found = {b.name: b for b in func.buffers}
    for stmt in walk(func.body):
        if isinstance(stmt, Alloc):
            if stmt.buffer.name in found:
                if stmt.buffer.name == name:
                    refuse("ambiguous-buffer", f"{func.name} has two buffers `{name}`", stmt.span, help="rename one")
                continue
            found[stmt.buffer.name] = stmt.buffer
    if name not in found:
        help = suggest(name, found) or f"the buffers are {', '.join(found)}"
        refuse("unknown-buffer", f"{func.name} has no buffer `{name}`", func.span, help=help)
    return found[name]


# Replacing -----------------------------------------------------------------------------------------------------------


def beside(parent: Seq, child: Stmt) -> tuple[tuple[Stmt, ...], tuple[Stmt, ...]]:
    """The statements of a sequence before and after one of them."""
    place = next(k for k, s in enumerate(parent.stmts) if s is child)
    return parent.stmts[:place], parent.stmts[place + 1 :]


def replace_at(path: tuple[Stmt, ...], new: Stmt) -> Stmt:
    """The root of `path` with its last statement replaced."""
    for parent, child in zip(reversed(path[:-1]), reversed(path[1:]), strict=True):
        parts = [*stmt_children(parent)]
        parts[next(k for k, s in enumerate(parts) if s is child)] = new
        new = with_children(parent, parts)
    return new


def with_body(func: PrimFunc, path: tuple[Stmt, ...], new: Stmt) -> PrimFunc:
    """`func` with the last statement of a path from its body replaced."""
    return replace(func, body=replace_at(path, new))


def replace_buffer(stmt: Stmt, old: Buffer, new: Buffer, index: Callable[[tuple[Expr, ...]], tuple[Expr, ...]]) -> Stmt:
    """`stmt` with every access of `old` made an access of `new` at mapped indices; notes on regions are dropped."""

    def on_expr(expr: Expr) -> Expr:
        return map_expr(
            expr, lambda e: Load(new, index(e.indices), e.span) if isinstance(e, Load) and e.buffer == old else e
        )

    def on_stmt(s: Stmt) -> Stmt:
        if isinstance(s, Store) and s.buffer == old:
            return replace(s, buffer=new, indices=index(s.indices))
        if isinstance(s, Alloc) and s.buffer == old:
            return replace(s, buffer=new)
        if isinstance(s, CallStmt) and any(section.buffer == old for _, section in passed(s)):
            if new.shape != old.shape:
                message = f"{old.name} is passed to {s.callee.name}, which takes it as it is"
                refuse("call", message, s.span, help="inline the calls first, with Schedule.inline_calls()")
            return map_stmt(s, on_buffer=lambda b: new if b == old else b)
        return forget_regions(s, {old.name}) if isinstance(s, Block) else s

    return map_stmt(stmt, on_expr, on_stmt)


def forget_regions(block: Block, names: set[str]) -> Block:
    """`block` without its notes on what it reads and writes, if they mention one of the buffers."""
    noted = {r.buffer.name for regions in (block.reads, block.writes) if regions is not None for r in regions}
    return block if noted.isdisjoint(names) else replace(block, reads=None, writes=None)


# Names ---------------------------------------------------------------------------------------------------------------


def names_in(func: PrimFunc) -> set[str]:
    """Every name that a function uses for variables, buffers, blocks and the functions it calls."""
    used = {p.name for p in (*func.params, *shape_vars(func), *functions_in(func))}
    for stmt in walk(func.body):
        used |= {v.name for v in bound_var(stmt)}
        if isinstance(stmt, Alloc):
            used.add(stmt.buffer.name)
        elif isinstance(stmt, Block):
            used.add(stmt.name)
    return used


def with_unique_names(func: PrimFunc) -> PrimFunc:
    """`func` with loop variables, blocks and local buffers told apart by name; the first of each keeps its own."""
    taken = names_in(func)
    variables = {p.name for p in func.params} | {v.name for v in shape_vars(func)}
    loops = {s.var.name for s in walk(func.body) if isinstance(s, For)}
    blocks: set[str] = set()  # a block may be called like the buffer it computes

    def name(old: str, seen: set[str]) -> str:
        new = fresh(old, taken) if old in seen else old
        seen.add(new)
        return new

    def visit(stmt: Stmt) -> Stmt:
        if isinstance(stmt, For):
            new = name(stmt.var.name, variables)
            if new != stmt.var.name:
                var = replace(stmt.var, name=new)
                stmt = replace(stmt, var=var, body=substitute(stmt.body, {stmt.var: var}))
        elif isinstance(stmt, Let) and stmt.var.name in loops:  # it would clash where the two meet
            var = replace(stmt.var, name=fresh(stmt.var.name, taken))
            stmt = replace(stmt, var=var, body=substitute(stmt.body, {stmt.var: var}))
        elif isinstance(stmt, Alloc):
            new = name(stmt.buffer.name, variables)
            if new != stmt.buffer.name:
                old, buffer = stmt.buffer, replace(stmt.buffer, name=new)
                stmt = replace(stmt, buffer=buffer, body=replace_buffer(stmt.body, old, buffer, lambda i: i))
        elif isinstance(stmt, Block):
            stmt = replace(stmt, name=name(stmt.name, blocks))
        return with_children(stmt, [visit(c) for c in stmt_children(stmt)])

    return replace(func, body=visit(func.body)).as_form_of(func)


def with_children(stmt: Stmt, children: list[Stmt]) -> Stmt:
    """A statement with its direct substatements replaced; the same object when nothing changed."""
    if all(a is b for a, b in zip(stmt_children(stmt), children, strict=True)):
        return stmt
    match stmt:
        case Seq():
            return seq(*children, span=stmt.span)
        case If():
            return replace(stmt, then=children[0], other=children[1])
        case Block(init=init) if init is not None:
            return replace(stmt, init=children[0], body=children[1])
        case For() | Let() | Alloc() | Block():
            return replace(stmt, body=children[0])
        case _:
            return stmt


# Facts ---------------------------------------------------------------------------------------------------------------


def scope_of(func: PrimFunc, path: Iterable[Stmt]) -> dict[str, Expr]:
    """Variables in scope at the end of a path, by name; what `ir.presburger.readback` needs."""
    scope: dict[str, Expr] = {v.name: v for v in (*func.scalars, *shape_vars(func))}
    for stmt in path:
        scope |= {v.name: v for v in bound_var(stmt)}
    return scope


# Building ------------------------------------------------------------------------------------------------------------


def plus(left: Expr, right: Expr) -> Expr:
    """`left + right`, with zeros left out and constants added."""
    match left, right:
        case (Const(value=0), _):
            return right
        case (_, Const(value=0)):
            return left
        case (Const(value=a), Const(value=b)):
            return const(a + b, left.dtype)
        case (_, Const(value=b)) if b < 0:
            return Binary("sub", left, const(-b, left.dtype))
        case _:
            return Binary("add", left, right)


def times(left: Expr, right: Expr) -> Expr:
    """`left * right`, with ones left out and constants multiplied."""
    match left, right:
        case (Const(value=1), _):
            return right
        case (_, Const(value=1)):
            return left
        case (Const(value=a), Const(value=b)):
            return const(a * b, left.dtype)
        case _:
            return Binary("mul", left, right)


def folded(expr: Expr) -> Expr:
    """An expression with zeros added, ones multiplied and operations on numbers left out."""

    def one(part: Expr) -> Expr:
        match part:
            case Binary(op="add", lhs=a, rhs=b) if part.dtype.is_integer:
                return plus(a, b)
            case Binary(op="mul", lhs=a, rhs=b) if part.dtype.is_integer:
                return times(a, b)
            case _:
                return part

    return map_expr(expr, one)


def nest(loops: Iterable[For], body: Stmt) -> Stmt:
    """The loops around `body`, outermost first."""
    for loop in reversed(tuple(loops)):
        body = replace(loop, body=body)
    return body
