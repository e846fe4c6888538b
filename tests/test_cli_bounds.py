"""`loopsat bounds` as a user meets it: tables, drawings, and refusals that name the place in the script."""

from __future__ import annotations

import importlib
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from ir import parse
from ir.bounds import infer_bounds
from lower.commands.cli import main

ROOT = Path(__file__).parent.parent
STAGES = """
from ir import te

C = te.compute((5, 16), lambda i, j: 5, name="C")
D = te.compute((5, 16), lambda i, j: C[i, j] * 2, name="D")
program = te.create_prim_func([D])
again = program
"""
SPLIT = """
from ir import script as T


@T.prim_func
def tail(B: T.Buffer((20,), "int32")):
    for io in range(2):
        for ii in range(16):
            if 16 * io + ii < 20:
                B[16 * io + ii] = 1


@T.module
class Both:
    @T.prim_func
    def first(B: T.Buffer((4,), "int32")):
        for i in range(4):
            B[i] = 1

    @T.prim_func
    def second(B: T.Buffer((4,), "int32")):
        for k in range(4):
            B[k] = 2
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "script.py"
    path.write_text(text)
    return path


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Run a command that must fail with a message of ours; returns the message."""
    assert main(["bounds", *map(str, arguments)]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error["), captured.err
    assert "Traceback" not in captured.err
    return captured.err


def cells(line: str) -> list[str]:
    """The cells of a table's row."""
    return [cell.strip() for cell in line.split("│")[1:-1]]


def test_tables_of_a_tensor_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bounds", str(write(tmp_path, STAGES))]) == 0
    out = capsys.readouterr().out.splitlines()
    lines = [cells(line) for line in out]
    assert ["C", "{}", "i", "0:5", "5"] in lines
    assert ["C", "D", "[0:5, 0:16]", "80", "0", "[0:5, 0:16]"] in lines
    assert "program: stages" in out
    assert "again: stages" not in out  # another name of the same


def test_extents_are_expressions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bounds", str(write(tmp_path, SPLIT))]) == 0
    out = capsys.readouterr().out
    assert ["ii", "0:T.min(16, 20 - 16 * io)", "T.min(16, 20 - 16 * io)"] in [cells(s)[-3:] for s in out.splitlines()]
    assert "Both.first: stages" in out and "Both.second: stages" in out


@pytest.mark.parametrize(("name", "title"), [("tail", "tail"), ("Both.second", "Both.second"), ("first", "Both.first")])
def test_a_name_picks_one(name: str, title: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bounds", f"{write(tmp_path, SPLIT)}:{name}"]) == 0
    out = capsys.readouterr().out
    assert [s for s in out.splitlines() if s.endswith(": stages")] == [f"{title}: stages"]


def test_scripts_run_as_python_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "helper.py").write_text("SIZE = 3\n")
    text = STAGES + "from helper import SIZE\nimport sys\nif __name__ == '__main__':\n    print(sys.argv, SIZE)\n"
    before = list(sys.path)
    path = write(tmp_path, text + "sys.exit()\n")
    assert main(["bounds", str(path)]) == 0
    assert capsys.readouterr().out.startswith(f"['{path}'] 3\n")
    assert sys.path == before


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("x = 1\ny = x / 0\n", "script-failed", "script.py:2:1"),
        ("def f():\n    raise KeyError('k')\n\n\nf()\n", "script-failed", "script.py:2:5"),
        ("x = (\n", "script-failed", "script.py:1:5"),
        ("import sys\nsys.exit('no')\n", "script-failed", "script.py:2:1"),
        ("from ir import te\nte.compute((4,), lambda i, j: i)\n", "rank", "script.py:2:1"),
        ("x = 1\n", "no-program", ""),
    ],
)
def test_a_failing_script_gives_one_message_with_the_place(
    text: str, code: str, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = refused(capsys, write(tmp_path, text))
    assert message.startswith(f"error[{code}]") and place in message


def test_names_and_files_that_are_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, STAGES)
    assert "did you mean `program`?" in refused(capsys, f"{path}:progam")
    assert "cannot read" in refused(capsys, tmp_path / "missing.py")
    assert "is empty" in refused(capsys, write(tmp_path, ""))


# Drawings ------------------------------------------------------------------------------------------------------------


def texts(path: Path) -> list[str]:
    """The text in a drawing."""
    return [e.text or "" for e in ElementTree.parse(path).iter() if e.tag.endswith("text")]


def test_drawings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "drawn" / "here"
    assert main(["bounds", str(write(tmp_path, STAGES)), "--svg", str(folder)]) == 0
    assert sorted(p.name for p in folder.iterdir()) == ["program.stages.svg", "program.variables.svg"]
    assert sorted(texts(folder / "program.stages.svg")) == ["C", "C", "D"]  # two stages, one buffer between them
    first = (folder / "program.stages.svg").read_bytes()
    assert main(["bounds", str(tmp_path / "script.py"), "--svg", str(folder)]) == 0
    assert (folder / "program.stages.svg").read_bytes() == first


@dataclass
class Loop:
    name: str


@dataclass
class Step:
    name: str
    inputs: Sequence[object]
    outputs: Sequence[object]


def test_loop_variables_are_joined_by_the_steps_that_made_them(tmp_path: Path) -> None:
    drawing = importlib.import_module("lower.commands.drawing")
    func = parse(
        """
@T.prim_func
def f(B: T.Buffer((4, 4), "int32")):
    for f, i in T.grid(4, 4):
        B[f, i] = 1
"""
    ).funcs[0]
    steps = [
        Step("get_loops", [Loop("B")], [Loop("i")]),
        Step("split", [Loop("i"), 4, None], [Loop("io"), Loop("ii")]),
        Step("fuse", [Loop("io"), Loop("j")], [Loop("f")]),
        Step("rebase", [Loop("ii"), 0], [Loop("i")]),
    ]
    drawing.variable_graph(func, steps, tmp_path / "v.svg")
    assert sorted(texts(tmp_path / "v.svg")) == ["f", "fuse", "i", "i", "ii", "io", "j", "rebase", "split"]


def test_cycles_and_several_edges_can_be_drawn(tmp_path: Path) -> None:
    drawing = importlib.import_module("lower.commands.drawing")
    func = parse(
        """
@T.prim_func
def f(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(7):
        B[i + 1] = B[i] + A[i]
        A[i + 1] = B[i] + A[i]
"""
    ).funcs[0]
    drawing.stage_graph(infer_bounds(func), tmp_path / "s.svg")
    assert {"A", "B"} <= set(texts(tmp_path / "s.svg"))


def test_drawing_without_its_libraries(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "lower.commands.drawing", raising=False)
    monkeypatch.setitem(sys.modules, "networkx", None)
    message = refused(capsys, write(tmp_path, STAGES), "--svg", tmp_path)
    assert "networkx" in message and "loopsat[draw]" in message


def test_a_folder_that_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, STAGES)
    assert "cannot write" in refused(capsys, path, "--svg", path)


def test_the_documented_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bounds", str(ROOT / "examples" / "bounds.py")]) == 0
    found: dict[str, dict[str, list[str]]] = {}
    for line in capsys.readouterr().out.splitlines():
        if line.endswith((": stages", ": buffers")):
            table = found.setdefault(line, {})
        elif line.startswith("│") and cells(line)[0]:
            table[cells(line)[0]] = cells(line)
    paths = {k.partition(":")[0]: {s: row[1] for s, row in t.items()} for k, t in found.items() if k.endswith("stages")}
    assert paths["example_1"] == {"C": "{}", "D": "{}"}
    asked = {k.partition(":")[0]: t for k, t in found.items() if k.endswith("buffers")}
    sizes = {name: asked[name]["C"][3] for name in asked if name.startswith("example_") and "6" not in name}
    assert sizes == {"example_1": "80", "example_2": "1", "example_3": "16", "example_4": "1", "example_5": "1"}
    assert [len(paths[f"example_{k}"]["C"].split(",")) for k in (2, 3, 4, 5)] == [2, 1, 3, 3]
    assert asked["example_6"]["B"][3:5] == ["4", "0"]
    assert asked["example_6_by_3"]["B"][3] == "T.min(3, 16 - 3 * ci_cj_fusedo)"
    assert asked["example_6_by_3"]["B"][4] == "0"
    assert asked["corners"]["X"][2] == "[0:2, 0:2]"
    assert paths["outside"]["C"] == "{}" and asked["outside"]["C"][3] == "80"
