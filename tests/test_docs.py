"""Python in the documents runs as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from profiles import some

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
SNIPPETS = {path.name: re.findall(r"```python\n(.*?)```", path.read_text(), re.S) for path in DOCUMENTS}


SOON = ("README.md", "CONTRIBUTING.md", "language.md")
NAMES = [
    pytest.param(name, marks=() if name in SOON else pytest.mark.fuzz) for name, texts in SNIPPETS.items() if texts
]


@pytest.mark.parametrize("name", some(NAMES, 0.45))
def test_snippets_run(name: str, tmp_path: Path) -> None:
    """One process for a document, since each waits seconds for JAX; snippets share no names."""
    paths = [tmp_path / f"{name}-{k}.py" for k in range(len(SNIPPETS[name]))]
    for path, text in zip(paths, SNIPPETS[name], strict=True):
        path.write_text(text)
    run = "import runpy, sys\nfor path in sys.argv[1:]:\n    runpy.run_path(path, run_name='__main__')"
    command = [sys.executable, "-c", run, *map(str, paths)]
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)


def test_documents_have_snippets() -> None:
    assert sum(map(len, SNIPPETS.values())) >= 20
