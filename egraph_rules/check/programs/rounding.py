"""Random programs that work in a wider float type than they keep."""

from __future__ import annotations

from egraph_rules.check.programs.writer import Scope, Writer, number
from ir.dtypes import DType
from ir.nodes import Alloc, Binary, Buffer, Cast, Expr, Let, Load, Select, Stmt, Store, Unary, const, seq


def rounded(w: Writer) -> Stmt:
    """What is worked out in a wider type, or nearly one, and rounded: at once, under a name, or in a local buffer."""
    w.dtype = w.source.pick(DType.FLOAT32, DType.FLOAT32, DType.FLOAT16)
    others = DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16
    wide = w.source.pick(DType.FLOAT64, DType.FLOAT64, DType.FLOAT64, DType.FLOAT64, *others)
    return w.loop(Scope(), lambda scope: _stores(w, scope, wide))


def _stores(w: Writer, scope: Scope, wide: DType) -> Stmt:
    """Stores of what one wide value is rounded to, and sometimes of what is made of it."""
    target, value = w.written(), _value(w, scope, wide)

    def store(e: Expr) -> Stmt:
        return Store(target, w.place(target, scope).indices, e)

    def uses(e: Expr) -> Stmt:
        plain = store(Cast(w.dtype, e))
        other = w.source.pick(Cast(w.dtype, e) + w.constant(), -Cast(w.dtype, e), Cast(w.dtype, e + const(0.5, wide)))
        return seq(plain, store(other)) if w.source.flag() else plain

    match w.source.pick("at once", "at once", "named", "kept"):
        case "named":
            name = w.var("x", wide)
            return Let(name, value, uses(name))
        case "kept":
            local = Buffer("W", (number(2),), wide)
            place = w.source.pick(number(0), number(1))
            return Alloc(local, seq(Store(local, (place,), value), uses(Load(local, (place,)))))
        case _:
            return store(Cast(w.dtype, value))


def _value(w: Writer, scope: Scope, wide: DType) -> Expr:
    """One operation on numbers of the narrow type, or of nearly all of them."""
    a, b = _operand(w, scope, wide), _operand(w, scope, wide)
    positive = Unary("abs", b) + w.source.pick(const(1.0, wide), const(0.1, wide))
    found = w.source.pick(
        a + b, a - b, a * b, a * b, Binary("div", a, b), Binary("div", a, Unary("abs", b)), Binary("div", a, positive),
        Unary("sqrt", Unary("abs", a)), Unary("sqrt", positive), Binary("max", a, b), a * b + a,
    )  # fmt: skip
    match w.source.pick("plain", "plain", "negative", "chosen"):
        case "negative":
            return Unary("neg", found)
        case "chosen":
            return Select(w.condition(scope), found, w.source.pick(a, b, found + a))
        case _:
            return found


def _operand(w: Writer, scope: Scope, wide: DType) -> Expr:
    """A number of a wider type that a narrower one may hold."""
    element = Cast(wide, w.place(w.read(), scope))
    constant = const(w.source.pick(0.5, 3.0, -1.5, 0.1), wide)
    place = w.index(4, scope)
    whole = Cast(wide, w.source.pick(place, Cast(DType.INT8, place), place * 1048577 + 33554431))
    return w.source.pick(
        element, element, element, constant, whole, Unary("neg", element), Unary("abs", element),
        Binary("min", element, constant), Unary("floor", element), Select(w.condition(scope), element, constant),
    )  # fmt: skip
