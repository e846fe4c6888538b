"""The kernels that calls in a text can name, and what a call passes to one."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from ir.errors import suggest
from ir.nodes import Buffer, CallStmt, Expr, PrimFunc, Stmt, Var
from ir.script.buffers import Interval, section_of
from ir.script.expressions import ExprParser
from ir.script.scope import Source, View
from ir.sections import Section

_OWNERS = ("cls", "self")  # before the name of a kernel of the same module


class Kernels:
    """Kernels by name. Those of a text are read when they are first asked for, so that a call may stand above them."""

    def __init__(self, known: Mapping[str, PrimFunc] | None = None, owners: tuple[str, ...] = ()) -> None:
        self._known = {} if known is None else dict(known)
        self._unread: dict[str, Callable[[], PrimFunc]] = {}
        self._reading: list[str] = []
        self._owners = (*_OWNERS, *owners)

    def add(self, name: str, read: Callable[[], PrimFunc]) -> None:
        """A kernel that `read` gives when it is asked for."""
        self._unread[name] = read

    def __contains__(self, name: object) -> bool:
        return name in self._known or name in self._unread

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all."""
        return tuple(dict.fromkeys((*self._known, *self._unread)))

    @property
    def others(self) -> tuple[str, ...]:
        """The names of those that are not being read."""
        return tuple(name for name in self.names if name not in self._reading)

    def owns(self, name: str) -> bool:
        """Whether a name is that of the module."""
        return name in self._owners

    def read(self, name: str) -> PrimFunc:
        """The kernel of this name, which is one of them."""
        if name not in self._known:
            self._reading.append(name)
            self._known[name] = self._unread[name]()
            self._reading.pop()
        return self._known[name]

    def named(self, node: ast.expr) -> str | None:
        """The name of one of them by which a call, also as in `cls.f`, names it; None for other functions."""
        match node:
            case ast.Name(id=name) if name in self:
                return name
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner in self._owners:
                return name
            case _:
                return None

    def callee(self, name: str, node: ast.expr, source: Source) -> PrimFunc:
        """The kernel that a call names.

        Raises:
            ParseError: there is none, or it would call itself.
        """
        if name not in self:
            help = suggest(name, self.names) or f"the module has {', '.join(self.names)}"
            raise source.error("unknown-function", f"the module has no kernel `{name}`", node, help=help)
        if name in self._reading:
            way = [*self._reading[self._reading.index(name) :], name]
            message = f"kernels call each other in a circle: {' calls '.join(way)}"
            raise source.error("call-cycle", message, node, help="write the repetition as a loop")
        return self.read(name)


def call_of(callee: PrimFunc, call: ast.Call, parser: ExprParser, interval: Interval) -> Stmt:
    """The statement `callee(A, B[0:4, :], n)`; arguments may be given by name.

    Raises:
        ParseError: a wrong number of arguments, an unknown name, or no buffer where the callee takes one.
    """
    source = parser.source
    names = [p.name for p in callee.params]
    given: dict[str, ast.expr] = dict(zip(names, call.args, strict=False))
    for keyword in call.keywords:
        if keyword.arg not in names:
            help = suggest(str(keyword.arg), names) or f"call it as {callee.signature}"
            raise source.error("arguments", f"{callee.name} has no parameter `{keyword.arg}`", keyword.value, help=help)
        given[keyword.arg] = keyword.value
    if len(given) != len(names) or len(call.args) + len(call.keywords) != len(names):
        message = f"{callee.name} takes {len(names)} arguments, {len(call.args) + len(call.keywords)} given"
        raise source.error("arguments", message, call, help=f"call it as {callee.signature}")
    args = tuple(_argument(callee, p, given[p.name], parser, interval) for p in callee.params)
    return CallStmt(callee, args, source.span(call))


def _argument(
    callee: PrimFunc, param: Var | Buffer, node: ast.expr, parser: ExprParser, interval: Interval
) -> Expr | Section:
    if isinstance(param, Var):
        return parser.stored(node, param.dtype)
    target = node.value if isinstance(node, ast.Subscript) else node
    if isinstance(target, ast.Attribute) and target.attr == "data" and target is node:
        node = target = target.value  # as TVM writes a pointer to all of it
    bound = parser.scope.bindings.get(target.id) if isinstance(target, ast.Name) else None
    if not isinstance(bound, (Buffer, View)):
        message = f"`{param.name}` of {callee.name} is a buffer, but `{ast.unparse(node)}` is none"
        hint = "pass a buffer or a section of one, as in A or A[0:4, :]; a result goes into one from T.alloc_buffer"
        raise parser.source.error("arguments", message, node, help=hint)
    return section_of(bound, node, parser, interval)
