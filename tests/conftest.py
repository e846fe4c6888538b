"""Hypothesis profiles: `dev` (default), `ci` (few, the same every time) and `nightly` (many); a cache of our own."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from lower.emission.source import Module
from lower.program.verify import verify
from lower.runtime import kept
from profiles import NIGHTLY

_QUIET = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
settings.register_profile("dev", max_examples=10, deadline=None, suppress_health_check=_QUIET)
settings.register_profile("ci", max_examples=5, deadline=None, derandomize=True, suppress_health_check=_QUIET)
settings.register_profile(NIGHTLY, max_examples=2000, deadline=None, suppress_health_check=_QUIET)
gc.set_threshold(50_000, 20, 100)  # what thousands of tests leave in caches is not looked through again and again
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache of the tests' own: what the user's holds must not change results.

    No programs are kept in it, since a file has the name of their folder: tests are of what is searched and planned.
    """
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        for name in (kept.FOLDER, kept.COMPILED):
            (folder / name).touch()
        patch.setenv("LOOPSAT_CACHE", str(folder))
        yield


@pytest.fixture(scope="session", autouse=True)
def verified() -> Iterator[None]:
    """Each array program that a test emits is one: names are bound, calls fit."""
    printed = Module.text

    def text(self: Module) -> str:
        verify(self.functions(), self.beside)
        return printed(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Module, "text", text)
        yield


@pytest.fixture(scope="session", autouse=True)
def ctrl_c() -> Iterator[None]:
    """Ctrl-C, which some tests press, interrupts: what a shell starts in the background ignores it otherwise."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
