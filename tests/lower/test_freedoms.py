"""Each float freedom counts: without it no form that takes it is emitted, with it one is."""

from __future__ import annotations

import numpy as np
import pytest

from egraph_rules import optimize
from egraph_rules.rules.tensor import TENSOR_RULES
from ir import interpret, to_script
from ir.errors import LoopsatError
from ir.floats import DEFAULT_FLOATS, FREEDOMS, Floats
from ir.nodes import PrimFunc
from lower import compile, emit
from lower.analysis.freedoms import PRECISIONS
from lower.runtime.switches import FORMS
from lowered import read

MATRICES = 'A: T.Buffer((64, 512), "float32"), x: T.Buffer((512,), "float32"), B: T.Buffer((64,), "float32")'
VECTORS = 'A: T.Buffer((999,), "float32"), B: T.Buffer((999,), "float32")'
SUM = "for i, j in T.grid(64, 512):\n    B[i] = B[i] + A[i, j] * x[j]"

# A program, what its source has with a freedom and not without, and the freedoms besides the default ones it is given.
CASES: dict[str, tuple[Floats, PrimFunc, str, Floats]] = {
    "sums by arrays": (Floats.REASSOCIATE, read(MATRICES, SUM), "einsum", Floats.STRICT),
    "sums begin with zero": (Floats.NO_SIGNED_ZEROS, read(MATRICES, SUM), "einsum", Floats.STRICT),
    "like terms": (
        Floats.REASSOCIATE,
        read(VECTORS, "for i in T.serial(999):\n    B[i] = 0.3 * A[i] + 0.2 * A[i]"),
        "0.5",
        Floats.STRICT,
    ),
    "terms that vanish": (
        Floats.FINITE,
        read(VECTORS, "for i in T.serial(999):\n    B[i] = B[i] + (A[i] - A[i])"),
        "A - A",
        Floats.STRICT,
    ),
    "masks as factors": (
        Floats.FINITE,
        read(MATRICES, "for i in T.serial(64):\n    for j in T.serial(512):\n        B[i] = B[i] + A[i, j] * x[j]\n"
             "    for j in T.serial(512):\n        if j * 3 < 1400 + i:\n            B[i] = B[i] + A[i, j] * x[j]"),
        "A, 0.0)",
        Floats.STRICT,
    ),
    "the larger by a choice": (
        Floats.NO_SIGNED_ZEROS,
        read(VECTORS, "for i in T.serial(999):\n    if B[i] < A[i]:\n        B[i] = A[i]"),
        "jnp.maximum",
        Floats.STRICT,
    ),
    "extremes in any order": (
        Floats.NO_SIGNED_ZEROS,
        read(MATRICES, "for i, j in T.grid(64, 512):\n    B[i] = T.max(B[i], A[i, j])"),
        "jnp.max(",
        Floats.STRICT,
    ),
    "scans": (
        Floats.FINITE,
        read(VECTORS, "for i in T.serial(1, 999):\n    B[i] = 0.5 * B[i - 1] + A[i]"),
        "in_turn",
        Floats.STRICT,
    ),
    "products over differences": (
        Floats.DISTRIBUTE,
        read(
            'X: T.Buffer((256, 16), "float32"), Y: T.Buffer((256, 16), "float32"), D: T.Buffer((256, 256), "float32")',
            "for i, j, k in T.grid(256, 256, 16):\n    D[i, j] = D[i, j] + (X[i, k] - Y[j, k]) * (X[i, k] - Y[j, k])",
        ),
        "ik,jk->ij",
        Floats.DISTRIBUTE,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_form_needs_its_freedom(name: str) -> None:
    freedom, func, text, more = CASES[name]
    granted = DEFAULT_FLOATS | more
    with_it, without = (emit(func, floats=f) for f in (granted, granted & ~freedom))
    assert with_it != without
    assert (text in with_it) != (text in without)


def test_an_approximation_needs_its_freedom() -> None:
    """Only the search takes any: a quotient by a root becomes a product, whose last digits differ."""
    func = read(VECTORS, "for i in T.serial(999):\n    B[i] = B[i] / T.sqrt(A[i] + 1.0)")
    granted = DEFAULT_FLOATS | Floats.APPROXIMATE
    assert "rsqrt" in to_script(optimize(func, floats=granted).best)
    assert "rsqrt" not in to_script(optimize(func, floats=granted & ~Floats.APPROXIMATE).best)
    given = np.random.default_rng(0).uniform(1, 9, (2, 999)).astype(np.float32)
    (exact,), (near,) = interpret(func, *given), interpret(optimize(func, floats="approximate").best, *given)
    assert (exact != near).any()
    assert (np.abs(exact - near) <= 4 * np.spacing(exact)).all()


def test_withheld_forms_are_named_in_the_report() -> None:
    report = compile(CASES["sums by arrays"][1], floats="strict").report
    assert any(line.startswith("withheld by the policy on floats: structure.sums") for line in report)
    assert not any("withheld" in line for line in compile(CASES["sums by arrays"][1]).report)


def test_strict_kernels_take_no_form() -> None:
    for _, func, _, _ in CASES.values():
        source = emit(func, floats="strict")
        for name in (
            "einsum",
            "jnp.sum",
            "jnp.max(",
            "jnp.min(",
            "associative_scan",
            "doubling_sums",
            "filtered",
            "solve",
        ):
            assert name not in source


def test_forms_and_rules_take_freedoms_that_there_are() -> None:
    every = Floats.STRICT
    for freedom in FREEDOMS.values():
        every |= freedom
    assert all(form.floats in every for form in FORMS)
    assert {r.name for r in TENSOR_RULES if Floats.DISTRIBUTE in r.floats} == {
        "tensor.product_of_sum", "tensor.product_of_difference", "tensor.sum_of_sums", "tensor.sum_of_differences",
    }  # fmt: skip


def test_precision_is_the_callers() -> None:
    func = CASES["sums by arrays"][1]
    assert emit(func) == emit(func, precision="highest")
    for precision in PRECISIONS:
        kernel = compile(func, precision=precision)
        assert f'precision="{precision}"' in kernel.source
        assert f"products of float32 arrays are taken in precision {precision}" in kernel.report
        assert (f"are taken in precision {precision}." in kernel.source) == (precision != "highest")
    with pytest.raises(LoopsatError, match="no precision `hihg`"):
        compile(func, precision="hihg")


def test_a_sum_is_no_product_of_arrays() -> None:
    """Sums that are written as products with ones keep all digits, whatever products do."""
    func = read(MATRICES, "for i, j in T.grid(64, 512):\n    B[i] = B[i] + A[i, j]")
    source = emit(func, precision="default")
    assert "ones" in source
    assert 'precision="highest"' in source
    values = np.ones((64, 512), np.float32) / 3
    (got,) = compile(func, precision="default")(values, np.zeros(512, np.float32), np.zeros(64, np.float32))
    np.testing.assert_allclose(np.asarray(got), 512 / 3, rtol=1e-5)
