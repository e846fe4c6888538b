"""`loopsat optimize` of modules: layouts between functions, and how mistakes in asking for them are told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lower.commands.cli import main

MODULE = """from ir import script as T


@T.module
class net:
    @T.prim_func
    def conv(A: T.Buffer((64,), "int32"), F: T.Buffer((3,), "int32"), B: T.Buffer((64,), "int32")):
        for i in range(64):
            B[i] = 0
            for f in range(3):
                if 0 <= i + f - 1 and i + f - 1 < 64:
                    B[i] += F[f] * A[i + f - 1]

    @T.prim_func
    def double(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")):
        for i in range(64):
            B[i] = 2 * A[i]

    @T.prim_func
    def main(X: T.Buffer((64,), "int32"), F: T.Buffer((3,), "int32"), Y: T.Buffer((64,), "int32")):
        H = T.alloc_buffer((64,), "int32")
        conv(X, F, H)
        double(H, Y)
"""


@pytest.fixture
def net(tmp_path: Path) -> Path:
    path = tmp_path / "net.py"
    path.write_text(MODULE)
    return path


def test_a_freed_parameter_is_packed_for_the_check(net: Path, capsys: pytest.CaptureFixture[str]) -> None:
    net.write_text(MODULE.replace("double(H, Y)", "conv(H, F, Y)").replace("64", "4096").replace("int32", "float32"))
    assert main(["optimize", str(net), "--free", "X"]) == 0
    out = capsys.readouterr().out
    for part in ("entered at main", "def pack_X", "layouts", "compared with", "equal"):
        assert part in out, f"{part!r} is missing in\n{out}"


def test_a_module_is_printed_for_other_programs_with_a_picture(net: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = net.with_suffix(".dot")
    maps = ["--maps", "H: i -> i // 8, i % 8"]
    assert main(["optimize", str(net), "--graph", str(picture), *maps, "--json"]) == 0
    assert picture.read_text().startswith('digraph "main"')
    found = json.loads(capsys.readouterr().out)
    assert found["entry"] == "main"
    assert found["cost"] <= found["cost_before"]
    assert {c["function"] for c in found["calls"]} == {"conv", "double"}
    assert set(found["layouts"]) == {"X", "F", "Y", "H"}
    assert "import jax" in found["source"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--free", "Z"], "main has no buffer parameter `Z`"),
        (["--free", "Y"], "`Y` cannot be free: main writes it"),
        (["--maps", "H"], "`H` is no buffer with a map of its indices"),
        (["--maps", "H: i -> i /"], "is no list of indices"),
        (["--maps", "H: i -> i / 2"], "div needs floats"),
        (["--maps", "H: i -> k"], "`k` is not defined"),
        (["--maps", "H: i, j -> i"], "takes 2 indices, but the buffer has 1 axis"),
        (["--maps", "H: i -> i % 4"], "puts two elements into one place"),
        (["--maps", "Q: i -> i"], "main has no buffer `Q`"),
        (["--graph", "x.dot", "--tune"], "--graph is about all of a module, and --tune about one function"),
        (["--free", "X", "--emit", "form"], "--free has no --emit form"),
        (["--free", "X", "--json", "-o", "x.py"], "--json prints all forms"),
        (["--graph", "x", "-o", "x"], "name the same file"),
    ],
)
def test_mistakes_are_told(net: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str) -> None:
    assert main(["optimize", str(net), *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error[")
    assert message in captured.err


def test_pictures_are_also_of_stages(net: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture, open_sizes = tmp_path / "x.dot", tmp_path / "open.py"
    assert main(["optimize", f"{net}:conv", "--graph", str(picture)]) == 2
    assert main(["optimize", f"{net}:conv", "--free", "A", "--graph", str(picture), "--no-run"]) == 0
    assert "conv_1" in picture.read_text()
    open_sizes.write_text("""from ir import script as T

@T.prim_func
def f(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32"), n: T.int32):
    for i in range(n):
        B[i] = A[i]
""")
    capsys.readouterr()
    assert main(["optimize", str(open_sizes), "--layouts"]) == 2
    assert "f neither calls functions nor has several stages" in capsys.readouterr().err
    assert main(["optimize", f"{net}:con", "--graph", "x.dot"]) == 2
    assert "has no kernel `con`" in capsys.readouterr().err
