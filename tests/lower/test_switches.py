"""Every form of lowering can be switched off by name and family; without `structure`, loops run as they are written."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

import lower
from egraph_rules.cost.target import CPU, GPU, TPU, Target
from egraph_rules.rules.tensor import TENSOR_RULES
from ir import PrimFunc, parse, specialize
from ir.errors import LoopsatError
from ir.floats import DEFAULT_FLOATS, Floats
from ir.nodes import For
from ir.traverse import walk
from kernel_files import PATHS, load
from lower import compile, emit
from lower.analysis.freedoms import FAMILIES, Form, Policy
from lower.commands.cli import main
from lower.nest.undef_products import UNDEF_PRODUCTS
from lower.price.program import program_price
from lower.restructure.wavefront import SKEWING
from lower.runtime.searched import optimize
from lower.runtime.switches import FORMS, INSTRUCTIONS, MESH, STRUCTURE, VALUES, switched_off
from lowered import assert_agrees, read
from profiles import some

EXAMPLES = Path(__file__).parents[2] / "examples"
EAGER = replace(CPU, name="eager", scalar=1e4, step=1e4, mask=1e4)
MERGING = replace(CPU, padded_read=0.0, padded_vector=0.0, padded_branch=0.0)
VECTORS = 'A: T.Buffer((400,), "float32"), B: T.Buffer((400,), "float32"), C: T.Buffer((400,), "float32")'


@cache
def kernel(name: str) -> PrimFunc:
    file = load(name)
    return specialize(file.func, file.sizes["large"])


@cache
def usually(name: str, target: Target | str) -> str:
    return emit(kernel(name), target)


FLOAT_ROWS = 'A: T.Buffer((64, 99), "float32"), M: T.Buffer((64,), "float32"), P: T.Buffer((64,), "int32")'
INTEGERS = VECTORS.replace("float", "int")
RAGGED = (
    'P: T.Buffer((8,), "int32"), X: T.Buffer((23,), "float32"), '
    'S: T.Buffer((7,), "float32"), Z: T.Buffer((23,), "float32")'
)
DOUBLED = """
@T.instruction(jax="{X} * 2.0")
def doubled(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
    for k in range(4):
        Y[k] = X[k] * 2.0
"""
# Of each form a program in which it is taken, by the name of a kernel in examples/ or as parameters and statements, and
# a target or freedoms under which it pays.
TAKEN: dict[str, tuple[str | tuple[str, str], Target | Floats]] = {
    "structure.planning": ("gemm", CPU),
    "structure.sums": ("gemm", CPU),
    "structure.extremes": ("max_pool", CPU),
    "structure.privatization": ("durbin", CPU),
    "structure.disjoint_cases": (
        (
            'A: T.Buffer((40, 50), "int8"), C: T.Buffer((40, 40), "int32")',
            (
                "for i, j, k in T.grid(40, 40, 50):\n    if A[i, k] > T.int8(0) or A[j, k] > T.int8(0):\n"
                "        C[i, j] = C[i, j] + 1"
            ),
        ),
        CPU,
    ),
    "structure.exchange": (
        (VECTORS, "for i in range(400):\n    if A[i] > B[i]:\n        s = A[i]\n        A[i] = B[i]\n        B[i] = s"),
        CPU,
    ),
    "structure.if_conversion": (
        (
            VECTORS,
            (
                "for i in T.serial(1, 400):\n    if A[i] > A[i - 1]:\n        B[i] = A[i]\n"
                "    else:\n        B[i] = C[i]"
            ),
        ),
        CPU,
    ),
    "structure.silent_stores": ("floyd_warshall", CPU),
    "structure.windows": (
        (
            'A: T.Buffer((100, 90), "float32"), B: T.Buffer((100,), "float32"), C: T.Buffer((100,), "float32")',
            (
                "for i in range(100):\n    for k in range(T.max(0, i - 3), T.min(100, i + 4)):\n"
                "        B[i] = T.max(B[i], C[k])"
            ),
        ),
        CPU,
    ),
    "structure.interchange": (
        (
            'A: T.Buffer((90, 100), "float32"), B: T.Buffer((90, 80), "float32"), D: T.Buffer((90, 80), "int32")',
            """for i, j in T.grid(90, 80):
    B[i, j] = 1e30
    D[i, j] = 0
    for u in range(9):
        s = T.alloc_buffer((1,), "float32")
        s[0] = 0.0
        for k in range(3):
            s[0] = s[0] + T.abs(A[i, j + u + k] - A[i, j + k + 6])
        if s[0] < B[i, j]:
            B[i, j] = s[0]
            D[i, j] = u""",
        ),
        CPU,
    ),
    "structure.permutation": ("lu", CPU),
    "structure.splitting_at_steps": ("floyd_warshall", CPU),
    "structure.index_set_splitting": ("durbin", CPU),
    "structure.blocking": ("lu", CPU),
    "structure.strip_mining": ("floyd_warshall", CPU),
    "structure.skewing": ("nussinov", CPU),
    "structure.row_rotation": (
        (
            'D: T.Buffer((120, 130), "int32")',
            """for i in T.serial(1, 120):
    for j in range(130):
        D[i, j] = T.min(D[i, j], D[i - 1, j] + 3)
    for j in range(129):
        D[i, j] = T.min(D[i, j], D[i - 1, j + 1] + 4)
    for j in T.serial(1, 130):
        D[i, j] = T.min(D[i, j], D[i, j - 1] + 3)""",
        ),
        CPU,
    ),
    "structure.coalescing": (
        (RAGGED, "for i in T.serial(7):\n    for k in T.serial(P[i], P[i + 1]):\n        Z[k] = X[k] * S[i]"),
        EAGER,
    ),
    "structure.collapsing": (
        (
            'A: T.Buffer((60, 50), "float32"), B: T.Buffer((60, 50), "float32"), s: T.Buffer((1,), "float32")',
            "for i, k in T.grid(60, 50):\n    s[0] = s[0] + A[i, k]\n    B[i, k] = s[0]",
        ),
        EAGER,
    ),
    "structure.keys_as_products": (
        (
            'V: T.Buffer((60, 90), "float32"), K: T.Buffer((90,), "int32"), C: T.Buffer((60, 5), "float32")',
            "for t, i in T.grid(60, 90):\n    C[t, K[i]] = C[t, K[i]] + V[t, i]",
        ),
        CPU,
    ),
    "structure.updates_by_key": (
        (
            'K: T.Buffer((60,), "int32"), n: T.Buffer((5,), "int32"), R: T.Buffer((60,), "int32")',
            "for t in range(60):\n    R[t] = n[K[t]]\n    n[K[t]] = n[K[t]] + 1",
        ),
        EAGER,
    ),
    "instructions.shift_register": (
        (
            'A: T.Buffer((60,), "int32"), B: T.Buffer((60,), "int32"), s: T.Buffer((1,), "int32")',
            "for t in range(60):\n    s[0] = (s[0] * 4 + A[t]) % 64\n    B[t] = s[0]",
        ),
        EAGER,
    ),
    "structure.full_unrolling": (
        (
            VECTORS,
            ("for i in T.serial(400):\n    B[i] = 0.0\n    for k in T.serial(5):\n        B[i] = B[i] * A[i] + C[k]"),
        ),
        CPU,
    ),
    "structure.stage_unrolling": (
        (
            VECTORS,
            (
                "for s in T.serial(5):\n    for i in T.serial(400):\n        if (i >> s) % 2 == 0 and i < 32:\n"
                "            A[i | (1 << s)] = A[i] - A[i | (1 << s)]"
            ),
        ),
        CPU,
    ),
    "structure.versioning": ("floyd_warshall", CPU),
    "structure.statement_fusion": (
        (VECTORS, "for i in T.serial(400):\n    B[i] = A[i] * A[i]\n    if i > 0:\n        B[i] = B[i] + A[i - 1]"),
        MERGING,
    ),
    "structure.forward_substitution": (
        (
            'D: T.Buffer((40, 40), "int32")',
            (
                "for k in T.serial(40):\n    for i in T.serial(40):\n        a = D[i, k]\n"
                "        for j in T.serial(40):\n            D[i, j] = T.min(D[i, j], T.max(a, D[k, j]))"
            ),
        ),
        CPU,
    ),
    "structure.invariant_code_motion": ("adi", CPU),
    "structure.scalar_promotion_undone": ("ludcmp", CPU),
    "structure.past_values": ("deriche", CPU),
    "structure.contraction": ("adi", CPU),
    "structure.copy_in_out": ("lu", CPU),
    "structure.transposed_copy": ("deriche", CPU),
    "structure.dimension_order": ("adi", CPU),
    "structure.predicate_elimination": (
        (
            'A: T.Buffer((9, 9), "float32"), B: T.Buffer((1,), "float32")',
            "for i in range(9):\n    for j in range(i):\n        d = A[i, j] - A[j, i]\n        B[0] = B[0] + d * d",
        ),
        CPU,
    ),
    "structure.packing": (
        (
            'e: T.Buffer((9,), "int32"), X: T.Buffer((9, 2), "float32"), Y: T.Buffer((5, 2), "float32")',
            (
                "for k in range(9):\n    Y[e[k], 0] = Y[e[k], 0] + X[k, 0]\n"
                "    Y[e[k], 1] = Y[e[k], 1] + X[k, 1] * X[k, 0]"
            ),
        ),
        CPU,
    ),
    "structure.loop_reversal": (
        (
            'A: T.Buffer((9,), "float32"), B: T.Buffer((9,), "float32")',
            "for i in T.serial(9):\n    B[8 - i] = A[8 - i] * 2.0",
        ),
        CPU,
    ),
    "structure.delinearization": (
        (
            "a: T.handle, b: T.handle",
            (
                'm = T.int32()\nn = T.int32()\nA = T.match_buffer(a, (m, n), "float32")\n'
                'B = T.match_buffer(b, (m * n,), "float32")\nfor i in range(m):\n    for j in range(n):\n'
                "        B[i * n + j] = A[i, j]"
            ),
        ),
        CPU,
    ),
    "structure.linearization": (
        (
            'A: T.Buffer((10, 20, 4), "float32"), B: T.Buffer((37, 20), "float32")',
            "for i, j in T.grid(37, 20):\n    B[i, j] = A[i // 4, j, i % 4]",
        ),
        CPU,
    ),
    "instructions.einsum": ("gemm", CPU),
    "instructions.convolution": ("conv2d", CPU),
    "instructions.sliding_window": (
        (
            'X: T.Buffer((4000,), "float32"), Y: T.Buffer((3900,), "float32")',
            "for i, k in T.grid(3900, 101):\n    Y[i] = T.max(Y[i], X[i + k])",
        ),
        CPU,
    ),
    "instructions.scan": ("prefix_sum", CPU),
    "instructions.prefix_sum": (
        (
            'A: T.Buffer((300,), "float32"), B: T.Buffer((300,), "float32")',
            "for i, k in T.grid(300, 300):\n    if k <= i:\n        B[i] = B[i] + A[k]",
        ),
        CPU,
    ),
    "instructions.running_extreme": (
        (VECTORS, "B[0] = A[0]\nfor i in T.serial(1, 400):\n    B[i] = T.max(A[i], B[i - 1])"),
        EAGER,
    ),
    "instructions.extreme_of_sums": (
        (VECTORS, "for i in T.serial(1, 400):\n    B[i] = T.max(A[i], B[i - 1] + A[i] * A[i])"),
        EAGER,
    ),
    "instructions.filter": (
        (VECTORS, "for i in T.serial(2, 400):\n    B[i] = 0.5 * B[i - 1] - 0.2 * B[i - 2] + A[i]"),
        EAGER,
    ),
    "instructions.segmented_reduction": ("spmv", CPU),
    "instructions.last_writer": (
        (
            'A: T.Buffer((400,), "float32"), P: T.Buffer((400,), "int32"), B: T.Buffer((99,), "float32")',
            (
                "for i in T.serial(400):\n    T.assume(P[i] >= 0 and P[i] < 99)\n"
                "for i in T.serial(400):\n    B[P[i]] = A[i]"
            ),
        ),
        GPU,
    ),
    "instructions.discounted_sum": (
        (VECTORS, "for i in T.serial(400):\n    for j in T.serial(3):\n        B[j] = B[j] * 0.5 + A[i]"),
        EAGER,
    ),
    "structure.independent_steps": (
        (VECTORS, "for i in T.serial(50, 400):\n    A[i] = A[i - 50] * 0.5 + B[i]"),
        CPU,
    ),
    "structure.circular_buffers": (
        (VECTORS, "for i in T.serial(400):\n    A[i] = C[i % 50] * 0.5 + B[i]\n    C[i % 50] = A[i]"),
        EAGER,
    ),
    "structure.loop_function": ((VECTORS, "for i in T.serial(1, 400):\n    A[i] = T.sqrt(A[i - 1] + B[i])"), CPU),
    "structure.partial_unrolling": (
        (VECTORS, "for i in T.serial(1, 400):\n    A[i] = T.sqrt(A[i - 1] + B[i])"),
        GPU,
    ),
    "instructions.argmax": (
        (
            FLOAT_ROWS,
            (
                "for r in range(64):\n    M[r] = A[r, 0]\n    P[r] = 0\n    for i in range(99):\n"
                "        if A[r, i] > M[r]:\n            M[r] = A[r, i]\n            P[r] = i"
            ),
        ),
        CPU,
    ),
    "instructions.sorted_insertion": (
        (
            FLOAT_ROWS,
            (
                "for r in range(64):\n    b = T.alloc_buffer((1,), 'float32')\n    b[0] = -9.0\n    M[r] = -9.0\n"
                "    for i in range(99):\n        if A[r, i] > b[0]:\n            M[r] = b[0]\n"
                "            b[0] = A[r, i]\n        elif A[r, i] > M[r]:\n            M[r] = A[r, i]"
            ),
        ),
        GPU,
    ),
    "structure.invariant_reductions": (
        (
            VECTORS,
            (
                "for y, x in T.grid(20, 20):\n    w = T.alloc_buffer((1,), 'float32')\n    w[0] = A[x]\n"
                "    for k in range(8):\n        w[0] = w[0] * B[y + k]\n    C[0] = C[0] + w[0]"
            ),
        ),
        CPU,
    ),
    "instructions.permutation": (
        (
            FLOAT_ROWS,
            (
                "for i in range(64):\n    for j in range(i):\n"
                "        t = A[i, j]\n        A[i, j] = A[j, i]\n        A[j, i] = t"
            ),
        ),
        CPU,
    ),
    "instructions.triangular_solve": ("trisolv", CPU),
    "instructions.cholesky": ("cholesky", CPU),
    "instructions.deferred_updates": ("gramschmidt", CPU),
    "instructions.pallas_kernel": ("jacobi_2d", TPU),
    "instructions.of_users": ((VECTORS, "doubled(A[0:4], B[0:4])"), CPU),
    "values.collected": ("heat_3d", CPU),
    "values.expanded": (
        (VECTORS, "for i in T.serial(399):\n    B[i] = 0.5 * (A[i] - C[i]) + 0.25 * (C[i] - A[i + 1])"),
        DEFAULT_FLOATS | Floats.DISTRIBUTE,
    ),
    "structure.existence": ((VECTORS, "for i in T.serial(400):\n    if A[i] > 2.0:\n        B[7] = 1.0"), CPU),
    "structure.steady_conditions": (
        (
            INTEGERS,
            (
                "for t in T.serial(9):\n    for i in T.serial(1, 400):\n"
                "        if A[i] < 0 and A[i - 1] == t:\n            A[i] = t + 1"
            ),
        ),
        CPU,
    ),
    "structure.element_reads": (
        (
            'A: T.Buffer((400,), "float32"), u: T.Buffer((9,), "int32")',
            "for k in T.serial(9):\n    for i in T.serial(400):\n        A[i] = A[i] - 0.5 * A[u[k]]",
        ),
        CPU,
    ),
    "structure.residues": (
        (
            'A: T.Buffer((400,), "int32"), B: T.Buffer((1,), "int32")',
            (
                "s = T.alloc_buffer((1,), 'int32')\ns[0] = 0\nfor i in T.serial(400):\n"
                "    s[0] = (s[0] + A[i]) % 97\nB[0] = s[0]"
            ),
        ),
        CPU,
    ),
    "structure.best_of_groups": (
        (
            INTEGERS,
            "for i in T.serial(400):\n    if A[i] > B[A[i] % 7]:\n        B[A[i] % 7] = A[i]\n        C[A[i] % 7] = i",
        ),
        CPU,
    ),
    "structure.uniform_locals": (
        (
            VECTORS,
            (
                "for i in T.serial(400):\n    t = T.alloc_buffer((1,), 'float32')\n    t[0] = 1.0\n"
                "    for r in T.serial(50):\n        A[i] = A[i] * t[0]\n        t[0] = t[0] * C[r]"
            ),
        ),
        CPU,
    ),
    "structure.sums_ahead": (
        (
            FLOAT_ROWS,
            (
                "c = T.alloc_buffer((64,), 'float32')\nfor r in range(64):\n    c[r] = A[r, 0]\nfor i in range(99):\n"
                "    for r in range(64):\n        s = T.alloc_buffer((1,), 'float32')\n        s[0] = 0.0\n"
                "        for k in range(50):\n            s[0] = s[0] + A[r, k] * A[k, i]\n"
                "        if s[0] > c[r] * c[r]:\n            c[r] = s[0] - c[r]\nfor r in range(64):\n    M[r] = c[r]"
            ),
        ),
        CPU,
    ),
    "structure.periods": (
        (
            VECTORS,
            (
                "s = T.alloc_buffer((1,), 'float32')\nfor i in range(400):\n    if i % 20 == 0:\n        s[0] = 0.0\n"
                "    s[0] = T.max(s[0] * 0.5, A[i])\n    B[i] = s[0]"
            ),
        ),
        CPU,
    ),
    "structure.shared_functions": (
        (
            'A: T.Buffer((9000,), "float32"), B: T.Buffer((9000,), "float32")',
            "for i in range(8998):\n    B[i] = T.tanh(A[i]) + T.tanh(A[i + 1]) * T.tanh(A[i + 2])",
        ),
        CPU,
    ),
    "structure.columns": (
        (
            'A: T.Buffer((400, 2), "float32")',
            (
                "for r in T.serial(50):\n    for i in T.serial(400):\n"
                "        A[i, 0] = A[i, 1] - A[i, 0]\n        A[i, 1] = A[i, 0] * 2.0"
            ),
        ),
        CPU,
    ),
    "values.extreme": (
        (INTEGERS, "for i in T.serial(400):\n    B[i] = T.if_then_else(A[i] < C[i], A[i], C[i])"),
        CPU,
    ),
    "values.mask_as_padding": ("trmm", CPU),
    "values.domain_extension": ("lu", CPU),
}


@pytest.mark.parametrize("name", some(TAKEN, 3))
def test_a_form_is_taken_unless_it_is_switched_off(name: str) -> None:
    what, under = TAKEN[name]
    func = kernel(what) if isinstance(what, str) else read(*what, above=DOUBLED)
    target, floats = (under, None) if isinstance(under, Target) else ("cpu", under)
    off = emit(func, target, floats=floats, without=[name])
    assert off != emit(func, target, floats=floats)
    family = name.partition(".")[0]
    assert emit(func, target, floats=floats, without=[family, name]) == emit(
        func, target, floats=floats, without=family
    )


def test_every_form_is_in_the_table_and_says_why() -> None:
    assert set(TAKEN) == {form.name for form in FORMS if form not in MESH}  # those are for several devices
    declared: set[Form] = set()
    for module in pkgutil.walk_packages(lower.__path__, "lower."):
        names = vars(importlib.import_module(module.name)) if ".tpu." not in module.name else {}
        declared |= {value for value in names.values() if isinstance(value, Form)}
    assert declared - {UNDEF_PRODUCTS} == set(FORMS)  # what keeps the meaning is no choice
    assert len({f.name for f in FORMS}) == len(FORMS)
    assert {f.family for f in FORMS} == set(FAMILIES)
    for family, forms in (("structure", STRUCTURE), ("instructions", INSTRUCTIONS), ("mesh", MESH), ("values", VALUES)):
        assert all(form.family == family for form in forms)
    assert all(form.law and form.reason for form in FORMS)


def loops(func: PrimFunc) -> int:
    """How many loops a program has that run more than once."""
    return sum(isinstance(s, For) and getattr(s.extent, "value", 2) > 1 for s in walk(func.body))


@pytest.mark.parametrize("name", some(PATHS, 4))
def test_without_structure_loops_run_as_they_are_written(name: str) -> None:
    func = load(name).func
    source = emit(func, without=["structure"])
    assert source != emit(func) or not loops(func)
    assert len(re.findall(r"def \w+_step\w*\(", source)) == loops(func)


@pytest.mark.parametrize("name", some(PATHS, 1))
@pytest.mark.parametrize("without", [["structure"], ["instructions", "values", "tensor"]], ids=" ".join)
def test_results_stay_right(name: str, without: list[str]) -> None:
    file = load(name)
    sizes = dict(file.sizes["small"])
    func = specialize(file.func, sizes)
    inputs = file.inputs(np.random.default_rng(0), **sizes)
    assert_agrees(func, compile(func, without=without), inputs, rtol=1e-3)


def test_tensor_rules_are_switched_like_others() -> None:
    func = kernel("gemm")
    everything, names = emit(func), [r.name for r in TENSOR_RULES]
    assert emit(func, without=["tensor"]) == emit(func, without=names) != everything


def test_optimize_prices_programs_without_what_is_switched_off() -> None:
    func = read(VECTORS, "for i in T.serial(400):\n    if i < 399:\n        B[i] = A[i] + A[i + 1]")
    off = optimize(func, without=["structure", "padding", "branch.true"])
    assert off.settings.without == ("padding", "branch.true", "structure")
    assert "fori_loop" in emit(off.best, without=off.settings.without)
    assert program_price(func, without=frozenset(["structure"])) > 1.2 * program_price(func)


def test_unknown_names_are_refused() -> None:
    func = read(VECTORS, "B[0] = A[0]")
    for call in (emit, compile, optimize):
        with pytest.raises(LoopsatError, match="no family, rule or form `skewing`"):
            call(func, without=["skewing"])
    assert switched_off("structure").names == ("structure",)
    assert switched_off(["padding", "structure.skewing"]).names == ("padding", "structure.skewing")


def test_a_policy_takes_what_is_not_switched_off() -> None:
    assert Policy().takes(SKEWING)
    for off in ("structure", "structure.skewing"):
        assert not Policy(without=frozenset([off])).takes(SKEWING)
    assert Policy(without=frozenset(["structure.blocking", "instructions"])).takes(SKEWING)


def test_commands_switch_forms_off(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(EXAMPLES / "polybench" / "gemm.py")
    main(["optimize", path, "--without", "structure", "--emit", "jax"])
    func = parse(Path(path).read_text()).funcs[0]
    assert len(re.findall(r"def \w+_step\w*\(", capsys.readouterr().out)) >= loops(func) - 1
    main(["rules", "structure", "--json"])
    shown = json.loads(capsys.readouterr().out)
    assert [s["name"] for s in shown] == [form.name for form in STRUCTURE]
    assert all(s["law"] and s["reason"] for s in shown)
