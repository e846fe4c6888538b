"""`loopsat.jit`: what NumPy computes by running the function itself."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
import runpy
import signal
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import loopsat
from egraph_rules.engine.patience import Patience
from loopsat import LoopsatError
from lower.runtime.callable import Kernel
from plain_programs import PROGRAMS
from profiles import some

ROOT = Path(__file__).parent.parent.parent


def expected(function: Any, arguments: tuple[Any, ...]) -> Any:
    """What Python computes; a function that returns nothing returns what it stores to."""
    own = copy.deepcopy(arguments)
    found = function(*own)
    if found is not None:
        return found
    changed = [a for a, b in zip(own, arguments, strict=True) if isinstance(a, np.ndarray) and not np.array_equal(a, b)]
    return changed[0] if len(changed) == 1 else tuple(changed)


def assert_same(found: Any, wanted: Any) -> None:
    """Results agree in form, shape and kind of dtype, and within rounding."""
    if isinstance(wanted, tuple):
        assert isinstance(found, tuple)
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted, strict=True):
            assert_same(a, b)
        return
    wanted = np.asarray(wanted)
    assert isinstance(found, jax.Array)
    assert found.shape == wanted.shape
    assert found.dtype.kind == wanted.dtype.kind
    tolerance = 1e-5 if found.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("function", "arguments"), some(PROGRAMS, 2))
def test_programs_compute_what_python_computes(function: Any, arguments: Any) -> None:
    given = arguments(np.random.default_rng(0))
    before = copy.deepcopy(given)
    assert_same(loopsat.jit(function)(*given), expected(function, given))
    for a, b in zip(given, before, strict=True):
        np.testing.assert_array_equal(a, b)


@loopsat.jit
def scale(A, alpha=2.0):
    """Multiply all elements."""
    for i in range(len(A)):
        A[i] *= alpha


@loopsat.jit
def leading_sum(A, n):
    total = 0.0
    for i in range(n):
        total += A[i] * A[i]
    return total


X = np.arange(1, 5, dtype=np.float32)


def test_it_is_the_function_in_other_respects() -> None:
    assert scale.__name__ == "scale"
    assert scale.__doc__ == "Multiply all elements."
    assert str(inspect.signature(scale)) == "(A, alpha=2.0)"
    assert pickle.loads(pickle.dumps(scale)) is scale
    assert copy.deepcopy(scale) is scale
    np.testing.assert_array_equal(scale(alpha=3.0, A=X), 3 * X)
    np.testing.assert_array_equal(scale(X), 2 * X)


def test_inside_of_transformations_of_jax() -> None:
    x = jnp.asarray(X)
    np.testing.assert_array_equal(jax.jit(lambda x, a: scale(x, a) + 1)(x, 3.0), 3 * X + 1)
    np.testing.assert_allclose(jax.grad(lambda x: scale(x, 2.0).sum())(x), np.full(4, 2.0))
    np.testing.assert_allclose(jax.grad(lambda a: scale(x, a).sum())(2.0), X.sum())
    np.testing.assert_allclose(jax.grad(leading_sum)(x, 3), [2, 4, 6, 0])
    np.testing.assert_allclose(jax.vmap(lambda r: leading_sum(r, 4))(jnp.stack([x, 2 * x])), [30, 120])
    last, sums = jax.lax.scan(lambda c, a: (scale(c, a), leading_sum(c, 2)), x, jnp.array([2.0, 0.5]))
    np.testing.assert_allclose(last, X)
    np.testing.assert_allclose(sums, [5, 20])


def test_a_signature_has_one_program() -> None:
    first = leading_sum.specialize(X, 2)
    assert leading_sum.specialize(2 * X, 2) is first
    assert leading_sum.specialize(jnp.asarray(X), 2) is first
    assert leading_sum.specialize(X, 3) is not first  # the number of steps is part of the program
    assert leading_sum.specialize(X.astype(np.float64), 2) is not first
    assert scale.specialize(X, 2.0) is scale.specialize(X, 5.0)


def test_numbers_of_numpy_decide_as_those_of_python_do() -> None:
    assert float(leading_sum(X, np.int32(2))) == 5.0
    assert float(leading_sum(X, np.int32(3))) == 14.0
    with pytest.raises(LoopsatError, match="load from A may leave") as error:
        jax.jit(leading_sum)(X, 2)
    assert "^^^^" in str(error.value)


def test_exponents_of_integers_are_known() -> None:
    @loopsat.jit
    def nodes(n):
        return np.zeros(2**n - 1)

    assert nodes(3).shape == (7,)


@loopsat.jit
def around(A, i, B):
    B[i - 1] = A[i] + A[i + 1] * 2.0
    return B


@loopsat.jit
def diagonal(A, i, j):
    return A[i, j] + A[j % 3, -i]


@loopsat.jit
def doubled(A, i):
    return A[2 * i]


def test_a_place_is_given_at_each_call() -> None:
    A, B = np.arange(6.0, dtype=np.float32), np.zeros(6, np.float32)
    inside = [1, 2, 4, np.int64(3)]
    for i in (*inside, 0, -1, -2, -5):
        np.testing.assert_array_equal(around(A, i, B), around.__wrapped__(A, i, B.copy()))
    assert len({id(around.specialize(A, i, B)) for i in inside[:3]}) == 1
    assert len({id(around.specialize(A, i, B)) for i in (-2, -3, -5)}) == 1
    square = np.arange(16.0).reshape(4, 4)
    for i, j in ((1, 2), (3, 0), (-1, 3), (2, -3), (-2, -2)):
        assert float(diagonal(square, i, j)) == diagonal.__wrapped__(square, i, j)
    for i in (0, 1, 2, -1, -3):
        assert float(doubled(A, i)) == doubled.__wrapped__(A, i)


def test_a_place_outside_is_an_error_of_its_call_alone() -> None:
    A, B = np.arange(6.0, dtype=np.float32), np.zeros(6, np.float32)
    around(A, 2, B)
    for i in (5, 6, -7):
        with pytest.raises(LoopsatError, match="is outside of a dimension of size 6"):
            around(A, i, B)
    assert around.specialize(A, 1, B) is around.specialize(A, 4, B)


def test_a_place_that_jax_traces_may_be_any() -> None:
    A = np.arange(6.0, dtype=np.float32)

    @loopsat.jit
    def element(A, i, j):
        loopsat.assume(0 <= i and i < 6)
        return A[i] - A[j]

    for _ in range(2):
        for i in (np.int32(2), np.int32(4)):
            assert float(element(A, i, np.int32(1))) == i - 1
        assert jax.vmap(lambda i: element(A, i, np.int32(-1)))(np.arange(3, dtype=np.int32)).tolist() == [-5, -4, -3]
        with pytest.raises(LoopsatError, match="may leave its shape"):
            jax.jit(lambda j: element(A, np.int32(1), j))(np.int32(2))


def test_checks_on_request() -> None:
    @loopsat.jit(checks=True)
    def total(A):
        assert A[0] > 0, "positive"
        loopsat.assume(A[1] > 0)
        return A.sum()

    assert float(total(X)) == 10.0
    with pytest.raises(LoopsatError, match="positive"):
        total(-X)
    with pytest.raises(LoopsatError, match="assumption"):
        total(X * np.float32([1, -1, 1, 1]))


@pytest.mark.parametrize("path", some(sorted((ROOT / "examples" / "jit").glob("*.py")), 0.23), ids=lambda p: p.stem)
def test_examples_run(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def test_it_shows_what_it_made() -> None:
    scale(X, 3.0)
    assert "def scale" in scale.source
    assert scale.report == scale.specialization.kernel.report
    assert scale.report[0] in scale.explain()
    assert "stablehlo" in scale.lower(X, 3.0).as_text()
    with pytest.raises(LoopsatError, match="has not been called"):
        loopsat.jit(PROGRAMS[0][0]).source  # noqa: B018
    assert "not called yet" in str(loopsat.jit(PROGRAMS[0][0]))


def test_explanations_name_rules_and_places_or_say_that_there_is_nothing_to_explain() -> None:
    @loopsat.jit
    def raised(x):
        return x + 1

    @loopsat.jit
    def left_out(x):
        for i in range(len(x)):
            if i >= 1:
                x[i] = 2 * x[i] - x[i]
        return x

    raised(X)
    assert raised.explain().startswith("the program as it is written: no rule found anything cheaper\n\n")
    left_out(X)
    first = left_out.explain().splitlines()[0]
    assert (
        first.startswith("loops.useful_iterations: for i in T.serial(4)") and ", since " in first and "::" not in first
    )


def test_integers_that_decide_may_have_any_name() -> None:
    @loopsat.jit
    def ends(x, T, _w):  # names that programs print in another way
        y = np.zeros((len(x) - T) // _w)
        for f in range(len(y)):
            y[f] = x[f * _w + T]
        return y, x[T], x[-_w]

    x = np.arange(9.0)
    for got, want in zip(ends(x, 2, 3), (x[[2, 5]], x[2], x[-3]), strict=True):
        np.testing.assert_array_equal(got, want)


def test_one_program_for_all_sizes() -> None:
    @loopsat.jit(sizes="open")
    def product(A, B):
        C = np.zeros((A.shape[0], B.shape[1]))
        for i in range(A.shape[0]):
            for j in range(B.shape[1]):
                for k in range(B.shape[0]):
                    C[i, j] += A[i, k] * B[k, j]
        return C

    rng = np.random.default_rng(0)
    for n, m, p in ((3, 4, 5), (6, 2, 7)):
        a, b = rng.random((n, m)), rng.random((m, p))
        np.testing.assert_allclose(product(a, b), a @ b)
    assert product.specialize(np.ones((3, 4)), np.ones((4, 5))) is product.specialize(np.ones((6, 2)), np.ones((2, 7)))


def test_places_from_the_end_of_what_is_open() -> None:
    @loopsat.jit(sizes="open")
    def turned(A):
        B = np.zeros_like(A)
        for i in range(len(A) - 1, 0, -2):
            B[-i] = A[i - 1]
        B[-2:] = A[:2]
        return B

    for n in (2, 3, 5, 8):
        A = np.arange(n, dtype=np.float32)
        np.testing.assert_array_equal(turned(A), turned.__wrapped__(A))


def test_rows_of_open_tables_have_sizes_of_python() -> None:
    @loopsat.jit(sizes="open")
    def warped(x, y):
        D = np.full((len(x) + 1, len(y) + 1), np.inf)
        D[0, 0] = 0
        for i in range(1, len(x) + 1):
            for j in range(1, len(y) + 1):
                D[i, j] = abs(x[i - 1] - y[j - 1]) + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
        return D[len(x), len(y)]

    rng = np.random.default_rng(0)
    for n, m in ((6, 6), (5, 8)):
        x, y = rng.random(n), rng.random(m)
        assert_same(warped(x, y), expected(warped.__wrapped__, (x, y)))


def test_arrays_may_be_given_away() -> None:
    @loopsat.jit(donate="A")
    def shifted(A, by):
        A += by
        return A

    x = jnp.asarray(X)
    np.testing.assert_array_equal(shifted(x, 1.0), X + 1)
    assert x.is_deleted()
    np.testing.assert_array_equal(shifted(jnp.asarray(X + 1j), 1.0), X + (1 + 1j))


def test_complex_numbers_are_those_of_jax() -> None:
    @loopsat.jit
    def turned(z, c=1j):
        out = np.empty_like(z)
        for i in range(len(z)):
            out[i] = z[i] * z[i] + c
        return out, abs(c)

    z = (np.arange(5) + 1j).astype(np.complex64)
    for given in (z, jnp.asarray(z), z.astype(complex)):
        for _ in range(2):  # the second call takes the quick way
            assert_same(turned(given, 1j), turned.__wrapped__(given, 1j))
    assert_same(turned(z), turned.__wrapped__(z))
    assert_same(turned(z, 2.0), turned.__wrapped__(z, 2.0))
    for options in ({"checks": True}, {"sizes": "open"}, {"static": "c"}):
        assert_same(loopsat.jit(**options)(turned.__wrapped__)(z, 1j), turned.__wrapped__(z, 1j))
    by_hand = jax.grad(lambda z: jnp.sum(jnp.abs(z * z + 1j) ** 2))(jnp.asarray(z))
    found = jax.jit(jax.grad(lambda z: jnp.sum(jnp.abs(turned(z)[0]) ** 2)))(jnp.asarray(z))
    np.testing.assert_allclose(found, by_hand, rtol=1e-5)
    batch = jax.vmap(lambda z: turned(z)[0])(jnp.stack([z, 2 * z]))
    np.testing.assert_allclose(batch[1], 4 * z * z + 1j, rtol=1e-5)


class Layer(NamedTuple):
    w: Any
    b: Any


@loopsat.jit
def layered(net: Any, x: Any, options: Any) -> Any:
    total = 0.0
    for layer in net["layers"]:
        x = np.maximum(x @ layer.w + layer.b, 0)
        total += layer.b.sum()
    for k in net["order"]:
        total += options[0] * x[0, k]
    return {"x": x, "last": net["layers"][-1]._replace(b=total)}


def test_arguments_and_results_may_be_made_of_others() -> None:
    a = np.random.default_rng(0).random((8, 8)).astype(np.float32)
    layers = [Layer(a[:4, :3], a[5, :3]), Layer(a[:3, 2:6], a[6, :4])]
    net = {"layers": layers, "order": [2, 0, 3]}
    for options in ((1.0, a[:2]), (2.0, a[:2])):  # the second call runs the same program
        found, wanted = (f(net, a[:2, :4], options) for f in (layered, layered.__wrapped__))
        assert jax.tree.structure(found) == jax.tree.structure(wanted)
        jax.tree.map(assert_same, found, wanted)
    special = layered.specialization
    last_bias = lambda layers: layered(net | {"layers": layers}, a[:2, :4], options)["last"].b  # noqa: E731
    gradient = jax.jit(jax.grad(last_bias))([Layer(*map(jnp.asarray, layer)) for layer in layers])
    assert layered.specialize(net | {"order": [1, 1, 1]}, a[:2, :4], options) is special
    assert gradient[1].b.shape == (4,)
    assert "stablehlo" in layered.lower(net, a[:2, :4], options).as_text()
    with pytest.raises(LoopsatError, match="`layer.w` is no array"):
        layered({"layers": [Layer("no", 1.0)], "order": [0]}, a[:2, :4], options)


@loopsat.jit
def reached(graph: Any, weights: Any, places: Any, empty: Any) -> Any:
    cost, order = np.full(len(graph), np.inf), sorted(places)
    cost[order[0][1]] = 0.0
    for _ in range(len(graph)):
        for u in range(len(graph)):
            for v in graph[u]:
                cost[v] = min(cost[v], cost[u] + 1)
            for v, w in weights[u]:
                cost[int(v)] = min(cost[int(v)], cost[u] + w)
    most = max(len(row) for row in graph) + len(empty)
    return cost, most, 2 in graph[0], max(places)[1], places[-1] == (0, 3)


def test_lists_of_numbers_tuples_and_lists_are_arguments() -> None:
    graph, weights = [[1, 2], [2], [3], []], [[], [(3, 0.5)], [(0, 2.5), (3, 0.25)], []]
    arguments = graph, weights, [(2, 1), (0, 3)], []
    assert_same(reached(*arguments), reached.__wrapped__(*arguments))


@loopsat.jit
def logarithm(g: Any, h: Any, p: Any) -> Any:
    m, places, power = math.isqrt(p) + 1, {}, 1
    for k in range(m):
        places[power] = k
        power = power * g % p
    back, at = pow(g, p - 1 - m, p), h
    for k in range(m):
        if at in places:
            return k * m + places[at]
        at = at * back % p
    return -1


def test_integers_are_known_where_they_tell_how_long_a_list_becomes() -> None:
    assert [int(logarithm(5, h, 23)) for h in (10, 21)] == [logarithm.__wrapped__(5, h, 23) for h in (10, 21)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({1.5}, 1), "np.array"),
        (({}, 1), "dictionary of outside"),
        ((np.zeros(3, [("x", "f8"), ("n", "i4")]), 1), r"as arrays: A\['x'\], A\['n'\]"),
        ((np.ma.masked_array(X, X > 1), 1), "A.filled"),
        ((X, "two"), "range"),
        ((X,), "missing a required"),
    ],
)
def test_arguments_that_are_none_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(LoopsatError, match=message):
        leading_sum(*arguments)


def test_accesses_out_of_bounds_are_said_in_words_of_python() -> None:
    @loopsat.jit
    def shifted(A, k):
        for i in range(k, len(A) - k):
            A[i] = 0
        return A

    with pytest.raises(LoopsatError) as error:
        shifted(X, -1)
    assert "index 0 is i with -1 <= i" in str(error.value) and "T." not in str(error.value)


def test_an_array_that_is_stored_to_is_given_once() -> None:
    @loopsat.jit
    def added(A, B):
        for i in range(len(A)):
            A[i] += B[len(A) - 1 - i]

    np.testing.assert_array_equal(added(X, X.copy()), X + X[::-1])
    with pytest.raises(LoopsatError, match="B is the same array"):
        added(X, X)


def test_only_functions_are_decorated() -> None:
    with pytest.raises(LoopsatError, match="decorates functions"):
        loopsat.jit(np.sum)
    with pytest.raises(LoopsatError, match="fixed or open"):
        loopsat.jit(sizes="any")  # pyright: ignore[reportArgumentType]


def test_checks_of_arguments_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = scale.specialize(X, 2.0).kernel
    kernel(X, 2.0)
    monkeypatch.setattr(
        Kernel, "_bind", lambda *_: pytest.fail("arguments of known shapes and dtypes are checked again")
    )
    np.testing.assert_array_equal(kernel(2 * X, 3.0)[0], 6 * X)
    np.testing.assert_array_equal(scale(X, 4.0), 4 * X)
    monkeypatch.undo()
    with pytest.raises(LoopsatError, match="expected shape"):
        kernel(X[:3], 2.0)
    with pytest.raises(LoopsatError, match="expected dtype"):
        kernel(X.astype(np.float64), 2.0)


# Calls in a row --------------------------------------------------------------------------------------------------------


def test_calls_in_a_row_see_each_change_of_types() -> None:
    @loopsat.jit
    def doubled(A):
        B = np.empty_like(A)
        for i in range(len(A)):
            B[i] = A[i] * 2
        return B

    given = [
        jnp.arange(4, dtype=jnp.int32), jnp.arange(4, dtype=jnp.int32), jnp.arange(3, dtype=jnp.int32),
        jnp.arange(3, dtype=jnp.float32), np.arange(3, dtype=np.float32), np.arange(3, dtype=np.float64),
        jnp.arange(3, dtype=jnp.float32), jnp.arange(3, dtype=jnp.float32),
    ]  # fmt: skip
    for array in given:
        for found in (doubled(array), doubled(A=array)):
            assert found.dtype == array.dtype
            assert found.tolist() == (2 * np.asarray(array)).tolist()
    assert jax.jit(doubled)(given[-1]).tolist() == [0, 2, 4]
    assert jax.vmap(doubled)(jnp.ones((2, 3), jnp.float32)).tolist() == [[2.0] * 3] * 2
    with jax.enable_x64(True):
        wide = jnp.arange(3, dtype=jnp.float64)
    for _ in range(3):
        assert doubled(wide).dtype == np.float64
    with pytest.raises(LoopsatError, match="missing"):
        doubled()


def test_calls_in_a_row_see_each_change_of_numbers() -> None:
    @loopsat.jit
    def powers(A, factor, n, name=None):
        B = np.zeros(n, A.dtype)
        for i in range(n):
            B[i] = A[i] * factor + (0 if name is None else 1)
        return B

    A = np.arange(4, dtype=np.float32)
    calls: list[tuple[Any, ...]] = [
        (A, 2.0, 3), (A, 2.0, 3), (A, 3.0, 3), (A, 3.0, 4), (A, np.float32(3), 4), (A, np.float32(2), 4),
        (A, np.float64(2), 4), (A, 2, 4), (A, 2, 4), (A.astype(np.float64), 2.0, 4), (A, 2.0, 4, "x"), (A, 2.0, 4, "y"),
        (A, 2.0, 4), (A[:3], 2.0, 3), (A[::2], 2.0, 2), (jnp.asarray(A), 2.0, 2), (jnp.asarray(A), 0.5, 2),
    ]  # fmt: skip
    for arguments in calls:
        wanted = powers.__wrapped__(*arguments)
        for _ in range(2):
            np.testing.assert_array_equal(powers(*arguments), wanted)


def test_an_array_given_twice_is_refused_at_later_calls_too() -> None:
    @loopsat.jit
    def moved(A, B):
        for i in range(len(A)):
            A[i] = B[i] + 1
        return A

    A, B = np.zeros(3), np.ones(3)
    for _ in range(2):
        assert moved(A, B).tolist() == [2.0] * 3
    with pytest.raises(LoopsatError, match="same array"):
        moved(A, A)


def test_rules_and_forms_are_left_out() -> None:
    def prefix(A):
        B = np.empty_like(A)
        B[0] = A[0]
        for i in range(1, len(A)):
            B[i] = B[i - 1] + A[i]
        return B

    A = np.ones(4096, np.float32)
    without = loopsat.jit(without="instructions.scan")(prefix)
    assert without(A)[-1] == loopsat.jit(prefix)(A)[-1] == 4096
    assert "fori_loop" in without.source or "lax.scan" in without.source
    with pytest.raises(LoopsatError, match="no family, rule or form `scams`"):
        loopsat.jit(without=["scams"])(prefix)(A)


def test_several_results_in_a_row() -> None:
    @loopsat.jit
    def both(A):
        B = np.empty_like(A)
        C = np.empty_like(A)
        for i in range(len(A)):
            B[i] = A[i] + 1
            C[i] = A[i] - 1
        return C, B

    array = jnp.arange(2.0)
    for _ in range(3):
        assert [r.tolist() for r in both(array)] == [[-1.0, 0.0], [1.0, 2.0]]


def test_inside_of_shard_map() -> None:
    @loopsat.jit
    def row_sums(A):
        sums = np.zeros(len(A), A.dtype)
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                sums[i] += A[i, j]
        return sums

    mesh = jax.make_mesh((1,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    spec = jax.sharding.PartitionSpec("x")
    for jitted in (False, True):
        mapped = jax.shard_map(row_sums, mesh=mesh, in_specs=spec, out_specs=spec)
        found = (jax.jit(mapped) if jitted else mapped)(jnp.ones((4, 3)))
        assert found.tolist() == [3.0] * 4


def test_arrays_of_the_function_may_be_read_before_all_of_them_is_stored_to() -> None:
    @loopsat.jit
    def nearest(points, centres):
        labels = np.empty(len(points), np.int64)
        for _ in range(2):
            for i in range(len(points)):
                best = np.inf
                for k in range(len(centres)):
                    if abs(points[i] - centres[k]) < best:
                        best = abs(points[i] - centres[k])
                        labels[i] = k
            sums = np.zeros(len(centres))
            for i in range(len(points)):
                sums[labels[i]] += points[i]
            centres = sums
        return labels, centres

    given = np.array([0.0, 1.0, 5.0, 6.0]), np.array([0.5, 5.5])
    for _ in range(2):
        assert_same(nearest(*given), nearest.__wrapped__(*given))


def sums_before(a: Any) -> Any:
    tree = np.zeros(len(a) + 1, a.dtype)
    for i in range(len(a)):
        j = i + 1
        while j <= len(a):
            tree[j] += a[i]
            j += j & -j
    return tree


def common_bits(rows: Any) -> Any:
    count = 0
    for i in range(len(rows)):
        for j in range(i + 1, len(rows)):
            if (rows[i] >> np.uint64(j)) & np.uint64(1):
                common = rows[i] & rows[j]
                while common:
                    common &= common - np.uint64(1)
                    count += 1
    return count


@pytest.mark.parametrize("function", [sums_before, common_bits])
def test_loops_over_axes_that_end_at_different_steps(function: Any) -> None:
    a = np.random.default_rng(0).integers(0, 99, 12).astype(np.uint64)
    assert_same(loopsat.jit(function)(a), function(a))


def test_loops_to_numbers_of_any_dtype_have_derivatives() -> None:
    steps = np.uint64(9)

    def products(x: Any) -> Any:
        y = x.copy()
        for i in range(1, steps):
            for j in range(i):
                y[i] = np.sin(y[i]) * y[j]
        return y.sum()

    x = jnp.linspace(0.5, 1.0, 12)
    slope = [(products(np.asarray(x + e)) - products(np.asarray(x - e))) / 2e-3 for e in 1e-3 * np.eye(12)]
    np.testing.assert_allclose(jax.grad(loopsat.jit(products))(x), slope, rtol=2e-2, atol=2e-2)


def test_lists_of_any_length_run() -> None:
    def reached(starts: Any, ends: Any) -> Any:
        seen, todo = np.zeros(len(starts) - 1, bool), [0]
        while todo:
            u = todo.pop()
            if seen[u]:
                continue
            seen[u] = True
            for k in range(starts[u], starts[u + 1]):
                loopsat.assume(len(todo) <= len(ends))
                todo.append(ends[k])
        return seen

    graph = np.array([0, 2, 3, 3, 4]), np.array([1, 2, 0, 3])
    assert_same(loopsat.jit(reached)(*graph), reached(*graph))


def test_results_may_be_tuples_in_tuples() -> None:
    @loopsat.jit
    def ends(x):
        return (x[0], (x[-1],)), x[1:-1], ((x + 1,),)

    x = np.arange(4.0)
    for _ in range(2):
        assert_same(ends(x), ends.__wrapped__(x))


def test_remainders_of_floats_are_those_of_numpy_to_the_bit() -> None:
    @loopsat.jit
    def both(a, b):
        return a % b, a // b

    rng = np.random.default_rng(0)
    b = rng.normal(size=2000)
    a = np.concatenate([rng.normal(size=1000) * 100, b[1000:] * rng.integers(-50, 50, 1000)])
    np.testing.assert_array_equal(both(a, b)[0], a % b)
    np.testing.assert_array_equal(both(a, b)[1], a // b)
    assert "jnp.remainder" in both.source


def test_remainders_of_floats_decide_and_say_where_to_store() -> None:
    """Their bodies, put in place, read their arguments a dozen times each."""

    @loopsat.jit
    def spread(a, b):
        kept = 0
        for i in range(len(a)):
            if ((a[i] % 3.0) // 0.7) % 2.0 < 1.0:
                kept += 1
                b[int(((a[i] * 1.7) % 36.0) // 3.6)] += a[i]
        return b, kept

    rng = np.random.default_rng(0)
    a = rng.integers(-400, 400, 50) / 8
    assert_same(spread(a, np.zeros(10)), spread.__wrapped__(a, np.zeros(10)))
    assert "134217729" not in spread.source


def test_results_are_as_long_as_data_say_but_where_jax_traces() -> None:
    @loopsat.jit
    def positive(x):
        return x[x > 0]

    x = jnp.array([1.0, -2.0, 3.0])
    assert positive(x).tolist() == [1.0, 3.0]
    assert jax.grad(lambda v: (positive(v) ** 2).sum())(x).tolist() == [2.0, 0.0, 6.0]
    with pytest.raises(LoopsatError, match="where JAX traces"):
        jax.jit(positive)(x)


def test_each_signature_compiles_one_program_also_where_data_say_how_long_results_are(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @loopsat.jit
    def selected(x, low):
        return x[x > low]

    x = np.arange(7.0)
    with jax.log_compiles():
        for low in (2.0, 3.0, 9.0):
            found = selected(x, low)
            assert found.dtype == np.float64
            assert np.array_equal(found, x[x > low])
    programs = {r.args[0] for r in caplog.records if r.msg.startswith("Compiling") and r.args}  # pyright: ignore
    assert programs == {"jit(_selected)"}


def test_ctrl_c_ends_a_call_that_is_being_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    @loopsat.jit
    def doubled(x):
        out = np.zeros_like(x)
        for i in range(len(x)):
            out[i] = 2 * x[i]
        return out

    over = Patience.over

    def interrupted(self: Patience) -> bool:
        signal.raise_signal(signal.SIGINT)
        self.allowed = 1_000
        return over(self)

    with monkeypatch.context() as patch:
        patch.setattr(Patience, "over", interrupted)
        with pytest.raises(KeyboardInterrupt):
            doubled(X)
    assert np.array_equal(doubled(X), 2 * X)  # nothing of it is kept


def test_integers_of_python_take_the_quick_way_as_far_as_they_fit() -> None:
    @loopsat.jit
    def scaled(A: Any, k: int) -> Any:
        out = np.zeros_like(A)
        for i in range(len(A)):
            out[i] = A[i] * k
        return out

    for given in (np.arange(4, dtype=np.float32), np.arange(4)):
        for k in (3, 4, -5, 2**31, 2**53 + 1, 7):
            assert_same(scaled(given, k), scaled.__wrapped__(given, k))
            assert scaled.specialization.quick
    with pytest.raises(LoopsatError, match="expected int64"):
        scaled(np.arange(4), 2**63)
