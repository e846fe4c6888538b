"""The command line: `loopsat optimize`, `bounds`, `rules`, ...: arguments, exit statuses, files. Prints nothing else.

Exit status 0 is success, 1 that a rule is refuted or not checked, or results differ, 2 a mistake of the user (one
message, nothing written), 3 a defect of ours, 130 an interrupt.
"""

from __future__ import annotations

import argparse
import codecs
import errno
import importlib
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, cast

from msgspec.structs import replace

from egraph_rules.cost.target import TARGETS
from egraph_rules.engine.phases import DEFAULT_BUDGET, Budget
from ir.errors import LoopsatError, suggest
from ir.files import replace_file
from ir.floats import FREEDOMS, Floats, floats_named
from ir.instructions import is_instruction
from ir.later import later
from ir.nodes import Module, PrimFunc
from ir.program.calls import callees, calls_in
from ir.script.parser import MAX_BYTES, parse
from ir.semantics.verify import entered
from lower.analysis.freedoms import HIGHEST, PRECISIONS
from lower.commands.console import spelled_out, waiting

if TYPE_CHECKING:
    import argcomplete

    from egraph_rules.check import registration
else:  # a file without instructions needs no rules to be read, and only shells complete what is typed
    argcomplete = later("argcomplete")
    registration = later("egraph_rules.check.registration")

STDIN = Path("-")  # what stands for standard input


_SCRIPT = "a Python script with a kernel, or - for standard input; FUNC picks one of several"


class _Command(Protocol):
    def run(self, options: argparse.Namespace) -> int | None: ...


def main(arguments: Sequence[str] | None = None, loaded: Callable[[], object] = lambda: None) -> int:
    """Run a command and return its exit status; `loaded` is called once it has been imported."""
    parser = _parser()
    if "_ARGCOMPLETE" in os.environ:
        argcomplete.autocomplete(parser)
    given = sys.argv[1:] if arguments is None else arguments
    # What begins with a dash is an option to argparse, but for the dash alone; `./-` is the same path.
    options, unknown = parser.parse_known_args([f"./{a}" if a.startswith(f"{STDIN}:") else a for a in given])
    if unknown:
        parser.error(_of_unknown(unknown, options.command, options.usage))
    codecs.register_error("loopsat", spelled_out)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal need not have all characters
            stream.reconfigure(errors="loopsat")
    try:
        # Commands load when used: `--help` and `rules` must not wait for JAX.
        name = options.command.replace("-", "_")
        with waiting("loading"):
            command = cast("_Command", importlib.import_module(f"lower.commands.{name}"))
        loaded()
        status = command.run(options) or 0
        sys.stdout.flush()
        return status
    except LoopsatError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader has seen enough, as `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is still to be flushed goes nowhere
        return 0
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            return _internal(error)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"error[unwritable]: cannot write the output: {error.strerror}\nhelp: make room", file=sys.stderr)
        return 2
    except Exception as error:  # the last line of defence: no traceback from our internals
        return _internal(error)


def _of_unknown(unknown: Sequence[str], command: str, usage: str) -> str:
    """What is said of arguments that a command does not have; all options begin with dashes, which say nothing."""
    word, known = unknown[0].partition("=")[0], re.findall(r"--([\w-]+)", usage)
    near = suggest(word.lstrip("-"), known).replace("`", "`--", 1) if word.startswith("-") else ""
    help = near or f"`loopsat {command} --help` lists what it takes"
    return f"unrecognized arguments: {' '.join(unknown)}\nhelp: {help}"


def _internal(error: Exception) -> int:
    """The exit status of a defect, once it is reported."""
    if os.environ.get("LOOPSAT_TRACEBACK"):
        traceback.print_exception(error)
    print(
        f"internal error: {type(error).__name__}: {error}\n"
        "help: this is a defect of loopsat; please report it with the script and LOOPSAT_TRACEBACK=1 set",
        file=sys.stderr,
    )
    return 3


class _Parser(argparse.ArgumentParser):
    """A parser that suggests which command, or which value of an option, was meant."""

    def error(self, message: str) -> NoReturn:
        chosen = re.search(r"invalid choice: '(.*)' \(choose from (.*)\)", message)
        near = "" if chosen is None else suggest(chosen[1], re.findall(r"[\w-]+", chosen[2]))
        super().error(f"{message}\nhelp: {near}" if near else message)


def command_parsers() -> dict[str, argparse.ArgumentParser]:
    """The parser of each command, for their documentation."""
    return _parsers()[1]


def _parser() -> argparse.ArgumentParser:
    return _parsers()[0]


def _parsers() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    parser = _Parser(prog="loopsat", description="Optimize loop programs over padded layouts for JAX.")
    parser.add_argument("--version", action="version", version=f"loopsat {version('loopsat')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    optimize = commands.add_parser("optimize", help="find the cheapest equivalent of a kernel and emit it")
    optimize.add_argument(
        "script",
        metavar="FILE[:FUNC]",
        help="a Python script with a kernel (- for standard input); FUNC picks one of several",
    )
    optimize.add_argument(
        "--target", choices=sorted(TARGETS), default="cpu", help="what the cost is for (default: cpu)"
    )
    optimize.add_argument("--variants", type=_positive, metavar="K", help="show the K cheapest programs (default: 1)")
    optimize.add_argument(
        "--tune",
        action="store_true",
        help="measure the K cheapest programs (default: 4) and their lowerings here, and take the fastest",
    )
    optimize.add_argument(
        "--emit", choices=("ir", "form", "jax", "stablehlo"), help="print only this form of the result"
    )
    optimize.add_argument(
        "-o", "--output", type=Path, metavar="OUT", help="write the form to a file (default form: jax)"
    )
    optimize.add_argument(
        "--donate",
        metavar="NAMES",
        help="emit JAX source that updates these buffers in place, as in A,B, or `all` that are read and overwritten; "
        "callers lose the arrays that they pass for them",
    )
    optimize.add_argument(
        "--no-pallas", action="store_true", help="for tpu and gpu: XLA's form, even where a Pallas kernel is cheaper"
    )
    optimize.add_argument(
        "--html", type=Path, metavar="FILE", help="write all that is found to a page, which needs no network"
    )
    module = optimize.add_argument_group(
        "layouts", "layouts and padding of buffers between functions, and between stages of a function"
    )
    module.add_argument("--layouts", action="store_true", help="choose them")
    module.add_argument("--graph", type=Path, metavar="FILE", help="write calls, layouts and prices as a picture (DOT)")
    module.add_argument(
        "--free", action="append", default=[], metavar="NAMES",
        help="parameters of the entry function whose layout callers leave to us, as in W,X; the result packs them",
    )  # fmt: skip
    module.add_argument(
        "--maps", action="append", default=[], metavar="MAP",
        help="a layout to try besides, as in 'H: i, j -> i // 4, j, i %% 4'",
    )  # fmt: skip
    optimize.add_argument("--no-run", action="store_true", help="neither check nor time the kernel")
    _add_run_options(optimize)
    _add_seconds_option(optimize)
    _add_rule_options(optimize)
    run = commands.add_parser(
        "run",
        help="optimize and compile a kernel, run it, and show its results and how long it takes",
        description="Inputs are random and satisfy the kernel's assumptions, or come from the script's function "
        "`inputs(rng, **sizes)`, for which it is executed. The exit status is 1 if --verify finds a difference.",
    )
    run.add_argument(
        "script",
        metavar="FILE[:FUNC]",
        help="a Python script with a kernel (- for standard input); FUNC picks one of several",
    )
    run.add_argument("--target", choices=sorted(TARGETS), default="cpu", help="what the cost is for (default: cpu)")
    run.add_argument("--verify", action="store_true", help="compare with the program as it is written")
    _add_run_options(run)
    _add_seconds_option(run)
    _add_rule_options(run)
    explain = commands.add_parser("explain", help="show the rewrites that lead from a kernel to the cheapest program")
    explain.add_argument(
        "script",
        metavar="FILE[:FUNC]",
        help="a Python script with a kernel (- for standard input); FUNC picks one of several",
    )
    explain.add_argument("--target", choices=sorted(TARGETS), default="cpu", help="what the cost is for (default: cpu)")
    _add_floats_options(explain)
    explain.add_argument(
        "--why-not",
        metavar="RULE",
        help="say instead why a rule, a form of lowering or a family of them did not contribute",
    )
    _add_rule_options(explain)
    bench = commands.add_parser("bench", help="time the kernels of a file, as written and optimized")
    bench.add_argument("script", metavar="FILE[:FUNC]", help="a Python script with kernels; FUNC picks one of several")
    bench.add_argument("--target", choices=sorted(TARGETS), default="cpu", help="what the cost is for (default: cpu)")
    bench.add_argument(
        "--variants", type=_positive, default=1, metavar="K", help="time the K cheapest programs (default: 1)"
    )
    _add_run_options(bench)
    _add_rule_options(bench)
    calibrate = commands.add_parser(
        "calibrate", help="measure the prices and limits of this machine, and keep them for later searches"
    )
    calibrate.add_argument("--target", choices=sorted(TARGETS), default="cpu", help="whose prices (default: cpu)")
    bounds = commands.add_parser(
        "bounds",
        help="run a script and tabulate the bounds of its staged programs",
        description="Executes FILE as Python (tensor expressions are Python), then tabulates for every kernel and "
        "schedule among its global names the range of each loop variable, and for each buffer what its "
        "consumers request and what must be allocated.",
    )
    bounds.add_argument(
        "script", metavar="FILE[:NAME]", help="a Python script, which is executed; NAME picks a program"
    )
    bounds.add_argument("--svg", type=Path, metavar="DIR", help="draw the stages and the loop variables into a folder")
    rules = commands.add_parser("rules", help="list the rewrite rules: laws, reasons, freedoms, how they were checked")
    rules.add_argument("family", metavar="FAMILY", nargs="?", help="only this family")
    check = commands.add_parser(
        "check-rules",
        help="prove and test rewrite rules, and show a counterexample for each that is wrong",
        description="Checks the built-in rules, or those that a Python file defines, which is executed. z3 proves "
        "rules over integers and booleans, and all are tested on random programs; the exit status is 1 if one is "
        "refuted, or could not be checked.",
    )
    check.add_argument("script", metavar="FILE", type=Path, nargs="?", help="a Python file that defines rules")
    check.add_argument("--rule", metavar="NAME", help="check only this rule or family")
    check.add_argument(
        "--examples", type=_positive, default=500, metavar="N", help="random examples a rule (default: 500)"
    )
    check.add_argument("--seed", type=_seed, default=0, help="seed of the random examples (default: 0)")
    check.add_argument(
        "--record", action="store_true", help="check the built-in rules that changed, and keep the verdicts"
    )
    cache = commands.add_parser("cache", help="show what is kept on disk between runs, or throw it out")
    cache.add_argument(
        "--clear", nargs="?", const="programs", choices=("programs", "all"),
        help="throw out searched and compiled programs, or with `all` what was measured too",
    )  # fmt: skip
    completion = commands.add_parser(
        "completion",
        help="print the script by which a shell completes commands and options",
        description='Prints what a shell has to run: `eval "$(loopsat completion bash)"` in ~/.bashrc, the same with '
        "zsh in ~/.zshrc, `loopsat completion fish | source` in ~/.config/fish/config.fish.",
    )
    completion.add_argument("shell", choices=("bash", "fish", "powershell", "tcsh", "zsh"), help="the shell")
    for command in (optimize, rules, cache):
        command.add_argument("--json", action="store_true", help="print JSON, for other programs")
    for command in commands.choices.values():
        command.set_defaults(usage=command.format_usage())
    return parser, dict(commands.choices)


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=_seed, default=0, help="seed of the random inputs (default: 0)")
    _add_floats_options(parser)
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        default=HIGHEST,
        help=f"of products of float32 arrays, where a device has several (default: {HIGHEST})",
    )
    _add_size_option(parser)


def _add_floats_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--floats",
        type=lambda text: [name.strip().replace("-", "_") for name in text.split(",")],
        metavar="NAMES",
        help=f"the float freedoms that are granted, with commas: default, strict, {', '.join(FREEDOMS)}",
    )
    group.add_argument("--strict-floats", action="store_true", help="no float freedoms: results equal to the bit")


def _add_rule_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rules", type=Path, action="append", default=[], metavar="FILE", help="run a Python file that registers rules"
    )
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="NAME",
        help="leave out a family of rules or of forms of lowering, or one of them (see `rules`)",
    )


def _add_size_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--sizes",
        metavar="SIZES",
        help="values of sizes, as in n=30,m=4, or the name of a set in SIZES of the script, which is then executed",
    )


def _add_seconds_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seconds",
        type=_seconds,
        metavar="S",
        help="search for at most S seconds (default: a budget of work, the same on every machine); "
        "what is best by then is used, as after Ctrl-C",
    )


def floats_of(options: argparse.Namespace) -> Floats:
    """The float freedoms that the options leave."""
    return Floats.STRICT if options.strict_floats else floats_named(options.floats)


def lowering_of(options: argparse.Namespace) -> dict[str, Any]:
    """What of the options says how a program is lowered, whatever it becomes."""
    return {"floats": floats_of(options), "precision": options.precision, "without": options.without}


def budget_of(options: argparse.Namespace) -> Budget:
    """The limits of a search that the options give."""
    return DEFAULT_BUDGET if options.seconds is None else replace(DEFAULT_BUDGET, seconds=options.seconds)


def donation_of(options: argparse.Namespace) -> bool | list[str]:
    """The buffers to donate that the options name, as `compile` takes them.

    Raises:
        LoopsatError: they are asked for a form that has no place for it.
    """
    if options.donate is None:
        return False
    if options.emit in ("ir", "stablehlo"):
        message = f"--donate says how JAX calls the kernel, which --emit {options.emit} does not hold"
        raise LoopsatError("options", message, help="use --emit jax, or leave one of them out")
    return options.donate == "all" or [name.strip() for name in options.donate.split(",") if name.strip()]


def _seconds(text: str) -> float:
    value = float(text)
    if not value >= 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return value


def _seed(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return value


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def load_kernel(place: str) -> tuple[Path, PrimFunc]:
    """The kernel that `FILE[:FUNC]` names.

    Raises:
        LoopsatError: the file cannot be read, has no kernel, or has several and none is named.
    """
    path, name = split_place(place)
    return path, _pick(_module(path), name, path)


def load_module(place: str) -> tuple[Path, Module, str]:
    """The module in the file that `FILE[:FUNC]` names, and the name of the function, if there is one.

    Raises:
        LoopsatError: the file cannot be read, or has no such function.
    """
    path, name = split_place(place)
    module = parse(read_text(path), str(path))
    if name:
        _pick(module, name, path)
    return path, module, name


def load_kernels(place: str) -> tuple[Path, tuple[PrimFunc, ...]]:
    """The kernels of a file, or the one that `FILE:FUNC` names.

    Raises:
        LoopsatError: the file cannot be read, or has no such kernel.
    """
    path, name = split_place(place)
    module = _module(path)
    kernels = tuple(f for f in module.funcs if not is_instruction(f))
    return path, (_pick(module, name, path),) if name else kernels


def _module(path: Path) -> Module:
    """The kernels of a file, whose instructions all searches of this process may call from here on."""
    module = parse(read_text(path), str(path))
    for func in module.funcs:
        if is_instruction(func):
            registration.register(func)
    return module


def split_place(place: str) -> tuple[Path, str]:
    """Split at the last colon if what stands before it is a file, so that drive letters survive.

    Raises:
        LoopsatError: no file can have this name.
    """
    if "\0" in place:
        raise LoopsatError("unreadable", f"{place!r} is no name of a file")
    head, colon, tail = place.rpartition(":")
    if colon and Path(head) == STDIN:
        return STDIN, tail
    if colon and not Path(place).exists() and Path(head).exists():
        return Path(head), tail
    return Path(place), ""


def read_text(path: Path) -> str:
    """The text of a script.

    Raises:
        LoopsatError: the file is missing, unreadable, too large, or no UTF-8 text.
    """
    try:
        if path == STDIN:
            return _checked_text(path, _stdin())
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise LoopsatError("too-large", f"{path} has {size} bytes; at most {MAX_BYTES} are read")
        return _checked_text(path, path.read_bytes())
    except OSError as error:
        near = suggest(path.name, (p.name for p in path.parent.glob("*.py"))) if path.parent.is_dir() else ""
        raise LoopsatError("unreadable", f"cannot read {path}: {error.strerror}", help=near) from error


@lru_cache(maxsize=1)  # it can be read once
def _stdin() -> bytes:
    return sys.stdin.buffer.read(MAX_BYTES + 1)


def _checked_text(path: Path, data: bytes) -> str:
    if len(data) > MAX_BYTES:
        raise LoopsatError("too-large", f"{path} has more than {MAX_BYTES} bytes, which are all that is read")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        message = f"{path} is not UTF-8 text: line {line} has the byte 0x{error.object[error.start]:02x}"
        raise LoopsatError("not-text", message, help="save it with the encoding UTF-8") from error
    if not text.strip():
        raise LoopsatError("empty-file", f"{path} is empty", help="put a function under @T.prim_func into it")
    return text


def _pick(module: Module, name: str, path: Path) -> PrimFunc:
    """One kernel of a file, with the bodies of its callees in it: the one named, or the only one that none calls."""
    names = [f.name for f in module.funcs]
    if name and name not in names:
        hint = suggest(name, names) or f"it has {', '.join(names)}"
        raise LoopsatError("unknown-function", f"{path} has no kernel `{name}`", help=hint)
    called = {callee.name for f in module.funcs for callee in callees(f)}
    names = [n for n in names if n not in called and not is_instruction(module[n])]
    if not name and len(names) > 1:
        raise LoopsatError(
            "several-kernels",
            f"{path} has several kernels: {', '.join(names)}",
            help=f"pick one, as in {path}:{names[0]}",
        )
    if not names:
        hint = "write a kernel under @T.prim_func beside them"
        raise LoopsatError("no-kernel", f"{path} has instructions, and no kernel that calls them", help=hint)
    func = module[name or names[0]]
    return entered(func) if any(not is_instruction(c.callee) for c in calls_in(func.body)) else func


def write_atomically(path: Path, data: bytes, script: Path) -> None:
    """Write a whole file or nothing. A device or a pipe is written to, as far as it goes, and a link is followed.

    Raises:
        LoopsatError: the path cannot be written, or is the script itself.
    """
    if path.exists() and script.exists() and path.samefile(script):
        raise LoopsatError("output-is-input", f"{path} is the script itself", help="choose another output file")
    if path.is_dir():
        raise LoopsatError("unwritable", f"cannot write {path}: it is a folder", help="give a file name")
    if path.exists() and not os.access(path, os.W_OK):
        raise LoopsatError("unwritable", f"cannot write {path}: it is read-only", help="choose another output file")
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
        else:
            replace_file(path.resolve(), data)
    except OSError as error:
        raise LoopsatError(
            "unwritable", f"cannot write {path}: {error.strerror}", help="choose a folder you may write to"
        ) from error


if __name__ == "__main__":
    sys.exit(main())
