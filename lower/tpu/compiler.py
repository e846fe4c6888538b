"""What the TPU compiler makes of a program: tiled layouts, memory, estimated cycles. Needs `libtpu`, but no TPU.

The compiler runs ahead of time in a process of its own: it takes a lock for as long as its process lives, it reads
environment variables that are no business of the caller's, and it may abort; in the caller's process each of these
would be felt. Starting that process takes about a second, so programs are sent to it together.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from egraph_rules import Result
from egraph_rules.cost.target import TPU
from ir.errors import LoopsatError, LowerError
from ir.nodes import PrimFunc
from ir.semantics.specialize import specialize
from ir.traverse import shape_vars
from lower.analysis.linear_forms import linear
from lower.emission.function import emit_function

INSTALL = "`pip install 'loopsat[tpu]'` installs the TPU compiler (libtpu; its licence is not an open-source one)"
# Looked at by the compiler in the order of their static cost: each takes 0.03 to 1.3 s.
CANDIDATES = 4
# Estimates this near to each other say nothing.
NOISE = 0.01
_SECONDS = 300
# A host without a TPU has no metadata server to ask; the compiler is told what it compiles for.
_ENVIRONMENT = {
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_WORKER_ID": "0",
    "TPU_LOG_DIR": "disabled",
    # No device is opened, so another process that holds one is not in the way.
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
}


class Compiled(Protocol):
    """Whatever was compiled of a function and keeps it, as kernels do."""

    @property
    def func(self) -> PrimFunc: ...


class TpuReport(Struct, frozen=True):
    """A program as the TPU compiler sees it, for one core of a v5e.

    `parameters` and `results` are types with layouts as in HLO (`f32[4096,256,4]{1,2,0:T(4,128)}`: dimensions from the
    fastest, then the tile), parameters by name. Sizes are in bytes. `estimated_cycles` is the sum of the compiler's own
    estimates over the optimized program, `hlo` its text. `loops`, `scatters` and `opaque` count what the estimate
    cannot see through: bodies of loops count once, scatters look too cheap, the insides of custom calls do not count.
    """

    parameters: Mapping[str, str]
    results: tuple[str, ...]
    argument_bytes: int
    output_bytes: int
    temp_bytes: int
    estimated_cycles: int
    loops: int
    scatters: int
    opaque: int
    hlo: str

    @property
    def tiles(self) -> tuple[str, ...]:
        """The tile of each parameter and result, such as `T(8,128)`; empty where there is none."""
        found = (re.search(r"T\([\d,]+\)", text) for text in (*self.parameters.values(), *self.results))
        return tuple("" if m is None else m[0] for m in found)

    @property
    def caveats(self) -> tuple[str, ...]:
        """Why the estimate may not be compared; empty where it may."""
        kinds = (
            (self.loops, "the body of a loop counts once"),
            (self.scatters, "scatters look too cheap"),
            (self.opaque, "custom calls are not looked into"),
        )
        return tuple(text for count, text in kinds if count)


class TpuJob(Struct, frozen=True):
    """JAX source to compile: the name of its jitted function, and the shape and dtype of each array that it takes."""

    source: str
    function: str
    arguments: Mapping[str, tuple[tuple[int, ...], str]]
    wide: bool = False


def tpu_available() -> bool:
    """Whether the TPU compiler is installed."""
    return importlib.util.find_spec("libtpu") is not None


def compile_for_tpu(kernel: Compiled | PrimFunc, sizes: Mapping[str, int] | None = None) -> TpuReport:
    """Compile a kernel or function for a TPU; symbolic sizes take their values from `sizes`.

    Raises:
        LoopsatError: the compiler is not installed, a size has no value, or the program does not compile.
    """
    (found,) = compile_jobs([tpu_job(kernel, sizes)])
    if isinstance(found, LowerError):
        raise found
    return found


def tpu_job(kernel: Compiled | PrimFunc, sizes: Mapping[str, int] | None = None) -> TpuJob:
    """What the compiler needs of a kernel or function.

    Raises:
        LoopsatError: a size has no value, or is none of the function's.
    """
    func = kernel if isinstance(kernel, PrimFunc) else kernel.func
    func = specialize(func, sizes) if sizes else func
    emitted = emit_function(func, target=TPU)
    missing = [v.name for v in (*shape_vars(func), *(s for s in func.scalars if s in emitted.static))]
    if missing:
        raise LowerError(
            "unbound-size",
            f"compiling {func.name} for a TPU needs values for {', '.join(missing)}",
            func.span,
            help=f"pass sizes={{{missing[0]!r}: ...}}",
        )
    arguments: dict[str, tuple[tuple[int, ...], str]] = {
        emitted.names[s.name]: ((), str(s.dtype.numpy)) for s in func.scalars
    }
    for buffer in func.buffers:
        if buffer not in emitted.optional:
            shape = tuple(linear(d).const for d in buffer.shape)
            arguments[emitted.names[buffer.name]] = (shape, str(buffer.dtype.numpy))
    name = f"_{emitted.name}" if emitted.wide else emitted.name
    return TpuJob(emitted.source, name, arguments, emitted.wide)


def no_slower(before: PrimFunc, after: PrimFunc) -> bool:
    """Whether the compiler estimates no more cycles for a program than for another one; not where it cannot tell.

    Raises:
        LoopsatError: the compiler is not installed, or a size has no value.
    """
    found = compile_jobs([tpu_job(before), tpu_job(after)])
    known = [r for r in found if isinstance(r, TpuReport) and not r.caveats]
    return len(known) == len(found) and known[1].estimated_cycles <= known[0].estimated_cycles


def compile_jobs(jobs: Sequence[TpuJob]) -> list[TpuReport | LowerError]:
    """Compile several programs in one process; for each a report, or the error that says why there is none.

    Raises:
        LowerError: the compiler is not installed, or cannot be started.
    """
    if not tpu_available():
        raise LowerError("no-tpu-compiler", "the TPU compiler is not installed", help=INSTALL)
    with tempfile.TemporaryDirectory(prefix="loopsat-tpu-") as folder:
        given, results = Path(folder, "jobs.json"), Path(folder, "results.jsonl")
        given.write_text(json.dumps([_as_json(job) for job in jobs]), encoding="utf-8")
        results.touch()
        said = _run(given, results)
        answers = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    if not answers and jobs:
        raise LowerError("tpu-compiler", "the TPU compiler cannot be started", notes=[said])
    found = [_report(job, answer) for job, answer in zip(jobs, answers, strict=False)]
    ended = LowerError("tpu-compiler", "the TPU compiler ended before it came to this program", notes=[said])
    return [*found, *(ended for _ in jobs[len(found) :])]


def _as_json(job: TpuJob) -> dict[str, Any]:
    return {"source": job.source, "function": job.function, "arguments": dict(job.arguments), "wide": job.wide}


def _run(jobs: Path, results: Path) -> str:
    """Let the worker do the jobs; returns the end of what it said, which matters if it failed."""
    worker = Path(__file__).with_name("worker.py")
    spec = importlib.util.find_spec("libtpu")
    assert spec is not None and spec.submodule_search_locations
    library = Path(spec.submodule_search_locations[0], "libtpu.so")
    # The caller's own settings win, except that the worker must not touch the devices of the caller.
    environment = {"TPU_LIBRARY_PATH": str(library), **_ENVIRONMENT, **os.environ, "JAX_PLATFORMS": "cpu"}
    # -P: the folder of the worker is no place to import from, its modules have common names.
    command = [sys.executable, "-P", str(worker), str(jobs), str(results)]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"it took more than {_SECONDS} s"
    return f"exit status {done.returncode}: {done.stderr.strip()[-1500:]}"


def _report(job: TpuJob, answer: Mapping[str, Any]) -> TpuReport | LowerError:
    if "error" in answer:
        return LowerError("tpu-compiler", "the TPU compiler refuses the program", notes=[str(answer["error"])[:1500]])
    hlo = str(answer["hlo"])
    layout = re.search(r"entry_computation_layout=\{\((.*)\)->(.*?)\}(?:, \w+=|\n)", hlo)
    parameters, results = ([], []) if layout is None else (_types(layout[1]), _types(layout[2]))
    return TpuReport(
        dict(zip(sorted(job.arguments), parameters, strict=False)),  # JAX sorts named arguments
        tuple(results),
        int(answer["argument_bytes"]),
        int(answer["output_bytes"]),
        int(answer["temp_bytes"]),
        sum(int(n) for n in re.findall(r'"estimated_cycles":"(\d+)"', hlo)),
        len(re.findall(r"\bwhile\(", hlo)),
        len(re.findall(r"\bscatter\(", hlo)),
        len(re.findall(r"\bcustom-call\(", hlo)),
        hlo,
    )


def _types(text: str) -> list[str]:
    """The array types with layouts in a list of types."""
    text = re.sub(r"/\*.*?\*/", "", text)
    return re.findall(r"\w+\[[\d,<=]*\](?:\{[^{}]*\})?", text)


class Candidate(Struct, frozen=True):
    """A program with its static cost and what the compiler said of it."""

    func: PrimFunc
    cost: float
    found: TpuReport | LowerError


class TpuChoice(Struct, frozen=True):
    """`best` of the candidates (in the order of their static cost), and in `reason` why it is that one."""

    best: PrimFunc
    candidates: tuple[Candidate, ...]
    reason: str


def choose(result: Result, sizes: Mapping[str, int] | None = None) -> TpuChoice:
    """Choose among the variants of a search by the TPU compiler.

    Those that it refuses are out. Where it can estimate all others, the fewest cycles win, then the least temporary
    memory, then the static cost; else the static cost decides. Ask `optimize` for several variants (`k`).

    Raises:
        LoopsatError: the compiler is not installed, or a size has no value.
    """
    jobs = [tpu_job(func, sizes) for func, _ in result.variants]
    candidates = tuple(
        Candidate(func, cost, found) for (func, cost), found in zip(result.variants, compile_jobs(jobs), strict=True)
    )
    return _chosen(candidates)


def _chosen(candidates: Sequence[Candidate]) -> TpuChoice:
    compiled = [(c.func, c.found) for c in candidates if isinstance(c.found, TpuReport)]
    everything = tuple(candidates)
    if not compiled:
        return TpuChoice(candidates[0].func, everything, "the TPU compiler refuses all of them: static cost decides")
    caveats = dict.fromkeys(text for _, report in compiled for text in report.caveats)
    if caveats:
        reason = f"static cost decides, since estimates are not comparable: {'; '.join(caveats)}"
        return TpuChoice(compiled[0][0], everything, reason)
    if len(compiled) == 1:
        return TpuChoice(compiled[0][0], everything, "the only program to choose from")
    least = min(report.estimated_cycles for _, report in compiled)
    near = [(f, r) for f, r in compiled if r.estimated_cycles <= least * (1 + NOISE)]
    best, report = min(near, key=lambda pair: pair[1].temp_bytes)  # the first of equals: that of the least static cost
    reason = f"the fewest estimated cycles ({report.estimated_cycles:,})"
    if len(near) > 1:
        reason = f"{len(near)} programs are within {NOISE:.0%} of the fewest estimated cycles; of these the one with "
        reason += "the least temporary memory, then static cost"
    return TpuChoice(best, everything, reason)


def describe(candidates: Iterable[Candidate]) -> list[str]:
    """A line on each candidate, for people."""
    return [
        f"program {number}: static cost {c.cost:,.0f}; {_described(c.found)}" for number, c in enumerate(candidates, 1)
    ]


def _described(found: TpuReport | LoopsatError) -> str:
    if not isinstance(found, TpuReport):
        return f"{found.message}: {' '.join(found.notes)}"
    layouts = ", ".join([*(f"{n}: {t}" for n, t in found.parameters.items()), *(f"→ {t}" for t in found.results)])
    caveats = f" ({'; '.join(found.caveats)})" if found.caveats else ""
    return (
        f"{found.estimated_cycles:,} estimated cycles{caveats}; bytes: {found.argument_bytes:,} arguments, "
        f"{found.output_bytes:,} results, {found.temp_bytes:,} temporary; {layouts}"
    )
