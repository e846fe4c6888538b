"""What is made when it is first used, so that programs start without waiting for it: modules, methods of dataclasses.

Python's own dataclasses compile six methods of each class, which takes a quarter of a millisecond, and there are
hundreds of them. Here a method is compiled when it is first asked for, and what need not be compiled is shared; all
else is left to `dataclasses`.
"""

from __future__ import annotations

import dataclasses
import gc
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from reprlib import recursive_repr
from types import MemberDescriptorType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        made: type | None = None,
        /,
        *,
        frozen: bool = False,
        slots: bool = False,
        eq: bool = True,
        repr: bool = True,
    ) -> Any:
        """As `dataclasses.dataclass`; such a class derives from others of this kind only."""

        def decorate(cls: type) -> type:
            return _finished(cls, frozen, slots, eq, repr)

        return decorate if made is None else decorate(made)


class Later(ModuleType):
    """Stands for a module of this name; the first name that is asked of it imports that."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what tools ask of any module: no use of this one
            raise AttributeError(name)
        with uncollected():
            module = _compiled(self.__name__) or import_module(self.__name__)
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


def later(name: str) -> Any:
    """The module of this name, once it is used. Where types are checked, import it instead:

    if TYPE_CHECKING:
        from lower.price import search
    else:
        search = later("lower.price.search")
    """
    return Later(name)


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


def _finished(cls: type, frozen: bool, slots: bool, eq: bool, shown: bool) -> type:
    own = {name for name, value in cls.__dict__.items() if value is not None or name != "__hash__"}
    if cls.__doc__ is None:
        cls.__doc__ = cls.__name__  # else the signature is printed for it
    cls = dataclasses.dataclass(cls, init=False, repr=False, eq=False, slots=slots)
    methods: dict[str, Any] = {"__init__": _Method(cls, _frozen_init if frozen else _init)}
    if shown:
        methods["__repr__"] = _repr
    if eq:
        methods |= {"__eq__": _Method(cls, _eq), "__hash__": _Method(cls, _hash) if frozen else None}
    if frozen:
        methods |= _FROZEN
        methods |= _PICKLED if slots else {}
    for name, method in methods.items():
        if name not in own:
            setattr(cls, name, method)
    return cls


class _Made:
    """Stands in signatures for a value that is made for each object."""

    def __repr__(self) -> str:
        return "<factory>"


_MADE = _Made()


class _Method:
    """A method of a class that takes its place there when it is first asked for."""

    __slots__ = ("_cls", "_make")

    def __init__(self, cls: type, make: Callable[[type], Callable[..., Any]]) -> None:
        self._cls, self._make = cls, make

    def __get__(self, instance: object, owner: type) -> Callable[..., Any]:
        made = self._make(self._cls)
        made.__module__ = self._cls.__module__
        made.__qualname__ = f"{self._cls.__qualname__}.{made.__name__}"
        setattr(self._cls, made.__name__, made)
        return made if instance is None else made.__get__(instance, owner)


def _function(cls: type, name: str, parameters: str, lines: list[str], **names: Any) -> Callable[..., Any]:
    """A function of the module of a class, which knows some more names."""
    text = f"def make({', '.join(names)}):\n def {name}({parameters}):\n  " + "\n  ".join(lines) + f"\n return {name}"
    made: dict[str, Any] = {}
    exec(text, vars(sys.modules[cls.__module__]), made)  # our own text, made below
    return made["make"](**names)


def _init(cls: type, frozen: bool = False) -> Callable[..., None]:
    names: dict[str, Any] = {"__made": _MADE, "__set": object.__setattr__}
    lines = [line for f in fields(cls) for line in _set(cls, f, names, frozen)]
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    taken = [f for f in fields(cls) if f.init]
    places = [_parameter(f, names) for f in taken if not f.kw_only]
    named = [_parameter(f, names) for f in taken if f.kw_only]
    parameters = ", ".join(["self", *places, *(["*", *named] if named else [])])
    made = _function(cls, "__init__", parameters, lines or ["pass"], **names)
    made.__annotations__ = {f.name: f.type for f in taken} | {"return": None}
    return made


def _frozen_init(cls: type) -> Callable[..., None]:
    return _init(cls, frozen=True)


def _parameter(f: Field[Any], names: dict[str, Any]) -> str:
    if f.default is not MISSING:
        names[f"__default_{f.name}"] = f.default
        return f"{f.name}=__default_{f.name}"
    return f.name if f.default_factory is MISSING else f"{f.name}=__made"


def _set(cls: type, f: Field[Any], names: dict[str, Any], frozen: bool) -> Iterator[str]:
    """Code that gives a new object the value of a field."""
    slot = getattr(cls, f.name, None)
    slotted = isinstance(slot, MemberDescriptorType)
    value = f.name
    if f.default_factory is not MISSING:
        names[f"__make_{f.name}"] = f.default_factory
        value = f"__make_{f.name}()" + (f" if {f.name} is __made else {f.name}" if f.init else "")
    elif not f.init:
        if f.default is MISSING or not slotted:
            return
        names[f"__default_{f.name}"] = f.default
        value = f"__default_{f.name}"
    if not frozen:
        yield f"self.{f.name} = {value}"
    elif slotted:
        names[f"__set_{f.name}"] = slot.__set__
        yield f"__set_{f.name}(self, {value})"
    else:
        yield f"__set(self, {f.name!r}, {value})"


def _values(cls: type, of: str) -> str:
    """Code of a tuple of what objects are compared by."""
    return "(" + "".join(f"{of}.{f.name}, " for f in fields(cls) if f.compare) + ")"


def _eq(cls: type) -> Callable[..., bool]:
    lines = [
        "if other.__class__ is self.__class__:",
        f" return {_values(cls, 'self')} == {_values(cls, 'other')}",
        "return NotImplemented",
    ]
    return _function(cls, "__eq__", "self, other", lines)


def _hash(cls: type) -> Callable[..., int]:
    return _function(cls, "__hash__", "self", [f"return hash({_values(cls, 'self')})"])


@recursive_repr()
def _repr(self: Any) -> str:
    shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{type(self).__qualname__}({shown})"


def _fixed(self: Any, name: str) -> bool:
    """Whether an attribute is none of a class of its own that derives from a frozen one."""
    return "__dataclass_fields__" in type(self).__dict__ or name in {f.name for f in fields(self)}


def _setattr(self: Any, name: str, value: object) -> None:
    if _fixed(self, name):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _delattr(self: Any, name: str) -> None:
    if _fixed(self, name):
        raise FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _getstate(self: Any) -> list[object]:
    return [getattr(self, f.name) for f in fields(self)]


def _setstate(self: Any, state: list[object]) -> None:
    for f, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, f.name, value)


_FROZEN = {"__setattr__": _setattr, "__delattr__": _delattr}
_PICKLED = {"__getstate__": _getstate, "__setstate__": _setstate}
