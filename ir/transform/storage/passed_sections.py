"""Sections of buffers that are to have another layout: what calls take of these is made whole, or all of some axes.

A callee that takes a section of such a buffer gets the whole buffer and the indices at which the section starts. Where
these are not shown to lie in the buffer, or the parameter itself is to have the layout, the caller copies the section
into a buffer of its own before the call, and back after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from ir.naming import fresh
from ir.nodes import Alloc, Buffer, CallStmt, Expr, Let, Load, Module, PrimFunc, Stmt, Store, Var, seq
from ir.program.calls import calls_in, plus
from ir.program.edit import names_in, nest
from ir.sections import Section, passed
from ir.transform.calls.specialize import specialized
from ir.transform.storage.padding import grid, own_names
from ir.traverse import has_loads, is_const, map_stmt, results_of

Axes = tuple[int, ...]  # of a buffer: those that a map is of, where a section keeps these and drops others
Taken = Callable[[Buffer, Section], bool]


def kept(section: Section) -> Axes:
    """The axes of a buffer that a section has."""
    return tuple(k for k, (_, extent) in enumerate(section.ranges) if extent is not None)


def covers(section: Section, axes: Axes) -> bool:
    """Whether a section takes all of some axes of its buffer."""
    ranges = ((section.ranges[a], section.buffer.shape[a]) for a in axes)
    return all(extent is not None and extent.same(full) and is_const(start, 0) for (start, extent), full in ranges)


def calls_of(module: Module, name: str) -> Iterator[tuple[PrimFunc, CallStmt]]:
    """The calls of a function, and where they stand."""
    return ((f, call) for f in module.funcs for call in calls_in(f.body) if call.callee.name == name)


def covering(module: Module, home: PrimFunc, buffer: Buffer) -> Module:
    """A module that does the same, in which calls take all of the axes of a buffer that a map of it is of, of this one
    and of those that are passed for it and that it is passed for."""
    made = _Covering(module, asked={(home.name, buffer.name): tuple(range(len(buffer.shape)))})
    made.follow(home.name, buffer.name, tuple(range(len(buffer.shape))), upward=True)
    return made.module


class _Covering(Struct):
    """`asked` are the axes along which a buffer of a function gets the layout."""

    module: Module
    asked: dict[tuple[str, str], Axes]
    seen: set[tuple[str, str, Axes]] = field(default_factory=lambda: set[tuple[str, str, Axes]]())

    def follow(self, name: str, buffer: str, axes: Axes, *, upward: bool) -> None:
        """Look at the calls that pass a buffer of a function on, and `upward` at those that pass one for it."""
        if (name, buffer, axes) in self.seen:
            return
        self.seen.add((name, buffer, axes))
        self._place(name, lambda _, s: s.buffer.name == buffer and not covers(s, axes))
        for call in calls_in(self.module[name].body):
            for param, section in passed(call):
                if section.buffer.name == buffer:
                    own = kept(section)
                    self.follow(call.callee.name, param.name, tuple(own.index(a) for a in axes), upward=False)
        if upward and any(b.name == buffer for b in self.module[name].buffers):
            self._from_callers(name, buffer, axes)

    def _from_callers(self, name: str, buffer: str, axes: Axes) -> None:
        """Follow what callers pass for a parameter; of what is no whole axis, or along other axes, copies are."""
        for caller in dict.fromkeys(f.name for f, _ in calls_of(self.module, name)):

            def outer(section: Section) -> Axes:
                own = kept(section)
                return tuple(own[a] for a in axes)

            def is_part(param: Buffer, section: Section, caller: str = caller) -> bool:
                if param.name != buffer:
                    return False
                wanted = outer(section)
                asked = (caller, section.buffer.name)
                return not covers(section, wanted) or self.asked.setdefault(asked, wanted) != wanted

            self._copy(caller, lambda call, of=is_part: of if call.callee.name == name else None)
            for call in calls_in(self.module[caller].body):
                for param, section in passed(call) if call.callee.name == name else ():
                    if param.name == buffer:
                        self.follow(caller, section.buffer.name, outer(section), upward=True)

    def _place(self, name: str, is_part: Taken) -> None:
        """Give callees whole buffers, and scalars for where they find the sections that they took."""
        home = self.module[name]
        own = specialized(home, lambda call: any(is_part(*pair) for pair in passed(call)))
        if own is not home:
            taken, made = {f.name for f in self.module.funcs}, dict[str, PrimFunc]()
            before = {id(call.callee) for call in calls_in(home.body)}

            def on_stmt(stmt: Stmt) -> Stmt:
                if not isinstance(stmt, CallStmt) or id(stmt.callee) in before:
                    return stmt
                known = next((f for f in made.values() if replace(f, name=stmt.callee.name) == stmt.callee), None)
                callee = replace(stmt.callee, name=fresh(stmt.callee.name, taken)) if known is None else known
                made[callee.name] = callee
                return replace(stmt, callee=callee)

            self._set(replace(own, body=map_stmt(own.body, on_stmt=on_stmt)).as_form_of(home), *made.values())
        self._copy(name, lambda call: is_part)

    def _copy(self, name: str, asked: Callable[[CallStmt], Taken | None]) -> None:
        """Pass copies of sections."""
        home = self.module[name]
        taken = names_in(home)

        def on_stmt(stmt: Stmt) -> Stmt:
            is_part = asked(stmt) if isinstance(stmt, CallStmt) else None
            if not isinstance(stmt, CallStmt) or is_part is None:
                return stmt
            return _with_copies(stmt, [p for p, s in passed(stmt) if is_part(p, s)], taken)

        body = map_stmt(home.body, on_stmt=on_stmt)
        if body is not home.body:
            self._set(replace(home, body=body).as_form_of(home))

    def _set(self, func: PrimFunc, *callees: PrimFunc) -> None:
        """Put a function in the place of the one of its name, after new ones that it calls."""
        funcs = list(self.module.funcs)
        at = next(k for k, f in enumerate(funcs) if f.name == func.name)
        self.module = replace(self.module, funcs=(*funcs[:at], *callees, func, *funcs[at + 1 :]))


def _with_copies(call: CallStmt, params: list[Buffer], taken: set[str]) -> Stmt:
    """A call that is passed copies for some parameters, which are copied back where it writes them."""
    if not params:
        return call
    written = {b.name for b in results_of(call.callee)}
    names, local = list[tuple[Var, Expr]](), list[Buffer]()
    first, last = list[Stmt](), list[Stmt]()
    args = dict(zip((p.name for p in call.callee.params), call.args, strict=True))
    for param, section in passed(call):
        if param in params:
            copy = replace(section.buffer, name=fresh(param.name, taken), shape=section.shape, scope="global")
            starts = [_once(start, names, taken) for start, _ in section.ranges]
            inward, outward = (_copied(copy, section, starts, taken, inward=i) for i in (True, False))
            first.append(inward)
            last += [outward] if param.name in written else []
            local.append(copy)
            args[param.name] = Section.whole(copy, section.span)
    body = seq(*first, replace(call, args=tuple(args.values())), *last)
    for buffer in reversed(local):
        body = Alloc(buffer, body)
    for var, value in reversed(names):
        body = Let(var, value, body)
    return body


def _once(start: Expr, names: list[tuple[Var, Expr]], taken: set[str]) -> Expr:
    """Where a section starts, by a name if elements say so, which the call may change."""
    if not has_loads(start):
        return start
    names.append((Var(fresh("start", taken), start.dtype), start))
    return names[-1][0]


def _copied(copy: Buffer, section: Section, starts: list[Expr], taken: set[str], *, inward: bool) -> Stmt:
    """The loops that copy a section into a buffer, or back."""
    loops, places = grid(copy, own_names(copy), taken)
    left = iter(places)
    there = tuple(
        start if extent is None else plus(next(left), start)
        for start, (_, extent) in zip(starts, section.ranges, strict=True)
    )
    if inward:
        return nest(loops, Store(copy, places, Load(section.buffer, there)))
    return nest(loops, Store(section.buffer, there, Load(copy, places)))
