"""What an optimized program keeps of the program as it was written: interface, derivatives, assumptions."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import checkify
from msgspec.structs import replace

from egraph_rules import optimize, transforms
from ir import PrimFunc, interpret, parse, specialize, to_script
from ir.errors import LowerError, ScheduleError
from ir.schedule import Schedule
from ir.semantics.inputs import random_inputs
from ir.traverse import shape_vars
from lower import compile, emit, export
from lower.analysis.derivatives import has_derivatives, same_derivatives
from lower.runtime.kernel import pallas_kernel
from profiles import some
from tests.lowered import read

EXAMPLES = Path(__file__).parents[2] / "examples"
ASSUMING = [
    # What is assumed of sizes alone is tried behind the mark: nothing about floats can rest on it.
    pytest.param(
        path, func.name, marks=[] if path.parent == EXAMPLES else pytest.mark.fuzz, id=f"{path.stem}-{func.name}"
    )
    for path in sorted(EXAMPLES.rglob("*.py"))
    if "T.assume" in path.read_text()
    for func in parse(path.read_text(), str(path)).funcs
    if has_derivatives(func)
]
SMALL = 8  # of each size that is open

PADDED = """
for i, j in T.grid(4, 8):
    T.assume(j < 5 or A[i, j] == 0.0)
for i in range(4):
    B[i] = 0.0
    for j in range(8):
        if j < 5:
            B[i] = B[i] + A[i, j]
"""


def padded_sum() -> PrimFunc:
    return read('A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")', PADDED.strip())


def padded_input() -> np.ndarray:
    A = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)
    A[:, 5:] = 0.0
    return A


def total(kernel, *others):
    """A scalar of all float results, which weighs each element by itself."""

    def of(*arrays):
        found = [r for r in kernel(*arrays, *others) if r.dtype.kind == "f"]
        return sum(jnp.vdot(jnp.cos(jnp.arange(r.size, dtype=r.dtype)), jnp.sin(r).ravel()) for r in found)

    return of


def test_loops_of_one_name_are_told_apart_from_one_loop() -> None:
    # asked in one process, where answers about programs of the same statements are remembered
    params = 'A: T.Buffer((9,), "int32"), B: T.Buffer((9,), "int32")'
    first, second = "    A[i] = 1", "    B[i] = A[8 - i]"
    apart = read(params, f"for i in range(9):\n{first}\nfor i in range(9):\n{second}")
    together = read(params, f"for i in range(9):\n{first}\n{second}")
    assert [compile(f).optional for f in (apart, together, apart)] == [("A", "B"), ("B",), ("A", "B")]


def test_arrays_that_stores_under_opposite_conditions_fill_may_be_left_out() -> None:
    func = read(
        'M: T.Buffer((9,), "int32"), S: T.Buffer((9,), "int32"), best: T.Buffer((1,), "int32")',
        "best[0] = 0\nfor i in range(9):\n    if M[i] == 1:\n        S[i] = 3\n    else:\n        S[i] = 0\n"
        "    best[0] = T.max(best[0], S[i])",
    )
    assert compile(func).optional == ("S", "best")
    partly = read(
        'M: T.Buffer((9,), "int32"), S: T.Buffer((9,), "int32"), best: T.Buffer((1,), "int32")',
        "best[0] = 0\nfor i in range(9):\n    if M[i] == 1:\n        S[i] = 3\n    if M[8 - i] != 1:\n"
        "        S[i] = 0\n    best[0] = T.max(best[0], S[i])",
    )
    assert compile(partly).optional == ("best",)


@pytest.mark.parametrize(("path", "name"), some(ASSUMING, 2))
def test_derivatives_of_examples_are_those_of_the_program_as_written(path: Path, name: str):
    func = parse(path.read_text(), str(path))[name]
    sizes = (*shape_vars(func), *(v for v in func.scalars if v.dtype.is_integer))
    func = specialize(func, {v.name: SMALL for v in sizes})
    inputs = random_inputs(func, np.random.default_rng(1))
    floats = tuple(k for k, b in enumerate(func.params) if b.dtype.is_float)
    values = tuple(inputs[p.name] for p in func.params)
    with jax.enable_x64(any(p.dtype.bits == 64 for p in func.params)):
        _compare_derivatives(func, values, floats)


def _compare_derivatives(func: PrimFunc, values: tuple[object, ...], floats: tuple[int, ...]) -> None:
    plain, best = compile(func), compile(optimize(func).best)
    wanted = jax.grad(total(plain), floats)(*values)
    for want, found in zip(wanted, jax.jit(jax.grad(total(best), floats))(*values), strict=True):
        np.testing.assert_allclose(found, want, rtol=2e-4, atol=2e-5)
    along = tuple(np.ones_like(values[k]) for k in floats)

    def forward(kernel):
        def of(*chosen):
            given = dict(zip(floats, chosen, strict=True))
            return total(kernel)(*(given.get(k, v) for k, v in enumerate(values)))

        return jax.jvp(of, tuple(values[k] for k in floats), along)[1]

    np.testing.assert_allclose(forward(best), forward(plain), rtol=2e-4, atol=2e-3)


def test_a_gradient_in_padding_is_zero_in_every_mode():
    func = padded_sum()
    best = optimize(func).best
    assert "where" not in emit(best).split("def _f_as_written")[0]
    kernel, A = compile(best), padded_input()
    want = jax.grad(total(compile(func)))(A)
    assert not np.asarray(want)[:, 5:].any() and np.asarray(want)[:, :5].all()
    np.testing.assert_array_equal(jax.grad(total(kernel))(A), want)
    np.testing.assert_array_equal(jax.vmap(jax.grad(total(kernel)))(jnp.stack([A, A]))[1], want)
    tangent = jax.jvp(lambda a: kernel(a)[0], (A,), (np.ones_like(A),))[1]
    np.testing.assert_array_equal(tangent, np.full(4, 5.0))
    assert jax.jacfwd(jax.grad(total(kernel)))(A).shape == (4, 8, 4, 8)
    np.testing.assert_array_equal(jax.grad(total(compile(best, donate="B"), np.zeros(4, np.float32)))(A), want)


def test_a_pallas_kernel_has_the_derivatives_of_the_program_as_written():
    func = padded_sum()
    kernel, A = pallas_kernel(optimize(func).best, interpret=True), padded_input()
    np.testing.assert_allclose(kernel(A)[0], interpret(func, A)[0], rtol=1e-5)
    np.testing.assert_array_equal(jax.grad(total(kernel))(A), jax.grad(total(compile(func)))(A))
    assert kernel.assumptions


def test_descent_ends_where_the_program_as_written_ends():
    func = padded_sum()
    kernel, A = compile(optimize(func).best), jnp.asarray(padded_input())
    step = jax.jit(jax.grad(lambda a: ((kernel(a)[0] - 1.0) ** 2).sum()))
    for _ in range(40):
        A = A - 0.05 * step(A)
    (sums,) = interpret(func, np.asarray(A))
    np.testing.assert_allclose(sums, 1.0, atol=1e-3)


def test_sizes_and_doubles_keep_derivatives():
    text = 'n: T.int32, s: T.float64, A: T.Buffer((n,), "float64"), B: T.Buffer((n,), "float64")'
    body = "for i in range(n):\n    T.assume(i < n - 2 or A[i] == 0.0)\n"
    body += "for i in range(n):\n    B[i] = A[i] * s if i < n - 2 else 0.0"
    func = read(text, body)
    best = optimize(func).best
    assert not same_derivatives(best)
    A = np.array([1.0, 2.0, 3.0, 0.0, 0.0])
    with jax.enable_x64(True):
        for form in (best, specialize(best, {"n": 5})):
            kernel = compile(form)
            given = [5] * (form is best)
            found = jax.grad(lambda s, a, k=kernel, g=given: k(*g, s, a)[0].sum(), (0, 1))(2.0, A)
            assert found[0] == 6.0 and found[1].dtype == np.float64
            np.testing.assert_array_equal(found[1], [2.0, 2.0, 2.0, 0.0, 0.0])


def test_a_program_with_another_derivative_only_where_it_rests_on_more_than_its_text():
    smooth = read(
        'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")', "for i in range(8):\n    B[i] = A[i] + 0.0"
    )
    assert optimize(smooth).best.origin is not None and same_derivatives(optimize(smooth).best)
    assert "as_written" not in emit(optimize(smooth).best)
    whole = read(
        'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")',
        "for i in range(8):\n    T.assume(A[i] >= 0.0)\n    B[i] = A[i] * A[i]",
    )
    assert "as_written" not in emit(optimize(whole).best)  # the assumption was of no use


def test_a_branch_on_zero_keeps_its_derivative():
    """Skipping zeros gives the derivative zero at them, also where the branch costs more than what it skips."""
    body = "for i in range(8):\n    B[i] = C[i]\n    if A[i] != 0.0:\n        B[i] = B[i] + A[i] * C[i]"
    params = ", ".join(f'{n}: T.Buffer((8,), "float32")' for n in "ACB")
    func = read(params, body)
    A, C = np.array([0, 1, 0, 2, 3, 0, 0, 1], np.float32), np.arange(1, 9, dtype=np.float32)
    want = jax.grad(lambda a: compile(func)(a, C)[0].sum())(A)
    np.testing.assert_array_equal(want, np.where(A != 0, C, 0))
    np.testing.assert_array_equal(jax.grad(lambda a: compile(optimize(func).best)(a, C)[0].sum())(A), want)


def test_a_buffer_whose_stores_are_gone_stays_a_result():
    params = ", ".join(f'{n}: T.Buffer((4,), "float32")' for n in "ABC")
    func = read(params, 'for i in range(4):\n    B[i] = T.undef("float32")\n    C[i] = A[i]')
    best = optimize(func).best
    A, B = np.arange(4, dtype=np.float32), np.full(4, 7, np.float32)
    kernel = compile(best)
    assert kernel.optional == compile(func).optional == ("B", "C")
    left, right = kernel(A, B)
    np.testing.assert_array_equal(left, B)
    np.testing.assert_array_equal(right, A)
    assert [r.tolist() for r in kernel(A)] == [[0.0] * 4, A.tolist()]
    assert len(interpret(best, A, B)) == 2


def test_a_buffer_whose_stores_are_gone_stays_a_result_for_sizes_of_their_own():
    """Where a loop is empty, a kernel is made for the size of the call."""
    text = """
@T.prim_func
def f(k: T.int32, A: T.Buffer((2,), "int32"), B: T.Buffer((3,), "int32")):
    for i in T.serial(k, 4):
        B[i % 3] = i
    for i in range(2):
        A[i] = A[i]
"""
    kernel = compile(optimize(parse(text)["f"]).best)
    for k in (0, 4, 5):
        left, right = kernel(k, np.ones(2, np.int32), np.zeros(3, np.int32))
        assert (left.tolist(), right.tolist()) == ([1, 1], [3, 1, 2] if k == 0 else [0, 0, 0])


def test_what_may_be_left_out_is_that_of_the_source():
    """Overcompute may read what the source never looks at; callers need not give it then either."""
    func = padded_sum()
    best = optimize(func).best
    assert compile(best).optional == compile(func).optional
    assert best.origin is func


def test_a_copy_refines_nothing():
    best = optimize(padded_sum()).best
    assert best.origin is not None
    assert replace(best, body=best.body).origin is None


def test_steps_keep_the_program_as_written_through_primitives():
    func = padded_sum()
    sch = Schedule(func)
    sch.apply(transforms.remove_branching_through_overcompute())
    written = sch.func.origin
    assert written is not None and "if" in to_script(written)
    sch.split("j", [None, 4])
    assert sch.func.origin is written
    sch.transform_layout("root", "A", lambda i, j: [i, j // 4, j % 4])
    packed = padded_input().reshape(4, 2, 4)
    want = jax.grad(total(compile(func)))(padded_input()).reshape(4, 2, 4)
    np.testing.assert_array_equal(jax.grad(total(compile(sch.func)))(packed), want)
    sch.apply(transforms.remove_assume())
    np.testing.assert_array_equal(jax.grad(total(compile(sch.func)))(packed), want)
    assert compile(sch.func).assumptions


def test_a_refined_program_is_not_split():
    sch = Schedule(
        read(
            'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")',
            'for i in range(8):\n    with T.block("first"):\n        B[i] = A[i] + 0.0\n'
            'for j in range(8):\n    with T.block("second"):\n        C[j] = B[j] * 2.0',
        )
    )
    sch.apply(transforms.simplify())
    with pytest.raises(ScheduleError, match="split the function first"):
        sch.split_function("first")


# Assumptions ---------------------------------------------------------------------------------------------------------


def test_a_kernel_says_what_it_rests_on():
    best = optimize(padded_sum()).best
    kernel = compile(best)
    assert kernel.assumptions == ("j < 5 or A[i, j] == 0.0 for all 0 <= i < 4, 0 <= j < 8 (<string>:4)",)
    assert f"Rests on what it does not check:\n        {kernel.assumptions[0]}\n" in kernel.source
    assert "Rests on what it checks" in compile(best, checks=True).source


def test_checks_are_those_of_the_program_as_written():
    kernel = compile(optimize(padded_sum()).best, checks=True)
    wrong = padded_input()
    wrong[1, 6] = 1.0
    kernel(padded_input())
    for call in (kernel, jax.grad(total(kernel))):
        with pytest.raises(LowerError, match=r"<string>:4:") as error:
            call(wrong)
        assert error.value.code == "assumption-false"


@pytest.mark.parametrize(
    ("transform", "batch"),
    some([(jax.jit, False), (lambda f: jax.jit(jax.vmap(f)), True), (lambda f: jax.jit(jax.grad(f)), False)], 0.45),
)
def test_checks_inside_of_transformations_are_those_of_checkify(transform, batch: bool):
    kernel = compile(optimize(padded_sum()).best, checks=True)
    checked = checkify.checkify(transform(total(kernel)))
    right = padded_input()
    wrong = right.copy()
    wrong[1, 6] = 1.0
    if batch:
        right, wrong = np.stack([right, right]), np.stack([right, wrong])
    error, _ = checked(wrong)
    assert "an assumption does not hold for these inputs at <string>:4" in (error.get() or "")
    assert checked(right)[0].get() is None


# Artefacts -----------------------------------------------------------------------------------------------------------


def test_an_artefact_keeps_what_the_program_keeps():
    func = read('A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")', "for i in range(2, 6):\n    B[i] = A[i]")
    artefact = jax.export.deserialize(bytearray(export(func, ["cpu"])))
    A, B = np.arange(8, dtype=np.float32), np.full(8, -1, np.float32)
    (want,) = interpret(func, A, B)
    np.testing.assert_array_equal(artefact.call(A=A, B=B)[0], want)
    np.testing.assert_array_equal(compile(func)(A, B)[0], want)


@pytest.mark.parametrize("body", [
    "for i in range(8):\n    B[i] = B[i]",
    "for i in range(8):\n    B[i] = B[i]\n    if A[i] > 0.0:\n        B[i] = 0.0",
])  # fmt: skip
def test_a_store_of_what_is_there_keeps_it_in_an_artefact(body: str):
    func = read('A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")', body)
    A, B = np.arange(-3, 5, dtype=np.float32), np.full(8, -1, np.float32)
    artefact = jax.export.deserialize(bytearray(export(func, ["cpu"])))
    np.testing.assert_array_equal(artefact.call(A=A, B=B)[0], interpret(func, A, B)[0])


def test_what_is_overwritten_is_no_argument_of_an_artefact():
    body = "for i in range(n):\n    if i < 3:\n        B[i] = A[i]\n    else:\n        B[i] = 0.0"
    func = read('A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32"), n: T.int32', body)
    for form in (func, optimize(func).best):
        (found,) = jax.export.deserialize(bytearray(export(form, ["cpu"], sizes={"n": 5}))).call(
            A=np.arange(5, dtype=np.float32)
        )
        np.testing.assert_array_equal(found, [0, 1, 2, 0, 0])


# Sides that are not taken --------------------------------------------------------------------------------------------


AT_ZERO = {
    "branch": ("if A[i] > 0.0:\n        B[i] = T.sqrt(A[i])\n    else:\n        B[i] = 0.0", lambda a: 0.5 / a**0.5),
    "guard": ("if A[i] > 0.0:\n        B[i] = T.log(A[i])", lambda a: 1 / a),
    "choice": ("B[i] = 0.0 if A[i] <= 0.0 else 1.0 / A[i]", lambda a: -1 / a**2),
    "function": ("B[i] = T.asin(A[i] - 1.0) + T.log2(A[i]) if A[i] > 0.0 and A[i] < 2.0 else 0.0", None),
    "nested": ("B[i] = (T.sqrt(T.log(A[i])) if A[i] > 1.0 else A[i]) if A[i] > 0.0 else 0.0", None),
    "power": ("B[i] = T.pow(A[i], 0.5) if A[i] > 0.0 else 0.0", lambda a: 0.5 / a**0.5),
    "overflow": ("B[i] = T.exp(60.0 * (2.0 - A[i])) if A[i] > 0.5 else 0.0", None),
    "sum": ("if A[i] > 0.0:\n        B[0] = B[0] + T.sqrt(A[i])", lambda a: 0.5 / a**0.5),
    "largest": ("if A[i] > 0.0:\n        B[0] = T.max(B[0], 0.0 - 1.0 / A[i])", None),
    "place": ("if i > 2:\n        B[i] = A[i] / T.cast(i - 2, 'float32')", None),
    "row": ("if A[i] > 0.0:\n        B[i] = A[i] / N[0]", None),
    "scatter": ("if A[i] > 0.0:\n        B[P[i]] = T.sqrt(A[i])", lambda a: 0.5 / a**0.5),
}


@pytest.mark.parametrize("case", some(AT_ZERO, 2))
def test_a_side_that_is_not_taken_has_derivative_zero(case: str):
    body, derivative = AT_ZERO[case]
    params = 'A: T.Buffer((6,), "float32"), N: T.Buffer((1,), "float32"), P: T.Buffer((6,), "int32"), '
    func = read(params + 'B: T.Buffer((6,), "float32")', f"for i in range(6):\n    {body}")
    A = np.array([0.0, 2.0, 0.0, 4.0, 3.0, 0.0], np.float32)
    A = np.zeros_like(A) if case == "row" else A
    rest = np.zeros(1, np.float32), np.arange(6, dtype=np.int32), np.full(6, -9.0, np.float32)
    for form in (func, optimize(func).best):
        kernel = compile(form)
        found = np.asarray(jax.grad(lambda a, k=kernel: k(a, *rest)[0].sum())(A))
        assert np.isfinite(found).all(), emit(form)
        if derivative is not None:
            with np.errstate(divide="ignore"):
                np.testing.assert_allclose(found, np.where(A > 0, derivative(A), 0), rtol=1e-5)
        want = interpret(func, A, *rest)[0]
        np.testing.assert_allclose(kernel(A, *rest)[0], want, rtol=1e-5)


def test_what_every_place_takes_is_left_as_it_is():
    func = read(
        'A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")',
        "for i in range(6):\n    B[i] = T.sqrt(A[i]) / 3.0",
    )
    assert "where" not in emit(func)
    halves = "for i in range(6):\n    if i < 3:\n        B[i] = T.sqrt(A[i])"
    assert "where" not in emit(read('A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")', halves))
