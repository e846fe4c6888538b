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
from typing import NoReturn

from ir.errors import LoopsatError, Span, VerifyError
from ir.floats import FREEDOMS, Floats, floats_named
from ir.functions import parsed_template, placeholder
from ir.nodes import Block, Buffer, CallStmt, Const, Expr, PrimFunc, Stmt
from ir.pure import impurity
from ir.traverse import results_of, shape_vars, walk

OPTIONS = ("jax", "cost", "floats")
_MARK = "instruction"


def is_instruction(func: PrimFunc) -> bool:
    """Whether a kernel has an implementation in JAX."""
    return any(name == "jax" for name, _ in func.attrs)


def jax_text(func: PrimFunc) -> str:
    """The JAX expression of an instruction, with the names of parameters in braces.

    It gives what the written buffers hold afterwards, in parameter order: one array, or a tuple of several.
    """
    return str(dict(func.attrs)["jax"])


def call_price(func: PrimFunc) -> float | None:
    """The price of one call in the units of the cost tables; None where none is stated."""
    cost = dict(func.attrs).get("cost")
    return float(cost) if isinstance(cost, (int, float)) else None


def freedoms(func: PrimFunc) -> Floats:
    """The freedoms that the implementation takes with floats."""
    given = dict(func.attrs).get("floats", ())
    return floats_named(given) if isinstance(given, str | tuple | list) and given else Floats.STRICT


# Instances -----------------------------------------------------------------------------------------------------------


def instance(func: PrimFunc, body: Stmt, span: Span | None = None) -> Stmt:
    """A statement marked as an instance of an instruction; of another kernel, the statement."""
    return Block(func.name, body, annotations=((_MARK, func),), span=span) if is_instruction(func) else body


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
    if cost is not None and (isinstance(cost, bool) or not isinstance(cost, (int, float)) or not 0 <= cost < 1e30):
        hint = "it is the price of one call; an element moved through vector code costs 1.0"
        refuse("cost", f"the cost of {name} must be a finite number from 0 up, found {cost!r}", hint)
    named = (floats,) if isinstance(floats, str) else floats
    if not isinstance(named, tuple | list) or not all(f in FREEDOMS for f in named):
        hint = f'name those that the JAX text takes, as in floats="reassociate": {", ".join(FREEDOMS)}'
        refuse("unknown-freedom", f"floats= of {name} must name freedoms, found {floats!r}", hint)
    if not results_of(func):
        refuse("instruction", f"{name} writes no buffer", "let it store what the JAX text gives")
    if shape_vars(func) or not all(isinstance(d, Const) for b in func.buffers for d in b.shape):
        refuse("instruction", f"{name} has buffers of no fixed shape", "write numbers for their extents")
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


def extents(buffer: Buffer) -> tuple[int, ...]:
    """The shape of a buffer of an instruction."""
    return tuple(_number(d) for d in buffer.shape)


def _number(extent: Expr) -> int:
    assert isinstance(extent, Const), "check_instruction refuses others"
    return int(extent.value)
