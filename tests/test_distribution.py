"""What is given away: the wheel has all that programs need, and works without the checkout; the site builds."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("ir", "egraph_rules", "lower")
MODULE = "loopsat.py"
USE = """
import sys
import numpy as np
import loopsat
assert not any(str(getattr(m, "__file__", "")).startswith(CHECKOUT) for m in list(sys.modules.values()))
func = loopsat.parse(open(sys.argv[1]).read())["row_sum"]
result = loopsat.optimize(func)
assert result.report.decisions and "visualizer" not in result.to_html(egraph=False)
(found,) = loopsat.compile(result.best)(np.ones((16, 4, 4), "float32"))
assert found.tolist() == [16.0] * 16
print("fine")
"""


def setuptools_version() -> int:
    try:
        return int(version("setuptools").partition(".")[0])
    except PackageNotFoundError:
        return 0


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if setuptools_version() < 77:
        pytest.skip("needs setuptools 77, as building does")
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", MODULE):
        shutil.copy(ROOT / name, source)
    build = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(out)], cwd=source, check=True, capture_output=True)
    (path,) = out.glob("*.whl")
    return path


def test_the_wheel_has_every_file_of_the_packages(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    kept = {MODULE} | {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert kept <= names
    assert {name.partition("/")[0] for name in names - kept} == {f"loopsat-{version('loopsat')}.dist-info"}


def test_the_wheel_works_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    shutil.copy(ROOT / "examples" / "padded_row_sum_small.py", tmp_path)
    # Without `site`, an editable installation of the checkout is not on the path; what it depends on has to be.
    needed = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    start = f"import sys; sys.path[:0] = [{str(tmp_path / 'installed')!r}]; sys.path += {needed!r}\n"
    ours = tuple(f"{ROOT}{os.sep}{name}" for name in (*PACKAGES, MODULE))  # the environment may be in the checkout too
    code = start + USE.replace("CHECKOUT", repr(ours))
    command = [sys.executable, "-I", "-S", "-c", code, "padded_row_sum_small.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "fine\n", done.stderr


@pytest.mark.fuzz  # ten seconds, which the default run has not
def test_the_site_builds(tmp_path: Path) -> None:
    if any(find_spec(name) is None for name in ("mkdocs", "material", "mkdocstrings_handlers.python")):
        pytest.skip("needs what loopsat[docs] names")
    site = tmp_path / "site"
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(site)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    pages = {path.name: path.read_text() for path in site.glob("*.html")}
    for text in pages.values():
        fetched = re.findall(r'<(?:script|img|iframe)[^>]*src="([^"]*)"|<link[^>]*href="(https?://[^"]*)"', text)
        assert not any(part.startswith("http") for pair in fetched for part in pair)
    assert "overcompute.then" in pages["rule-list.html"]
    assert "check_kernel" in pages["api.html"]
    assert "loopsat optimize" in pages["commands.html"]
    assert "interchanges none" in pages["limits.html"]
    written = {p.stem for p in (ROOT / "docs").glob("*.md")}
    assert written <= {name.removesuffix(".html") for name in pages}
