"""Nests whose extents are no multiples of an instruction's: lengthened, over padding that is there or over copies."""

from __future__ import annotations

import random
from collections.abc import Generator
from contextlib import contextmanager

import numpy as np
import pytest

from compare import assert_refines
from egraph_rules import optimize, register, unregister
from egraph_rules.cost.target import Target
from ir import Module, PrimFunc, parse
from ir.instructions import instructions_in
from ir.nodes import Alloc
from ir.traverse import walk
from profiles import some

TILE = """
@T.instruction(jax="{C} + {A} @ {B}", cost=0.01, floats="reassociate")
def tile(A: T.Buffer((4, 2), "float32"), B: T.Buffer((2, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    for i, j, k in T.grid(4, 4, 2):
        C[i, j] = C[i, j] + A[i, k] * B[k, j]
"""


@contextmanager
def registered(module: Module, name: str) -> Generator[PrimFunc]:
    register(module[name])
    try:
        yield module[name]
    finally:
        unregister(f"instructions.{name}")


def copies(func: PrimFunc) -> list[str]:
    return sorted(s.buffer.name for s in walk(func.body) if isinstance(s, Alloc))


def kernel(params: str, *lines: str) -> str:
    body = "\n".join(f"    {line}" for text in lines for line in text.split("\n"))
    return f"@T.prim_func\ndef f({params}):\n{body}\n"


def buffers(**shapes: str) -> str:
    return ", ".join(f'{name}: T.Buffer({shape}, "float32")' for name, shape in shapes.items())


ZERO = "for i, j in T.grid(10, 7):\n    C[i, j] = 0.0"
PRODUCT = "for i, j, k in T.grid(10, 7, 5):\n    C[i, j] = C[i, j] + A[i, k] * B[k, j]"
PADDED_A = "for i, k in T.grid(12, 6):\n    T.assume(i < 10 and k < 5 or A[i, k] == 0.0)"
PADDED_B = "for k, j in T.grid(6, 8):\n    T.assume(k < 5 and j < 7 or B[k, j] == 0.0)"
FREE_C = "for i, j in T.grid(12, 8):\n    if i >= 10 or j >= 7:\n        C[i, j] = T.undef()"
# Programs, and what has to be copied for them.
WITH_COPIES = {
    "nothing has room": (
        kernel(buffers(A="(10, 5)", B="(5, 7)", C="(10, 7)"), ZERO, PRODUCT),
        ["A_tiles", "B_tiles", "C_tiles"],
    ),
    "on top of what is there": (
        kernel(buffers(A="(10, 5)", B="(5, 7)", C="(10, 7)"), PRODUCT),
        ["A_tiles", "B_tiles", "C_tiles"],
    ),
    "padding that holds zero": (
        kernel(buffers(A="(12, 6)", B="(6, 8)", C="(12, 8)"), PADDED_A, PADDED_B, ZERO, PRODUCT, FREE_C),
        [],
    ),
    "a result without room": (
        kernel(buffers(A="(12, 6)", B="(6, 8)", C="(10, 7)"), PADDED_A, PADDED_B, ZERO, PRODUCT),
        ["C_tiles"],
    ),
    "padding that holds anything": (
        kernel(buffers(A="(12, 6)", B="(6, 8)", C="(12, 8)"), ZERO, PRODUCT),
        ["A_tiles", "B_tiles", "C_tiles"],
    ),
    "a window": (
        kernel(
            buffers(A="(12, 5)", B="(3, 5, 7)", C="(10, 7)"),
            "for i, j, d, k in T.grid(10, 7, 3, 5):\n    C[i, j] = C[i, j] + A[i + d, k] * B[d, k, j]",
        ),
        ["A_tiles", "B_tiles", "C_tiles"],
    ),
    "a batch": (
        kernel(
            buffers(A="(3, 10, 6)", B="(3, 6, 8)", C="(3, 10, 8)"),
            "for b in range(3):\n    for i, j, k in T.grid(10, 8, 6):\n"
            "        C[b, i, j] = C[b, i, j] + A[b, i, k] * B[b, k, j]",
        ),
        ["A_tiles", "C_tiles"],
    ),
}


@pytest.mark.fuzz  # long, and others test most of it
@pytest.mark.parametrize("name", some(WITH_COPIES, 1))
def test_a_nest_with_tails_becomes_calls_on_tiles(name: str) -> None:
    text, wanted = WITH_COPIES[name]
    module = parse(TILE + text)
    with registered(module, "tile") as tile:
        result = optimize(module["f"])
    assert instructions_in(result.best) == (tile,), str(result.best)
    assert copies(result.best) == wanted, str(result.best)
    for step in result.derivation():
        assert_refines(module["f"], step.after, np.random.default_rng(0), runs=2)


# Programs in which no tiles may be taken.
NOT_LENGTHENED = {
    "an operand that is written": kernel(
        buffers(A="(10, 10)", B="(10, 10)"),
        "for i, j, k in T.grid(10, 10, 10):\n    A[i, j] = A[i, j] + A[i, k] * B[k, j]",
    ),
    "an index that is no sum": kernel(
        buffers(A="(10, 5)", B="(5, 7)", C="(5, 7)"),
        "for i, j, k in T.grid(10, 7, 5):\n    C[i // 2, j] = C[i // 2, j] + A[i, k] * B[k, j]",
    ),
}


@pytest.mark.parametrize("name", NOT_LENGTHENED)
def test_other_nests_stay_loops(name: str) -> None:
    module = parse(TILE + NOT_LENGTHENED[name])
    with registered(module, "tile"):
        best = optimize(module["f"]).best
    assert not instructions_in(best), str(best)
    assert_refines(module["f"], best, np.random.default_rng(0))


# Random programs ------------------------------------------------------------------------------------------------------

DEAR = Target("dear arithmetic", arith=500.0)  # calls cost nothing
BODIES = {
    "add": ("{C} + {A} @ {B}", "C[i, j] = C[i, j] + A[i, k] * B[k, j]", "float32"),
    "integers": ("{C} + {A} @ {B}", "C[i, j] = C[i, j] + A[i, k] * B[k, j]", "int32"),
    "most": (
        "jnp.maximum({C}, jnp.max({A}[:, :, None], axis=1))",
        "C[i, j] = T.max(C[i, j], A[i, k])",
        "int32",
    ),
    "plain": ("{A} * 2.0", "C[i, j] = A[i, j] * 2.0", "float32"),
}


def random_program(seed: int) -> str:
    """An instruction and a nest that its tiles may cover: other extents, orders, offsets, batches and operands."""
    rng = random.Random(seed)
    jax, body, dtype = BODIES[rng.choice(list(BODIES))]
    m, n, k = (rng.randint(2, 4) for _ in range(3))
    sizes = {"i": rng.randint(1, 9), "j": rng.randint(1, 9), "k": rng.randint(1, 9)}
    two = "A[i, j]" in body
    shapes = {"A": (m, n) if two else (m, k), "B": (k, n), "C": (m, n)}
    used = [b for b in shapes if f"{b}[" in body]
    params = ", ".join(f'{b}: T.Buffer({shapes[b]}, "{dtype}")' for b in used)
    loops = "i, j in T.grid({}, {})" if two else "i, j, k in T.grid({}, {}, {})"
    text = f'@T.instruction(jax="{jax}", cost=0.0, floats="reassociate")\ndef tile({params}):\n'
    text += f"    for {loops.format(m, n, k)}:\n        {body}\n\n"
    axes = {"A": "ij" if two else "ik", "B": "kj", "C": "ij"}
    places: dict[str, str] = {}
    whole: dict[str, tuple[int, ...]] = {}
    for b in used:
        order = axes[b] if rng.random() < 0.95 else axes[b][::-1]
        offsets = [rng.choice((0, 0, 0, 1)) for _ in order]
        factors = [rng.choice((1,) * 15 + (2,)) for _ in order]
        room = [rng.choice((0, 0, 3)) for _ in order]
        terms = [(f"{f} * {v}" if f > 1 else v) + (f" + {o}" if o else "")
                 for v, f, o in zip(order, factors, offsets, strict=True)]  # fmt: skip
        places[b] = f"{b}[{', '.join(terms)}]"
        extents = (f * (sizes[v] - 1) + o + 1 + r for v, f, o, r in zip(order, factors, offsets, room, strict=True))
        whole[b] = tuple(extents)
    given = body
    for b in used:
        for old in (f"{b}[i, j]", f"{b}[i, k]", f"{b}[k, j]"):
            given = given.replace(old, places[b])
    lines = []
    if rng.random() < 0.4:
        lines += [f"    for p, q in T.grid{whole['C']}:", f"        C[p, q] = {'0.0' if dtype == 'float32' else '0'}"]
    around = rng.random() < 0.3 and not two
    lines += ["    for t in range(2):"] if around else []
    names = rng.sample("ij" if two else "ijk", 2 if two else 3)
    indent = "        " if around else "    "
    lines += [f"{indent}for {', '.join(names)} in T.grid({', '.join(str(sizes[v]) for v in names)}):"]
    lines += [f"{indent}    {given}"]
    params = ", ".join(f'{b}: T.Buffer({whole[b]}, "{dtype}")' for b in used)
    return text + f"@T.prim_func\ndef f({params}):\n" + "\n".join(lines) + "\n"


def check(seed: int) -> int:
    """Compare all variants of a random program with it; how many have calls."""
    module, calls = parse(random_program(seed)), 0
    with registered(module, "tile"):
        for variant, _ in optimize(module["f"], target=DEAR, k=3).variants:
            assert_refines(module["f"], variant, np.random.default_rng(seed), runs=2)
            calls += bool(instructions_in(variant))
    return calls


def test_random_nests_do_what_they_did() -> None:
    assert sum(check(seed) for seed in range(2)) > 0


@pytest.mark.fuzz
@pytest.mark.parametrize("start", range(1000, 1400, 40))
def test_many_random_nests_do_what_they_did(start: int) -> None:
    for seed in range(start, start + 40):
        check(seed)
