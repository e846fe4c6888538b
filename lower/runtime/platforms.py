"""Targets by the names of JAX's platforms, the devices that there are, and JAX's cache of what it compiled."""

from __future__ import annotations

import glob
import threading
import warnings
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

import jax
from jax.experimental.compilation_cache import compilation_cache

from egraph_rules.cost.target import Target
from ir.errors import LowerValueError, suggest
from lower.runtime import kept
from lower.runtime.cache import folder

_PLATFORMS = {"cpu": "cpu", "gpu": "gpu", "cuda": "gpu", "rocm": "gpu", "tpu": "tpu"}


def platform_of(target: str | Target) -> str:
    """What a target or platform is called here: cpu, gpu or tpu.

    Raises LowerError for an unknown one.
    """
    name = target if isinstance(target, str) else target.name
    platform = _PLATFORMS.get(name)
    if platform is None:
        known = ", ".join(_PLATFORMS)
        help = suggest(name, _PLATFORMS) or f"use one of {known}"
        raise LowerValueError("unknown-target", f"there is no target `{name}`", help=help)
    return platform


def device_of(platform: str) -> tuple[Any, list[str]]:
    """The first device of a platform, or of another one and a note where there is none."""
    try:
        return jax.devices(platform)[0], []
    except RuntimeError:
        device = jax.devices()[0]
        return device, [f"no {platform} device here: the kernel runs on {device.platform}"]


_WORTHWHILE = 0.05  # seconds of compilation from which on JAX keeps what it compiled; its own default is 1


_CATCHING = threading.RLock()  # what catches warnings is the process's
_DAMAGED = "Error reading persistent compilation cache entry for '"


@contextmanager
def without_damage() -> Generator[None]:
    """Run what compiles; entries of the cache that turn out to be damaged are thrown out, which JAX only warns of."""
    with _CATCHING, warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", _DAMAGED)
        yield
    for warning in caught:
        said, damaged, rest = str(warning.message).partition(_DAMAGED)
        if said or not damaged:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
            continue
        name, *_ = rest.split("'")
        with suppress(OSError):
            for entry in (folder() / kept.COMPILED).glob(f"{glob.escape(name)}-*"):
                entry.unlink(missing_ok=True)


@cache
def keep_compiled() -> None:
    """Let JAX keep what it compiles on disk too, unless the user has decided about that, or the cache is off.

    It is a setting of the process, as JAX has it: all that is compiled from here on is kept.
    """
    config: Any = jax.config
    if config.jax_compilation_cache_dir is not None or not config.jax_enable_compilation_cache:
        return
    try:
        where = folder() / kept.COMPILED
        where.mkdir(parents=True, exist_ok=True, mode=0o700)
        kept.limit(kept.COMPILED)
    except OSError:
        return
    jax.config.update("jax_compilation_cache_dir", str(where))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", _WORTHWHILE)
    compilation_cache.reset_cache()  # it looks at its settings once
