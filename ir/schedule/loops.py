"""Loops taken by themselves: split, fuse, reorder, rebase, and marks."""

from __future__ import annotations

from collections.abc import Sequence

from ir.nodes import Expr, PrimFunc
from ir.schedule.edit import Changed


def split(func: PrimFunc, loop: str, factors: Sequence[int | Expr | None]) -> Changed:
    raise NotImplementedError


def fuse(func: PrimFunc, loops: Sequence[str]) -> Changed:
    raise NotImplementedError


def reorder(func: PrimFunc, loops: Sequence[str], *, reassociate: bool) -> Changed:
    raise NotImplementedError


def rebase(func: PrimFunc, loop: str, start: int | Expr) -> Changed:
    raise NotImplementedError


def parallel(func: PrimFunc, loop: str) -> Changed:
    raise NotImplementedError


def vectorize(func: PrimFunc, loop: str) -> Changed:
    raise NotImplementedError


def unroll(func: PrimFunc, loop: str) -> Changed:
    raise NotImplementedError
