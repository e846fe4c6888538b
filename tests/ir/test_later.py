"""Dataclasses that are made fast are those of Python."""

from __future__ import annotations

import copy
import dataclasses
import gc
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, fields
from typing import Any, get_type_hints

import pytest
from msgspec.structs import replace

import ir.later
from ir.later import uncollected


def point(dataclass: Callable[..., Any], **options: bool) -> Any:
    """A class with fields of all kinds."""

    @dataclass(**options)
    class Point:
        x: int
        y: float = 2.0
        names: list[str] = field(default_factory=list[str])
        note: object = field(default=None, compare=False, repr=False)
        size: int = field(init=False, default=7)
        made: list[int] = field(init=False, default_factory=list[int])
        named: str = field(default="", kw_only=True)

        def __post_init__(self) -> None:
            object.__setattr__(self, "size", len(self.names))

    return Point


KINDS = [
    {"frozen": frozen, "slots": slots, "eq": eq, "repr": shown}
    for frozen in (False, True)
    for slots in (False, True)
    for eq in (False, True)
    for shown in (False, True)
]


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_they_do_what_dataclasses_do(options: dict[str, bool]) -> None:
    def seen(dataclass: Callable[..., Any]) -> list[object]:
        made = point(dataclass, **options)
        a, b = made(1, names=["a"], note=1), made(1, names=["a"], note=2, named="")
        values = [tuple(getattr(p, f.name) for f in fields(p)) for p in (a, b, replace_x(a))]
        text = repr(a).partition(" object at")[0]
        return [
            values, a == b, a == replace_x(a), a == 1, text, made.__hash__ is None, made.__match_args__,
            str(inspect.signature(made)), get_type_hints(made.__init__), hasattr(a, "__dict__"), made.__qualname__,
            made.__init__.__qualname__, a.made is b.made,
        ]  # fmt: skip

    def replace_x(p: Any) -> Any:
        return type(p)(2, p.y, p.names, named=p.named)

    assert seen(ir.later.dataclass) == seen(dataclasses.dataclass)


def test_wrong_calls_are_type_errors() -> None:
    made = point(ir.later.dataclass, frozen=True, slots=True)
    for call in (lambda: made(), lambda: made(1, z=2), lambda: made(1, size=3)):
        with pytest.raises(TypeError):
            call()


@ir.later.dataclass(frozen=True, slots=True)
class Base:
    a: int


@ir.later.dataclass(frozen=True, slots=True)
class Derived(Base):
    b: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return "derived"


class Own(Base):
    """No dataclass of its own."""


def test_frozen_ones_do_not_change_but_are_copied_and_kept() -> None:
    value = Derived(1, (2,))
    for change in (lambda: setattr(value, "a", 2), lambda: delattr(value, "b"), lambda: setattr(value, "c", 2)):
        with pytest.raises(FrozenInstanceError):
            change()
    for other in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value)), replace(value)):
        assert other == value
        assert hash(other) == hash(value)
        assert type(other) is Derived
    assert Derived(1) != Base(1)
    assert repr(value) == "derived"
    assert repr(Base(1)) == "Base(a=1)"
    match value:
        case Derived(a, b):
            assert (a, b) == (1, (2,))


def test_classes_that_derive_without_being_dataclasses_have_attributes_of_their_own() -> None:
    own: Any = Own(1)
    own.c = 3
    assert own.c == 3
    del own.c
    with pytest.raises(FrozenInstanceError):
        own.a = 2
    assert own == Own(1)
    assert hash(own) == hash(Base(1))


def test_what_a_class_defines_itself_stays() -> None:
    @ir.later.dataclass(frozen=True)
    class Alike:
        a: int

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 3

    assert Alike(1) == Alike(2)
    assert hash(Alike(1)) == 3


def test_no_garbage_is_looked_for_and_what_was_made_is_old() -> None:
    before = len(gc.get_objects(generation=0))
    with uncollected():
        assert not gc.isenabled()
        kept = [[k] for k in range(5000)]
    assert gc.isenabled()
    assert len(gc.get_objects(generation=0)) < before + 5000
    assert gc.get_freeze_count() == 0
    assert len(kept) == 5000
