"""Imports point lower → egraph_rules → ir, and down the folders of lower/; no cycles, no imports inside functions."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import lower

ROOT = Path(__file__).parent.parent
PACKAGES = ("ir", "egraph_rules", "lower")
TOP = ROOT / "loopsat.py"  # names of all packages for users; none of them may import it
ALLOWED = {"ir": {"ir"}, "egraph_rules": {"ir", "egraph_rules"}, "lower": {*PACKAGES}, TOP.name: {*PACKAGES}}
# The folders of `lower/`, from the ground up: none imports one that stands below it in this table.
FLOORS = {
    "analysis": "what holds of indices, values and statements; imports nothing else of lower/",
    "nest": "loop nests as they will run: nodes, normal form, bounds",
    "array": "loops as array axes: views, reads, reductions, values of elements",
    "tensor": "sums of products as tensor terms, with rules of their own",
    "storage": "where values are kept: copies, orders of dimensions, expansion, promotion, substitution",
    "instructions": "nests that are one operation: scans, searches, windows, factorizations",
    "restructure": "other forms of loops, and the plan that takes them",
    "emission": "JAX source of plans",
    "price": "prices of programs as they will run, and the search by them",
    "tpu": "the TPU compiler, ahead of time",
    "pallas": "Pallas kernels",
    "runtime": "kernels: compilation, calls, devices, artefacts",
    "check": "kernels compared with their programs",
    "tune": "clocks and what they decide",
    "commands": "the command line",
}
MOST_FILES = 20  # in a folder that one takes in at a glance
FILES = [TOP, *sorted(p for package in PACKAGES for p in (ROOT / package).rglob("*.py"))]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted(p for f in ("docs", "benchmarks") for p in (ROOT / f).glob("*.md"))]


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_one_way_and_stand_at_the_top(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0]
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        for name in imported(node):
            top = name.partition(".")[0]
            if top in (*PACKAGES, TOP.stem):
                assert top in ALLOWED[package], f"{path}:{node.lineno} imports {name}"
    for function in (n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.Lambda))):
        for node in ast.walk(function):
            assert not any(n.partition(".")[0] in PACKAGES for n in imported(node)), f"{path}:{node.lineno}"


def module_name(path: Path) -> str:
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_no_import_cycles() -> None:
    names = {module_name(p): p for p in FILES}
    edges: dict[str, set[str]] = {}
    for name, path in names.items():
        tree = ast.parse(path.read_text())
        checked = [n for n in tree.body if not (isinstance(n, ast.If) and "TYPE_CHECKING" in ast.unparse(n.test))]
        found: set[str] = set()
        for node in checked:
            for target in imported(node):
                inner = {f"{target}.{a.name}" for a in node.names} if isinstance(node, ast.ImportFrom) else set()
                found |= ({target} | inner) & names.keys()
        edges[name] = found - {name}
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " → ".join((*trail[trail.index(name) :], name))
        if name not in done:
            for target in sorted(edges[name]):
                visit(target, (*trail, name))
            done.add(name)

    for name in names:
        visit(name, ())


def folder_of(path: Path) -> str | None:
    """The folder of `lower/` in which a file or module lies, None for the package itself and for others."""
    parts = path.relative_to(ROOT).parts
    return parts[1] if parts[0] == "lower" and len(parts) > 2 else None


def test_files_of_lower_lie_in_folders_that_have_a_floor() -> None:
    files = [p for p in FILES if p.relative_to(ROOT).parts[0] == "lower"]
    assert {folder_of(p) for p in files} - {None} == set(FLOORS)
    assert [p.name for p in files if folder_of(p) is None] == ["__init__.py"]
    for folder in FLOORS:
        assert len(list((ROOT / "lower" / folder).glob("*.py"))) <= MOST_FILES, folder


def test_imports_between_folders_of_lower_point_down() -> None:
    floor = {name: n for n, name in enumerate(FLOORS)}
    seen = 0
    for path in FILES:
        folder = folder_of(path)
        for node in ast.walk(ast.parse(path.read_text())) if folder is not None else ():
            for name in imported(node):
                parts = name.split(".")
                if parts[0] != "lower":
                    continue
                if len(parts) == 1:  # public names of the package, which are those of kernels
                    assert floor[folder] > floor["runtime"], f"{path}:{node.lineno} imports {name}"
                else:
                    assert floor[parts[1]] <= floor[folder], f"{path}:{node.lineno} imports {name}"
                seen += 1
    assert seen > 300


def test_no_file_hides_a_public_function_of_its_package() -> None:
    inside = {p.stem for p in (ROOT / "lower").iterdir()}
    assert not inside & set(lower.__all__)


def test_files_that_are_mentioned_exist() -> None:
    pattern = re.compile(r"(?<![\w/.])(?:ir|egraph_rules|lower|tests|benchmarks|docs)/[\w/]+\.(?:py|md)\b")
    mentions = [(path, name) for path in (*DOCUMENTS, *FILES) for name in pattern.findall(path.read_text())]
    assert len(mentions) > 50
    for path, name in mentions:
        assert (ROOT / name).exists(), f"{path} mentions {name}"
    within = re.compile(rf"`((?:{'|'.join(FLOORS)})/\w+)")  # as docs on lowering have it
    for path in DOCUMENTS:
        for name in within.findall(path.read_text()):
            assert (ROOT / "lower" / f"{name}.py").exists(), f"{path} mentions {name}"


def test_files_stay_readable() -> None:
    for path in FILES:
        lines = len(path.read_text().splitlines())
        assert lines <= 700, f"{path} has {lines} lines"
