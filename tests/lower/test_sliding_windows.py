"""Windows that slide along axes: convolutions and reductions of every rank, stride, dilation and padding."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from compare import TOLERANCE
from egraph_rules.cost.target import CPU, Target
from ir import parse, to_script
from ir.semantics.interpret import interpret, interpret_with_undef
from lower import compile, emit
from lower.emission.function import emit_function
from profiles import few, some
from symbolic import with_numbers_and_with_symbols

# Targets for which one form is cheapest: the library's function, products for each tap, slices.
LIBRARY = replace(
    CPU, convolution_volume=1.0, convolution_position=0.0, convolution_patch=0.0, contraction=0.001, kernel=1.0
)
PRODUCTS = replace(CPU, convolution_position=1e9, convolution_patch=0.01, contraction=0.001, kernel=0.0)
SLICES = replace(CPU, convolution_position=1e9, convolution_patch=1e9)
APART = replace(CPU, operation=0.0, store=0.0, padded_read=10.0)  # windows along one axis after the other
TOGETHER = replace(CPU, operation=1e9)
ONCE = replace(SLICES, padded_read=1e9, padded_vector=1e9, padded_branch=1e9, fresh=0.0)
FUSED = replace(SLICES, padded_read=0.0, padded_vector=0.0, padded_branch=0.0)


@dataclass(frozen=True)
class Window:
    """How a window slides along one dimension of an image."""

    size: int
    taps: int
    stride: int
    dilation: int
    pad: int
    backward: bool = False

    @property
    def places(self) -> int:
        return (self.size + 2 * self.pad - self.dilation * (self.taps - 1) - 1) // self.stride + 1

    def index(self, place: str, tap: str) -> str:
        tap = f"({self.taps - 1} - {tap})" if self.backward else tap
        return f"{self.stride} * {place} + {self.dilation} * {tap} - {self.pad}"

    @property
    def positions(self) -> set[int]:
        """Elements that some window has."""
        pairs = product(range(self.places), range(self.taps))
        return {self.stride * i + self.dilation * k - self.pad for i, k in pairs} & set(range(self.size))


@st.composite
def windows(draw: st.DrawFn, largest: int, backward: bool = False) -> Window:
    taps = draw(st.integers(1, largest))
    dilation, stride = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    pad = draw(st.integers(0, min(3, dilation * (taps - 1))))
    least = max(1, dilation * (taps - 1) + 1 - 2 * pad)
    size = draw(st.integers(least, least + 5))
    return Window(size, taps, stride, dilation, pad, backward and draw(st.booleans()))


def shape(*sizes: int) -> str:
    return f"({', '.join(map(str, sizes))},)"


def program(
    dims: list[Window], dtype: str, value: str, start: str, update: str, b: int = 0, o: int = 0, c: int = 0
) -> str:
    """A sum of `value` (or another `update`) over windows and channels, for batches, filters and places."""
    places, taps = [f"y{d}" for d in range(len(dims))], [f"k{d}" for d in range(len(dims))]
    index = [w.index(p, k) for w, p, k in zip(dims, places, taps, strict=True)]
    guards = [f"{i} >= 0 and {i} < {w.size}" for w, i in zip(dims, index, strict=True) if w.pad]
    kept = [*["b"] * (b > 0), *["o"] * (o > 0), *places]
    reduced = [*["c"] * (c > 0), *taps]
    kept_sizes = [*[b] * (b > 0), *[o] * (o > 0), *(w.places for w in dims)]
    image = [*["b"] * (b > 0), *["c"] * (c > 0), *index]
    weights = [*["o"] * (o > 0), *["c"] * (c > 0), *taps]
    at = ", ".join(kept)
    value = value.replace("X[]", f"X[{', '.join(image)}]").replace("W[]", f"W[{', '.join(weights)}]")
    image_shape = shape(*[b] * (b > 0), *[c] * (c > 0), *(w.size for w in dims))
    weight_shape = shape(*[o] * (o > 0), *[c] * (c > 0), *(w.taps for w in dims))
    named = (("X", image_shape), ("W", weight_shape), ("Y", shape(*kept_sizes)))
    params = [f'{name}: T.Buffer({sizes}, "{dtype}")' for name, sizes in named]
    extents = ", ".join(map(str, [*[c] * (c > 0), *(w.taps for w in dims)]))
    lines = [
        "@T.prim_func",
        f"def f({', '.join(params)}):",
        f"    for {at} in T.grid({', '.join(map(str, kept_sizes))}):",
        f"        Y[{at}] = {start}",
        f"        for {', '.join(reduced)} in T.grid({extents}):",
        f"            if {' and '.join(guards) or 'True'}:",
        f"                Y[{at}] = {update.replace('OLD', f'Y[{at}]').replace('NEW', value)}",
    ]
    return "\n".join(lines) + "\n"


def check(text: str, dims: list[Window], target: Target, seed: int = 0, symbols: bool = False) -> str:
    """Compare with the interpreter, with NaN in all of X that no window has; returns the source.

    With `symbols`, the program over symbolic sizes is compared too.
    """
    func = parse(text).funcs[0]
    rng = np.random.default_rng(seed)
    inputs: dict[str, Any] = {}
    for buffer in func.buffers[:2]:
        sizes = [int(d.value) for d in buffer.shape]  # type: ignore[attr-defined]
        values = rng.integers(-1, 2, sizes) if buffer.dtype.is_integer else rng.uniform(-2, 2, sizes)
        inputs[buffer.name] = values.astype(buffer.dtype.numpy)
    image = inputs["X"]
    if image.dtype.kind == "f":
        read = np.zeros(image.shape[-len(dims) :], bool)
        read[np.ix_(*(sorted(w.positions) for w in dims))] = True
        image[..., ~read] = np.nan
    output = np.zeros([int(d.value) for d in func.buffers[2].shape], image.dtype)  # type: ignore[attr-defined]
    ((expected, undef),) = interpret_with_undef(func, **inputs, Y=output)
    sources: list[str] = []
    for same, sizes in with_numbers_and_with_symbols(func) if symbols else [(func, {})]:
        emitted = emit_function(same, target=target)
        sources.append(emitted.source)
        space: dict[str, Any] = {}
        exec(emitted.source, space)
        (found,) = space[emitted.name](**{emitted.names[k]: v for k, v in {**inputs, **sizes}.items()})
        found = np.asarray(found).astype(float)
        tolerance = TOLERANCE.get(func.buffers[2].dtype, 0.0)
        scale = max(1.0, float(np.abs(expected.astype(float)).max(initial=0.0)))
        equal = np.allclose(expected.astype(float), found, rtol=tolerance, atol=tolerance * scale)
        assert equal and not undef.any(), f"{expected}\n{found}\n{to_script(same)}\n{emitted.source}"
    return sources[0]


DTYPES = st.sampled_from(["float32", "float64", "float16", "int32", "int8"])
TARGETS = st.sampled_from([CPU, LIBRARY, PRODUCTS, SLICES, ONCE, FUSED])
ZERO = {"float32": "0.0", "float64": "T.float64(0)", "float16": "T.float16(0)", "int32": "0", "int8": "T.int8(0)"}
LOW = {"float32": "-1000.0", "float64": "T.float64(-1000)", "float16": "T.float16(-1000)", "int32": "-1000"}
LOW["int8"] = "T.int8(-128)"


@given(st.data())
@few(4)
def test_convolutions_agree_with_the_interpreter(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    dims = [data.draw(windows({1: 7, 2: 3, 3: 2}[rank], backward=True)) for _ in range(rank)]
    b, o, c = (data.draw(st.integers(0, 2)) for _ in range(3))
    dtype = data.draw(DTYPES)
    text = program(dims, dtype, "X[] * W[]", ZERO[dtype], "OLD + NEW", b, o, c)
    check(text, dims, data.draw(TARGETS), data.draw(st.integers(0, 9)), symbols=True)


def test_images_of_integers_are_brought_in_order() -> None:
    dims = [Window(3, 1, 1, 1, 0), Window(1, 2, 1, 1, 1)]
    source = check(program(dims, "int8", "X[] * W[]", ZERO["int8"], "OLD + NEW", b=2, o=2, c=2), dims, LIBRARY)
    assert "conv_general_dilated" in source and "jnp.transpose(X" in source


UPDATES = ["OLD + NEW", "OLD - NEW", "T.max(OLD, NEW)", "T.min(OLD, NEW)"]


@given(st.data())
@few(4)
def test_reductions_of_windows_agree_with_the_interpreter(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    dims = [data.draw(windows({1: 21, 2: 4, 3: 3}[rank])) for _ in range(rank)]
    b, c = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))
    dtype, update = data.draw(DTYPES), data.draw(st.sampled_from(UPDATES))
    value = data.draw(st.sampled_from(["X[]", "X[] * X[]"]))
    start = LOW[dtype] if "T." in update else ZERO[dtype]
    text = program(dims, dtype, value, start, update, b=b, c=c)
    target = data.draw(st.sampled_from([CPU, APART, TOGETHER, FUSED]))
    check(text, dims, target, data.draw(st.integers(0, 9)), symbols=True)


@pytest.mark.parametrize(
    ("target", "dtype", "pad"),
    some([(CPU, "float32", 2), (CPU, "int32", 0), (LIBRARY, "float32", 2), (SLICES, "int32", 2)], 1),
)
def test_long_filters_are_no_gathers(target: Target, dtype: str, pad: int) -> None:
    for dims in ([Window(52, 40, 2, 1, pad)], [Window(272, 270, 1, 1, pad)], [Window(9, 6, 1, 1, pad)] * 2):
        source = check(program(dims, dtype, "X[] * W[]", ZERO[dtype], "OLD + NEW"), dims, target)
        assert "arange" not in source and "X[jnp" not in source, source


def test_the_library_pads_as_it_reads() -> None:
    dims = [Window(5, 3, 2, 1, 1), Window(6, 3, 2, 3, 2), Window(3, 2, 1, 1, 1)]
    for b, c in ((2, 3), (0, 2), (2, 0)):
        text = program(dims, "float32", "X[] * W[]", "0.0", "OLD + NEW", b=b, o=2, c=c)
        source = check(text, dims, replace(LIBRARY, load=1e3))
        assert "[(1, 1), (1, 1), (2, 1)]" in source and "jnp.pad" not in source


@pytest.mark.parametrize(
    ("target", "form"),
    some([(LIBRARY, "lax.conv_general_dilated"), (SLICES, "for c in range(3)"), (PRODUCTS, "lax.fori_loop")], 1),
)
def test_many_taps_with_channels(target: Target, form: str) -> None:
    dims = [Window(8, 6, 1, 1, 1), Window(9, 6, 1, 1, 1)]
    source = check(program(dims, "float32", "X[] * W[]", "0.0", "OLD + NEW", o=2, c=3), dims, target)
    assert form in source
    assert target is not LIBRARY or ("[(1, 1), (1, 1)]" in source and "jnp.pad" not in source)


def test_padded_taps_share_one_padded_buffer() -> None:
    dims = [Window(20, 5, 1, 1, 2)]
    few = replace(CPU, padded_vector=10.0, padded_read=10.0)
    source = check(program(dims, "float32", "X[] * W[]", "0.0", "OLD + NEW"), dims, few)
    assert source.count("jnp.pad") == 1 and "jnp.where" not in source
    large = [Window(3000, 5, 1, 1, 2)]
    text = program(large, "float32", "X[] * W[]", "0.0", "OLD + NEW")
    assert "kept(jnp.pad" in emit(parse(text).funcs[0])
    kept = replace(CPU, padded_vector=10.0, padded_read=2.0, kernel=1e4)  # a pass over few elements is dearer
    assert (
        "kept("
        not in emit_function(
            parse(program(dims, "float32", "X[] * W[]", "0.0", "OLD + NEW")).funcs[0], target=kept
        ).source
    )


PATCHES = """
@T.prim_func
def f(A: T.Buffer((13, 12), "float32"), D: T.Buffer((7, 6, 3, 3), "float32")):
    for i, j, u, v in T.grid(7, 6, 3, 3):
        D[i, j, u, v] = {start}
        for p, q in T.grid(3, 3):
            D[i, j, u, v] = {update}
"""


@pytest.mark.parametrize(
    ("start", "update"),
    some(
        [
            ("0.0", "D[i, j, u, v] + T.abs(A[i + 2 + p, j + 2 + q] - A[i + u + p, j + v + q])"),
            ("-9.0", "T.max(D[i, j, u, v], A[i + p + 1, j + q] * A[i + u + p, j + 2 * v + q])"),
            ("0.0", "D[i, j, u, v] + A[2 * i - i + p, j + u + q + v] * A[i + p, j + q]"),
        ],
        1,
    ),
)
def test_windows_over_what_has_to_be_gathered(start: str, update: str) -> None:
    func = parse(PATCHES.format(start=start, update=update)).funcs[0]
    a = np.random.default_rng(0).normal(size=(13, 12)).astype(np.float32)
    want = interpret(func, A=a, D=np.zeros((7, 6, 3, 3), np.float32))[0]
    for target in (APART, TOGETHER):
        kernel = compile(func, target=target)
        np.testing.assert_allclose(kernel(A=a)[0], want, rtol=2e-5, atol=1e-5)
        assert ("windows(" in kernel.source) == (target is APART)


def test_positions_that_a_window_leaves_out_are_not_looked_at() -> None:
    func = parse("""
@T.prim_func
def f(A: T.Buffer((12, 13), "float32"), B: T.Buffer((12, 13), "float32")):
    for i, j in T.grid(12, 13):
        B[i, j] = T.min_value("float32")
        for u, v in T.grid(7, 7):
            if (u - 3) * (u - 3) + (v - 3) * (v - 3) <= 9:
                if i + u >= 3 and i + u < 15 and j + v >= 3 and j + v < 16:
                    B[i, j] = T.max(B[i, j], A[i + u - 3, j + v - 3])
""").funcs[0]
    a = np.random.default_rng(0).normal(size=(12, 13)).astype(np.float32)
    kernel = compile(func)
    np.testing.assert_array_equal(kernel(A=a)[0], interpret(func, A=a, B=np.zeros((12, 13), np.float32))[0])
    assert "(3, 6)," in kernel.source and "(5, 6)," not in kernel.source and "jnp.where" not in kernel.source


PADDED = [
    [Window(6, 3, 1, 1, 1), Window(7, 3, 1, 1, 1)],
    [Window(9, 3, 2, 1, 1), Window(8, 3, 2, 1, 1)],
    [Window(12, 3, 1, 2, 2), Window(7, 2, 1, 1, 1)],
    [Window(11, 4, 3, 2, 3)],
    [Window(5, 2, 1, 1, 1), Window(4, 2, 1, 1, 1), Window(6, 3, 2, 1, 1)],
]


@pytest.mark.parametrize("dims", some(PADDED, 2), ids=str)
@pytest.mark.parametrize("dtype", some(["float32", "int32"], 1))
def test_each_padded_read_by_itself_or_all_by_one_copy(dims: list[Window], dtype: str) -> None:
    text = program(dims, dtype, "X[] * W[]", ZERO[dtype], "OLD + NEW", b=2)
    once, fused = check(text, dims, ONCE), check(text, dims, FUSED)
    assert once.count("jnp.pad") == 1 and "wide_X" in once
    assert fused.count("jnp.pad") > 1 and "wide_X" not in fused


def test_what_each_padded_read_finds_outside_changes_nothing() -> None:
    dims = [Window(6, 3, 1, 1, 1), Window(7, 3, 2, 1, 1)]
    together = replace(FUSED, operation=1e9)  # no windows along one axis after the other
    for update, outside in (("T.max(OLD, NEW)", "-jnp.inf"), ("T.min(OLD, NEW)", "jnp.inf")):
        source = check(
            program(dims, "float32", "X[]", "1000.0" if "min" in update else "-1000.0", update), dims, together
        )
        assert source.count(f"constant_values={outside}") > 1 and "jnp.where" not in source and "wide_X" not in source


def window(
    sizes: list[int], taps: list[int], value: str = "X[] * W[]", start: str = "0.0", update: str = "OLD + NEW"
) -> str:
    dims = [Window(n, k, 1, 1, k // 2) for n, k in zip(sizes, taps, strict=True)]
    return emit(parse(program(dims, "float32", value, start, update)).funcs[0])


def test_when_padded_reads_are_fused() -> None:
    assert "wide_X" not in window([512, 512], [3, 3])
    assert "wide_X" in window([512, 512], [5, 5])  # too many for vector code
    assert "wide_X" not in window([4000, 9], [9, 1])  # rows outside are no test for each element
    assert "wide_X" in window([1 << 20], [7])  # one axis: no vector code
    assert "wide_X" not in window([1 << 25], [7])  # such memory comes fresh from the system in each call
    assert "wide_X" in window([600, 600], [3, 3], "X[] * X[] * W[]")  # a square of padding is a constant: it jumps


TWO = """
@T.prim_func
def f(A: T.Buffer((9, 9), "float32"), W: T.Buffer((3, 3), "float32"), B: T.Buffer((9, 9), "float32")):
    LOCAL
    for i, j in T.grid(9, 9):
        M[i, j] = 0.0
        for y, x in T.grid(3, 3):
            if 0 <= i + y - 1 and i + y - 1 < 9 and 0 <= j + x - 1 and j + x - 1 < 9:
                M[i, j] = M[i, j] + A[i + y - 1, j + x - 1] * W[y, x]
    for i, j in T.grid(9, 9):
        B[i, j] = 0.0
        for y, x in T.grid(3, 3):
            if 0 <= i + y - 1 and i + y - 1 < 9 and 0 <= j + x - 1 and j + x - 1 < 9:
                B[i, j] = B[i, j] + M[i + y - 1, j + x - 1] * W[y, x]
"""


@pytest.mark.parametrize("kept", [False, True])
def test_padded_reads_are_not_fused_with_statements_before_and_after(kept: bool) -> None:
    local = 'M = T.alloc_buffer((9, 9), "float32")'
    text = TWO.replace("    LOCAL\n", "") if kept else TWO.replace("LOCAL", local)
    text = text.replace("B: T.Buffer", 'M: T.Buffer((9, 9), "float32"), B: T.Buffer') if kept else text
    func = parse(text).funcs[0]
    emitted = emit_function(func, target=FUSED)
    assert ("wide_A" in emitted.source) is not kept and "wide_M" in emitted.source
    rng = np.random.default_rng(0)
    inputs = [rng.uniform(-1, 1, [int(d.value) for d in b.shape]).astype(np.float32) for b in func.buffers]  # type: ignore[attr-defined]
    for expected, found in zip(interpret(func, *inputs), compile(func, FUSED)(*inputs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_a_maximum_over_padding_is_padded_by_what_changes_nothing() -> None:
    dims = [Window(6, 3, 1, 1, 1), Window(7, 3, 1, 1, 1)]
    for target in (APART, TOGETHER):
        source = check(program(dims, "float32", "X[]", "-1000.0", "T.max(OLD, NEW)"), dims, target)
        assert "constant_values=-jnp.inf" in source and "jnp.where" not in source
        assert ("windows(" in source) == (target is APART)


def test_long_windows_are_put_together_from_shorter_ones() -> None:
    dims = [Window(40, 19, 1, 1, 0)]
    source = check(program(dims, "float32", "X[]", "0.0", "OLD + NEW"), dims, APART)
    assert "windows(jnp.add, X, 19, 0)" in source


STALE = """
@T.prim_func
def f(X: T.Buffer((12,), "float32"), Y: T.Buffer((12,), "float32"), Z: T.Buffer((12,), "float32")):
    for i in T.serial(12):
        Y[i] = X[T.max(i - 1, 0)] + X[T.min(i + 1, 11)]
    for i in T.serial(12):
        X[i] = 2.0 * Y[i]
    for i in T.serial(12):
        Z[i] = X[T.max(i - 1, 0)] + X[T.min(i + 1, 11)]
"""


def test_a_padded_copy_is_not_used_after_its_buffer_changed() -> None:
    func = parse(STALE).funcs[0]
    X = np.arange(12, dtype=np.float32)
    Y = np.zeros(12, np.float32)
    expected = interpret(func, X, Y, Y)
    assert all(np.allclose(a, b) for a, b in zip(expected, compile(func)(X, Y, Y), strict=True))


ROWS = """
@T.prim_func
def f(X: T.Buffer((4, 4), "float32"), Y: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        Y[i] = 0.0
        for k in T.serial(3):
            if i % 4 + k - 1 >= 0 and i % 4 + k - 1 < 4:
                Y[i] = Y[i] + X[i // 4, i % 4 + k - 1]
"""


def test_what_leaves_a_row_does_not_find_the_next_one() -> None:
    func = parse(ROWS).funcs[0]
    X = np.arange(1, 17, dtype=np.float32).reshape(4, 4)
    (expected,) = interpret(func, X, np.zeros(16, np.float32))
    (found,) = compile(func)(X=X)
    assert np.allclose(expected, found)


POOL = """
@T.prim_func
def f(X: T.Buffer((6, 8), "float32"), Y: T.Buffer((3, 4), "float32")):
    for y, x in T.grid(3, 4):
        Y[y, x] = X[2 * y, 2 * x]
        for dy, dx in T.grid(2, 2):
            Y[y, x] = T.max(Y[y, x], X[2 * y + dy, 2 * x + dx])
"""
REVERSED = """
@T.prim_func
def f(X: T.Buffer((9,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in T.serial(8):
        Y[i] = X[i]
    for i in T.serial(8):
        for k in T.serial(2):
            Y[7 - i] = T.max(Y[7 - i], X[i + k])
"""
CHANGED = """
@T.prim_func
def f(X: T.Buffer((9,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in T.serial(8):
        Y[i] = X[i]
    for i in T.serial(9):
        X[i] = 1.0 - X[i]
    for i in T.serial(8):
        for k in T.serial(2):
            Y[i] = T.max(Y[i], X[i + k])
"""


@pytest.mark.parametrize(("text", "dropped"), [(POOL, True), (REVERSED, False), (CHANGED, False)])
def test_a_maximum_does_not_look_again_at_what_it_starts_from(text: str, dropped: bool) -> None:
    func = parse(text).funcs[0]
    X = np.random.default_rng(0).uniform(-1, 1, [int(d.value) for d in func.buffers[0].shape])  # type: ignore[attr-defined]
    Y = np.zeros([int(d.value) for d in func.buffers[1].shape], np.float32)  # type: ignore[attr-defined]
    expected = interpret(func, X.astype(np.float32), Y)
    assert all(np.allclose(a, b) for a, b in zip(expected, compile(func)(X.astype(np.float32), Y), strict=True))
    assert (emit(func).count("jnp.maximum") == 3) == dropped


BORDERS = """
@T.prim_func
def f(A: T.Buffer((9, 7), "DTYPE"), B: T.Buffer((9, 7), "DTYPE")):
    for i, j in T.grid(9, 7):
        B[i, j] = 3 * A[i, j] + T.if_then_else(UP, A[i - 1, j], ELSE) - T.if_then_else(j < 6, A[i, j + 1], 0)
"""


@pytest.mark.parametrize(
    ("up", "other", "plain"),
    [
        ("i > 0", "0", True),
        ("i >= 1 and j >= 0", "0", True),
        ("i > 1", "0", False),  # row 0 is there, and not wanted
        ("i > 0 and A[i, j] > 0", "0", False),
        ("i > 0", "1", False),
    ],
)
@pytest.mark.parametrize("dtype", some(["float32", "int32"], 1))
def test_a_choice_of_zero_outside_is_padding(up: str, other: str, plain: bool, dtype: str) -> None:
    text = BORDERS.replace("UP", up).replace("ELSE", other).replace("DTYPE", dtype)
    if dtype == "float32":
        text = text.replace(f", {other})", f", {other}.0)").replace(", 0)", ", 0.0)").replace("3 *", "3.0 *")
        text = text.replace("A[i, j] > 0", "A[i, j] > 0.0")
    func = parse(text).funcs[0]
    A = np.random.default_rng(0).integers(-9, 10, (9, 7)).astype(dtype)
    for target in (ONCE, FUSED, CPU):
        source = emit_function(func, target=target).source
        assert ("jnp.where" not in source) == plain, source
        for expected, found in zip(interpret(func, A, 0 * A), compile(func, target)(A, 0 * A), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_a_choice_in_a_maximum_stays() -> None:
    text = BORDERS.replace("DTYPE", "int32").split("        B[i")[0]
    text += "        B[i, j] = T.max(B[i, j], T.if_then_else(i > 0, A[i - 1, j], 0))\n"
    func = parse(text).funcs[0]
    A, B = np.full((9, 7), -5, np.int32), np.full((9, 7), -7, np.int32)
    for expected, found in zip(interpret(func, A, B), compile(func, FUSED)(A, B), strict=True):
        np.testing.assert_array_equal(found, expected)
