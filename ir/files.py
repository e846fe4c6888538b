"""Files that are written whole or not at all."""

from __future__ import annotations

import tempfile
from pathlib import Path


def replace_file(path: Path, data: bytes) -> None:
    """Write a whole file: whoever reads it meanwhile sees the old one or the new one.

    Raises:
        OSError: the folder cannot be written to.
    """
    temporary = ""
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            temporary = file.name
            file.write(data)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:  # an interrupt leaves no rest behind either
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise
