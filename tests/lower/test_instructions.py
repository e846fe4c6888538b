"""Instructions of users: programs that call them, as arrays and as loops, against the interpreter."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from msgspec.structs import replace

import loopsat
from egraph_rules import optimize, register, unregister
from ir import LoopsatError, PrimFunc, interpret, parse, to_script, verify
from ir.dtypes import DType
from ir.errors import DifferenceError, LowerError, ParseError, ScheduleError, VerifyError
from ir.instructions import instructions_in
from ir.nodes import Expr, Load, const
from ir.program.calls import without_calls
from ir.schedule import Schedule, Trace
from ir.traverse import map_expr, map_stmt
from lower import compile, emit
from lower.check import testing
from lower.commands.cli import main
from lower.restructure.pipeline import form_of
from lowered import assert_agrees
from profiles import some

INSTRUCTIONS = """
@T.instruction(jax="{C} + {A} @ {B}", cost=8.0, floats="reassociate")
def multiply(A: T.Buffer((2, 3), "float32"), B: T.Buffer((3, 2), "float32"), C: T.Buffer((2, 2), "float32")):
    for i, j, k in T.grid(2, 2, 3):
        C[i, j] = C[i, j] + A[i, k] * B[k, j]

@T.instruction(jax="{Y} + jnp.sum({X}, axis=-1)", floats="reassociate")
def add_up(X: T.Buffer((4,), "float32"), Y: T.Buffer((), "float32")):
    for k in range(4):
        Y[()] = Y[()] + X[k]

@T.instruction(jax="jnp.maximum({X}, 0.0) * {scale}")
def scaled_relu(X: T.Buffer((4,), "float32"), scale: T.float32, Y: T.Buffer((4,), "float32")):
    for k in range(4):
        Y[k] = T.max(X[k], 0.0) * scale

@T.instruction(jax="{X} - jnp.max({X})")
def below_largest(X: T.Buffer((3,), "float32"), Y: T.Buffer((3,), "float32")):
    most = T.alloc_buffer((), "float32")
    most[()] = X[0]
    for k in range(3):
        most[()] = T.max(most[()], X[k])
    for k in range(3):
        Y[k] = X[k] - most[()]

@T.instruction(jax="(jnp.min({X}), jnp.max({X}))")
def extremes(X: T.Buffer((3,), "float32"), low: T.Buffer((), "float32"), high: T.Buffer((), "float32")):
    low[()] = X[0]
    high[()] = X[0]
    for k in T.serial(1, 3):
        low[()] = T.min(low[()], X[k])
        high[()] = T.max(high[()], X[k])

@T.instruction(jax="{X}[::-1]")
def turned(X: T.Buffer((4,), "float32")):
    half = T.alloc_buffer((4,), "float32")
    for k in range(4):
        half[k] = X[3 - k]
    for k in range(4):
        X[k] = half[k]
"""

PROGRAMS = {
    "a product in tiles": (
        'A: T.Buffer((4, 9), "float32"), B: T.Buffer((9, 6), "float32"), C: T.Buffer((4, 6), "float32")',
        """
        for i, j in T.grid(4, 6):
            C[i, j] = 0.0
        for io, jo, ko in T.grid(2, 3, 3):
            multiply(A[2*io:2*io+2, 3*ko:3*ko+3], B[3*ko:3*ko+3, 2*jo:2*jo+2], C[2*io:2*io+2, 2*jo:2*jo+2])
        """,
        "multiply over io, jo",
    ),
    "tiles stored one after the other": (
        'A: T.Buffer((2, 2, 2, 3), "float32"), B: T.Buffer((2, 3, 2), "float32"), C: T.Buffer((2, 2, 2), "float32")',
        """
        for ko, io in T.grid(2, 2):
            multiply(A[io, ko, :, :], B[ko, :, :], C[io, :, :])
        """,
        "multiply over io",
    ),
    "sums of rows in pieces": (
        'A: T.Buffer((5, 12), "float32"), B: T.Buffer((5,), "float32")',
        """
        for i in range(5):
            B[i] = 1.0
            for j in range(3):
                add_up(A[i, 4*j:4*j+4], B[i])
        """,
        "add_up over i",
    ),
    "a stage between others": (
        'A: T.Buffer((3, 8), "float32"), B: T.Buffer((3, 8), "float32"), s: T.float32',
        """
        t = T.alloc_buffer((3, 8), "float32")
        u = T.alloc_buffer((3, 8), "float32")
        for i, j in T.grid(3, 8):
            t[i, j] = A[i, j] + 1.0
        for i, j in T.grid(3, 2):
            scaled_relu(t[i, 4*j:4*j+4], s, u[i, 4*j:4*j+4])
        for i, j in T.grid(3, 8):
            B[i, j] = u[i, j] * 2.0
        """,
        "scaled_relu over i, j",
    ),
    "under a condition": (
        'A: T.Buffer((6, 4), "float32"), B: T.Buffer((6, 4), "float32")',
        """
        for i in range(6):
            if i % 2 == 1 and i < 5:
                scaled_relu(A[i, :], T.float32(3.0), B[i, :])
        """,
        "scaled_relu",
    ),
    "with a local for each iteration": (
        'A: T.Buffer((4, 3), "float32"), B: T.Buffer((4, 3), "float32")',
        """
        for i in range(4):
            t = T.alloc_buffer((3,), "float32")
            for k in range(3):
                t[k] = A[i, 2 - k]
            below_largest(t, B[i, :])
        """,
        "below_largest",
    ),
    "two results": (
        'A: T.Buffer((5, 3), "float32"), L: T.Buffer((5,), "float32"), H: T.Buffer((5,), "float32")',
        """
        for i in range(5):
            extremes(A[i, :], L[i], H[i])
        """,
        "extremes over i",
    ),
    "columns": (
        'A: T.Buffer((3, 5), "float32"), L: T.Buffer((5, 2), "float32")',
        """
        for j in range(5):
            extremes(A[:, j], L[j, 0], L[j, 1])
        """,
        "extremes over j",
    ),
    "in place": (
        'A: T.Buffer((3, 4), "float32")',
        """
        for i in range(3):
            turned(A[i, :])
        """,
        "turned over i",
    ),
    "windows that overlap what others store": (
        'A: T.Buffer((9,), "float32")',
        """
        for i in range(6):
            turned(A[i:i+4])
        """,
        "turned",
    ),
    "windows that overlap what they read": (
        'A: T.Buffer((9,), "float32"), B: T.Buffer((6,), "float32")',
        """
        for i in range(6):
            B[i] = 0.0
            add_up(A[i:i+4], B[i])
        """,
        "add_up over i",
    ),
    "the same input for all": (
        'A: T.Buffer((4,), "float32"), S: T.Buffer((3,), "float32"), B: T.Buffer((3, 4), "float32")',
        """
        for i in range(3):
            scaled_relu(A, S[i], B[i, :])
        """,
        "scaled_relu over i",
    ),
    "nothing around": (
        'A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")',
        "scaled_relu(A, T.float32(2.0), B)",
        "scaled_relu, whole array",
    ),
    "rows by data": (
        'A: T.Buffer((6, 4), "float32"), rows: T.Buffer((3,), "int32"), B: T.Buffer((3, 4), "float32")',
        """
        for i in range(3):
            if 0 <= rows[i] and rows[i] < 6:
                scaled_relu(A[rows[i], :], T.float32(2.0), B[i, :])
        """,
        "",
    ),
    "a sequence": (
        'A: T.Buffer((5, 4), "float32")',
        """
        for i in T.serial(1, 5):
            scaled_relu(A[i - 1, :], T.float32(2.0), A[i, :])
        """,
        "scaled_relu",
    ),
    "sizes as symbols": (
        "n: T.int32, a: T.handle, b: T.handle",
        """
        A = T.match_buffer(a, (n, 4), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            B[i] = 0.0
            add_up(A[i, :], B[i])
        """,
        "add_up over i",
    ),
}


def program(name: str) -> PrimFunc:
    params, body, _ = PROGRAMS[name]
    lines = body.split("\n")
    depth = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    text = "\n".join(f"    {line[depth:] if line[:1] == ' ' else line}" for line in lines if line.strip())
    return parse(f"{INSTRUCTIONS}\n@T.prim_func\ndef f({params}):\n{text}\n")["f"]


def numbers(func: PrimFunc, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    found = {
        b.name: rng.integers(-3, 4, [5 if not hasattr(d, "value") else int(d.value) for d in b.shape])
        for b in func.buffers
    }
    inputs = {b.name: found[b.name].astype(b.dtype.numpy) for b in func.buffers}
    return inputs | {s.name: np.array(5 if s.dtype.is_integer else 2, s.dtype.numpy) for s in func.scalars}


@pytest.mark.parametrize("name", some(PROGRAMS, 0.19))
def test_calls_are_lowered_as_the_instruction_and_do_what_its_body_does(name: str) -> None:
    func = program(name)
    kernel = compile(func)
    assert_agrees(func, kernel, numbers(func))
    report = "\n".join(map(str, kernel.report))
    assert PROGRAMS[name][2] in report, report


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_form_of_a_call_does_what_the_program_does(name: str) -> None:
    func = program(name)
    inputs = numbers(func)
    for found, wanted in zip(interpret(form_of(func), **inputs), interpret(func, **inputs), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", some(PROGRAMS, 0.19))
def test_without_instructions_calls_are_the_loops_that_they_mean(name: str) -> None:
    func = program(name)
    kernel = compile(func, without=("instructions",))
    assert_agrees(func, kernel, numbers(func))
    assert not any(f"{f.name}(" in kernel.source for f in instructions_in(func))


@pytest.mark.parametrize("name", some(PROGRAMS, 0.16))
def test_a_search_from_calls_finds_programs_that_do_the_same(name: str) -> None:
    func = program(name)
    inputs, result = numbers(func), optimize(func, k=4)
    for variant, _ in result.variants:
        for found, wanted in zip(interpret(variant, **inputs), interpret(func, **inputs), strict=True):
            np.testing.assert_array_equal(found, wanted)
        assert parse(to_script(variant, header=True))["f"] == replace(variant)
    assert_agrees(func, compile(result.best), inputs)


# Random programs -----------------------------------------------------------------------------------------------------

BUFFERS = ("A", "B", "t")
N = 8


@st.composite
def places(draw: st.DrawFn, loops: tuple[str, ...], room: int) -> str:
    """A position at which `room` elements follow, mostly."""
    kind = draw(st.sampled_from(("fixed", "loop", "loop", "blocks", "backward")))
    var = draw(st.sampled_from(loops)) if loops else ""
    if kind == "fixed" or not var:
        return str(draw(st.integers(0, N - room)))
    if kind == "blocks":
        return f"{room} * {var}"
    return var if kind == "loop" else f"{N - room} - {var}"


@st.composite
def sections(draw: st.DrawFn, loops: tuple[str, ...], extents: tuple[int, ...]) -> str:
    buffer = draw(st.sampled_from(BUFFERS))
    indices: list[str] = []
    kept = sorted(draw(st.permutations(range(2)))[: len(extents)])
    for d in range(2):
        extent = extents[kept.index(d)] if d in kept else None
        at = draw(places(loops, extent or 1))
        indices.append(at if extent is None else f"{at}:{at} + {extent}")
    return f"{buffer}[{', '.join(indices)}]"


CALLS = {
    "multiply": ((2, 3), (3, 2), (2, 2)),
    "add_up": ((4,), ()),
    "below_largest": ((3,), (3,)),
    "extremes": ((3,), (), ()),
    "turned": ((4,),),
    "scaled_relu": ((4,), None, (4,)),
}


@st.composite
def statements(draw: st.DrawFn) -> list[str]:
    loops = ("i", "j")[: draw(st.integers(0, 2))]
    lines = [f"for {v} in range({draw(st.integers(1, 3))}):" for v in loops]
    if draw(st.booleans()):
        x, y, z = (draw(st.sampled_from(BUFFERS)) for _ in range(3))
        inner = [f"{x}[k, l] = {y}[{draw(st.sampled_from(('k, l', 'l, k', 'k, 7 - l')))}] + {z}[k, 0]"]
        lines.append("for k, l in T.grid(8, 8):")
        loops = (*loops, "k")
    else:
        name = draw(st.sampled_from(sorted(CALLS)))
        args = ("T.float32(2.0)" if e is None else draw(sections(loops, e)) for e in CALLS[name])
        inner = [f"{name}({', '.join(args)})"]
        if loops and draw(st.integers(0, 3)) == 0:
            lines.append(f"if {loops[0]} {draw(st.sampled_from(('> 0', '< 2', '% 2 == 0')))}:")
            loops = (*loops, "if")
    return [*("    " * k + line for k, line in enumerate(lines)), *("    " * len(loops) + line for line in inner)]


@st.composite
def calling(draw: st.DrawFn) -> str:
    lines = [line for part in draw(st.lists(statements(), min_size=1, max_size=4)) for line in part]
    body = "\n".join(f"    {line}" for line in lines)
    start = '    t = T.alloc_buffer((8, 8), "float32")\n    for k, l in T.grid(8, 8):\n        t[k, l] = 1.0\n'
    params = 'A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")'
    return f"{INSTRUCTIONS}\n@T.prim_func\ndef f({params}):\n{start}{body}\n"


@given(calling(), st.integers(0, 9))
def test_random_programs_with_calls_do_what_their_bodies_do(text: str, seed: int) -> None:
    func = parse(text)["f"]
    try:
        verify(func)
    except VerifyError:
        reject()
    inputs = numbers(func, seed)
    assert_agrees(func, compile(func), inputs, rtol=1e-5)
    for found, wanted in zip(interpret(form_of(func), **inputs), interpret(func, **inputs), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


# Checks --------------------------------------------------------------------------------------------------------------

WRONG = """
@T.instruction(jax="{X} * 2.0")
def increased(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
    for k in range(4):
        Y[k] = X[k] + 1.0
@T.prim_func
def f(A: T.Buffer((3, 4), "float32"), B: T.Buffer((3, 4), "float32")):
    for i in range(3):
        increased(A[i, :], B[i, :])
"""


def test_a_text_that_differs_from_the_body_is_refused() -> None:
    module = parse(WRONG)
    with pytest.raises(LowerError, match=r"Y\[.\] = .*, but the body gives"):
        emit(module["f"])
    with pytest.raises(DifferenceError, match="the JAX text of increased"):
        testing.check_instruction(module["increased"])
    assert testing.check_instruction(parse(INSTRUCTIONS)["below_largest"], examples=5) > 0


@pytest.mark.parametrize(
    ("jax", "told"),
    [
        ("jnp.sum({X}, axis=0)", "float32[]"),
        ("{X}.astype('int32')", "int32"),
        ("{X} + jnp.ones(3)", "TypeError"),
        ("{X} @ {X}", "float32[]"),
    ],
)
def test_a_text_of_another_shape_or_dtype_is_refused(jax: str, told: str) -> None:
    with pytest.raises(LowerError) as refused:
        emit(parse(WRONG.replace("{X} * 2.0", jax))["f"])
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("", "has no jax="),
        ('jax="{X}", price=3', "no option `price`"),
        ('jax="{Z}"', "does not name a parameter"),
        ('jax="jnp.save({X})"', "is not among the pure functions"),
        ('jax="{X}", cost=-1.0', "must be a finite number"),
        ('jax="{X}", floats="fast"', "must name freedoms"),
        ('jax="({X}, {X}"', "is no Python expression"),
        ('jax="open({X})"', "is not known"),
    ],
)
def test_wrong_options_are_named(options: str, told: str) -> None:
    with pytest.raises(ParseError) as refused:
        parse(WRONG.replace('jax="{X} * 2.0"', options))
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('T.Buffer((4,), "float32")):', 'T.Buffer((n,), "float32")):', "n"),
        ("Y[k] = X[k] + 1.0", "pass", "writes no buffer"),
    ],
)
def test_what_cannot_be_an_instruction_is_refused(old: str, new: str, told: str) -> None:
    with pytest.raises(LoopsatError) as refused:
        parse(WRONG.replace(old, new, 1))
    assert told in str(refused.value)


def test_freedoms_that_a_text_takes_have_to_be_granted() -> None:
    func = program("a product in tiles")
    kernel = compile(func, floats="strict")
    assert "multiply(" not in kernel.source and "does not grant" in "\n".join(map(str, kernel.report))
    assert "multiply(" in compile(func).source


def test_an_instance_that_was_rewritten_runs_as_loops() -> None:
    func = program("sums of rows in pieces")
    inlined = without_calls(func)
    other = map_stmt(inlined.body, lambda e: map_expr(e, lambda x: x * 2 if isinstance(x, Load) else x))
    kernel = compile(replace(inlined, body=other))
    assert "add_up(" not in kernel.source and "runs as the loops" in "\n".join(map(str, kernel.report))


# The search and schedules --------------------------------------------------------------------------------------------

PRODUCT = """
@T.instruction(jax="{C} + {A} @ {B}", cost=0.5, floats="reassociate")
def tile(A: T.Buffer((4, 2), "float32"), B: T.Buffer((2, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    for i, j, k in T.grid(4, 4, 2):
        C[i, j] = C[i, j] + A[i, k] * B[k, j]
@T.prim_func
def f(A: T.Buffer((8, 6), "float32"), B: T.Buffer((6, 12), "float32"), C: T.Buffer((8, 12), "float32")):
    BODY
"""
BODIES = (
    """for i, j, k in T.grid(8, 12, 6):
        C[i, j] = C[i, j] + A[i, k] * B[k, j]""",
    """for i, j, k in T.grid(8, 12, 6):
        C[i, j] = B[k, j] * A[i, k] + C[i, j]""",
    """for k, j, i in T.grid(6, 12, 8):
        C[i, j] += A[i, k] * B[k, j]""",
    """for i, j in T.grid(8, 12):
        C[i, j] = 0.0
        for k in range(6):
            C[i, j] += A[i, k] * B[k, j]""",
    """for io, jo, ko, i, j, k in T.grid(2, 3, 3, 4, 4, 2):
        C[4 * io + i, 4 * jo + j] += A[4 * io + i, 2 * ko + k] * B[2 * ko + k, 4 * jo + j]""",
)


@pytest.fixture
def tile() -> Generator[PrimFunc]:
    instruction = parse(PRODUCT.replace("BODY", BODIES[0]))["tile"]
    register(instruction)
    yield instruction
    unregister("instructions.tile")


@pytest.mark.parametrize("body", some(BODIES, 0.2))
def test_a_nest_becomes_calls_on_tiles(tile: PrimFunc, body: str) -> None:
    func = parse(PRODUCT.replace("BODY", body))["f"]
    result = optimize(func)
    assert instructions_in(result.best) == (tile,)
    assert "instructions.tile" in [step.rule for step in result.derivation()]
    assert any(d.rule == "instructions.tile" and d.saved > 0 for d in result.report.decisions)
    inputs = numbers(func)
    for step in result.derivation():
        for found, wanted in zip(interpret(step.after, **inputs), interpret(func, **inputs), strict=True):
            np.testing.assert_array_equal(found, wanted)
    assert_agrees(func, compile(result.best), inputs)
    assert not instructions_in(optimize(func, without=("instructions",)).best)
    assert not instructions_in(optimize(func, floats="strict").best)


def test_loops_of_tiles_have_names_that_nothing_has(tile: PrimFunc) -> None:
    text = PRODUCT.replace("BODY", BODIES[0].replace("* B[k, j]", "* B[k, j + io]"))
    func = parse(
        text.replace('C: T.Buffer((8, 12), "float32"))', 'C: T.Buffer((8, 12), "float32"), io: T.int32)')
        .replace("(6, 12)", "(6, 14)")
        .replace("for i, j, k in T.grid(8", "T.assume(0 <= io and io < 3)\n    for i, j, k in T.grid(8")
    )["f"]
    best = optimize(func).best
    inputs = numbers(func) | {"io": np.array(2, np.int32)}
    np.testing.assert_array_equal(interpret(best, **inputs), interpret(func, **inputs))
    assert instructions_in(best) == (tile,)


@pytest.mark.parametrize("call", [True, False])
def test_what_is_kept_on_disk_is_of_one_text(call: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPSAT_CACHE", str(tmp_path))
    for jax in ("{X} + 1.0", "1.0 + {X}"):
        func = parse(WRONG.replace("{X} * 2.0", jax))["f"]
        func = func if call else without_calls(func)
        assert jax.replace("{X}", "X") in loopsat.compile(func).source
        assert f'jax="{jax}"' in to_script(loopsat.optimize(func, whole=None).best) or not call


@pytest.mark.fuzz
def test_tiles_that_do_not_divide_a_loop_go_beyond_it_where_nobody_reads(tile: PrimFunc) -> None:
    body = "for i, j, k in T.grid(8, 11, 6):\n        C[i, j] = C[i, j] + A[i, k] * B[k, j]"
    func = parse(PRODUCT.replace("BODY", body))["f"]
    best = optimize(func).best
    assert instructions_in(best) == (tile,)
    assert_agrees(func, compile(best), numbers(func))


CHAIN = """
@T.prim_func
def scaled(A: T.Buffer((14, 10), "float32"), H: T.Buffer((14, 10), "float32")):
    for i, j in T.grid(14, 10):
        H[i, j] = A[i, j] * 2.0

@T.prim_func
def product(H: T.Buffer((14, 10), "float32"), W: T.Buffer((10, 11), "float32"), O: T.Buffer((14, 11), "float32")):
    for i, j, k in T.grid(14, 11, 10):
        O[i, j] = O[i, j] + H[i, k] * W[k, j]

@T.prim_func
def main(A: T.Buffer((14, 10), "float32"), W: T.Buffer((10, 11), "float32"), O: T.Buffer((14, 11), "float32")):
    H = T.alloc_buffer((14, 10), "float32")
    scaled(A, H)
    product(H, W, O)
"""


@pytest.mark.fuzz
def test_a_local_buffer_is_kept_where_tiles_are_made_of_it(tile: PrimFunc) -> None:
    func = without_calls(parse(CHAIN)["main"])
    best = optimize(func).best
    assert instructions_in(best) == (tile,)
    assert "H_tiles" in str(best) and "* 2.0 * W" not in str(best)
    assert_agrees(func, compile(best), numbers(func))


def shape(*extents: int) -> tuple[Expr, ...]:
    return tuple(const(n, DType.INT32) for n in extents)


@pytest.mark.fuzz
def test_layouts_between_functions_make_room_for_tiles() -> None:
    module = parse(PRODUCT.split("@T.prim_func")[0] + CHAIN)
    result = optimize(module, free=("W",))
    assert result.layouts["W"].storage.physical_shape == shape(10, 12)
    assert result.layouts["H"].storage.physical_shape == shape(16, 10)
    assert result.layouts["O"].storage.physical_shape == shape(16, 12)  # copied in and out, since callers have it so
    called = next(f for f in result.best.funcs if f.name == "product")
    assert "tile(" in str(called) and "_tiles" not in str(called)
    inputs = numbers(module["main"])
    wanted = interpret(module["main"], **inputs)
    packed = inputs | {"W": result.layouts["W"].pack(inputs["W"])}
    assert_agrees(result.best["main"], compile(result.best), packed)
    for found, expected in zip(interpret(result.best["main"], **packed), wanted, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_dependence_keeps_loops_from_becoming_tiles(tile: PrimFunc) -> None:
    text = PRODUCT.replace("BODY", BODIES[0]).replace("A[i, k] * B[k, j]", "C[k, i] * B[k, j]")
    func = parse(text.replace("(8, 6)", "(8, 12)"))["f"]
    inputs = numbers(func)
    for found, wanted in zip(interpret(optimize(func).best, **inputs), interpret(func, **inputs), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_what_stands_between_programs_and_instructions_is_told() -> None:
    module = parse(PRODUCT.replace("BODY", BODIES[0]))
    sch = Schedule(module["f"])
    with pytest.raises(ScheduleError, match="extents of the loops i and i differ: 4 and 8"):
        sch.tensorize("i", module["tile"])
    with pytest.raises(ScheduleError, match="f is a kernel, not an instruction"):
        sch.tensorize("i", module["f"])
    with pytest.raises(ScheduleError, match="may sum in another order"):
        Schedule(module["f"], reassociate=False).tensorize("i", module["tile"])


def test_a_schedule_with_an_instruction_is_replayed() -> None:
    module = parse(PRODUCT.replace("BODY", BODIES[0]))
    sch = Schedule(module["f"])
    strips = [sch.split(name, [None, n]) for name, n in (("i", 4), ("j", 4), ("k", 2))]
    sch.reorder(*(o for o, _ in strips), *(i for _, i in strips))
    sch.tensorize(strips[0][1], module["tile"])
    inputs = numbers(module["f"])
    np.testing.assert_array_equal(interpret(sch.func, **inputs), interpret(module["f"], **inputs))
    assert_agrees(module["f"], compile(sch.func), inputs)
    other = Schedule(module["f"])
    Trace.from_json(sch.trace.to_json()).replay(other)
    assert other.func == sch.func and instructions_in(sch.func) == (module["tile"],)
    assert "sch.tensorize(ii, instruction=tile)" in str(sch.trace)


def test_the_command_line_finds_instructions_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "kernels.py"
    path.write_text("from ir import script as T\n" + PRODUCT.replace("BODY", BODIES[0]))
    try:
        assert main(["explain", str(path)]) == 0
        assert main(["optimize", str(path), "--emit", "jax"]) == 0
    finally:
        unregister("instructions.tile")
    path.write_text("from ir import script as T\n" + PRODUCT.replace("BODY", BODIES[0]).split("@T.prim_func")[0])
    assert main(["optimize", str(path)]) == 2
    assert "has instructions, and no kernel" in capsys.readouterr().err
    unregister("instructions.tile")
