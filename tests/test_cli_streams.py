"""Pipes, standard input, terminals without some characters, and JSON."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lower.commands import cli
from lower.commands.cli import main
from lower.commands.console import console, spelled_out
from profiles import some

ROOT = Path(__file__).parent.parent
SMALL = ROOT / "examples" / "padded_row_sum_small.py"


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "loopsat", *arguments]


class Standard(io.StringIO):
    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.buffer = io.BytesIO(data)


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    cli._stdin.cache_clear()  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(sys, "stdin", Standard(SMALL.read_bytes()))


def test_readers_may_leave() -> None:
    process = subprocess.Popen(command("rules"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    assert process.wait() == 0
    process.stderr.close()


def test_scripts_come_from_standard_input(stdin: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["optimize", "-:row_sum", "--emit", "ir"]) == 0
    assert "if 4 * jo + ji" not in capsys.readouterr().out


def test_mistakes_in_standard_input_have_places(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for data, message in ((b"", "- is empty"), (b"\xff", "not UTF-8"), (b"@T.prim_func\ndef f(:\n", "-:2")):
        cli._stdin.cache_clear()  # pyright: ignore[reportPrivateUsage]
        monkeypatch.setattr(sys, "stdin", Standard(data))
        assert main(["explain", "-"]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize("encoding", some(["ascii", "latin-1"], 1))
def test_terminals_lack_characters(encoding: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run(command("cache"), capture_output=True, cwd=ROOT, env=environment)
    assert done.returncode == 0
    assert b" -" in done.stdout  # for the dash of what was never used
    assert b"?" not in done.stdout


def test_characters_are_spelled_out() -> None:
    error = UnicodeEncodeError("ascii", "a ≤ b × c … 字", 2, 3, "")
    assert spelled_out(error) == ("<=", 3)
    assert spelled_out(UnicodeEncodeError("ascii", "字", 0, 1, "")) == ("?", 1)


def test_optimize_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["optimize", str(SMALL), "--json", "--variants", "2"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["kernel"] == "row_sum"
    (decision,) = found["decisions"]
    assert decision["rule"] == "overcompute.then"
    assert decision["cost_before"] == found["cost_before"] > decision["cost_after"]
    assert found["variants"][0]["cost"] < found["cost_before"]
    assert "import jax" in found["source"]
    assert main(["optimize", str(SMALL), "--json", "--emit", "ir"]) == 2


def test_rules_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "overcompute", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"overcompute.then"} <= {rule["name"] for rule in found}
    assert all(rule["family"] == "overcompute" and rule["law"] and rule["reason"] for rule in found)


def test_a_pipe_that_closes_is_an_error_and_no_status() -> None:
    with pytest.raises(BrokenPipeError):
        console().on_broken_pipe()


@pytest.mark.parametrize("arguments", [["run", str(SMALL), "--seed", "-1"], ["optimize", "a\0b"]])
def test_bad_input_is_no_defect(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        assert main(arguments) == 2
    except SystemExit as stop:
        assert stop.code == 2
    assert "internal error" not in capsys.readouterr().err


def test_a_full_disk_behind_the_output_is_no_defect() -> None:
    full = Path("/dev/full")
    if not full.is_char_device():
        pytest.skip("there is no device that is always full")
    with full.open("wb") as file:
        done = subprocess.run(
            [sys.executable, "-m", "loopsat", "rules"], stdout=file, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 2
    assert b"cannot write the output: No space left" in done.stderr


def test_what_is_no_file_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    """As where `-o /dev/null` is given by somebody who may replace it."""
    pipe, link, kept = tmp_path / "pipe", tmp_path / "link.py", tmp_path / "kept.py"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    kept.write_text("")
    link.symlink_to(kept)
    for output in (pipe, link):
        assert main(["optimize", str(SMALL), "--emit", "jax", "-o", str(output)]) == 0
    assert pipe.is_fifo()
    assert b"import jax" in os.read(reader, 100_000)
    os.close(reader)
    assert link.is_symlink()
    assert "import jax" in kept.read_text()


def test_shells_complete_commands_and_options(tmp_path: Path) -> None:
    answer = tmp_path / "answer"
    for typed, wanted in (("loopsat opt", ["optimize "]), ("loopsat optimize --target ", ["cpu", "gpu", "tpu"])):
        shell = {
            "_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
            "COMP_LINE": typed, "COMP_POINT": str(len(typed)),
        }  # fmt: skip
        subprocess.run([sys.executable, "-m", "loopsat"], env={**os.environ, **shell}, check=True, timeout=60)
        assert answer.read_text().split("\n") == wanted


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell_names_the_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert "loopsat" in capsys.readouterr().out
