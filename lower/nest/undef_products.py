"""Zero annihilates undef: `x * 0` is 0 whatever undef has made of x.

A kernel has zeros where nobody has written, and from them quotients and some functions make what zero does not absorb:
infinities and NaN. Products with such a factor look at the other one first, and the zeros are stored. Where a caller
may leave anything in a parameter, products read zeros instead, and what is read there is not taken to be a number.
Where undef is finite too, or the program has no such factor, nothing changes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec.structs import replace

from ir.analysis.coverage import reads_before_writing
from ir.analysis.dependence import Loop, Statement
from ir.dtypes import DType, float_max
from ir.floats import Floats
from ir.nodes import Binary, Buffer, Call, Const, Expr, Load, Select, Store, Unary, Undef, Var, const
from ir.traverse import buffers_read, children, loads, map_expr, shape_vars, walk_expr
from lower.analysis.freedoms import Form
from lower.analysis.updates import as_update
from lower.nest.arbitrary_elements import Reads, arbitrary_parameters, arbitrary_reads
from lower.nest.normalize import Program

UNDEF_PRODUCTS = Form(
    "meaning.undef_products",
    "x * y  =  y if y == 0 else x * y   where undef may have made x infinite or no number",
    "zero annihilates undef, which an infinity in its place would not let it do",
)
# Finite wherever their arguments are.
_TAME = ("neg", "abs", "floor", "ceil", "round", "trunc", "tanh", "sigmoid", "sin", "cos", "erf", "atan")


def absorb_undef(program: Program) -> None:
    """Let products with what undef may have made infinite be zero where the other factor is; notes who holds such."""
    floats, statements = program.floats, program.statements
    given = {} if Floats.FINITE_UNDEF in floats else arbitrary_parameters(program.func)
    scope = {v.name: v for v in (*program.func.scalars, *shape_vars(program.func))}
    reads = [arbitrary_reads(s, given, scope) for s in statements]
    holds = any(r.any for r in reads)
    if Floats.FINITE_UNDEF in floats or not (
        holds or any(_spoils(e, None, floats) for s in statements for e in _parts(s))
    ):
        return
    old = [s.store.value for s in statements]
    if holds:
        _note_spoiled(program, reads)
        _read_as_zero(program, reads)
    vague = {load.buffer for r in reads for load in r.vague}
    unset, undefined, spoiled = _made_of_undef(program, statements, vague)
    program.spoiled |= {b.name for b in spoiled}
    asked = _as_asked(program)
    if any(a is not b for a, b in zip(asked, statements, strict=True)):
        _, undefined, spoiled = _made_of_undef(program, asked, vague)

    def may_be_no_number(e: Expr) -> bool:
        return any(
            _spoils(part, undefined, floats) or (isinstance(part, Load) and part.buffer in spoiled)
            for part in _decisive(e)
        )

    def guarded(e: Expr) -> Expr:
        if not (isinstance(e, Binary) and e.op == "mul" and e.dtype.is_float):
            return e
        found: Expr = e
        for factor, other in ((e.lhs, e.rhs), (e.rhs, e.lhs)):
            if may_be_no_number(factor):
                found = _product(factor, other, found)
        return found

    values = [map_expr(s.store.value, guarded) for s in statements]
    if all(new is value for new, value in zip(values, old, strict=True)):
        return
    changed = [_with_value(program, s, map_expr(new, _defined)) for new, s in zip(values, statements, strict=True)]
    used = frozenset[Buffer]().union(*(s.buffers() for s in changed))
    for local in [b for b in program.depth if b not in used]:
        del program.depth[local]
    for local in unset:
        if local in used:
            _fill(program, changed, local)
    program.renumber(changed)


def _made_of_undef(
    program: Program, statements: Sequence[Statement], vague: Collection[Buffer]
) -> tuple[list[Buffer], set[Buffer], set[Buffer]]:
    """Locals that are read before they are written, and all buffers that may hold undef, or no number for it."""
    floats, steady = program.floats, program.unwritten
    unset = [b for b, depth in program.depth.items() if reads_before_writing(statements, b, depth, steady)]
    undefined = {*unset, *vague, *(s.buffer for s in statements if any(isinstance(e, Undef) for e in _parts(s)))}
    close_over(undefined, statements)
    spoiled = {*vague, *(s.buffer for s in statements if any(_spoils(e, undefined, floats) for e in _parts(s)))}
    close_over(spoiled, statements)
    return unset, undefined, spoiled


def _as_asked(program: Program) -> list[Statement]:
    """The statements, with those of a local under conditions of all who read it: where these fail, nobody sees it.

    A name that a branch gives to a value is calculated everywhere, and read in the branch.
    """
    statements, steady = [*program.statements], program.unwritten
    for k, s in reversed([*enumerate(statements)]):
        users = [r for r in statements if s.buffer in r.buffers() and r.position != s.position]
        readers = [r for r in users if any(o.buffer == s.buffer for o in r.reads())]
        if s.buffer not in program.depth or not readers:
            continue
        inner = {loop.var for r in readers for loop in r.loops[program.depth[s.buffer] :]}
        common = [g for g in readers[0].guards if g not in s.guards and all(g in r.guards for r in readers)]
        asked = [
            g
            for g in common
            if all(o.buffer in steady for o in loads(g))
            and inner.isdisjoint(e for e in walk_expr(g) if isinstance(e, Var))
        ]
        if asked:
            statements[k] = replace(s, guards=(*s.guards, *asked))
    return statements


def _note_spoiled(program: Program, reads: Sequence[Reads]) -> None:
    """Note the buffers that may hold what is no number because a caller left it where anything may stand."""
    held = {load.buffer for r in reads for load in (*r.unless, *r.vague)}
    taken = {s.buffer for s, r in zip(program.statements, reads, strict=True) if r.any}
    close_over(taken, program.statements)
    program.spoiled |= {b.name for b in held | taken}


def _read_as_zero(program: Program, reads: Sequence[Reads]) -> None:
    """Read zeros for arbitrary elements wherever values go into products, which zero would annihilate."""
    multiplied = {load.buffer for s in program.statements for e in _parts(s) for load in _multiplied(e)}
    _close_backward(multiplied, program.statements)
    for k, (s, r) in enumerate(zip(program.statements, reads, strict=True)):
        if s.buffer in multiplied or any(load in r.unless for e in _parts(s) for load in _multiplied(e)):

            def read(e: Expr, unless: Mapping[Load, Expr] = r.unless) -> Expr:
                return Select(unless[e], e, Undef(e.dtype)) if isinstance(e, Load) and e in unless else e

            program.statements[k] = _with_value(program, s, map_expr(s.store.value, read))


def _multiplied(e: Expr) -> Iterator[Load]:
    """What is loaded for a product whose other factor may be zero."""
    if isinstance(e, Binary) and e.op == "mul" and e.dtype.is_float:
        for factor, other in ((e.lhs, e.rhs), (e.rhs, e.lhs)):
            if not (isinstance(other, Const) and other.value):
                yield from loads(factor)


def _defined(e: Expr) -> Expr:
    return const(e.dtype.numpy.type(0).item(), e.dtype) if isinstance(e, Undef) else e


def _fill(program: Program, statements: list[Statement], local: Buffer) -> None:
    """Store the zeros of a kernel before a local is used: conditions may then ask what undef has made."""
    first = next(k for k, s in enumerate(statements) if local in s.buffers())
    around = statements[first].loops[: program.depth[local]]
    places = [Var(program.fresh("i"), DType.INT32) for _ in local.shape]
    loops = [Loop(v, const(0, v.dtype), extent) for v, extent in zip(places, local.shape, strict=True)]
    zero = _defined(Undef(local.dtype))
    statements.insert(first, Statement(0, (*around, *loops), (), Store(local, tuple(places), zero)))


def _product(factor: Expr, other: Expr, product: Expr) -> Expr:
    """A product that is zero where one factor is and the other is no number.

    Where both are numbers it stays one, so that its derivatives do.
    """
    if isinstance(other, Const) and not other.value:
        return other
    if not _may_be_zero(other):
        return product
    number = Binary("le", Unary("abs", factor), const(float_max(factor.dtype), factor.dtype))
    absorbed = Binary("and", Binary("eq", other, const(0.0, other.dtype)), Unary("not", number))
    return Select(absorbed, other, product, product.span)


def _may_be_zero(e: Expr) -> bool:
    match e:
        case Const(value=value):
            return not value
        case Select(then=then, other=other):
            return _may_be_zero(then) or _may_be_zero(other)
        case Unary(op="neg" | "abs", operand=operand):
            return _may_be_zero(operand)
        case _:
            return True


def _decisive(e: Expr) -> Iterator[Expr]:
    """An expression and its parts, but for conditions: what they compare is not what the expression is."""
    yield e
    for part in children(e):
        if part.dtype is not DType.BOOL:
            yield from _decisive(part)


def _parts(s: Statement) -> Iterator[Expr]:
    return walk_expr(s.store.value)


def close_over(buffers: set[Buffer], statements: Collection[Statement]) -> None:
    """Add the buffers that take values from these, until there are no more."""
    before = -1
    while len(buffers) != before:
        before = len(buffers)
        buffers |= {s.buffer for s in statements if buffers & buffers_read(s.store.value)}


def _close_backward(buffers: set[Buffer], statements: Collection[Statement]) -> None:
    """Add the buffers that these take values from, until there are no more."""
    before = -1
    while len(buffers) != before:
        before = len(buffers)
        buffers |= buffers_read(*(s.store.value for s in statements if s.buffer in buffers))


def _spoils(e: Expr, undefined: Collection[Buffer] | None, floats: Floats) -> bool:
    """Whether an operation may make no number of undef, which `undefined` buffers hold; with None, of all loads."""
    match e:
        case Binary(op="div", rhs=divisor):
            decide: tuple[Expr, ...] = (divisor,)
        case Binary(op="pow" | "atan2" | "hypot") | Call() if e.dtype.is_float:
            decide = children(e)
        case Unary(op=op) if e.dtype.is_float and op not in _TAME:
            decide = children(e)
        case Binary() | Unary() if e.dtype.is_float and Floats.FINITE not in floats:
            decide = children(e)  # with what is no number to begin with
        case _:
            return False
    return any(_is_undef(leaf, undefined) for part in decide for leaf in walk_expr(part))


def _is_undef(e: Expr, undefined: Collection[Buffer] | None) -> bool:
    return isinstance(e, Undef) or (isinstance(e, Load) and (undefined is None or e.buffer in undefined))


def _with_value(program: Program, s: Statement, value: Expr) -> Statement:
    if value is s.store.value:
        return s
    return as_update(replace(s, store=replace(s.store, value=value)), program.policy)
