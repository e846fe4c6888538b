"""The grammar of array programs: the expressions and statements of JAX that are emitted, as immutable nodes.

    expr  = name | literal | expr.attr | expr(expr, ..., key=expr, ...) | expr[item, ...] | (expr, ...) | [expr, ...]
          | -expr | expr + expr | expr if expr else expr | lambda name, ...: expr
          | expr for name, ... in expr   (a list, or a generator)
    item  = expr | expr:expr:expr
    stmt  = target = expr | return expr | expr | for name, ... in expr: stmt... | with expr: stmt...
          | @expr... def name(name, name=expr, ...): stmt...

Children stand in tuples; equal nodes are equal values. Owns what names a node reads and binds. How they are written is
`print_jax`'s business, what they mean that of `interpret`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal as OneOf
from typing import assert_never, cast

from msgspec import Struct, field
from msgspec.structs import force_setattr

Operator = OneOf[
    "+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>",
    "==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "not in", "and", "or",
]  # fmt: skip
Sign = OneOf["-", "+", "~", "not"]
_NONE: frozenset[str] = frozenset()


class _Node:
    """What names a node reads, worked out once."""

    __slots__ = ("_reads",)
    _reads: frozenset[str]


# Expressions ---------------------------------------------------------------------------------------------------------


class Name(_Node, Struct, frozen=True):
    id: str


class Literal(_Node, Struct, frozen=True):
    """A number that is not negative, a truth, text, None or `...`."""

    value: bool | int | float | str | ellipsis | None  # noqa: F821

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and type(self.value) is type(other.value) and self.value == other.value

    __ne__ = object.__ne__  # what a Struct brings does not ask `__eq__`

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


class Attribute(_Node, Struct, frozen=True):
    value: JaxExpr
    attr: str


class Call(_Node, Struct, frozen=True):
    function: JaxExpr
    args: tuple[JaxExpr, ...]
    keywords: tuple[tuple[str, JaxExpr], ...] = ()


class Subscript(_Node, Struct, frozen=True):
    value: JaxExpr
    items: tuple[JaxExpr, ...]


class Slice(_Node, Struct, frozen=True):
    """A range of positions; stands in subscripts only."""

    low: JaxExpr | None = None
    stop: JaxExpr | None = None
    step: JaxExpr | None = None


class Tuple(_Node, Struct, frozen=True):
    items: tuple[JaxExpr, ...]


class List(_Node, Struct, frozen=True):
    items: tuple[JaxExpr, ...]


class Unary(_Node, Struct, frozen=True):
    sign: Sign
    operand: JaxExpr


class Infix(_Node, Struct, frozen=True):
    sign: Operator
    left: JaxExpr
    right: JaxExpr


class Conditional(_Node, Struct, frozen=True):
    test: JaxExpr
    then: JaxExpr
    other: JaxExpr


class Lambda(_Node, Struct, frozen=True):
    params: tuple[str, ...]
    body: JaxExpr


class Clause(Struct, frozen=True):
    """`for names in values` of a comprehension."""

    names: tuple[str, ...]
    values: JaxExpr


class Comprehension(_Node, Struct, frozen=True):
    """`element for ... in ... for ... in ...`, as a list or as a generator."""

    element: JaxExpr
    clauses: tuple[Clause, ...]
    is_list: bool


class Starred(_Node, Struct, frozen=True):
    """The items of a sequence among arguments, or the rest in a target."""

    value: JaxExpr


JaxExpr = (
    Name | Literal | Attribute | Call | Subscript | Slice | Tuple | List | Unary | Infix | Conditional | Lambda
    | Comprehension | Starred
)  # fmt: skip


# Statements ----------------------------------------------------------------------------------------------------------


class Assign(_Node, Struct, frozen=True):
    """`target = value`; the target is a name, a tuple of names, or, in kernels, a part of a reference."""

    target: JaxExpr
    value: JaxExpr


class Return(_Node, Struct, frozen=True):
    value: JaxExpr


class Do(_Node, Struct, frozen=True):
    """An expression for its effect."""

    value: JaxExpr


class For(_Node, Struct, frozen=True):
    """A Python loop, unrolled while tracing, over a table of constants."""

    names: tuple[str, ...]
    values: JaxExpr
    body: tuple[JaxStmt, ...]


class With(_Node, Struct, frozen=True):
    context: JaxExpr
    body: tuple[JaxStmt, ...]


class Parameter(Struct, frozen=True):
    name: str
    default: JaxExpr | None = None


class Function(_Node, Struct, frozen=True):
    """A function, nested or not; `doc` are the lines of its docstring."""

    name: str
    params: tuple[Parameter, ...]
    body: tuple[JaxStmt, ...]
    decorators: tuple[JaxExpr, ...] = ()
    doc: tuple[str, ...] = field(default=())


JaxStmt = Assign | Return | Do | For | With | Function
JaxNode = JaxExpr | JaxStmt


# Names ---------------------------------------------------------------------------------------------------------------


def names_read(node: JaxNode) -> frozenset[str]:
    """The free names that a node reads."""
    try:
        return node._reads  # pyright: ignore[reportPrivateUsage]
    except AttributeError:
        found = _names_read(node)
        force_setattr(node, "_reads", found)
        return found


def _names_read(node: JaxNode) -> frozenset[str]:
    match node:
        case Name(id=name):
            return frozenset((name,))
        case Lambda(params=params, body=body):
            return names_read(body) - {*params}
        case Comprehension(element=element, clauses=clauses):
            found = names_read(element)
            for clause in reversed(clauses):
                found = (found - {*clause.names}) | names_read(clause.values)
            return found
        case Assign(target=target, value=value):
            return names_read(value) | (names_read(target) - names_bound(node))
        case For(names=names, values=values, body=body):
            return names_read(values) | (read_in(body) - {*names})
        case With(context=context, body=body):
            return names_read(context) | read_in(body)
        case Function(params=params, body=body, decorators=decorators):
            outside = (*decorators, *(p.default for p in params if p.default is not None))
            return _NONE.union(*map(names_read, outside), read_in(body) - {p.name for p in params} - bound_in(body))
        case _:
            return _NONE.union(*map(names_read, children(node)))


def names_bound(stmt: JaxStmt) -> frozenset[str]:
    """The names to which a statement gives a value, in the function that it stands in."""
    match stmt:
        case Assign(target=target):
            return frozenset(_targets(target))
        case Function(name=name):
            return frozenset((name,))
        case For(names=names, body=body):
            return frozenset(names) | bound_in(body)
        case With(body=body):
            return bound_in(body)
        case Return() | Do():
            return _NONE


def _targets(target: JaxExpr) -> Iterator[str]:
    match target:
        case Name(id=name):
            yield name
        case Tuple(items=items) | List(items=items):
            for item in items:
                yield from _targets(item)
        case Starred(value=value):
            yield from _targets(value)
        case _:  # a part of something
            return


def bound_in(body: Iterable[JaxStmt]) -> frozenset[str]:
    """The names that statements bind."""
    return _NONE.union(*map(names_bound, body))


def read_in(body: Sequence[JaxStmt]) -> frozenset[str]:
    """The names that statements, one after the other, read from outside."""
    live = _NONE
    for stmt in reversed(body):
        own = names_bound(stmt) if isinstance(stmt, Assign | Function) else _NONE  # others may bind nothing
        live = (live - own) | names_read(stmt)
    return live


def path_of(node: JaxExpr) -> str | None:
    """The dotted name that an expression is, if it is one."""
    match node:
        case Name(id=name):
            return name
        case Attribute(value=value, attr=attr):
            head = path_of(value)
            return None if head is None else f"{head}.{attr}"
        case _:
            return None


# Traversal -----------------------------------------------------------------------------------------------------------


def children(node: JaxNode) -> tuple[JaxNode, ...]:
    """The nodes directly inside another, in the order in which they are written."""
    match node:
        case Name() | Literal():
            return ()
        case Attribute(value=value) | Starred(value=value) | Return(value=value) | Do(value=value):
            return (value,)
        case Call(function=function, args=args, keywords=keywords):
            return (function, *args, *(v for _, v in keywords))
        case Subscript(value=value, items=items):
            return (value, *items)
        case Slice(low=low, stop=stop, step=step):
            return tuple(e for e in (low, stop, step) if e is not None)
        case Tuple(items=items) | List(items=items):
            return items
        case Unary(operand=operand):
            return (operand,)
        case Infix(left=left, right=right):
            return (left, right)
        case Conditional(test=test, then=then, other=other):
            return (then, test, other)
        case Lambda(body=body):
            return (body,)
        case Comprehension(element=element, clauses=clauses):
            return (element, *(c.values for c in clauses))
        case Assign(target=target, value=value):
            return (target, value)
        case For(values=values, body=body):
            return (values, *body)
        case With(context=context, body=body):
            return (context, *body)
        case Function(params=params, body=body, decorators=decorators):
            return (*decorators, *(p.default for p in params if p.default is not None), *body)
        case other:
            assert_never(other)


def with_children(node: JaxNode, new: Sequence[JaxNode]) -> JaxNode:
    """The node with others in the place of its `children`."""
    given = iter(new)

    def expr() -> JaxExpr:
        return cast(JaxExpr, next(given))

    def maybe(old: JaxExpr | None) -> JaxExpr | None:
        return None if old is None else expr()

    def body() -> tuple[JaxStmt, ...]:
        return cast(tuple[JaxStmt, ...], tuple(given))

    match node:
        case Name() | Literal():
            return node
        case Attribute(attr=attr):
            return Attribute(expr(), attr)
        case Starred():
            return Starred(expr())
        case Return():
            return Return(expr())
        case Do():
            return Do(expr())
        case Call(args=args, keywords=keywords):
            return Call(expr(), tuple(expr() for _ in args), tuple((k, expr()) for k, _ in keywords))
        case Subscript(items=items):
            return Subscript(expr(), tuple(expr() for _ in items))
        case Slice(low=low, stop=stop, step=step):
            return Slice(maybe(low), maybe(stop), maybe(step))
        case Tuple(items=items):
            return Tuple(tuple(expr() for _ in items))
        case List(items=items):
            return List(tuple(expr() for _ in items))
        case Unary(sign=sign):
            return Unary(sign, expr())
        case Infix(sign=sign):
            return Infix(sign, expr(), expr())
        case Conditional():
            then, test, other = expr(), expr(), expr()
            return Conditional(test, then, other)
        case Lambda(params=params):
            return Lambda(params, expr())
        case Comprehension(clauses=clauses, is_list=is_list):
            return Comprehension(expr(), tuple(Clause(c.names, expr()) for c in clauses), is_list)
        case Assign():
            return Assign(expr(), expr())
        case For(names=names):
            return For(names, expr(), body())
        case With():
            return With(expr(), body())
        case Function(name=name, params=params, decorators=decorators, doc=doc):
            marks = tuple(expr() for _ in decorators)
            taken = tuple(Parameter(p.name, maybe(p.default)) for p in params)
            return Function(name, taken, body(), marks, doc)
        case other:
            assert_never(other)


def walk(node: JaxNode) -> Iterator[JaxNode]:
    """A node and all inside it, in the order in which they are written."""
    yield node
    for child in children(node):
        yield from walk(child)


def rewritten(node: JaxExpr, one: Callable[[JaxExpr], JaxExpr | None]) -> JaxExpr:
    """The expression with what `one` gives, unless that is None, in the place of the outermost parts it knows."""
    found = one(node)
    if found is not None:
        return found
    old = children(node)
    new = [rewritten(cast(JaxExpr, e), one) for e in old]
    return node if all(a is b for a, b in zip(old, new, strict=True)) else cast(JaxExpr, with_children(node, new))


def substituted(node: JaxExpr, values: Mapping[str, JaxExpr]) -> JaxExpr:
    """The expression with others in the place of free names. None of these may have a name that is bound inside."""
    if not names_read(node) & values.keys():
        return node
    match node:
        case Name(id=name):
            return values[name]
        case Lambda(params=params):
            values = {k: v for k, v in values.items() if k not in params}
        case Comprehension(clauses=clauses):
            values = {k: v for k, v in values.items() if not any(k in c.names for c in clauses)}
        case _:
            pass
    return cast(JaxExpr, with_children(node, [substituted(cast(JaxExpr, e), values) for e in children(node)]))
