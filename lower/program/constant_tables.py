"""Tables of functions of positions alone, worked out once, as a program is traced.

XLA:CPU folds constants, but nothing that begins with a range: the windows, angles and exponents that an array program
makes of positions are worked out again in each call, and again wherever they are fused. Measured on CPU: the sines and
cosines of a discrete Fourier transform of frames of 64 samples take two thirds of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from math import prod
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from ir.pure import is_pure
from lower.program.build import call
from lower.program.nodes import (
    Assign,
    Attribute,
    Call,
    Comprehension,
    Do,
    For,
    Function,
    Infix,
    JaxExpr,
    JaxNode,
    JaxStmt,
    Lambda,
    Literal,
    Name,
    Return,
    Slice,
    Subscript,
    Tuple,
    Unary,
    With,
    children,
    names_bound,
    names_read,
    path_of,
    rewritten,
    walk,
)

ONCE = '''
def once(table):
    """table(), worked out as the program around is traced."""
    with jax.ensure_compile_time_eval():
        return jax.jit(table)()
'''
LEAST, MOST = 128, 1 << 16  # elements of a table: what compiling it is worth, and what an executable should carry
_DEAR = frozenset((  # functions that take longer than to read what they give
    "exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin",
    "arccos", "arctan", "arctan2", "arcsinh", "arccosh", "arctanh", "asin", "acos", "atan", "atan2", "asinh", "acosh",
    "atanh", "power", "pow", "float_power", "cbrt", "sqrt", "rsqrt", "erf", "erfc", "erf_inv", "lgamma", "gammaln",
    "digamma", "logistic", "sigmoid", "sinc", "hypot", "logaddexp",
))  # fmt: skip


class _Constant(Struct, frozen=True):
    """An expression of positions alone: the ranges in it with their lengths, and whether a function in it is dear."""

    ranges: frozenset[tuple[JaxExpr, int]] = frozenset()
    dear: bool = False

    @property
    def is_table(self) -> bool:
        """Whether to keep what it gives."""
        return self.dear and LEAST <= prod(length for _, length in self.ranges) <= MOST


def with_tables(body: Sequence[JaxStmt], fresh: Callable[[str], str]) -> tuple[JaxStmt, ...]:
    """The body of a function in which what is a dear function of positions alone is a constant."""
    bound = Counter(name for stmt in body for name in _bindings(stmt))
    known: dict[str, _Constant] = {}
    made: dict[str, Assign] = {}
    for stmt in (node for outer in body for node in walk(outer)):
        if isinstance(stmt, Assign) and isinstance(stmt.target, Name) and bound[stmt.target.id] == 1:
            found = _constant(stmt.value, known)
            if found is not None:
                known[stmt.target.id], made[stmt.target.id] = found, stmt
    tables: dict[JaxExpr, str] = {}

    def table(node: JaxExpr) -> JaxExpr | None:
        found = _constant(node, known)
        if found is None or not found.is_table:
            return None
        if node not in tables:
            tables[node] = node.id if isinstance(node, Name) else fresh("table")
        return Name(tables[node])

    new = _each(body, table, known)
    return (*_made_once(tables, made, fresh), *_without(new, {*tables.values()} & known.keys())) if tables else new


def _made_once(
    tables: dict[JaxExpr, str], made: dict[str, Assign], fresh: Callable[[str], str]
) -> tuple[Function, Assign]:
    """A function that gives the tables, and its only call."""
    needed: set[str] = set()
    left = [name for node in tables for name in names_read(node)]
    while left:
        name = left.pop()
        if name in made and name not in needed:
            needed.add(name)
            left += names_read(made[name].value)
    function = fresh("tables")
    values = [*tables]
    result = values[0] if len(values) == 1 else Tuple(tuple(values))
    names = [Name(name) for name in tables.values()]
    target = names[0] if len(names) == 1 else Tuple(tuple(names))
    body = (*(stmt for name, stmt in made.items() if name in needed), Return(result))
    return Function(function, (), body), Assign(target, call("once", function))


def _bindings(node: JaxNode) -> Iterator[str]:
    """Every name that gets a value anywhere in a statement, as often as it does."""
    for part in walk(node):
        match part:
            case Assign():
                yield from names_bound(part)
            case Function(name=name, params=params):
                yield from (name, *(p.name for p in params))
            case For(names=names) | Lambda(params=names):
                yield from names
            case Comprehension(clauses=clauses):
                yield from (name for clause in clauses for name in clause.names)
            case _:
                pass


def _each(
    body: Sequence[JaxStmt], table: Callable[[JaxExpr], JaxExpr | None], known: Collection[str]
) -> tuple[JaxStmt, ...]:
    return tuple(_rewritten(stmt, table, known) for stmt in body)


def _rewritten(stmt: JaxStmt, table: Callable[[JaxExpr], JaxExpr | None], known: Collection[str]) -> JaxStmt:
    match stmt:
        case Assign(target=Name(id=name)) if name in known:
            return stmt
        case Assign(value=value) | Return(value=value) | Do(value=value):
            return replace(stmt, value=rewritten(value, table))
        case For(values=values, body=body):
            return replace(stmt, values=rewritten(values, table), body=_each(body, table, known))
        case With(body=body) | Function(body=body):
            return replace(stmt, body=_each(body, table, known))


def _without(body: Sequence[JaxStmt], names: Collection[str]) -> tuple[JaxStmt, ...]:
    """Statements without those that give values to some names."""
    kept = (s for s in body if not (isinstance(s, Assign) and isinstance(s.target, Name) and s.target.id in names))
    return tuple(replace(s, body=_without(s.body, names)) if isinstance(s, For | With | Function) else s for s in kept)


def _constant(node: JaxNode, known: dict[str, _Constant]) -> _Constant | None:
    """What an expression is, if nothing in it is but positions; its parts count as long as they are of that kind."""
    match node:
        case Literal():
            return _Constant()
        case Name(id=name):
            return known.get(name)
        case Call(function=function, args=args) if path_of(function) == "jnp.arange":
            ends = [_number(e) for e in args]
            length = len(range(*(e for e in ends if e is not None))) if None not in ends else 0
            return _Constant(frozenset(((node, length),))) if length else None
        case Call(function=function, args=args, keywords=keywords):
            path = path_of(function)
            parts = [*args, *(v for _, v in keywords if not _is_dtype(v))]
            dear = path is not None and path.rpartition(".")[2] in _DEAR
            if path is None or not is_pure(path):
                if not (isinstance(function, Attribute) and function.attr in ("astype", "reshape")):
                    return None
                parts, dear = [function.value], False
            return _together(parts, known, dear)
        case Infix(sign=sign, left=left, right=right):
            return _together((left, right), known, sign == "**")
        case Unary(operand=operand):
            return _constant(operand, known)
        case Subscript(value=value, items=items):
            plain = all(isinstance(i, Slice | Literal) and all(map(_is_number, children(i))) for i in items)
            return _constant(value, known) if plain else None
        case _:
            return None


def _together(parts: Sequence[JaxNode], known: dict[str, _Constant], dear: bool) -> _Constant | None:
    found = [_constant(p, known) for p in parts]
    if None in found:
        return None
    several = cast(list[_Constant], found)
    ranges = frozenset[tuple[JaxExpr, int]]().union(*(c.ranges for c in several))
    return _Constant(ranges, dear or any(c.dear for c in several))


def _is_dtype(node: JaxExpr) -> bool:
    path = path_of(node)
    return path is not None and is_pure(path)


def _is_number(node: JaxNode) -> bool:
    return _number(node) is not None


def _number(node: JaxNode) -> int | None:
    match node:
        case Literal(value=int() as value):
            return value
        case Unary(sign="-", operand=Literal(value=int() as value)):
            return -value
        case _:
            return None
