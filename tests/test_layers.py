"""Imports point lower → egraph_rules → ir, without cycles and without project imports inside functions."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("ir", "egraph_rules", "lower")
TOP = ROOT / "loopsat.py"  # names of all packages for users; none of them may import it
ALLOWED = {"ir": {"ir"}, "egraph_rules": {"ir", "egraph_rules"}, "lower": {*PACKAGES}, TOP.name: {*PACKAGES}}
FILES = [TOP, *sorted(p for package in PACKAGES for p in (ROOT / package).rglob("*.py"))]


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


def test_files_stay_readable() -> None:
    for path in FILES:
        lines = len(path.read_text().splitlines())
        assert lines <= 700, f"{path} has {lines} lines"
