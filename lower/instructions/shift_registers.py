"""States that forget: `s = (4 * s + x) % 1024` holds the last five x, as a register does into which digits are shifted.

Where a power of the factor is a multiple of the modulus, what came before as many steps is gone. Then each state is a
sum over a window of terms, and waits for no other state.
"""

from __future__ import annotations

from functools import partial, reduce

from msgspec import Struct
from msgspec.structs import replace

from ir.analysis.dependence import Loop, Statement
from ir.nodes import Binary, Buffer, Const, Expr, Load, Store, const
from ir.traverse import free_vars, has_load
from lower.analysis.freedoms import Form
from lower.analysis.linear_forms import Linear, atom, linear, number, to_expr
from lower.analysis.value_ranges import AnyNumbers, bounds
from lower.instructions.recurrence import line
from lower.nest.nodes import Box, Fresh

SHIFT_REGISTERS = Form(
    "instructions.shift_register",
    "s[t + 1] = (a * s[t] + x(t)) % m  =  (x(t) + a * x(t - 1) + ... + a**(k - 1) * x(t - k + 1)) % m",
    "a**k is a multiple of m",
)
_LONGEST = 32  # digits


class Register(Struct, frozen=True):
    """Statements in place of one that shifts, and those before the loop."""

    first: list[Statement]
    statements: list[Statement]
    digits: Buffer


def shift_register(s: Statement, loop: Loop, box: Box, new: Fresh) -> Register | None:
    """What a statement that stores states along a loop is by the digits in them; None if it is no such."""
    state, step = s.store, atom(loop.var) - box.low
    rest = state.indices[1:]
    if s.guards or not state.indices or not state.value.dtype.is_signed or loop.var in free_vars(*rest):
        return None
    last = Load(state.buffer, (to_expr(step, loop.var), *rest))
    if not linear(state.indices[0]).equals(step + 1):
        return None
    shift = _shift(state.value, last)
    if shift is None:
        return None
    factor, term, modulus = shift
    length = next((k for k in range(1, _LONGEST + 1) if factor**k % modulus == 0), None)
    if length is None or factor ** (length - 1) >= modulus or length * modulus > state.value.dtype.max:
        return None
    size, dtype = to_expr(box.extent + length, loop.var), state.value.dtype
    digits = Buffer(new.name(f"{state.buffer.name}_digits"), (size, *state.buffer.shape[1:]), dtype, "local")

    def at(place: Linear) -> tuple[Expr, ...]:
        return (to_expr(place, loop.var), *rest)

    level = s.loops.index(loop)
    around = tuple(o for k, o in enumerate(s.loops) if k < level or (o is not loop and o.var in free_vars(*rest)))
    before = Store(digits, at(number(length - 1)), Load(state.buffer, at(number(0))))
    first = [Statement(new.position(), around, (), before)]
    first += [
        Statement(new.position(), around, (), Store(digits, at(number(k)), const(0, dtype))) for k in range(length - 1)
    ]
    kept = Statement(new.position(), s.loops, (), Store(digits, at(step + length), term))
    parts = [_part(Load(digits, at(step + (length - d))), factor**d, modulus) for d in range(length)]
    window = Binary("floormod", reduce(partial(Binary, "add"), parts), const(modulus, dtype))
    return Register(first, [kept, replace(s, store=replace(state, value=window), update=None)], digits)


def _part(digit: Load, power: int, modulus: int) -> Expr:
    """What a digit is worth, so small that no sum of parts leaves its type."""
    most = modulus // power
    rest = Binary("floormod", digit, const(most, digit.dtype))
    return rest if power == 1 else Binary("mul", rest, const(power, digit.dtype))


def _is_below(e: Expr, stop: int) -> bool:
    """Whether an integer is known to lie from 0 to below a number."""
    found = bounds(e, AnyNumbers({}))
    return found is not None and found[0] >= 0 and found[1] < stop


def _shift(value: Expr, last: Load) -> tuple[int, Expr, int] | None:
    """The factor, the term and the modulus of `(factor * last + term) % modulus`, both numbers powers of two."""
    match value:
        case Binary(op="floormod", lhs=inner, rhs=Const(value=int() as modulus)):
            pass
        case Binary(op="bitand", lhs=inner, rhs=Const(value=int() as mask)):
            modulus = mask + 1
        case _:
            return None
    form = line(_as_sum(inner, last), last)
    if form is None or form[1] is None or not isinstance(form[0], Const):
        return None
    factor = int(form[0].value)
    powers = all(n > 1 and n & (n - 1) == 0 for n in (factor, modulus))
    return (factor, form[1], int(modulus)) if powers and not has_load(form[1], last) else None


def _as_sum(e: Expr, last: Load) -> Expr:
    """Shifted bits, and others in their place, as a multiple and a sum."""
    match e:
        case Binary(op="shl", lhs=a, rhs=Const(value=int() as by)) if has_load(a, last) and 0 <= by < a.dtype.bits - 1:
            return Binary("mul", a, const(1 << by, a.dtype))
        case (
            Binary(op="bitor" | "bitxor", lhs=Binary(op="shl", rhs=Const(value=int() as by)) as a, rhs=b)
            | Binary(op="bitor" | "bitxor", lhs=b, rhs=Binary(op="shl", rhs=Const(value=int() as by)) as a)
        ):
            return Binary("add", _as_sum(a, last), b) if _is_below(b, 1 << by) else e
        case Binary(op="add", lhs=a, rhs=b):
            return Binary("add", _as_sum(a, last), _as_sum(b, last))
        case _:
            return e
