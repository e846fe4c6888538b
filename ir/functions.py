"""User-defined scalar functions: what a call stands for, and when a definition has a meaning.

A call evaluates its arguments and then the body on their values; where the body would have to choose by an undef value,
the call is undef. So it is the body with the arguments put in (`inlined`), except that it evaluates also what the body
does not use, and does not fault where that would choose by undef.
"""

from __future__ import annotations

import ast
import keyword
import string
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NoReturn

from ir.errors import LoopsatError, Span, VerifyError
from ir.nodes import Binary, Call, Expr, Function, Load, PrimFunc, Select, Stmt, Undef, Var
from ir.pure import impurity
from ir.syntax import python_syntax
from ir.traverse import all_exprs, children, free_vars, map_expr, substitute_expr, walk_expr

MAX_INLINED = 5_000  # operations of a body with the calls in it expanded: functions of functions grow exponentially


@lru_cache(maxsize=4096)
def inlined(call: Call) -> Expr:
    """The body of the function with the arguments in it; calls in the body stay."""
    return substitute_expr(call.function.body, dict(zip(call.function.params, call.args, strict=True)))


def inline_calls(expr: Expr) -> Expr:
    """An expression without calls."""
    return map_expr(expr, lambda e: inline_calls(inlined(e)) if isinstance(e, Call) else e)


def functions_of(exprs: Iterable[Expr]) -> tuple[Function, ...]:
    """Functions that expressions, given node by node, call; each after those that its body calls."""
    found: dict[Function, None] = {}
    _collect(exprs, found)
    return tuple(found)


def _collect(exprs: Iterable[Expr], found: dict[Function, None]) -> None:
    for expr in exprs:
        if isinstance(expr, Call) and expr.function not in found:
            _collect(walk_expr(expr.function.body), found)
            found[expr.function] = None


def functions_in(item: PrimFunc | Stmt) -> tuple[Function, ...]:
    """Functions that a program calls, each after those that its body calls."""
    return functions_of(all_exprs(item.body if isinstance(item, PrimFunc) else item))


# When a call equals its body -----------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def deciding(function: Function) -> frozenset[Var]:
    """Parameters by which the body chooses what to evaluate: where they are undef, the call is, and the body faults."""
    found: set[Var] = set()
    for expr in walk_expr(function.body):
        match expr:
            case Select(cond=cond) | Binary(op="and" | "or", lhs=cond):
                found |= free_vars(cond)
            case _:
                pass
    return frozenset(found)


@lru_cache(maxsize=1024)
def always_used(function: Function) -> frozenset[Var]:
    """Parameters that the body evaluates whatever it chooses."""
    return frozenset(_always_used(function.body))


def _always_used(expr: Expr) -> set[Var]:
    match expr:
        case Var():
            return {expr}
        case Select(cond=cond, then=a, other=b):
            return _always_used(cond) | (_always_used(a) & _always_used(b))
        case Binary(op="and" | "or", lhs=a):
            return _always_used(a)
        case _:
            return {v for e in children(expr) for v in _always_used(e)}


# Definitions ---------------------------------------------------------------------------------------------------------


def check_function(function: Function, error: type[LoopsatError] = VerifyError) -> None:
    """Check that a definition has a meaning. That operands fit their operators is checked by `verify`.

    Raises:
        LoopsatError: of the class `error`; the name, a parameter, the body, the price or the JAX text is wrong.
    """
    name = function.name

    def refuse(code: str, message: str, help: str, place: Span | None = None) -> NoReturn:
        raise error(code, message, function.span if place is None else place, help=help)

    names = [p.name for p in function.params]
    if not name.isidentifier() or keyword.iskeyword(name):
        refuse("name", f"`{name}` cannot name a function", "use a Python identifier")
    if len(set(names)) < len(names):
        refuse("duplicate-name", f"two parameters of {name} have one name", "rename one")
    for expr in walk_expr(function.body):
        match expr:
            case Var() if not any(expr.same(p) for p in function.params):
                message = f"the body of {name} uses `{expr.name}`, which is not a parameter of it"
                refuse("unknown-name", message, f"make it a parameter of {name}", expr.span)
            case Load(buffer=buffer):
                message = f"the body of {name} reads the buffer {buffer.name}"
                refuse("function-body", message, "pass the element as an argument", expr.span)
            case Undef():
                message = f"T.undef() may not occur in the body of {name}"
                refuse("undef-misuse", message, "pass it as an argument", expr.span)
            case _:
                pass
    if size(function.body) > MAX_INLINED:
        message = f"the body of {name}, calls expanded, has more than {MAX_INLINED} operations"
        refuse("too-large", message, "bind intermediate results to names in the kernel")
    if function.cost is not None and not 0 <= function.cost < float("inf"):
        message = f"the cost of {name} must be a finite number from 0 up, found {function.cost}"
        refuse("cost", message, "it is the price of a call; an element moved through vector code costs 1.0")
    problem = template_problem(function)
    if problem is not None:
        example = f"jnp.abs({{{names[0]}}})" if names else "jnp.pi"
        refuse("jax-expression", f"jax= of {name}: {problem}", f'write a JAX expression, as in jax="{example}"')


def size(expr: Expr, kept: Callable[[Function], bool] = lambda _: False) -> int:
    """Nodes of an expression with its calls expanded, but for those of functions that are `kept`, counted without
    expanding them."""
    return _form(expr, kept).total()


def _form(expr: Expr, kept: Callable[[Function], bool]) -> Counter[str]:
    """How often each variable occurs once calls are expanded, and under "" the number of other nodes."""
    match expr:
        case Var(name=name):
            return Counter({name: 1})
        case Call(function=function, args=args) if not kept(function):
            body = _function_form(function, kept)
            counts = Counter({"": body[""]})
            for param, arg in zip(function.params, args, strict=True):
                for name, count in _form(arg, kept).items():
                    counts[name] += body[param.name] * count
            return counts
        case _:
            return sum((_form(e, kept) for e in children(expr)), Counter({"": 1}))


@lru_cache(maxsize=1024)
def _function_form(function: Function, kept: Callable[[Function], bool]) -> Counter[str]:
    return _form(function.body, kept)


# Text for JAX --------------------------------------------------------------------------------------------------------


def template_problem(function: Function) -> str | None:
    """What is wrong with the JAX expression of a function, or None."""
    if function.jax is None:
        return None
    try:
        tree = template(function)
    except SyntaxError as error:
        return f"{function.jax!r} is no Python expression: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error)
    problem = impurity(tree, {placeholder(p.name) for p in function.params})
    if problem is None:
        return None
    for param in function.params:
        problem = problem.replace(placeholder(param.name), f"{{{param.name}}}")
    return problem


def placeholder(name: str) -> str:
    """The name that stands for a parameter in a `template`."""
    return f"_{name}_"


def template(function: Function) -> ast.expr:
    """The syntax tree of the JAX expression, with `placeholder`s for parameters.

    Raises:
        ValueError: it is no format string over the parameters.
        SyntaxError: it is no Python expression.
    """
    return parsed_template(function.jax if function.jax is not None else "", [p.name for p in function.params])


def parsed_template(text: str, params: Sequence[str]) -> ast.expr:
    """The syntax tree of a JAX expression with names of parameters in braces, with `placeholder`s for these.

    Raises:
        ValueError: it is no format string over the parameters.
        SyntaxError: it is no Python expression.
    """
    parts: list[str] = []
    for plain, name, spec, conversion in string.Formatter().parse(text):
        parts.append(plain)
        if name is None:
            continue
        if name not in params or spec or conversion:
            shown = name + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "")
            known = ", ".join(f"{{{n}}}" for n in params)
            raise ValueError(f"`{{{shown}}}` does not name a parameter; there are {known if known else 'none'}")
        parts.append(placeholder(name))
    return python_syntax("".join(parts).strip(), "eval").body
