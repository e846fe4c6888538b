"""Functions under names that say nothing, so that equal structure is an equal function; and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count, takewhile

from msgspec import Struct
from msgspec.structs import replace

from ir.naming import fresh
from ir.nodes import Buffer, Const, Expr, PrimFunc, Var, const
from ir.program.calls import Copy, calls_in
from ir.sections import Section
from ir.traverse import accessed, shape_vars


class Canonical(Struct, frozen=True):
    """A function under canonical names; `names` are those that it had, `sliced` the parameters of which it has a slice
    alone, each with the indices of all axes that are left out."""

    func: PrimFunc
    names: Mapping[str, str]
    sliced: Mapping[str, Sliced]

    def back(self, func: PrimFunc, name: str) -> PrimFunc:
        """A function that was made of the canonical one, under the names of the one that it stands for."""
        taken: set[str] = set()
        return _renamed(func, name, lambda old: fresh(self._named(old), taken), whole=self.sliced)

    def _named(self, name: str) -> str:
        """What a canonical name stood for; one that was made since, as `v0_tiles`, keeps what it says."""
        word, *rest = name.split("_")
        return "_".join([self.names.get(word, word), *rest])


def canonical(func: PrimFunc) -> Canonical:
    """`func`, which has no calls, with parameters, sizes and bound names numbered; its attributes are left out.

    Of a parameter that is accessed at the same numbers along its first axes wherever it is, the slice is left that lies
    there: layers that take their own weights of all (`W[0, i]`, `W[1, i]`) are equal.
    """
    numbers, names = count(), dict[str, str]()

    def name(old: str) -> str:
        new = f"v{next(numbers)}"
        names[new] = old
        return new

    fixed = _first_axes(func)
    new = _renamed(func, "f", name, fixed)
    sliced = {
        after.name: Sliced(before.shape, fixed[before.name])
        for before, after in zip(func.buffers, new.buffers, strict=True)
        if before.name in fixed
    }
    return Canonical(new, names, sliced)


class Sliced(Struct, frozen=True):
    """The shape of a buffer, and where along its first axes a slice of it lies."""

    shape: tuple[Expr, ...]
    at: tuple[Expr, ...]

    def section(self, buffer: Buffer) -> Section:
        """The slice in the buffer."""
        full = [(const(0, extent.dtype), extent) for extent in self.shape[len(self.at) :]]
        return Section(buffer, (*((index, None) for index in self.at), *full))


def _first_axes(func: PrimFunc) -> dict[str, tuple[Expr, ...]]:
    """The numbers along the first axes of parameters that are the same wherever these are accessed; one axis stays."""
    if next(calls_in(func.body), None) is not None:
        return {}
    found: dict[str, tuple[Expr, ...]] = {}
    for buffer, indices in accessed(func.body):
        numbers = takewhile(_is_inside, zip(buffer.shape[:-1], indices, strict=False))
        first = tuple(index for _, index in numbers)
        common = takewhile(lambda pair: pair[0].same(pair[1]), zip(found.get(buffer.name, first), first, strict=False))
        found[buffer.name] = tuple(index for index, _ in common)
    params = {b.name for b in func.buffers}
    return {name: first for name, first in found.items() if first and name in params}


def _is_inside(axis: tuple[Expr, Expr]) -> bool:
    extent, index = axis
    return isinstance(extent, Const) and isinstance(index, Const) and 0 <= index.value < extent.value


def _renamed(
    func: PrimFunc,
    name: str,
    rename: Callable[[str], str],
    fixed: Mapping[str, tuple[Expr, ...]] | None = None,
    whole: Mapping[str, Sliced] | None = None,
) -> PrimFunc:
    """A function under other names: of buffers that are `fixed` along their first axes slices, and `whole` ones in the
    places of slices."""
    values: dict[Var, Expr] = {v: replace(v, name=rename(v.name)) for v in (*func.scalars, *shape_vars(func))}
    copy = _Slicing(rename, values, {}, fixed={} if fixed is None else fixed)
    params: list[Var | Buffer] = []
    for param in func.params:
        if isinstance(param, Var):
            new = values[param]
            assert isinstance(new, Var)
            params.append(new)
        elif whole is not None and param.name in whole:
            buffer = replace(param, name=rename(param.name), shape=whole[param.name].shape)
            copy.sections[param.name] = whole[param.name].section(buffer)
            params.append(buffer)
        else:
            shape = param.shape[len(copy.fixed.get(param.name, ())) :]
            buffer = replace(param, name=rename(param.name), shape=tuple(map(copy.expr, shape)))
            copy.sections[param.name] = Section.whole(buffer)
            params.append(buffer)
    return PrimFunc(name, tuple(params), copy.stmt(func.body), (), func.span)


class _Slicing(Copy):
    """A copy that leaves out indices along the first axes of buffers that are `fixed` there."""

    fixed: Mapping[str, tuple[Expr, ...]] = {}

    def _place(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
        left_out = len(self.fixed.get(buffer.name, ())) if buffer.name in self.sections else 0
        return super()._place(buffer, indices[left_out:])
