"""Python in the documents runs as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
SNIPPETS = [
    pytest.param(text, id=f"{path.name}-{k}")
    for path in DOCUMENTS
    for k, text in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(), re.S))
]


@pytest.mark.parametrize("text", SNIPPETS)
def test_snippet_runs(text: str, tmp_path: Path) -> None:
    path = tmp_path / "snippet.py"
    path.write_text(text)
    subprocess.run([sys.executable, str(path)], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)


def test_documents_have_snippets() -> None:
    assert len(SNIPPETS) >= 2
