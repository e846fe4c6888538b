"""How writers make nodes: one constructor a form of expression, and templates, which are JAX code with places to fill.

A template is authored text, parsed once: `code("jnp.where({}, {}, 0.0)", mask, value)`. In it `*{}` stands for several
expressions, `**{}` for keywords that a mapping gives. Where an expression is wanted, names may be given as text, and
numbers, truths and None as such, tuples and lists as tuples and lists of these.
"""

from __future__ import annotations

import ast
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from textwrap import dedent
from typing import Any, cast

from ir.syntax import python_syntax
from lower.program.nodes import (
    Assign,
    Attribute,
    Call,
    Clause,
    Comprehension,
    Conditional,
    Do,
    For,
    Function,
    Infix,
    JaxExpr,
    JaxStmt,
    Lambda,
    List,
    Literal,
    Name,
    Operator,
    Parameter,
    Return,
    Sign,
    Slice,
    Starred,
    Subscript,
    Tuple,
    Unary,
    With,
)

Arg = JaxExpr | str | bool | int | float | None | Sequence["Arg"]
ALL = Slice()
NEW_AXIS = Literal(None)
_NODES = (
    Name, Literal, Attribute, Call, Subscript, Slice, Tuple, List, Unary, Infix, Conditional, Lambda, Comprehension,
    Starred,
)  # fmt: skip


# Constructors --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def dotted(text: str) -> JaxExpr:
    """A name, maybe a dotted one."""
    head, *rest = text.split(".")
    found: JaxExpr = Name(head)
    for attr in rest:
        found = Attribute(found, attr)
    return found


def as_expr(given: Arg) -> JaxExpr:
    """What was given as a node."""
    if isinstance(given, _NODES):
        return given
    if isinstance(given, str):
        return dotted(given)
    if isinstance(given, bool) or given is None:
        return Literal(given)
    if isinstance(given, int | float):
        return Literal(given) if given >= 0 else Unary("-", Literal(-given))
    items = tuple(map(as_expr, given))
    return List(items) if isinstance(given, list) else Tuple(items)


def text(value: str) -> Literal:
    """A string in the program."""
    return Literal(value)


def call(function: Arg, *args: Arg, **keywords: Arg) -> Call:
    """`function(args, keywords)`."""
    given = tuple((k, as_expr(v)) for k, v in keywords.items()) if keywords else ()
    return Call(as_expr(function), tuple(map(as_expr, args)), given)


def method(value: Arg, which: str, *args: Arg, **keywords: Arg) -> Call:
    """`value.which(args, keywords)`."""
    return call(Attribute(as_expr(value), which), *args, **keywords)


def updated(array: JaxExpr, marks: tuple[JaxExpr, ...], how: str, value: JaxExpr, **options: Arg) -> JaxExpr:
    """`array.at[marks].how(value)`."""
    return method(Subscript(Attribute(array, "at"), marks), how, value, **options)


def subscript(value: Arg, *items: Arg) -> Subscript:
    """`value[items]`."""
    return Subscript(as_expr(value), tuple(map(as_expr, items)))


def between(low: Arg = None, stop: Arg = None, step: Arg = None) -> Slice:
    """`low:stop:step`; None stands for an end that is left out."""
    return Slice(*(None if e is None else as_expr(e) for e in (low, stop, step)))


def infix(left: Arg, sign: Operator, right: Arg) -> Infix:
    """`left sign right`."""
    return Infix(sign, as_expr(left), as_expr(right))


def every(conditions: Iterable[JaxExpr]) -> JaxExpr:
    """The conjunction of conditions, of which there is one at least, as arrays."""
    first, *rest = conditions
    for condition in rest:
        first = Infix("&", first, condition)
    return first


def assign(target: str, value: Arg) -> Assign:
    """`target = value`."""
    return Assign(Name(target), as_expr(value))


def assign_each(targets: Sequence[str], value: Arg) -> Assign:
    """`target, ... = value`; one target takes the value as a whole."""
    if len(targets) == 1:
        return assign(targets[0], value)
    return Assign(Tuple(tuple(map(Name, targets))), as_expr(value))


def function(name: str, params: Iterable[str], body: Sequence[JaxStmt]) -> Function:
    """`def name(params): body`."""
    return Function(name, tuple(map(Parameter, params)), tuple(body))


def with_state(
    name: str, params: Sequence[str], state: Sequence[str], body: Sequence[JaxStmt], results: Sequence[JaxExpr]
) -> Function:
    """A function of some parameters and the arrays that it changes, of which several come as one tuple."""
    if len(state) == 1:
        return function(name, [*params, *state], [*body, Return(results[0])])
    taken = assign_each(state, Name("state"))
    return function(name, [*params, "state"], [taken, *body, Return(Tuple(tuple(results)))])


# Templates -----------------------------------------------------------------------------------------------------------

_Filled = Callable[[Mapping[str, Any]], Any]  # a node, or a part of one, from what the places of a template are given
_HOLE = "_place_{}_"


def code(template: str, *args: Any, **named: Any) -> JaxExpr:
    """The expression of a template with expressions in its places."""
    return _expression(template)(_given(args, named))


def statements(template: str, *args: Any, **named: Any) -> tuple[JaxStmt, ...]:
    """The statements of a template with expressions in its places; `*{}` alone on a line is several statements."""
    return _statements(template)(_given(args, named))


def definition(template: str, **named: Any) -> Function:
    """The function of a template with expressions in its places."""
    (found,) = statements(template, **named)
    assert isinstance(found, Function)
    return found


def from_syntax(tree: ast.expr) -> JaxExpr:
    """An expression as nodes that was parsed elsewhere: what a user gave."""
    return _filled(tree, {})({})


def _given(args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    return {**{_HOLE.format(k): a for k, a in enumerate(args)}, **{_HOLE.format(k): a for k, a in named.items()}}


def _with_places(template: str) -> tuple[str, dict[str, None]]:
    """The text of a template with a name for each place."""
    found, count, places = "", 0, dict[str, None]()
    for before, place, _, _ in string.Formatter().parse(template):
        found += before
        if place is not None:
            hole = _HOLE.format(place or count)
            count += not place
            places[hole] = None
            found += hole
    return found, places


@lru_cache(maxsize=1024)
def _expression(template: str) -> Callable[[Mapping[str, Any]], JaxExpr]:
    text, places = _with_places(template)
    return _filled(python_syntax(text, "eval").body, places)


@lru_cache(maxsize=1024)
def _statements(template: str) -> Callable[[Mapping[str, Any]], tuple[JaxStmt, ...]]:
    text, places = _with_places(dedent(template).strip())
    return _body(python_syntax(text).body, places)


_SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in", ast.And: "and", ast.Or: "or",
    ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not",
}  # fmt: skip


def _filled(tree: ast.expr, places: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], JaxExpr]:
    """What makes the node of an expression."""
    make = _maker(tree, places)
    if any(isinstance(n, ast.Name | ast.arg) and (getattr(n, "id", None) or getattr(n, "arg", None)) in places
           for n in ast.walk(tree)):  # fmt: skip
        return make
    whole = make({})
    return lambda given: whole


def _maker(tree: ast.expr, places: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], JaxExpr]:
    def sub(e: ast.expr) -> Callable[[Mapping[str, Any]], JaxExpr]:
        return _filled(e, places)

    def maybe(e: ast.expr | None) -> Callable[[Mapping[str, Any]], JaxExpr | None]:
        return (lambda given: None) if e is None else sub(e)

    match tree:
        case ast.Name(id=word) if word in places:
            return lambda given: as_expr(given[word])
        case ast.Name(id=word):
            return lambda given: Name(word)
        case ast.Constant(value=value):
            return lambda given: Literal(cast(Any, value))
        case ast.Attribute(value=value, attr=attr):
            base = sub(value)
            return lambda given: Attribute(base(given), attr)
        case ast.Call(func=func, args=args, keywords=keywords):
            called, items, named = sub(func), _items(args, places), _keywords(keywords, places)
            return lambda given: Call(called(given), items(given), named(given))
        case ast.Subscript(value=value, slice=at):
            parts = at.elts if isinstance(at, ast.Tuple) else [at]
            base, items = sub(value), _items(parts, places)
            return lambda given: Subscript(base(given), items(given))
        case ast.Slice(lower=lower, upper=upper, step=step):
            ends = [maybe(lower), maybe(upper), maybe(step)]
            return lambda given: Slice(*(e(given) for e in ends))
        case ast.Tuple(elts=elts):
            items = _items(elts, places)
            return lambda given: Tuple(items(given))
        case ast.List(elts=elts):
            items = _items(elts, places)
            return lambda given: List(items(given))
        case ast.UnaryOp(op=op, operand=operand):
            sign, inner = cast(Sign, _SIGNS[type(op)]), sub(operand)
            return lambda given: Unary(sign, inner(given))
        case ast.BinOp(op=op, left=left, right=right):
            return _chain([_SIGNS[type(op)]], [sub(left), sub(right)])
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _chain([_SIGNS[type(op)]], [sub(left), sub(right)])
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            ends = [sub(e) for e in (left, *comparators)]
            pairs = [_chain([_SIGNS[type(o)]], [a, b]) for o, a, b in zip(ops, ends, ends[1:], strict=False)]
            return _chain(["and"] * (len(pairs) - 1), pairs)
        case ast.BoolOp(op=op, values=values):
            return _chain([_SIGNS[type(op)]] * (len(values) - 1), [sub(v) for v in values])
        case ast.IfExp(test=test, body=body, orelse=orelse):
            three = [sub(e) for e in (test, body, orelse)]
            return lambda given: Conditional(*(e(given) for e in three))
        case ast.Lambda(args=arguments, body=body):
            params, inner = _params(arguments, places), sub(body)
            return lambda given: Lambda(tuple(p.name for p in params(given)), inner(given))
        case ast.ListComp(elt=element, generators=generators) | ast.GeneratorExp(elt=element, generators=generators):
            inner, is_list = sub(element), isinstance(tree, ast.ListComp)
            clauses = [(_names(g.target), sub(g.iter)) for g in generators]
            return lambda given: Comprehension(
                inner(given), tuple(Clause(n, v(given)) for n, v in clauses), is_list
            )  # fmt: skip
        case ast.Starred(value=value):
            inner = sub(value)
            return lambda given: Starred(inner(given))
        case other:
            raise TypeError(f"array programs have no {type(other).__name__}")


def _chain(signs: Sequence[str], parts: Sequence[Callable[[Mapping[str, Any]], JaxExpr]]) -> Callable[..., JaxExpr]:
    def make(given: Mapping[str, Any]) -> JaxExpr:
        found = parts[0](given)
        for sign, part in zip(signs, parts[1:], strict=True):
            found = Infix(cast(Operator, sign), found, part(given))
        return found

    return make


def _items(parts: Sequence[ast.expr], places: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], tuple[JaxExpr, ...]]:
    """Expressions of a sequence, of which places with a star are several."""
    makers: list[tuple[bool, _Filled]] = []
    for part in parts:
        match part:
            case ast.Starred(value=ast.Name(id=word)) if word in places:
                makers.append((True, lambda given, word=word: map(as_expr, given[word])))
            case _:
                makers.append((False, _filled(part, places)))

    def make(given: Mapping[str, Any]) -> tuple[JaxExpr, ...]:
        found: list[JaxExpr] = []
        for several, maker in makers:
            found += maker(given) if several else (maker(given),)
        return tuple(found)

    return make


def _keywords(keywords: Sequence[ast.keyword], places: Mapping[str, Any]) -> Callable[..., Any]:
    makers = [(k.arg, _filled(k.value, places) if k.arg else cast(ast.Name, k.value).id) for k in keywords]

    def make(given: Mapping[str, Any]) -> tuple[tuple[str, JaxExpr], ...]:
        found: list[tuple[str, JaxExpr]] = []
        for word, maker in makers:
            if word is not None:
                found.append((word, cast(_Filled, maker)(given)))
            else:
                found += [(k, as_expr(v)) for k, v in given[cast(str, maker)].items()]
        return tuple(found)

    return make


def _params(
    arguments: ast.arguments, places: Mapping[str, Any]
) -> Callable[[Mapping[str, Any]], tuple[Parameter, ...]]:
    """Parameters; that of a star is several, given as names."""
    own = [a.arg for a in arguments.args]
    several = arguments.vararg.arg if arguments.vararg is not None else None
    if arguments.kwarg or arguments.kwonlyargs or (several is not None and several not in places):
        raise TypeError("functions of array programs take one argument a parameter")

    def make(given: Mapping[str, Any]) -> tuple[Parameter, ...]:
        names = [*(given.get(n, n) for n in own), *(given[several] if several is not None else ())]
        return tuple(map(Parameter, names))

    return make


def _names(target: ast.expr) -> tuple[str, ...]:
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    return tuple(cast(ast.Name, p).id for p in parts)


def _body(stmts: Sequence[ast.stmt], places: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], tuple[JaxStmt, ...]]:
    makers: list[_Filled] = [_statement(s, places) for s in stmts]

    def make(given: Mapping[str, Any]) -> tuple[JaxStmt, ...]:
        return tuple(stmt for maker in makers for stmt in maker(given))

    return make


def _statement(stmt: ast.stmt, places: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], Iterable[JaxStmt]]:
    match stmt:
        case ast.Expr(value=ast.Starred(value=ast.Name(id=word))) if word in places:
            return lambda given: given[word]
        case ast.Assign(targets=[target], value=value):
            to, what = _filled(target, places), _filled(value, places)
            return lambda given: (Assign(to(given), what(given)),)
        case ast.Return(value=ast.expr() as value):
            what = _filled(value, places)
            return lambda given: (Return(what(given)),)
        case ast.Expr(value=value):
            what = _filled(value, places)
            return lambda given: (Do(what(given)),)
        case ast.For(target=target, iter=values, body=body):
            names, what, inner = _names(target), _filled(values, places), _body(body, places)
            return lambda given: (For(names, what(given), inner(given)),)
        case ast.With(items=[item], body=body):
            what, inner = _filled(item.context_expr, places), _body(body, places)
            return lambda given: (With(what(given), inner(given)),)
        case ast.FunctionDef(name=word, args=arguments, body=body, decorator_list=decorators):
            marks, params = _items(decorators, places), _params(arguments, places)
            match body[0]:
                case ast.Expr(value=ast.Constant(value=str() as doc)):
                    lines, body = (f'"""{doc}"""',), body[1:]
                case _:
                    lines = ()
            inner = _body(body, places)
            return lambda given: (
                Function(given.get(word, word), params(given), inner(given), marks(given), lines),
            )  # fmt: skip
        case other:
            raise TypeError(f"array programs have no {type(other).__name__}")


def without_trailing(marks: Sequence[JaxExpr]) -> tuple[JaxExpr, ...]:
    """An index list without whole dimensions at its end."""
    last = max((k for k, mark in enumerate(marks) if mark != ALL), default=-1)
    return tuple(marks[: last + 1])
