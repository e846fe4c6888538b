"""Instructions: kernels that a user implements in JAX. The body is what one means, the text how it is computed.

    @T.instruction(jax="{C} + {A} @ {B}", cost=8.0, floats="reassociate")
    def multiply_4x4(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
        for i, j, k in T.grid(4, 4, 4):
            C[i, j] = C[i, j] + A[i, k] * B[k, j]

A call of one is a call of a kernel, and its body in place of it is marked as an instance: a block that names it. The
mark carries no meaning. Whoever computes the instance by the text asks `ir.transform.calls.tensorize` what its
arguments are, so that a body which has been rewritten since is computed as the loops that it is.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from math import log2
from typing import NoReturn

from ir.errors import LoopsatError, Span, VerifyError
from ir.floats import FREEDOMS, Floats, floats_named
from ir.functions import parsed_template, placeholder
from ir.nodes import Block, CallStmt, Const, Expr, PrimFunc, Stmt, Var
from ir.pure import impurity
from ir.traverse import free_vars, results_of, walk

OPTIONS = ("jax", "cost", "floats")
_MARK, _SIZES = "instruction", "sizes"


def is_instruction(func: PrimFunc) -> bool:
    """Whether a kernel has an implementation in JAX."""
    return any(name == "jax" for name, _ in func.attrs)


def jax_text(func: PrimFunc) -> str:
    """The JAX expression of an instruction, with the names of parameters in braces.

    It gives what the written buffers hold afterwards, in parameter order: one array, or a tuple of several.
    """
    return str(dict(func.attrs)["jax"])


def sizes_of(func: PrimFunc) -> tuple[Var, ...]:
    """The names in the shapes of an instruction, parameters or not, in order of appearance."""
    return tuple(dict.fromkeys(v for b in func.buffers for extent in b.shape for v in free_vars(extent)))


def call_price(func: PrimFunc, sizes: Mapping[str, float], usual: float) -> float | None:
    """The price of one call in the units of the cost tables; None where none is stated.

    `sizes` are those of the arrays that it is given, by the names in its shapes; one that is not known is the `usual`.
    """
    cost = dict(func.attrs).get("cost")
    if isinstance(cost, str):
        known = {v.name: sizes.get(v.name, usual) for v in sizes_of(func)}
        return max(_value(ast.parse(cost.strip(), mode="eval").body, known), 0.0)
    return float(cost) if isinstance(cost, (int, float)) else None


_ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def _value(node: ast.expr, names: Mapping[str, float]) -> float:
    """The value of a price that is written as arithmetic over sizes.

    Raises:
        ValueError: it is something else.
    """
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return float(number)
        case ast.Name(id=name) if name in names:
            return float(names[name])
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            return _ARITHMETIC[type(op)](_value(left, names), _value(right, names))
        case ast.Call(func=ast.Name(id="log2"), args=[arg], keywords=[]):
            return log2(max(_value(arg, names), 1.0))
        case _:
            known = f"the sizes {', '.join(names)}" if names else "no sizes, as no shape has a name"
            raise ValueError(f"`{ast.unparse(node)}` is no arithmetic over numbers, log2 and {known}")


def freedoms(func: PrimFunc) -> Floats:
    """The freedoms that the implementation takes with floats."""
    given = dict(func.attrs).get("floats", ())
    return floats_named(given) if isinstance(given, str | tuple | list) and given else Floats.STRICT


# Instances -----------------------------------------------------------------------------------------------------------


def instance(func: PrimFunc, body: Stmt, sizes: Mapping[Var, Expr], span: Span | None = None) -> Stmt:
    """A statement marked as an instance of an instruction; of another kernel, the statement.

    `sizes` are those in the instruction's shapes. Those that are numbers are noted for its price, and mean nothing.
    """
    if not is_instruction(func):
        return body
    known = tuple((v.name, int(e.value)) for v, e in sizes.items() if isinstance(e, Const))
    noted = ((_SIZES, known),) if known else ()
    return Block(func.name, body, annotations=((_MARK, func), *noted), span=span)


def instance_sizes(stmt: Stmt) -> Mapping[str, float]:
    """The sizes that are noted at an instance of an instruction."""
    found = dict(stmt.annotations).get(_SIZES, ()) if isinstance(stmt, Block) else ()
    return {str(name): float(n) for name, n in found} if isinstance(found, tuple) else {}


def instruction_of(stmt: Stmt) -> PrimFunc | None:
    """The instruction that a statement is marked as an instance of."""
    found = dict(stmt.annotations).get(_MARK) if isinstance(stmt, Block) else None
    return found if isinstance(found, PrimFunc) else None


def instructions_in(func: PrimFunc) -> tuple[PrimFunc, ...]:
    """The instructions that a program calls or has instances of."""
    found: dict[PrimFunc, None] = {}
    for stmt in walk(func.body):
        callee = stmt.callee if isinstance(stmt, CallStmt) else instruction_of(stmt)
        if callee is not None and is_instruction(callee):
            found[callee] = None
    return tuple(found)


# Definitions ---------------------------------------------------------------------------------------------------------


def check_instruction(func: PrimFunc, error: type[LoopsatError] = VerifyError) -> None:
    """Check that the options of a kernel make it an instruction; a kernel without them is none, and is accepted.

    Raises:
        LoopsatError: of the class `error`; the text, the price, the freedoms or a shape is wrong.
    """
    if not is_instruction(func):
        return
    options, name = dict(func.attrs), func.name

    def refuse(code: str, message: str, help: str) -> NoReturn:
        raise error(code, message, func.span, help=help)

    cost, floats = options.get("cost"), options.get("floats", ())
    hint = "it is the price of one call; an element moved through vector code costs 1.0"
    if isinstance(cost, str):
        try:
            call_price(func, {}, 256.0)
        except (ValueError, SyntaxError, ArithmeticError) as problem:
            refuse("cost", f"the cost of {name}, {cost!r}, is no price: {problem}", hint)
    elif cost is not None and (isinstance(cost, bool) or not isinstance(cost, (int, float)) or not 0 <= cost < 1e30):
        refuse("cost", f"the cost of {name} must be a finite number from 0 up, found {cost!r}", hint)
    named = (floats,) if isinstance(floats, str) else floats
    if not isinstance(named, tuple | list) or not all(f in FREEDOMS for f in named):
        hint = f'name those that the JAX text takes, as in floats="reassociate": {", ".join(FREEDOMS)}'
        refuse("unknown-freedom", f"floats= of {name} must name freedoms, found {floats!r}", hint)
    if not results_of(func):
        refuse("instruction", f"{name} writes no buffer", "let it store what the JAX text gives")
    problem = text_problem(func)
    if problem is not None:
        example = " + ".join(f"{{{b.name}}}" for b in func.buffers)
        refuse("jax-expression", f"jax= of {name}: {problem}", f'write a JAX expression, as in jax="{example}"')


def text_problem(func: PrimFunc) -> str | None:
    """What is wrong with the JAX text of an instruction, or None."""
    if not isinstance(dict(func.attrs)["jax"], str):
        return f"it must be a string, found {dict(func.attrs)['jax']!r}"
    try:
        tree = text_tree(func)
    except SyntaxError as problem:
        return f"{jax_text(func)!r} is no Python expression: {problem.msg}"
    except (ValueError, RecursionError, MemoryError) as problem:
        return str(problem)
    problem = impurity(tree, {placeholder(p.name) for p in func.params}, arrays=True)
    if problem is not None:
        for param in func.params:
            problem = problem.replace(placeholder(param.name), f"{{{param.name}}}")
        return problem
    results = results_of(func)
    if len(results) > 1 and not (isinstance(tree, ast.Tuple) and len(tree.elts) == len(results)):
        return f"{func.name} writes {', '.join(b.name for b in results)}: give a tuple with an array for each"
    return None


def text_tree(func: PrimFunc) -> ast.expr:
    """The syntax tree of the JAX text, with `placeholder`s for parameters.

    Raises:
        ValueError: it is no format string over the parameters.
        SyntaxError: it is no Python expression.
    """
    return parsed_template(jax_text(func), [p.name for p in func.params])


def text_names(func: PrimFunc) -> frozenset[str]:
    """The parameters that the JAX text of an instruction takes."""
    names = {placeholder(p.name): p.name for p in func.params}
    return frozenset(names[n.id] for n in ast.walk(text_tree(func)) if isinstance(n, ast.Name) and n.id in names)
