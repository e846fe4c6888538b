"""Convolutions in all combinations of what their programs may have: blocks, borders, strides, groups and tails."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields
from itertools import combinations, product
from typing import Any, Literal, get_args, get_type_hints

import numpy as np
import pytest
from test_sliding_windows import FUSED, LIBRARY, ONCE, PRODUCTS, SLICES

from ir import parse
from ir.semantics.interpret import interpret
from lower.emission.function import emit_function
from lowered import unwrapped
from profiles import some

TARGETS = {
    "library": LIBRARY,
    "products": PRODUCTS,
    "slices": SLICES,
    "padded once": ONCE,
    "padded alone": FUSED,
}
BLOCK, BLOCKS = 2, 4  # channels in a block, and blocks
CHANNELS = BLOCK * BLOCKS
TAIL = CHANNELS - 1  # channels that the blocks have with a tail


@dataclass(frozen=True)
class Case:
    """One combination of what a convolution may have."""

    rank: Literal[1, 2, 3]
    blocked: Literal["", "inputs", "outputs", "both"]
    border: Literal["", "guard", "clamp", "wrap"]
    stride: Literal[1, 2]
    dilation: Literal[1, 2]
    groups: Literal[1, 2]
    tail: Literal[False, True]
    form: Literal["library", "products", "slices", "padded once", "padded alone"]
    image: Literal["plain", "rectified", "shifted"] = "plain"

    def __str__(self) -> str:
        return "-".join(f"{f.name}={getattr(self, f.name)}" for f in fields(self))

    @property
    def places(self) -> int:
        return {1: 6, 2: 4, 3: 3}[self.rank]

    @property
    def taps(self) -> int:
        return {1: 3, 2: 3, 3: 2}[self.rank]

    @property
    def channels(self) -> int:
        return TAIL if self.tail else CHANNELS

    @property
    def pad(self) -> int:
        return 1 if self.border else 0

    @property
    def size(self) -> int:
        return self.stride * (self.places - 1) + self.dilation * (self.taps - 1) + 1 - 2 * self.pad


AXES = get_type_hints(Case)
IMAGES = {"plain": "{}", "rectified": "T.max({}, 0.0)", "shifted": "({} - 0.5)"}


def grid() -> Iterator[Case]:
    return (Case(*values) for values in product(*map(get_args, AXES.values())))


def pairwise_cover() -> list[Case]:
    """Few cases in which any two values of two features occur together: greedily, always in this order."""
    numbers: dict[tuple[int, Any, int, Any], int] = {}
    covered: list[tuple[Case, int]] = []
    for values in product(*map(get_args, AXES.values())):
        pairs = ((a, values[a], b, values[b]) for a, b in combinations(range(len(values)), 2))
        covered.append((Case(*values), sum(1 << numbers.setdefault(pair, len(numbers)) for pair in pairs)))
    missing, chosen = (1 << len(numbers)) - 1, list[Case]()
    while missing:
        case, pairs = max(covered, key=lambda c: (c[1] & missing).bit_count())
        chosen.append(case)
        missing &= ~pairs
    return chosen


def channel_loops(blocked: bool, name: str, tail: bool) -> tuple[list[str], list[int], list[str]]:
    """Loops over channels, their extents, and guards."""
    if not blocked:
        return [name], [TAIL if tail else CHANNELS], []
    inner = f"{name}{name}"
    return [name, inner], [BLOCKS, BLOCK], [f"{name} * {BLOCK} + {inner} < {TAIL}"] * tail


def program(case: Case) -> str:
    """A convolution over arrays whose channels lie in blocks, outermost and innermost, or in one row."""
    places, taps = [f"y{d}" for d in range(case.rank)], [f"k{d}" for d in range(case.rank)]
    guards: list[str] = []
    at: list[str] = []
    for y, k in zip(places, taps, strict=True):
        index = f"{case.stride} * {y} + {case.dilation} * {k}" + (f" - {case.pad}" if case.pad else "")
        if case.border == "guard":
            guards += [f"{index} >= 0", f"{index} < {case.size}"]
        elif case.border == "clamp":
            index = f"T.min(T.max({index}, 0), {case.size - 1})"
        elif case.border == "wrap":
            index = f"({index}) % {case.size}"
        at.append(index)
    cs, c_sizes, c_guards = channel_loops(case.blocked in ("inputs", "both"), "c", case.tail)
    outs, o_sizes, o_guards = channel_loops(case.blocked in ("outputs", "both"), "o", case.tail)
    group = ["g"] * (case.groups > 1)
    g_sizes = [case.groups] * (case.groups > 1)

    def shape(sizes: list[int]) -> str:
        return f"({', '.join(map(str, sizes))},)"

    image = shape([*g_sizes, c_sizes[0], *[case.size] * case.rank, *c_sizes[1:]])
    weights = shape([*g_sizes, o_sizes[0], c_sizes[0], *[case.taps] * case.rank, *c_sizes[1:], *o_sizes[1:]])
    result = shape([*g_sizes, o_sizes[0], *[case.places] * case.rank, *o_sizes[1:]])
    x = IMAGES[case.image].format(f"X[{', '.join([*group, cs[0], *at, *cs[1:]])}]")
    w = ", ".join([*group, outs[0], cs[0], *taps, *cs[1:], *outs[1:]])
    y = ", ".join([*group, outs[0], *places, *outs[1:]])
    kept, kept_sizes = [*group, *outs, *places], [*g_sizes, *o_sizes, *[case.places] * case.rank]
    sizes = [*c_sizes, *[case.taps] * case.rank]
    lines = [
        "@T.prim_func",
        f'def f(X: T.Buffer({image}, "float32"), W: T.Buffer({weights}, "float32"), Y: T.Buffer({result}, "float32")):',
        f"    for {', '.join(kept)} in T.grid({', '.join(map(str, kept_sizes))}):",
        f"        if {' and '.join(o_guards) or 'True'}:",
        f"            Y[{y}] = 0.0",
        f"            for {', '.join([*cs, *taps])} in T.grid({', '.join(map(str, sizes))}):",
        f"                if {' and '.join([*c_guards, *guards]) or 'True'}:",
        f"                    Y[{y}] = Y[{y}] + {x} * W[{w}]",
    ]
    return "\n".join(lines) + "\n"


def unblocked(array: np.ndarray, blocked: bool, outer: int, count: int) -> np.ndarray:
    """An array whose last axis, if its channels lie in blocks, is within the `outer` one, as one with one such axis."""
    if blocked:
        array = np.moveaxis(array, -1, outer + 1)
        array = array.reshape(*array.shape[:outer], -1, *array.shape[outer + 2 :])
    return array.take(range(count), outer)


def reference(case: Case, image: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The convolution over groups, outputs and places, by arrays of indices."""
    if case.groups == 1:
        image, weights = image[None], weights[None]
    image = unblocked(image, case.blocked in ("inputs", "both"), 1, case.channels).astype(float)
    weights = unblocked(weights, case.blocked in ("outputs", "both"), 1, case.channels)
    weights = unblocked(weights, case.blocked in ("inputs", "both"), 2, case.channels).astype(float)
    total = np.zeros((case.groups, case.channels, *[case.places] * case.rank))
    for tap in product(range(case.taps), repeat=case.rank):
        part = {"plain": image, "rectified": np.maximum(image, 0.0), "shifted": image - 0.5}[case.image]
        for d, k in enumerate(tap):
            at = case.stride * np.arange(case.places) + case.dilation * k - case.pad
            inside = (at >= 0) & (at < case.size) if case.border == "guard" else np.ones_like(at, bool)
            at = at % case.size if case.border == "wrap" else at.clip(0, case.size - 1)
            shape = [case.places if n == d + 2 else 1 for n in range(image.ndim)]
            part = np.where(inside.reshape(shape), part.take(at, d + 2), 0.0)
        total += np.einsum("goc,gc...->go...", weights[(..., *tap)], part)
    return total


def inputs(case: Case) -> dict[str, np.ndarray]:
    """Random inputs, with NaN in all channels behind the tail."""
    rng = np.random.default_rng(0)
    buffers = parse(program(case)).funcs[0].buffers
    found = {b.name: rng.uniform(-1, 1, [int(d.value) for d in b.shape]).astype(np.float32) for b in buffers}  # type: ignore[attr-defined]
    if case.tail and case.blocked in ("inputs", "both"):
        found["X"][(slice(None),) * (case.groups > 1) + (-1, ..., -1)] = np.nan
    return found


def check(case: Case, done: Collection[str] = ()) -> str:
    """Compare a kernel with the reference, unless its source is `done`; returns its source."""
    emitted = emit_function(parse(program(case)).funcs[0], target=TARGETS[case.form])
    if emitted.source in done:
        return emitted.source
    given = inputs(case)
    space: dict[str, Any] = {}
    exec(emitted.source, space)
    (found,) = space[emitted.name](**{emitted.names[k]: v for k, v in given.items()})
    assert_equal(case, np.asarray(found), given, emitted.source)
    return emitted.source


def assert_equal(case: Case, found: np.ndarray, given: dict[str, np.ndarray], source: str = "") -> None:
    found = found if case.groups > 1 else found[None]
    found = unblocked(found, case.blocked in ("outputs", "both"), 1, case.channels)
    expected = reference(case, given["X"], given["W"])
    assert np.allclose(expected, found, rtol=1e-4, atol=1e-4), f"{program(case)}\n{source}"


@pytest.mark.parametrize("case", some(pairwise_cover(), 2), ids=str)
def test_any_two_features_of_a_convolution(case: Case) -> None:
    check(case)


@pytest.mark.fuzz
@pytest.mark.parametrize(("rank", "blocked", "border"), list(product(*(get_args(t) for t in list(AXES.values())[:3]))))
def test_all_features_of_a_convolution(rank: int, blocked: str, border: str) -> None:
    done: dict[str, set[str]] = {}  # by program: targets may agree on a form
    for case in grid():
        if (case.rank, case.blocked, case.border) == (rank, blocked, border):
            same = done.setdefault(program(case), set())
            same.add(check(case, same))


@pytest.mark.parametrize("border", ["", "guard", "clamp", "wrap"])
def test_the_reference_is_the_interpreter(border: Any) -> None:
    case = Case(1, "both", border, 2, 2, 1, True, "library")
    given = inputs(case)
    (found,) = interpret(parse(program(case)).funcs[0], **given)
    assert_equal(case, np.asarray(found), given)


def test_positions_of_a_window_that_go_round_by_another_multiple_than_it_does() -> None:
    check(Case(2, "", "wrap", 1, 2, 1, False, "products"))


@pytest.mark.parametrize("image", some(["plain", "rectified", "shifted"], 0.5))
@pytest.mark.parametrize("dilation", [1, 2])
def test_the_library_takes_functions_of_an_image(image: Any, dilation: Any) -> None:
    assert "conv_general_dilated" in check(Case(2, "", "", 2, dilation, 1, False, "library", image))


INTEGERS = """
@T.prim_func
def f(
    X: T.Buffer(({count}, 9, 8), "{dtype}"), W: T.Buffer((3, {count}, 3, 2), "int8"), Y: T.Buffer((3, 7, 7), "int32")
):
    for o, y, x in T.grid(3, 7, 7):
        Y[o, y, x] = 0
        for c, a, b in T.grid({count}, 3, 2):
            Y[o, y, x] += (T.cast(X[c, y + a, x + b], "int32") - 3) * T.cast(W[o, c, a, 1 - b], "int32")
"""


@pytest.mark.parametrize(
    ("dtype", "count", "exact"), some([("int8", 5, True), ("int8", 200, False), ("int16", 5, False)], 0.45)
)
def test_sums_of_integers_that_floats_have_are_convolutions(dtype: str, count: int, exact: bool) -> None:
    func = parse(INTEGERS.format(dtype=dtype, count=count)).funcs[0]
    rng, least = np.random.default_rng(0), np.iinfo(dtype).min
    x, w = (rng.integers(least // 2, -least // 2, (count, 9, 8)), rng.integers(-128, 128, (3, count, 3, 2)))
    emitted = emit_function(func, target=LIBRARY)
    assert ("conv_general_dilated" in emitted.source) == exact
    space: dict[str, Any] = {}
    exec(emitted.source, space)
    (found,) = space["f"](x.astype(dtype), w.astype(np.int8))
    taps = [(x[:, a : a + 7, 1 - b : 8 - b] - 3, w[:, :, a, b]) for a in range(3) for b in range(2)]
    assert np.array_equal(found, sum(np.einsum("oc,cyx->oyx", f, part) for part, f in taps))


@pytest.mark.parametrize(("rank", "stride"), [(1, 2), (2, 1), (3, 1)])
def test_the_library_pads_channels_that_lie_in_blocks(rank: Any, stride: Any) -> None:
    case = Case(rank, "both", "guard", stride, 1, 1, False, "library")
    assert f"{(stride,) * rank}, [{', '.join(['(1, '])}" in unwrapped(check(case))


@pytest.mark.parametrize(("axes", "library"), [("yx", True), ("zyx", False)])
def test_the_library_of_cpus_has_planes_and_no_volumes(axes: str, library: bool) -> None:
    shape, taps = ", ".join(["18"] * len(axes)), ", ".join(["3"] * len(axes))
    grid = ", ".join(["16"] * len(axes))
    moved = ", ".join(f"{a} + d{a}" for a in axes)
    func = parse(f"""
@T.prim_func
def f(X: T.Buffer((32, {shape}), "float32"), W: T.Buffer((32, 32, {taps}), "float32"),
      Y: T.Buffer((32, {grid}), "float32")):
    for o, {", ".join(axes)} in T.grid(32, {grid}):
        Y[o, {", ".join(axes)}] = 0.0
        for c, {", ".join(f"d{a}" for a in axes)} in T.grid(32, {taps}):
            Y[o, {", ".join(axes)}] += X[c, {moved}] * W[o, c, {", ".join(f"d{a}" for a in axes)}]
""").funcs[0]
    assert ("conv_general_dilated" in emit_function(func).source) == library
