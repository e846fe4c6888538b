"""`loopsat cache`: what is kept on disk between processes, and throwing it out."""

from __future__ import annotations

import argparse
import datetime
import json
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict
from rich.filesize import decimal
from rich.table import Table

from ir.errors import LoopsatError
from lower.commands.page import Page
from lower.runtime.cache import folder
from lower.runtime.kept import COMPILED, FOLDER

KINDS = {  # where in the folder, and what it is
    f"{FOLDER}/*": "searched and planned programs",
    f"{COMPILED}/*": "what JAX compiled",
    "tuned/*": "measured choices of `--tune`",
    "calibration-*": "measured prices of `loopsat calibrate`",
}
MEASURED = ("tuned/*", "calibration-*")  # which takes long to measure again


class Kind(Struct, frozen=True):
    """What is kept of one kind: how many files, how many bytes, and when the last was used."""

    where: str
    holds: str
    files: int
    bytes: int
    used: str


def run(options: argparse.Namespace) -> None:
    """Show the cache, or clear it.

    Raises:
        LoopsatError: there is no cache, or a file cannot be removed.
    """
    try:
        where = folder()
    except OSError as error:
        raise LoopsatError("no-cache", f"nothing is kept: {error}") from error
    if options.clear is not None:
        kinds = [name for name in KINDS if options.clear == "all" or name not in MEASURED]
        removed = sum(_clear(where, name) for name in kinds)
        Page().line(f"removed {removed} {'file' if removed == 1 else 'files'} from {where}")
        return
    kinds = [_kind(where, name, holds) for name, holds in KINDS.items()]
    if options.json:
        print(json.dumps({"folder": str(where), "kinds": [asdict(kind) for kind in kinds]}, indent=1))
        return
    page = Page()
    page.line(f"kept in {where}")
    table = Table(box=None, pad_edge=False)
    for head in ("", "files", "size", "last used"):
        table.add_column(head, justify="left" if head in ("", "last used") else "right")
    for kind in kinds:
        table.add_row(kind.holds, str(kind.files), decimal(kind.bytes), kind.used or "–")
    page.table(table)


def _kind(where: Path, name: str, holds: str) -> Kind:
    stats = [path.stat() for path in _files(where, name)]
    last = max((s.st_mtime for s in stats), default=None)
    used = "" if last is None else datetime.datetime.fromtimestamp(last).isoformat(" ", "minutes")
    return Kind(name, holds, len(stats), sum(s.st_size for s in stats), used)


def _files(where: Path, pattern: str) -> list[Path]:
    return sorted(p for p in where.glob(pattern) if p.is_file())


def _clear(where: Path, pattern: str) -> int:
    files = _files(where, pattern)
    for path in files:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise LoopsatError("unwritable", f"cannot remove {path}: {error.strerror}") from error
    return len(files)
