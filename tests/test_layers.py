"""Imports point lower → egraph_rules → ir, and down the folders of lower/; no cycles, no imports inside functions."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import egraph_rules
import lower
from profiles import some

ROOT = Path(__file__).parent.parent
PACKAGES = ("ir", "egraph_rules", "lower")
TOP = "loopsat"  # names of all packages for users; none of them may import it
ALLOWED = {"ir": {"ir"}, "egraph_rules": {"ir", "egraph_rules"}, "lower": {*PACKAGES}, TOP: {*PACKAGES, TOP}}
# The folders of `lower/`, from the ground up: none imports one that stands below it in this table.
FLOORS = {
    "ir": {
        "": "the loop IR: nodes, operators, dtypes, errors, traversals, and how things show themselves",
        "program": "functions as wholes: blocks, calls, modules, edits at a path",
        "printing": "programs as text",
        "presburger": "sets of integers and quasi-affine functions by isl, and expressions read back from them",
        "analysis": "effects, contents, dependences, legality, accesses",
        "semantics": "what programs mean: interpreter, entry checks, inputs, specialization",
        "script": "text and plain Python as programs",
        "bounds": "bounds of staged programs",
        "transform": "the moves: a transformation of loops or buffers a file",
        "schedule": "moves by name, traces, layouts",
        "testing": "strategies and comparisons for tests",
    },
    "egraph_rules": {
        "engine": "egglog behind one door; budgets and patience",
        "contexts": "what is known at a place, and the proofs there",
        "cost": "targets and prices",
        "library": "instructions that come with loopsat, as data",
        "authoring": "how rules are written",
        "rules": "the built-in rules, a family a file, and those that users register",
        "search": "numbering, saturation, extraction",
        "explain": "decisions, derivations, what kept a rule from helping",
        "": "the public calls: optimization, expressions, transforms",
        "modules": "layouts and padding of buffers between functions",
        "check": "proofs and tests of rules",
    },
    "lower": {
        "program": "the array program as data: grammar, templates, printer, verifier, interpreter, passes",
        "analysis": "what holds of indices, values and statements; imports nothing else of lower/",
        "nest": "loop nests as they will run: nodes, normal form, bounds",
        "array": "loops as array axes: views, reads, reductions, values of elements",
        "tensor": "sums of products as tensor terms, with rules of their own",
        "storage": "where values are kept: copies, orders of dimensions, expansion, promotion, substitution",
        "instructions": "nests that are one operation: scans, searches, windows, factorizations",
        "restructure": "other forms of loops, and the plan that takes them",
        "emission": "array programs of plans, and modules of them",
        "distribute": "programs over a mesh: what each device does, and what devices exchange",
        "price": "prices of programs as they will run, and the search by them",
        "tpu": "the TPU compiler, ahead of time",
        "pallas": "Pallas kernels",
        "runtime": "kernels: compilation, calls, devices, artefacts",
        "check": "kernels compared with their programs",
        "tune": "clocks and what they decide",
        "commands": "the command line",
    },
}
MOST_FILES = 20  # in a folder that one takes in at a glance
FILES = [ROOT / f"{TOP}.py", *sorted(p for package in PACKAGES for p in (ROOT / package).rglob("*.py"))]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted(p for f in ("docs", "benchmarks") for p in (ROOT / f).glob("*.md"))]


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    match node:
        case ast.Call(func=ast.Name("later"), args=[ast.Constant(str(module))]):  # imported when it is used
            return [module]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []


class File:
    """What a file says of others, by statement, in its functions and while it is imported; and its classes."""

    def __init__(self, path: Path) -> None:
        self.imports: list[ast.AST] = []
        self.inside: list[ast.AST] = []
        self.classes: list[ast.ClassDef] = []
        tree = ast.parse(path.read_text())
        pending: list[tuple[ast.AST, bool]] = [(tree, False)]
        while pending:
            node, within = pending.pop()
            if imported(node):
                self.imports.append(node)
                self.inside += [node] * within
            if isinstance(node, ast.ClassDef):
                self.classes.append(node)
            within = within or isinstance(node, (ast.FunctionDef, ast.Lambda))
            pending += [(child, within) for child in ast.iter_child_nodes(node)]
        self.first = [s for s in tree.body if imported(s)]  # not what stands under TYPE_CHECKING


read = cache(File)


def of_ours(nodes: list[ast.AST]) -> set[tuple[int, str]]:
    """What is imported of these packages, and in which lines."""
    found = ((node, name) for node in nodes for name in imported(node))
    return {(node.lineno, name) for node, name in found if name.partition(".")[0] in (*PACKAGES, TOP)}


@pytest.mark.parametrize("package", some(ALLOWED, 0.25))
def test_imports_point_one_way_and_stand_at_the_top(package: str) -> None:
    ours = [p for p in FILES if p.relative_to(ROOT).parts[0] in (package, f"{package}.py")]
    assert ours
    for path in ours:
        of = read(path)
        upward = {(line, name) for line, name in of_ours(of.imports) if name.partition(".")[0] not in ALLOWED[package]}
        assert not upward, f"{path} imports {upward}"
        inside = of_ours(of.inside)
        assert not inside, f"{path} imports {inside} where it is used"


def module_name(path: Path) -> str:
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_no_import_cycles() -> None:
    names = {module_name(p): p for p in FILES}
    edges: dict[str, set[str]] = {}
    for name, path in names.items():
        found: set[str] = set()
        for node in read(path).first:
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


def folder_of(path: Path) -> tuple[str, str] | None:
    """The package and the folder of it in which a file lies; None outside of packages with folders."""
    package, *rest = path.relative_to(ROOT).parts
    return (package, rest[0] if len(rest) > 1 else "") if package in FLOORS else None


def floor_of(package: str, folder: str) -> int:
    """How far above the ground a folder is; a package itself gives out what is public, and stands on all of them."""
    return [*FLOORS[package], "*"].index(folder)


@pytest.mark.parametrize("package", FLOORS)
def test_files_lie_in_folders_that_have_a_floor(package: str) -> None:
    files = [p for p in FILES if p.relative_to(ROOT).parts[0] == package]
    loose = {p.name for p in files if p.parent == ROOT / package}
    assert {folder[1] for p in files if (folder := folder_of(p)) is not None} == {"", *FLOORS[package]}
    assert loose == {"__init__.py"} or "" in FLOORS[package]
    for folder in FLOORS[package]:
        assert len(list((ROOT / package / folder).glob("*.py"))) <= MOST_FILES, folder


def test_imports_between_folders_point_down() -> None:
    seen = 0
    for path in FILES:
        folder = folder_of(path)
        if folder is None or path.name == "__init__.py":
            continue
        here = floor_of(*folder)
        for node in (n for n in read(path).imports if isinstance(n, (ast.Import, ast.ImportFrom))):
            for package, *rest in (name.split(".") for name in imported(node)):
                if package != folder[0]:
                    continue
                if rest:
                    target = rest[0] if rest[0] in FLOORS[package] else ""
                else:  # public names: of `lower` those of kernels
                    target = {"ir": "script", "egraph_rules": "check", "lower": "runtime"}[package]
                assert floor_of(package, target) <= here, f"{path}:{node.lineno} imports {package}.{'.'.join(rest)}"
                seen += 1
    assert seen > 500


def test_no_file_hides_a_public_function_of_its_package() -> None:
    for package in (lower, egraph_rules):
        assert not {p.stem for p in (ROOT / package.__name__).iterdir()} & set(package.__all__)


def test_files_that_are_mentioned_exist() -> None:
    pattern = re.compile(r"(?<![\w/.])(?:ir|egraph_rules|lower|tests|benchmarks|docs)/[\w/]+\.(?:py|md)\b")
    mentions = [(path, name) for path in (*DOCUMENTS, *FILES) for name in pattern.findall(path.read_text())]
    assert len(mentions) > 50
    for path, name in mentions:
        assert (ROOT / name).exists(), f"{path} mentions {name}"
    within = re.compile(rf"`((?:{'|'.join(FLOORS['lower'])})/\w+)")  # as docs on lowering have it
    for path in DOCUMENTS:
        for name in within.findall(path.read_text()):
            assert (ROOT / "lower" / f"{name}.py").exists(), f"{path} mentions {name}"


def test_files_stay_readable() -> None:
    for path in FILES:
        lines = len(path.read_text().splitlines())
        assert lines <= 700, f"{path} has {lines} lines"


def test_classes_are_those_that_are_made_fast() -> None:
    for path in FILES:
        assert not re.search(r"^(from|import) dataclasses\b", path.read_text(), re.MULTILINE), (
            f"{path} makes classes slowly: derive them from `msgspec.Struct`"
        )


def test_what_says_when_it_is_equal_says_so_for_unequal_too() -> None:
    for path in FILES:
        for node in read(path).classes:
            own = {s.name for s in node.body if isinstance(s, ast.FunctionDef)}
            own |= {ast.unparse(s.targets[0]) for s in node.body if isinstance(s, ast.Assign)}
            assert "__eq__" not in own or "__ne__" in own, f"{path}: {node.name} needs `__ne__ = object.__ne__`"
