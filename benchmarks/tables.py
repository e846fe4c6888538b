"""Tables of benchmarks/README.md, which benchmarks rewrite between their marks."""

from __future__ import annotations

from pathlib import Path

DOCUMENT = Path(__file__).parent / "README.md"


def rewrite(begin: str, end: str, table: str) -> None:
    """Put a table between two marks of the document.

    Raises:
        ValueError: a mark is missing.
    """
    before, rest = DOCUMENT.read_text().split(begin)
    _, after = rest.split(end)
    DOCUMENT.write_text(f"{before}{begin}\n{table}\n{end}{after}")
