"""Interval arithmetic (Moore, "Interval Analysis", 1966): between which numbers results lie, how they compare."""

from __future__ import annotations

Range = tuple[int, int]  # the least and the greatest number


def combined(op: str, a: Range, b: Range) -> Range | None:
    """Bounds on the mathematical result of an operator, for operands within bounds; None if it has none here."""
    (al, ah), (bl, bh) = a, b
    match op:
        case "add":
            return al + bl, ah + bh
        case "sub":
            return al - bh, ah - bl
        case "mul":
            corners = (al * bl, al * bh, ah * bl, ah * bh)
            return min(corners), max(corners)
        case "floordiv" if bl > 0:
            corners = (al // bl, al // bh, ah // bl, ah // bh)
            return min(corners), max(corners)
        case "floormod" if bl > 0:
            return 0, bh - 1
        case "min":
            return min(al, bl), min(ah, bh)
        case "max":
            return max(al, bl), max(ah, bh)
        case "bitand" if al >= 0 or bl >= 0:
            return 0, min(high for low, high in (a, b) if low >= 0)
        case "bitor" | "bitxor" if al >= 0 and bl >= 0:
            ones = (1 << max(ah.bit_length(), bh.bit_length())) - 1
            return (max(al, bl) if op == "bitor" else 0), ones
        case "shl" | "shr" if 0 <= bl <= bh < 64:
            shifted = [x << y if op == "shl" else x >> y for x in a for y in b]
            return min(shifted), max(shifted)
        case _:
            return None


def compared(op: str, a: tuple[float, float], b: tuple[float, float]) -> bool | None:
    """Whether a comparison holds for all operands within bounds, or for none; None where they do not tell."""
    (al, ah), (bl, bh) = a, b
    match op:
        case "gt" | "ge":
            return compared("lt" if op == "gt" else "le", b, a)
        case "lt":
            return True if ah < bl else False if al >= bh else None
        case "le":
            return True if ah <= bl else False if al > bh else None
        case "eq" | "ne":
            equal = True if al == ah == bl == bh else False if ah < bl or bh < al else None
            return None if equal is None else equal == (op == "eq")
        case _:
            return None
