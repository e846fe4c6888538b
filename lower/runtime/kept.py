"""Programs that were searched and planned once, kept on disk for later processes.

Owns the keys, the form of the files, and how much is kept. A file is written whole or not at all, so that processes may
share the folder; one that is damaged, of another version or of another user is never an error: it counts as missing.
"""

from __future__ import annotations

import hashlib
import math
import os
import pickle
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import egraph_rules
import ir
import lower
from egraph_rules.engine.phases import Budget
from ir.files import replace_file
from ir.instructions import instructions_in
from ir.nodes import PrimFunc
from ir.printing.printer import to_script
from ir.traverse import walk
from lower.runtime.cache import folder, installed

FOLDER = "programs"
COMPILED = "compiled"  # what JAX keeps of its own
MOST_BYTES = 256 << 20  # of all that is kept; a program has about a hundred kilobytes
_ROOM = 0.8  # what is left of that once some were thrown out, so that not each new one throws one out
_LARGEST = 32 << 20  # of one file
_DIGEST = hashlib.sha256().digest_size
_PACKAGES = ("jax", "jaxlib", "numpy", "egglog", "islpy", "ml_dtypes", "ruff-api")
_UNREADABLE = (
    pickle.UnpicklingError,
    AttributeError,
    ImportError,
    EOFError,
    IndexError,
    KeyError,
    TypeError,
    ValueError,
)


def repeatable(budget: Budget | None) -> bool:
    """Whether a search gives the same in another process: not one limited by seconds, or with rules of users."""
    registry = sys.modules.get("egraph_rules.rules.registry")  # rules are registered there, if there are any
    own = registry is not None and bool(registry.registered_rules())
    return not own and (budget is None or math.isinf(budget.seconds))


def wanted() -> bool:
    """Whether there is a place to keep programs in."""
    try:
        folder()
    except OSError:
        return False
    return True


def key_of(kind: str, func: PrimFunc, *parts: object) -> str:
    """A name for what is made of a program: its text and places, what else decides, and all versions that take part."""
    programs = [func] if func.origin is None else [func, func.origin]
    places = (f"{s.span}" for one in programs for s in walk(one.body) if s.span is not None)
    instructions = [to_script(i) for one in programs for i in instructions_in(one)]  # blocks do not tell what they are
    text = "\0".join([kind, *map(to_script, programs), *instructions, *places, *map(repr, parts), *versions()])
    return f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:40]}"


def recall(key: str) -> Any:
    """What was kept under a key; None where there is nothing of use."""
    try:
        path = folder() / FOLDER / key
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if status.st_size > _LARGEST or (hasattr(os, "getuid") and status.st_uid != os.getuid()):
                return None  # a pickle runs what it says: that of somebody else is not read
            data = file.read()
        os.utime(path)  # it was of use: others are thrown out first
    except OSError:
        return None
    if hashlib.sha256(data[_DIGEST:]).digest() != data[:_DIGEST]:
        path.unlink(missing_ok=True)
        return None
    try:
        return pickle.loads(data[_DIGEST:])
    except _UNREADABLE:
        return None


def keep(key: str, value: object) -> None:
    """Keep a value under a key; where that is not possible, nothing is kept."""
    try:
        data = pickle.dumps(value, protocol=5)
    except RecursionError:  # nested too deeply
        return
    try:
        path = folder() / FOLDER / key
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(path, hashlib.sha256(data).digest() + data)
        limit(FOLDER)
    except OSError:
        return


def limit(name: str, most: int = MOST_BYTES) -> None:
    """Throw out what was not used for the longest time, once a folder of the cache has more than so many bytes.

    Raises:
        OSError: there is no such folder.
    """
    files = sorted(_files(folder() / name), key=lambda found: found[1].st_mtime)
    size = sum(status.st_size for _, status in files)
    if size <= most:
        return
    for path, status in files:
        if size <= _ROOM * most:
            return
        path.unlink(missing_ok=True)
        size -= status.st_size


def _files(where: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for path in where.iterdir():
        try:
            yield path, path.stat()
        except FileNotFoundError:  # another process has thrown it out
            continue


@cache
def versions() -> tuple[str, ...]:
    """What a program depends on besides its text: Python, libraries, and the files of loopsat themselves."""
    code = hashlib.sha256()
    for package in (ir, egraph_rules, lower):
        root = str(Path(str(package.__file__)).parent)
        for path, status in sorted(_sources(root)):
            code.update(f"{path.removeprefix(root)} {status.st_size} {status.st_mtime_ns}\n".encode())
    return (sys.version, *(f"{name} {installed(name)}" for name in _PACKAGES), code.hexdigest())


def _sources(where: str) -> Iterator[tuple[str, os.stat_result]]:
    """The Python files in a folder and those in it (by `pathlib` that takes three times as long)."""
    with os.scandir(where) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _sources(entry.path)
            elif entry.name.endswith(".py"):
                yield entry.path, entry.stat()
