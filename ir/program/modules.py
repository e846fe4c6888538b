"""Modules as programs: which of their functions a run enters, and whether calls are of the functions that they have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec.structs import replace

from ir.errors import LoopsatError, VerifyError, expect, suggest
from ir.instructions import is_instruction
from ir.nodes import CallStmt, Module, PrimFunc, Stmt
from ir.program.calls import callees, calls_in
from ir.traverse import map_stmt

ENTRY = "main"
if TYPE_CHECKING:
    Written: TypeAlias = Any  # a kernel; for type checkers, `@T.prim_func` gives the function that it decorates
else:
    Written = PrimFunc


def expect_program(program: object) -> None:
    """Refuse what is no program.

    Raises:
        KindError: it is neither a function nor a module.
    """
    hint = "parse text with loopsat.parse, or decorate a kernel with @T.prim_func"
    expect(program, (PrimFunc, Module), "a program is a function or a module", hint)


def entry_of(program: PrimFunc | Module, entry: str = ENTRY) -> PrimFunc:
    """The function that a run enters: a function itself; of a module, the one named, or the only one it can be.

    Where a module has no `main` and nothing else was asked for, it is the only function that no other one calls.

    Raises:
        KindError: it is no program.
        LoopsatError: there is no such function, or nothing says which one it is.
    """
    if isinstance(program, PrimFunc):
        return program
    expect_program(program)
    named = {f.name: f for f in program.funcs}
    if entry in named:
        return named[entry]
    called = {callee.name for f in program.funcs for callee in callees(f)}
    roots = [f for f in program.funcs if f.name not in called and not is_instruction(f)]
    if entry == ENTRY and len(roots) == 1:
        return roots[0]
    what = f"the module has no function `{entry}`"
    names = [named[ENTRY]] if ENTRY in named else roots or program.funcs  # what a run most likely enters
    first = names[0].name if names else ""
    named_so = f"name the one to enter, as in entry={first!r}, or FILE:{first} in a shell" if names else ""
    help = suggest(entry, named) or named_so
    raise LoopsatError("unknown-function", what, help=help)


def check_calls(module: Module) -> None:
    """Check that the functions of a module call each other, and not others of the same name.

    Raises:
        VerifyError: a call is of a function that the module has in another form, or not at all.
    """
    named = {f.name: f for f in module.funcs}
    for func in module.funcs:
        for call in calls_in(func.body):
            name = call.callee.name
            if name not in named and is_instruction(call.callee):
                continue
            if name not in named:
                message = f"{func.name} calls {name}, which is no function of the module"
                raise VerifyError("unknown-function", message, call.span, help="add it to the module")
            if named[name] is not call.callee and named[name] != call.callee:
                message = f"{func.name} calls another {name} than that of the module"
                hint = "build the module with ir.program.modules.linked, which makes calls those of its functions"
                raise VerifyError("stale-call", message, call.span, help=hint)


def linked(module: Module) -> Module:
    """`module` with each call made one of the module's function of that name.

    Raises:
        VerifyError: functions call each other in a circle, or one that the module has not.
    """
    named = {f.name: f for f in module.funcs}
    done: dict[str, PrimFunc] = {}

    def link(func: PrimFunc, above: tuple[str, ...]) -> PrimFunc:
        if func.name in done:
            return done[func.name]
        path = (*above, func.name)

        def on_stmt(stmt: Stmt) -> Stmt:
            if not isinstance(stmt, CallStmt):
                return stmt
            name = stmt.callee.name
            if name not in named and is_instruction(stmt.callee):
                return stmt
            if name not in named:
                message = f"{func.name} calls {name}, which is no function of the module"
                raise VerifyError("unknown-function", message, stmt.span, help="add it to the module")
            if name in path:
                way = " calls ".join((*path[path.index(name) :], name))
                raise VerifyError("call-cycle", f"functions call each other in a circle: {way}", stmt.span)
            callee = link(named[name], path)
            return stmt if callee is stmt.callee else replace(stmt, callee=callee)

        if next(calls_in(func.body), None) is None:
            done[func.name] = func
        else:
            body = map_stmt(func.body, on_stmt=on_stmt)
            pairs = zip(calls_in(body), calls_in(func.body), strict=True)
            same = all(a.callee is b.callee for a, b in pairs)
            done[func.name] = func if same else replace(func, body=body).as_form_of(func)
        return done[func.name]

    return replace(module, funcs=tuple(link(f, ()) for f in module.funcs))
