"""What was measured once and is kept: small JSON files in the user's cache folder.

Owns the folder and the checks at reading. A file that cannot be used (missing, truncated, edited,
of another kind or made elsewhere) is never an error: readers get nothing, and a note that says why.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, cast

from msgspec import Struct
from platformdirs import user_cache_path

from ir.files import replace_file

FORMAT = 1  # of the files; a file of another format is ignored
MAX_BYTES = 1 << 20  # ours have a few kilobytes
PACKAGES = ("loopsat", "jax", "jaxlib", "numpy")

Key = Mapping[str, str]


class Found(Struct, frozen=True):
    """What a file held, or None; `note` says why a file that is there was not used."""

    value: Mapping[str, Any] | None
    note: str = ""


def folder() -> Path:
    """Where files are kept: LOOPSAT_CACHE, or what the system has for caches, such as ~/.cache/loopsat.

    Raises:
        OSError: LOOPSAT_CACHE is `off`, or there is no home folder.
    """
    own = os.environ.get("LOOPSAT_CACHE")
    if own == "off":
        raise OSError("LOOPSAT_CACHE is off")
    if own:
        return Path(own)
    try:
        return user_cache_path("loopsat", appauthor=False)
    except RuntimeError as error:
        raise OSError("there is no home folder; set LOOPSAT_CACHE") from error


def read(name: str, key: Key) -> Found:
    """The value kept under `name`, a path relative to the folder, if it was kept for this key."""
    try:
        path = folder() / name
        if not path.exists():
            return Found(None)
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            return Found(None, f"{path} is ignored: it is no file of loopsat")
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return Found(None, f"{name} in the cache is ignored: {error}")
    return _checked(path, text, key)


def _checked(path: Path, text: str, key: Key) -> Found:
    try:
        content: Any = json.loads(text)
    except (ValueError, RecursionError):
        return Found(None, f"{path} is ignored: it is truncated or no JSON")
    if not isinstance(content, dict):
        return Found(None, f"{path} is ignored: it is no file of loopsat")
    whole = cast("dict[str, Any]", content)
    kept, value = whole.get("key"), whole.get("value")
    if whole.get("loopsat") != FORMAT or not isinstance(kept, dict) or not isinstance(value, dict):
        return Found(None, f"{path} is ignored: it is no file of loopsat in format {FORMAT}")
    if whole.get("digest") != _digest(kept, value):
        return Found(None, f"{path} is ignored: it was changed by something else")
    if kept != dict(key):
        made = cast("dict[str, object]", kept)
        other = [f"{n} is {key.get(n)}, was {made.get(n)}" for n in {**key, **made} if key.get(n) != made.get(n)]
        return Found(None, f"{path} is ignored: {'; '.join(other)}")
    return Found(cast("dict[str, Any]", value))


def write(name: str, key: Key, value: Mapping[str, Any]) -> str:
    """Keep a value under `name`, in place of what was there; the empty string, or a note why that failed."""
    content = {"loopsat": FORMAT, "key": dict(key), "value": value, "digest": _digest(key, value)}
    try:
        path = folder() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, (json.dumps(content, indent=1) + "\n").encode())
    except OSError as error:
        return f"nothing is kept in the cache: {error}"
    return ""


def digest(*texts: str) -> str:
    """A short name for texts."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:32]


def _digest(key: Mapping[Any, Any], value: Mapping[Any, Any]) -> str:
    return digest(json.dumps([dict(key), value], sort_keys=True))


def environment() -> dict[str, str]:
    """What measurements depend on besides the program: the machine, and the versions that compile for it."""
    return {"machine": _machine(), **{name: installed(name) for name in PACKAGES}}


@cache
def installed(name: str) -> str:
    """The version of a package, out of the headers of its metadata: to parse all of these takes ten times as long."""
    found = distribution(name)
    headers = (found.read_text("METADATA") or "").splitlines()
    return (
        next((h.removeprefix("Version:").strip() for h in headers if h.startswith("Version:")), None) or found.version
    )


@cache
def _machine() -> str:
    """Processor, usable cores and system: enough to tell machines apart that time differently."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{_processor()}, {cores} cores, {platform.machine()} {platform.system()}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, None) or platform.processor() or "unknown processor"  # the latter starts a process
