"""Layouts of buffers that calls pass on: callers and callees change together.

Whoever makes the buffer fills its padding once; all functions find that there and leave it. A callee that some calls
pass such a buffer, and others do not, has a form for each. Where a call takes a section of all of some axes, the map is
of these in the caller's buffer as well: `f(A[i, :])` with `[j // 4, j % 4]` makes `A[i, j // 4, j % 4]`. Other sections
are made such first (`passed_sections`).
"""

from __future__ import annotations

from msgspec import Struct, field
from msgspec.structs import replace

from ir.naming import fresh
from ir.nodes import Alloc, Buffer, CallStmt, Module, PrimFunc, Stmt, Var, const, seq
from ir.presburger.geometry import Geometry, apply, geometry
from ir.presburger.index_map import IndexMap
from ir.program.calls import calls_in
from ir.program.edit import names_in, refuse, replace_buffer
from ir.sections import Section, passed
from ir.transform.storage.layout_records import check_sizes, with_layout
from ir.transform.storage.padding import Filler, assumption, filler, index_names, padding_stage
from ir.transform.storage.passed_sections import Axes, calls_of, covering, kept
from ir.traverse import has_loads, map_stmt, results_of, walk

Changed = frozenset[tuple[str, Axes]]  # the buffers of a function that are kept in the new way
Key = tuple[str, Changed]


def is_passed(module: Module, func: PrimFunc, buffer: Buffer) -> bool:
    """Whether a call passes a buffer of a function on, or for one of its parameters."""
    passes = any(s.buffer == buffer for call in calls_in(func.body) for _, s in passed(call))
    return passes or (buffer in func.buffers and next(calls_of(module, func.name), None) is not None)


def across_calls(module: Module, home: PrimFunc, buffer: Buffer, index_map: IndexMap, pad_value: object) -> Module:
    """Keep a buffer in another way wherever calls pass it.

    Calls that take sections of it get callees that take it whole, and where they find these, or copies.

    Raises:
        ScheduleError: the padding would depend on the elements.
    """
    placed = covering(module, home, buffer)
    return _Change(placed, index_map, pad_value).of(placed[home.name], buffer)


class _Change(Struct):
    module: Module
    index_map: IndexMap
    pad_value: object
    own: dict[str, dict[str, Axes]] = field(default_factory=lambda: dict[str, dict[str, Axes]]())
    names: dict[Key, str] = field(default_factory=lambda: dict[Key, str]())
    made: dict[Key, PrimFunc] = field(default_factory=lambda: dict[Key, PrimFunc]())

    def of(self, home: PrimFunc, buffer: Buffer) -> Module:
        """The module with a buffer of a function kept in the new way."""
        axes = tuple(range(len(buffer.shape)))
        self._plan(buffer, axes)  # refused before anything is built
        self._demand(home, buffer, axes)
        called = {call.callee.name for f in self.module.funcs for call in calls_in(f.body)}
        for func in self.module.funcs:
            if func.name not in called or func.name in self.own:
                self._need(func, frozenset(self.own.get(func.name, {}).items()))
        self._name()
        funcs = [self._form(self.module[name], changed) for name, changed in self._in_order()]
        return replace(self.module, funcs=tuple(funcs))

    # Who changes -----------------------------------------------------------------------------------------------------

    def _demand(self, func: PrimFunc, buffer: Buffer, axes: Axes) -> None:
        """A buffer has the new layout; if it is a parameter, so has what each call passes for it."""
        self.own.setdefault(func.name, {})[buffer.name] = axes
        for caller, call in calls_of(self.module, func.name) if buffer in func.buffers else ():
            for param, section in passed(call):
                if param == buffer:
                    outer = tuple(kept(section)[a] for a in axes)
                    if self.own.get(caller.name, {}).get(section.buffer.name) != outer:
                        self._demand(caller, section.buffer, outer)

    def _need(self, func: PrimFunc, changed: Changed) -> None:
        """Note which forms of a function, and of those that it calls, there have to be."""
        if (func.name, changed) in self.names:
            return
        self.names[func.name, changed] = ""
        for call in calls_in(func.body):
            self._need(self.module[call.callee.name], self._passed(call, changed))

    def _passed(self, call: CallStmt, changed: Changed) -> Changed:
        """The parameters for which a call passes buffers in the new layout, and along which axes."""
        own, found = dict(changed), dict[str, Axes]()
        for param, section in passed(call):
            axes = own.get(section.buffer.name)
            if axes is not None:
                own_axes = kept(section)
                found[param.name] = tuple(own_axes.index(a) for a in axes)
        return frozenset(found.items())

    def _name(self) -> None:
        """The first form of a function, the one that does not change if there is one, has its name."""
        taken = {f.name for f in self.module.funcs}
        first: set[str] = set()
        for name, changed in sorted(self.names, key=lambda key: bool(key[1] - self.own.get(key[0], {}).items())):
            self.names[name, changed] = name if name not in first else fresh(name, taken)
            first.add(name)

    def _in_order(self) -> list[Key]:
        order = {f.name: k for k, f in enumerate(self.module.funcs)}
        return sorted(self.names, key=lambda key: (order[key[0]], self.names[key]))

    # How they change -------------------------------------------------------------------------------------------------

    def _form(self, func: PrimFunc, changed: Changed) -> PrimFunc:
        key = func.name, changed
        if key not in self.made:
            self.made[key] = func.with_origin(lambda f: self._changed(f, changed, self.names[key]))
        return self.made[key]

    def _changed(self, func: PrimFunc, changed: Changed, name: str) -> PrimFunc:
        local = {s.buffer for s in walk(func.body) if isinstance(s, Alloc)}
        own = dict(changed)
        buffers = [b for b in (*func.buffers, *local) if b.name in own]
        plans = {b.name: self._plan(b, own[b.name]) for b in buffers}

        def on_stmt(stmt: Stmt) -> Stmt:
            if not isinstance(stmt, CallStmt):
                return stmt
            callee = self._form(self.module[stmt.callee.name], self._passed(stmt, changed))
            args = tuple(
                _moved(a, plans[a.buffer.name].new, own[a.buffer.name])
                if isinstance(a, Section) and a.buffer.name in plans
                else a
                for a in stmt.args
            )
            same = callee is stmt.callee and all(a is b for a, b in zip(args, stmt.args, strict=True))
            return stmt if same else replace(stmt, callee=callee, args=args)

        body = map_stmt(func.body, on_stmt=on_stmt)
        new = func if body is func.body and name == func.name else replace(func, name=name, body=body)
        root = next(calls_of(self.module, func.name), None) is None
        for buffer in buffers:
            new = plans[buffer.name].taken_by(new, made=root and buffer in results_of(func))
        check_sizes(func, new)
        return new

    def _plan(self, buffer: Buffer, axes: Axes) -> _Plan:
        """The buffer in the new layout: the map is of some axes, and others come first."""
        if axes == tuple(range(len(buffer.shape))):
            return _Plan.of(buffer, self.index_map, self.pad_value)
        if callable(self.pad_value):
            message = f"the padding of {buffer.name} would follow places in sections of it"
            refuse("pad-value", message, buffer.span, help="give a number, or inline the calls first")
        params = tuple(Var(f"i{k}", e.dtype) for k, e in enumerate(buffer.shape))
        first = tuple(v for k, v in enumerate(params) if k not in axes)
        lifted = IndexMap(params, (*first, *self.index_map(tuple(params[a] for a in axes))))
        return _Plan.of(buffer, lifted, self.pad_value)


def _moved(section: Section, new: Buffer, axes: Axes) -> Section:
    """A section that takes all of some axes of its buffer, in the buffer that has what they become last."""
    first = [r for k, r in enumerate(section.ranges) if k not in axes]
    rest = [(const(0, e.dtype), e) for e in new.shape[len(first) :]]
    return Section(new, (*first, *rest), section.span)


class _Plan(Struct, frozen=True):
    """One buffer in the new layout."""

    old: Buffer
    new: Buffer
    index_map: IndexMap
    geometry: Geometry
    fill: Filler | None
    names: tuple[str, ...]

    @staticmethod
    def of(old: Buffer, index_map: IndexMap, pad_value: object) -> _Plan:
        shape = geometry(old.shape, index_map, name=old.name, span=old.span)
        new = replace(old, shape=shape.physical_shape)
        fill = filler(pad_value, old, new, shape) if shape.has_padding else None
        if fill is not None and has_loads(fill(shape.indices)):
            message = f"the padding of {old.name} would follow its elements, which several functions write"
            refuse("pad-value", message, old.span, help="inline the calls first, with Schedule.inline_calls()")
        return _Plan(old, new, index_map, shape, fill, tuple(index_names(index_map, pad_value, old.name)))

    def taken_by(self, func: PrimFunc, *, made: bool) -> PrimFunc:
        """A function with the buffer in the new layout. The padding of a local one is filled, as is that of a parameter
        which is `made` here: a result of what no function calls."""
        moved = replace_buffer(func.body, self.old, self.new, lambda indices: apply(self.index_map, indices))
        if self.old not in func.buffers:
            body = map_stmt(moved, on_stmt=lambda s: self._filled(s, func))
            return replace(func, body=body)
        first = () if self.fill is None else (self._written(func) if made else self._assumed(func),)
        params = tuple(self.new if p is self.old else p for p in func.params)
        changed = replace(func, params=params, body=seq(*first, moved))
        return with_layout(changed, func, self.old, self.index_map)

    def _filled(self, stmt: Stmt, func: PrimFunc) -> Stmt:
        if self.fill is None or not (isinstance(stmt, Alloc) and stmt.buffer == self.new):
            return stmt
        return replace(stmt, body=seq(self._written(func), stmt.body))

    def _written(self, func: PrimFunc) -> Stmt:
        assert self.fill is not None
        return padding_stage(self.new, self.geometry, self.fill, self.names, names_in(func))

    def _assumed(self, func: PrimFunc) -> Stmt:
        assert self.fill is not None
        return assumption(self.new, self.geometry, self.fill, self.names, names_in(func))
