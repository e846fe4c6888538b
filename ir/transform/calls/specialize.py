"""Callees that know what their calls pass: numbers, the ranges of scalars, and where sections lie in their buffers.

A section becomes its whole buffer and the indices at which it starts, which are scalars. So how a buffer is kept may be
chosen where calls take sections of it. Of a buffer that a call takes twice the callee has one parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import islpy as isl
from msgspec import Struct, field
from msgspec.structs import replace

from ir.instructions import is_instruction
from ir.naming import fresh
from ir.nodes import Assume, Binary, Buffer, CallStmt, Const, Expr, PrimFunc, Stmt, Var, const, seq
from ir.presburger import sets as pb
from ir.presburger.facts import facts_at, proven, range_of
from ir.program.calls import Copy, minus, of_dtype, plus, size_arguments, without_calls
from ir.program.edit import names_in, with_children
from ir.sections import Section, passed
from ir.traverse import free_vars, has_loads, has_undef, shape_vars, stmt_children, substitute_expr


def specialized(entry: PrimFunc, where: Callable[[CallStmt], bool] = lambda call: True) -> PrimFunc:
    """A function whose callees know what can be told of the scalars and sections that they are passed; only of calls
    `where` that is asked for."""

    def inside(stmt: Stmt, path: tuple[Stmt, ...]) -> Stmt:
        here = (*path, stmt)
        if isinstance(stmt, CallStmt):
            left = is_instruction(stmt.callee) or not where(stmt)
            return stmt if left else _Call(entry, stmt, here).specialized()
        return with_children(stmt, [inside(part, here) for part in stmt_children(stmt)])

    body = inside(entry.body, ())
    return entry if body is entry.body else replace(entry, body=body)


class _Call(Struct, dict=True):
    """One call at a place (`path` leads to it), and the callee that it is to have."""

    entry: PrimFunc
    stmt: CallStmt
    path: tuple[Stmt, ...]
    params: list[Var | Buffer] = field(default_factory=lambda: list[Var | Buffer]())
    args: list[Expr | Section] = field(default_factory=lambda: list[Expr | Section]())
    extents: list[tuple[Var, Expr]] = field(default_factory=lambda: list[tuple[Var, Expr]]())
    claims: list[Stmt] = field(default_factory=lambda: list[Stmt]())

    @cached_property
    def known(self) -> isl.Set:
        """What holds of variables where the call stands."""
        return pb.within_budget(lambda: facts_at(self.entry, self.path), pb.always())

    def specialized(self) -> Stmt:
        """The call, of the callee that knows most."""
        callee = without_calls(self.stmt.callee)
        values = {v: e for v, e in size_arguments(self.stmt).items() if isinstance(e, Const)}
        taken = names_in(callee)
        for param, arg in zip(callee.params, self.stmt.args, strict=True):
            if isinstance(param, Var) and isinstance(arg, Expr) and param not in values:
                self._scalar(param, arg)
        sections = self._sections(values, taken)
        self._sizes(values)
        order = {p.name: k for k, p in enumerate(callee.params)}  # new scalars come last
        pairs = sorted(zip(self.params, self.args, strict=True), key=lambda pair: order.get(pair[0].name, len(order)))
        params, args = tuple(p for p, _ in pairs), tuple(a for _, a in pairs)
        if params == callee.params and not self.claims:
            return self.stmt

        def change(func: PrimFunc) -> PrimFunc:
            copy = Copy(lambda name: name, dict[Var, Expr](values), sections)
            attrs = tuple((k, v) for k, v in func.attrs if not k.startswith("layout."))
            body = seq(*self.claims, copy.stmt(without_calls(func).body))
            return replace(func, params=params, body=body, attrs=attrs).vouched()

        return replace(self.stmt, callee=callee.with_origin(change), args=args)

    def _scalar(self, param: Var, arg: Expr) -> None:
        """A scalar parameter, with the range of what is passed for it."""
        self.params.append(param)
        self.args.append(arg)
        if param.dtype.is_integer and not (has_loads(arg) or has_undef(arg)):
            ends = zip(("ge", "le"), range_of(arg, self.known), strict=True)
            self.claims += [Assume(Binary(op, param, const(n, param.dtype))) for op, n in ends if n is not None]

    def _sizes(self, values: Mapping[Var, Const]) -> None:
        """Sizes that the callee knew from sections are scalars, where the whole buffers do not tell them."""
        shown = replace(self.stmt.callee, params=tuple(self.params))
        known = {*values, *size_arguments(replace(self.stmt, callee=shown, args=tuple(self.args)))}
        for var, value in size_arguments(self.stmt).items():
            if var not in known:
                self._scalar(var, value)

    def _sections(self, values: Mapping[Var, Const], taken: set[str]) -> dict[str, Section]:
        """What stands for each buffer parameter in the callee; their parameters and arguments are noted."""
        given = list(passed(self.stmt))
        apart = {s.buffer.name for _, s in given if not (s.is_whole or self._lies_inside(s))}
        sections: dict[str, Section] = {}
        whole: dict[str, Buffer] = {}
        for param, section in given:
            name = section.buffer.name
            if name not in whole:
                if section.is_whole or name in apart:
                    shape = tuple(substitute_expr(e, dict[Var, Expr](values)) for e in param.shape)
                else:
                    shape = tuple(self._extent(e, taken) for e in section.buffer.shape)
                new = param if shape == param.shape else replace(param, shape=shape)
                self.params.append(new)
                self.args.append(section if name in apart else Section.whole(section.buffer, section.span))
                if name not in apart:
                    whole[name] = new
            else:
                new = whole[name]
            if name in apart:
                sections[param.name] = Section.whole(new)
            else:
                own = [substitute_expr(e, dict[Var, Expr](values)) for e in param.shape]
                sections[param.name] = self._placed(new, section, own, taken)
        return sections

    def _extent(self, extent: Expr, taken: set[str]) -> Expr:
        """An extent of the caller's buffer in names of the callee."""
        if not free_vars(extent):
            return extent
        scalars = [*size_arguments(self.stmt).items(), *self.extents]
        for var, value in scalars:
            if value.same(extent):
                return var
        first = next(iter(sorted(v.name for v in free_vars(extent))))
        new = Var(fresh(first, taken), extent.dtype)
        self.extents.append((new, extent))
        return new

    def _lies_inside(self, section: Section) -> bool:
        """Whether a section of a buffer whose extents stay what they are is known to lie in it, wherever it starts."""
        steady = {*self.entry.scalars, *shape_vars(self.entry)}
        if not all(free_vars(e) <= steady for e in section.buffer.shape):
            return False
        for (start, extent), full in zip(section.ranges, section.buffer.shape, strict=True):
            size = const(1, start.dtype) if extent is None else extent
            if any(has_loads(e) or has_undef(e) for e in (start, size)):
                return False
            last = minus(of_dtype(full, start.dtype), of_dtype(size, start.dtype))
            inside = Binary("and", Binary("ge", start, const(0, start.dtype)), Binary("le", start, last))
            if not pb.within_budget(lambda cond=inside: proven(cond, self.known), False):
                return False
        return True

    def _placed(self, buffer: Buffer, section: Section, own: Sequence[Expr], taken: set[str]) -> Section:
        """A section of the callee's buffer, which starts at numbers and scalars; `own` are the extents of its axes."""
        sizes = iter(own)
        ranges = tuple(
            (self._start(start, taken), None if extent is None else next(sizes)) for start, extent in section.ranges
        )
        for (start, extent), full in zip(ranges, buffer.shape, strict=True):
            if not isinstance(full, Const):  # numbers say what they are
                last = plus(start, const(1, start.dtype) if extent is None else extent)
                inside = Binary("le", last, of_dtype(full, last.dtype))
                said = last.same(full) or any(isinstance(c, Assume) and c.cond.same(inside) for c in self.claims)
                self.claims += [] if said else [Assume(inside)]
        return Section(buffer, ranges)

    def _start(self, start: Expr, taken: set[str]) -> Expr:
        if not free_vars(start):
            return start
        for param, arg in zip(self.params, self.args, strict=True):
            if isinstance(param, Var) and isinstance(arg, Expr) and arg.same(start):
                return param
        first = next(iter(sorted(v.name for v in free_vars(start))))
        new = Var(fresh(first, taken), start.dtype)
        self._scalar(new, start)
        return new
