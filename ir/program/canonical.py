"""Functions under names that say nothing, so that equal structure is an equal function; and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count

from msgspec import Struct
from msgspec.structs import replace

from ir.naming import fresh
from ir.nodes import Buffer, Expr, PrimFunc, Var
from ir.program.calls import Copy
from ir.sections import Section
from ir.traverse import shape_vars


class Canonical(Struct, frozen=True):
    """A function under canonical names; `names` are those that it had."""

    func: PrimFunc
    names: Mapping[str, str]

    def back(self, func: PrimFunc, name: str) -> PrimFunc:
        """A function that was made of the canonical one, under the names of the one that it stands for."""
        taken: set[str] = set()
        return _renamed(func, name, lambda old: fresh(self._named(old), taken))

    def _named(self, name: str) -> str:
        """What a canonical name stood for; one that was made since, as `v0_tiles`, keeps what it says."""
        word, *rest = name.split("_")
        return "_".join([self.names.get(word, word), *rest])


def canonical(func: PrimFunc) -> Canonical:
    """`func`, which has no calls, with parameters, sizes and bound names numbered; its attributes are left out."""
    numbers, names = count(), dict[str, str]()

    def name(old: str) -> str:
        new = f"v{next(numbers)}"
        names[new] = old
        return new

    return Canonical(_renamed(func, "f", name), names)


def _renamed(func: PrimFunc, name: str, rename: Callable[[str], str]) -> PrimFunc:
    values: dict[Var, Expr] = {v: replace(v, name=rename(v.name)) for v in (*func.scalars, *shape_vars(func))}
    copy = Copy(rename, values, {})
    params: list[Var | Buffer] = []
    for param in func.params:
        if isinstance(param, Var):
            new = values[param]
            assert isinstance(new, Var)
            params.append(new)
        else:
            buffer = replace(param, name=rename(param.name), shape=tuple(map(copy.expr, param.shape)))
            copy.sections[param.name] = Section.whole(buffer)
            params.append(buffer)
    return PrimFunc(name, tuple(params), copy.stmt(func.body), (), func.span)
