"""Modules that are imported when they are first used, and how seldom garbage is looked for while much is made, so that
programs start without waiting for it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

_RARELY = 500  # collections of the middle generation for one of all objects: some 20 programs


class Later(ModuleType):
    """Stands for a module of this name; the first name that is asked of it imports that."""

    def __init__(self, name: str, alone: bool) -> None:
        super().__init__(name)
        self._alone = alone

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what tools ask of any module: no use of this one
            raise AttributeError(name)
        with uncollected():
            module = (_compiled(self.__name__) if self._alone else None) or import_module(self.__name__)
        found = getattr(module, name)
        setattr(self, name, found)
        return found


@contextmanager
def uncollected() -> Generator[None]:
    """No garbage is looked for, as while modules are imported, of which all stays: that takes a third of their time.

    What was made meanwhile is counted as old, or the next look for garbage among what is new would go through it all.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if not gc.get_freeze_count():  # else it would thaw what others froze
                gc.freeze()
                gc.unfreeze()
            gc.enable()


@contextmanager
def keeping() -> Generator[None]:
    """Let the garbage collector look at young objects mostly, as while programs are searched, planned and compiled.

    What is kept meanwhile is kept to the end; to look through all of a large process takes a tenth of the time.
    """
    young, middle, old = gc.get_threshold()
    gc.set_threshold(young, middle, max(old, _RARELY))
    try:
        yield
    finally:
        gc.set_threshold(young, middle, old)


def later(name: str, alone: bool = False) -> Any:
    """The module of this name, once it is used; `alone`, without the package it is in, if it is compiled.

    Where types are checked, import it instead:

    if TYPE_CHECKING:
        from lower.price import search
    else:
        search = later("lower.price.search")
    """
    return Later(name, alone)


def _compiled(name: str) -> ModuleType | None:
    """A compiled module of a package without the package itself, which may import what the module has no need of.

    None where the module is not compiled: then Python imports it in its own way.
    """
    package, _, short = name.rpartition(".")
    if name in sys.modules or not package:
        return sys.modules.get(name)
    found = find_spec(package)
    folders = (found.submodule_search_locations if found is not None else None) or ()
    for path in (Path(folder, short + suffix) for folder in folders for suffix in EXTENSION_SUFFIXES):
        spec = spec_from_file_location(name, path) if path.is_file() else None
        if spec is not None and spec.loader is not None:
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            sys.modules.pop(name, None)  # whoever imports the package finds the same there, as a part of it
            return module
    return None
