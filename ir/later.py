"""Modules that are imported when something of them is first used, so that programs start without waiting for them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any


class Later(ModuleType):
    """Stands for a module of this name; the first name that is asked of it imports that."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what tools ask of any module: no use of this one
            raise AttributeError(name)
        found = getattr(import_module(self.__name__), name)
        setattr(self, name, found)
        return found


def later(name: str) -> Any:
    """The module of this name, once it is used. Where types are checked, import it instead:

    if TYPE_CHECKING:
        from lower.price import search
    else:
        search = later("lower.price.search")
    """
    return Later(name)
