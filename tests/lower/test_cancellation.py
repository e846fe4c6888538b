"""Programs whose terms cancel: kernels are as close to exact results as the loops, wherever the data lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from egraph_rules import optimize
from egraph_rules.cost.target import CPU
from ir import interpret, parse
from ir.nodes import Const, Expr, PrimFunc, const
from ir.traverse import buffers_written, map_expr, map_stmt
from lower import compile
from lower.analysis.deciding import deciding, least
from lower.runtime.callable import Kernel
from profiles import some

N, K = 12, 6
ROWS, LONG = 3, 300
# Forms that pay for large arrays only are taken for those too that the interpreter can run.
EAGER = replace(CPU, product=0.0, contraction=0.01, launch=0.0, dispatch=0.0, step=300.0, kernel=0.0)
OFFSETS = (0.0, 1234.5, 1.2345678e6)  # no multiples of units in the last place, which rounds by luck
TIMES = 4.0  # the error of the loops, which kernels may have


@dataclass(frozen=True, slots=True)
class Program:
    """Parameters, statements, and which inputs are moved by the offset of the data."""

    params: str
    body: str
    moved: str

    def function(self, dtype: str) -> PrimFunc:
        """The program over one dtype of floats, with the numbers that it has in float32."""
        body = self.body.replace("\n", "\n    ")
        func = parse(f"@T.prim_func\ndef f({self.params}):\n    {body}\n".replace("float32", dtype)).funcs[0]
        return replace(func, body=map_stmt(func.body, lambda e: map_expr(e, as_single)))


def as_single(expr: Expr) -> Expr:
    """A number as float32 has it."""
    if isinstance(expr, Const) and expr.dtype.is_float:
        return const(float(np.float32(expr.value)), expr.dtype)
    return expr


def buffers(**shapes: str) -> str:
    return ", ".join(f'{name}: T.Buffer(({shape},), "float32")' for name, shape in shapes.items())


POINTS = {"X": f"{N}, {K}", "Y": f"{N}, {K}"}
PROGRAMS = {
    "pairwise distances": Program(
        buffers(**POINTS, D=f"{N}, {N}"),
        f"for i, j in T.grid({N}, {N}):\n    D[i, j] = 0.0\n    for k in T.serial({K}):\n"
        "        D[i, j] = D[i, j] + (X[i, k] - Y[j, k]) * (X[i, k] - Y[j, k])",
        "XY",
    ),
    "centred covariance": Program(
        buffers(X=f"{N}, {K}", M=f"{K}", C=f"{K}, {K}"),
        f"for k in T.serial({K}):\n    M[k] = 0.0\n    for i in T.serial({N}):\n        M[k] = M[k] + X[i, k]\n"
        f"    M[k] = M[k] / {float(N)}\n"
        f"for k, l in T.grid({K}, {K}):\n    C[k, l] = 0.0\n    for i in T.serial({N}):\n"
        "        C[k, l] = C[k, l] + (X[i, k] - M[k]) * (X[i, l] - M[l])",
        "X",
    ),
    "variance": Program(
        buffers(X=f"{ROWS}, {LONG}", V=f"{ROWS}"),
        f'for i in T.serial({ROWS}):\n    m = T.alloc_buffer((1,), "float32", scope="local")\n    m[0] = 0.0\n'
        f"    for j in T.serial({LONG}):\n        m[0] = m[0] + X[i, j]\n    m[0] = m[0] / {float(LONG)}\n"
        "    V[i] = 0.0\n"
        f"    for j in T.serial({LONG}):\n        V[i] = V[i] + (X[i, j] - m[0]) * (X[i, j] - m[0])",
        "X",
    ),
    "masked variance": Program(
        buffers(X=f"{ROWS}, {LONG}", V=f"{ROWS}"),
        f'for i in T.serial({ROWS}):\n    m = T.alloc_buffer((1,), "float32", scope="local")\n    m[0] = 0.0\n'
        f"    for j in T.serial({LONG}):\n        if j < 270:\n            m[0] = m[0] + X[i, j]\n"
        f"    m[0] = m[0] / 270.0\n    V[i] = 0.0\n    for j in T.serial({LONG}):\n        if j < 270:\n"
        "            V[i] = V[i] + (X[i, j] - m[0]) * (X[i, j] - m[0])",
        "X",
    ),
    "weighted differences": Program(
        buffers(**POINTS, W=f"{K}", S=f"{N}"),
        f"for i in T.serial({N}):\n    S[i] = 0.0\n    for k in T.serial({K}):\n"
        "        S[i] = S[i] + W[k] * (X[i, k] - Y[i, k])",
        "XY",
    ),
    "weighted differences of neighbours": Program(
        buffers(X=f"{LONG}", S=f"{LONG}"),
        f"for i in T.serial(1, {LONG - 1}):\n    S[i] = 0.5 * (X[i + 1] - X[i]) + 0.25 * (X[i] - X[i - 1])",
        "X",
    ),
    "sum of differences": Program(
        buffers(X=f"{ROWS}, {LONG}", Y=f"{ROWS}, {LONG}", S=f"{ROWS}"),
        f"for i in T.serial({ROWS}):\n    S[i] = 0.0\n    for j in T.serial({LONG}):\n"
        "        S[i] = S[i] + (X[i, j] - Y[i, j])",
        "XY",
    ),
    "pairwise forces": Program(
        buffers(X=f"{N}, 3", W=f"{N}", F=f"{N}, 3"),
        f"for i, d in T.grid({N}, 3):\n    F[i, d] = 0.0\nfor i, j in T.grid({N}, {N}):\n"
        '    r = T.alloc_buffer((1,), "float32", scope="local")\n    r[0] = 0.01\n'
        "    for d in T.serial(3):\n        r[0] = r[0] + (X[i, d] - X[j, d]) * (X[i, d] - X[j, d])\n"
        "    for d in T.serial(3):\n        F[i, d] = F[i, d] + W[j] * (X[i, d] - X[j, d]) / (r[0] * T.sqrt(r[0]))",
        "X",
    ),
    "logarithm of a sum of exponentials": Program(
        buffers(X=f"{N}, {N}", S=f"{N}"),
        f'for i in T.serial({N}):\n    m = T.alloc_buffer((1,), "float32", scope="local")\n    m[0] = X[i, 0]\n'
        f"    for j in T.serial({N}):\n        m[0] = T.max(m[0], X[i, j])\n    S[i] = 0.0\n"
        f"    for j in T.serial({N}):\n        S[i] = S[i] + T.exp(X[i, j] - m[0])\n    S[i] = T.log(S[i]) + m[0]",
        "X",
    ),
    "normalisation": Program(
        buffers(X=f"{ROWS}, {LONG}", Z=f"{ROWS}, {LONG}"),
        f'for i in T.serial({ROWS}):\n    m = T.alloc_buffer((2,), "float32", scope="local")\n'
        "    m[0] = 0.0\n    m[1] = 0.0\n"
        f"    for j in T.serial({LONG}):\n        m[0] = m[0] + X[i, j] / {float(LONG)}\n"
        f"    for j in T.serial({LONG}):\n        m[1] = m[1] + (X[i, j] - m[0]) * (X[i, j] - m[0]) / {float(LONG)}\n"
        f"    for j in T.serial({LONG}):\n        Z[i, j] = (X[i, j] - m[0]) / T.sqrt(m[1] + 0.00001)",
        "X",
    ),
    "differences of running sums": Program(
        buffers(X=f"{LONG}", P=f"{LONG + 1}", S=f"{LONG - 9}"),
        f"P[0] = 0.0\nfor i in T.serial({LONG}):\n    P[i + 1] = P[i] + X[i]\n"
        f"for i in T.serial({LONG - 9}):\n    S[i] = P[i + 10] - P[i]",
        "X",
    ),
    "a smoothing filter near its limit": Program(
        buffers(X=f"{LONG}", Y=f"{LONG}"),
        f"for i in T.serial(1, {LONG}):\n    Y[i] = 0.999 * Y[i - 1] + 0.001 * X[i]",
        "XY",
    ),
    "smoothing by differences": Program(
        buffers(X=f"{LONG}", Y=f"{LONG}"),
        f"for i in T.serial(1, {LONG}):\n    Y[i] = Y[i - 1] + 0.02 * (X[i] - Y[i - 1])",
        "XY",
    ),
    "a filter that blocks constants": Program(
        buffers(X=f"{LONG}", Y=f"{LONG}"),
        f"for i in T.serial(1, {LONG}):\n    Y[i] = X[i] - X[i - 1] + 0.995 * Y[i - 1]",
        "X",
    ),
    "a resonance near its limit": Program(
        buffers(X=f"{LONG}", W=f"{LONG}", Y=f"{LONG}"),  # a steady result would round alike again and again
        f"for i in T.serial(2, {LONG}):\n    Y[i] = 0.001 * X[i] * W[i] + 1.9960 * Y[i - 1] - 0.9970 * Y[i - 2]",
        "XY",
    ),
    "an oscillation": Program(
        buffers(X=f"{LONG}", Y=f"{LONG}"),
        f"for i in T.serial(2, {LONG}):\n    Y[i] = X[i] + 1.2 * Y[i - 1] - 0.999 * Y[i - 2]",
        "X",
    ),
}

STEPS = 1000
NEAR_THE_LIMIT = {
    "slow": (0.9999,),
    "slow from a scalar": (0.999,),
    "slow twice": (1.998, -0.998001),
    "slow twice from scalars": (1.998, -0.998001),
    "slow three times": (2.97, -2.9403, 0.970299),
    "alternating": (-1.9954, -0.998),
    "turning": (1.9954, -0.998),
}


def data(func: PrimFunc, moved: str, offset: float) -> dict[str, Any]:
    """Numbers in float32 around an offset, or around zero for what does not move."""
    rng = np.random.default_rng(5)
    found: dict[str, Any] = {}
    for b in func.buffers:
        values = rng.uniform(-1, 1, [int(d.value) for d in b.shape if isinstance(d, Const)])
        found[b.name] = (values + (offset if b.name in moved else 0.0)).astype(np.float32)
    return found


def errors(found: object, exact: np.ndarray) -> float:
    """The largest difference."""
    return float(np.abs(np.asarray(found, np.float64) - exact).max())


def assert_as_close(program: Program, kernel: Kernel, offset: float) -> None:
    """No result of a kernel is further from exact ones than the loops in float32 are, but for a small factor."""
    single, double = program.function("float32"), program.function("float64")
    given = data(single, program.moved, offset)
    exact = interpret(double, *(v.astype(np.float64) for v in given.values()))
    loops = interpret(single, *(v.copy() for v in given.values()))
    written = [b.name for b in single.buffers if b in buffers_written(single.body)]
    for name, want, usual, got in zip(written, exact, loops, kernel(**given), strict=True):
        least = float(np.spacing(np.abs(want).max().astype(np.float32)))  # the loops may be exact by luck
        error, most = errors(got, want), TIMES * max(errors(usual, want), least)
        assert error <= most, f"{name} is off by {error}, the loops by {errors(usual, want)}\n{kernel.source}"


@pytest.mark.parametrize("name", some(PROGRAMS, 2))
def test_kernels_are_as_close_as_loops(name: str) -> None:
    program = PROGRAMS[name]
    kernel = compile(program.function("float32"), EAGER)
    for offset in OFFSETS:
        assert_as_close(program, kernel, offset)


@pytest.mark.fuzz
@pytest.mark.parametrize("name", PROGRAMS)
def test_optimized_kernels_are_as_close_as_loops(name: str) -> None:
    program = PROGRAMS[name]
    kernel = compile(optimize(program.function("float32")).best, EAGER)
    for offset in OFFSETS:
        assert_as_close(program, kernel, offset)


def filter_near_its_limit(factors: tuple[float, ...], scalars: bool) -> Program:
    """A filter by factors that are numbers, or scalars of the program."""
    names = [f"c{k}" if scalars else str(f) for k, f in enumerate(factors)]
    terms = " + ".join(f"{c} * Y[i - {k}]" for k, c in enumerate(names, 1))
    params = ", ".join([*([f"{c}: T.float32" for c in names] if scalars else []), buffers(X=f"{STEPS}", Y=f"{STEPS}")])
    gain = float(np.float32(1 - abs(factors[-1])))
    return Program(params, f"for i in T.serial({len(factors)}, {STEPS}):\n    Y[i] = {terms} + {gain} * X[i]", "XY")


def assert_filter_as_close(program: Program, kernel: Kernel, scalars: dict[str, Any]) -> None:
    """As `assert_as_close`, where the filter begins close to what it tends to."""
    single, double = program.function("float32"), program.function("float64")
    for offset in OFFSETS:
        given = data(single, "XY", offset)
        given["Y"][:] = given["X"][0]
        given |= scalars
        (exact,) = interpret(double, **{n: v.astype(np.float64) for n, v in given.items()})
        (loops,) = interpret(single, **{n: v.copy() for n, v in given.items()})
        least = float(np.spacing(np.abs(exact).max().astype(np.float32)))
        error, most = errors(kernel(**given)[0], exact), TIMES * max(errors(loops, exact), least)
        assert error <= most, f"off by {error}, the loops by {errors(loops, exact)}\n{kernel.source}"


@pytest.mark.parametrize("name", some(NEAR_THE_LIMIT, 1))
def test_filters_near_their_limit_are_as_close_as_loops(name: str) -> None:
    """What is handed on from block to block, or from window to window, is not off by the same again and again."""
    factors, scalars = NEAR_THE_LIMIT[name], "scalar" in name
    program = filter_near_its_limit(factors, scalars)
    kernel = compile(program.function("float32"), EAGER)
    assert any("filter of order" in line or "linear scan" in line for line in kernel.report), kernel.report
    assert_filter_as_close(program, kernel, {f"c{k}": np.float32(f) for k, f in enumerate(factors) if scalars})


@pytest.mark.parametrize(("form", "function"), [(0, "pairwise_sums"), (2, "doubling_sums")])
def test_all_forms_of_a_scan_near_its_limit_are_as_close_as_loops(form: int, function: str) -> None:
    program = filter_near_its_limit(NEAR_THE_LIMIT["slow"], scalars=False)
    with deciding(lambda decision, prices: form if decision == "scan" else least(decision, prices)):
        kernel = compile(program.function("float32"), EAGER)
    assert f"def {function}(" in kernel.source
    assert_filter_as_close(program, kernel, {})


LABELS = f"""
@T.prim_func
def label(X: T.Buffer(({N}, {K}), "float32"), C: T.Buffer((5, {K}), "float32"), L: T.Buffer(({N},), "int32")):
    for i in T.serial({N}):
        best = T.alloc_buffer((1,), "float32", scope="local")
        best[0] = 1e30
        for c in T.serial(5):
            d = T.alloc_buffer((1,), "float32", scope="local")
            d[0] = 0.0
            for k in T.serial({K}):
                d[0] = d[0] + (X[i, k] - C[c, k]) * (X[i, k] - C[c, k])
            if d[0] < best[0]:
                best[0] = d[0]
                L[i] = c
"""


@pytest.mark.parametrize("offset", some(OFFSETS, 0.67))
def test_labels_by_nearest_centre(offset: float) -> None:
    single, double = (parse(LABELS.replace("float32", dtype)).funcs[0] for dtype in ("float32", "float64"))
    given: dict[str, Any] = {n: v for n, v in data(single, "XC", offset).items() if n != "L"}
    start = np.zeros(N, np.int32)
    (want,) = interpret(double, *(v.astype(np.float64) for v in given.values()), start.copy())
    (loops,) = interpret(single, **given, L=start.copy())
    (got,) = compile(single, EAGER)(**given, L=start)
    assert np.count_nonzero(np.asarray(got) != want) <= TIMES * np.count_nonzero(loops != want)
