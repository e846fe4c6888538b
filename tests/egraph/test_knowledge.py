"""What callees are told by their calls: numbers, ranges of scalars, what buffers hold, and what nobody reads."""

from __future__ import annotations

import numpy as np
import pytest

from egraph_rules import optimize
from egraph_rules.modules import program
from egraph_rules.modules.knowledge import told
from egraph_rules.modules.result import ModuleResult
from ir import interpret, parse, to_script
from ir.floats import DEFAULT_FLOATS, Floats
from ir.nodes import Assume, Buffer, If, PrimFunc
from ir.program.calls import callees, without_calls
from ir.transform.calls.specialize import specialized
from ir.traverse import has_loads, walk

SUMS = """
@T.prim_func
def fill(X: T.Buffer((14,), "int32"), H: T.Buffer((16,), "int32")):
    for i in range(16):
        if i < 14:
            H[i] = X[i]
        else:
            H[i] = 0

@T.prim_func
def total(A: T.Buffer((16,), "int32"), B: T.Buffer((1,), "int32"), n: T.int32):
    B[0] = 0
    for i in range(16):
        if i < n:
            B[0] += A[i]

@T.prim_func
def main(X: T.Buffer((14,), "int32"), Y: T.Buffer((1,), "int32"), Z: T.Buffer((1,), "int32")):
    H = T.alloc_buffer((16,), "int32")
    fill(X, H)
    total(H, Y, 14)
    total(H, Z, 3)
"""
ROWS = """
@T.prim_func
def sums(A: T.Buffer((6,), "int32"), B: T.Buffer((1,), "int32"), k: T.int32):
    B[0] = k
    for i in range(6):
        if k < 4:
            B[0] += A[i]

@T.prim_func
def main(X: T.Buffer((4, 6), "int32"), Y: T.Buffer((4,), "int32")):
    for k in range(4):
        sums(X[k, :], Y[k : k + 1], k)
"""
CROPS = """
@T.prim_func
def pad(A: T.Buffer((14,), "int32"), B: T.Buffer((4, 4), "int32")):
    for io, ii in T.grid(4, 4):
        B[io, ii] = T.if_then_else(4 * io + ii < 14, A[4 * io + ii], 0)

@T.prim_func
def addone(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4, 4), "int32")):
    for io, ii in T.grid(4, 4):
        B[io, ii] = T.if_then_else(4 * io + ii < 14, A[io, ii] + 1, 0)

@T.prim_func
def crop(A: T.Buffer((4, 4), "int32"), B: T.Buffer((14,), "int32")):
    for i in range(14):
        B[i] = A[i // 4, i % 4]

@T.prim_func
def main(X: T.Buffer((14,), "int32"), Y: T.Buffer((14,), "int32")):
    H = T.alloc_buffer((4, 4), "int32")
    G = T.alloc_buffer((4, 4), "int32")
    pad(X, H)
    addone(H, G)
    crop(G, Y)
"""


@pytest.fixture(autouse=True)
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if all modules were too large to be searched with the bodies of callees in the places of calls, and none of
    these paid to be joined."""
    monkeypatch.setattr(program, "INLINED", 0)
    monkeypatch.setattr(program, "joined", lambda entry, pays, guarded, apart: entry)


def searched(text: str) -> ModuleResult:
    result = optimize(parse(text))
    assert result.cost < result.cost_before
    assert result.report.taken == "callees specialized, buffers as they are"
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-9, 10, [int(str(e)) for e in b.shape]).astype(np.int32) for b in read_only(text)]
    for a, b in zip(interpret(result.best, *arrays), interpret(parse(text), *arrays), strict=True):
        np.testing.assert_array_equal(a, b)
    return result


def read_only(text: str) -> list[Buffer]:
    return [b for b in parse(text)["main"].buffers if b.name == "X"]


def test_a_callee_loses_guards_by_what_an_earlier_one_stored_and_each_call_has_its_own() -> None:
    best = searched(SUMS).best
    assert "if" not in to_script(best["total"]) and "range(16)" not in to_script(best["total"])
    assert "T.serial(16)" in str(best["total"]) and "T.serial(3)" in str(best["total_1"])


def test_a_callee_knows_the_range_of_a_scalar_and_where_sections_lie() -> None:
    best = searched(ROWS).best
    assert [p.name for p in best["sums"].params] == ["A", "B", "k"] and "if" not in str(best["sums"].body)


def test_a_callee_may_leave_anything_where_nobody_reads_after_it() -> None:
    best = searched(CROPS).best
    assert "if" not in str(best["addone"].body)


def claims(func: PrimFunc) -> str:
    """What a function is told of buffers, and what it may leave there."""
    lines = [str(s) for s in walk(func.body) if isinstance(s, If) or (isinstance(s, Assume) and has_loads(s.cond))]
    return "; ".join(" ".join(line.split()) for line in lines if "undef" in line or "assume" in line)


_ONE = "if b1 == 2 and b0 == 3"
NEAR_MISSES = {  # a line, another one in its place, the callee concerned, and what that is told then
    "overwritten": (
        "    total(H, Y, 14)", "    H[15] = X[0]\n    total(H, Y, 14)", "total",
        "T.assume(a0 <= 13 or a0 == 15 or A[a0] == 0)",
    ),
    "perhaps": ("    fill(X, H)", "    if X[0] > 0:\n        fill(X, H)", "total", ""),
    "read by the caller itself": ("    crop(G, Y)", "    crop(G, Y)\n    Y[0] = G[3, 3]", "addone", _ONE),
    "by a name": ("    crop(G, Y)", "    crop(G, Y)\n    n = G[3, 3]\n    Y[0] = n", "addone", _ONE),
    "in a loop": ("    crop(G, Y)", "    crop(G, Y)\n    for i in range(2):\n        Y[i] = G[3, 3]", "addone", _ONE),
}  # fmt: skip


@pytest.mark.parametrize("case", NEAR_MISSES)
def test_near_misses(case: str) -> None:
    old, new, name, left = NEAR_MISSES[case]
    text = next(t for t in (SUMS, CROPS) if old in t)
    plain, changed = (told(specialized(parse(t)["main"])) for t in (text, text.replace(old, new)))
    more, less = ({c.name: claims(c) for c in callees(m)}[name] for m in (plain, changed))
    start = "T.assume(a0 <= 13" if name == "total" else "if b1 >= 2 and b0 == 3"
    assert start in more and (left in less if left else start not in less) and less != more


@pytest.mark.parametrize(("body", "known"), [("total(H, Y, 14)", True), ("total(H, Y, 14)\n        fill(X, H)", False)])
def test_calls_in_loops_are_told_what_nothing_in_them_writes(body: str, known: bool) -> None:
    text = SUMS.replace("    total(H, Y, 14)\n    total(H, Z, 3)\n", f"    for t in range(2):\n        {body}\n")
    given = told(specialized(parse(text)["main"]))
    assert ("T.assume(a0 <= 13 or A[a0] == 0)" in claims({c.name: c for c in callees(given)}["total"])) == known


LEFT = "if b1 >= 2 and b0 == 3: B[b0, b1] = T.undef"


@pytest.mark.parametrize(
    ("first", "last", "permitted"),
    [("", "", True), ("Y[t] = G[3, 3]", "", False), ("copy(G, F)", "", False), ("", "Y[0] = G[3, 3]", False)],
)
def test_calls_in_loops_may_leave_anything_where_nobody_reads_in_any_iteration(
    first: str, last: str, permitted: bool
) -> None:
    calls = ("pad(X, H)", "addone(H, G)", "crop(G, Y)")
    loop = "\n        ".join(("    for t in range(3):", *([first] if first else []), *calls))
    text = CROPS.replace("\n    ".join(("    pad(X, H)", *calls[1:])), loop + (f"\n    {last}" if last else ""))
    copy = "@T.prim_func\ndef copy(A: T.Buffer((4, 4), 'int32'), B: T.Buffer((4, 4), 'int32')):\n"
    text = copy + "    for i, j in T.grid(4, 4):\n        B[i, j] = A[i, j]\n" + text
    text = text.replace("    G = T.alloc", "    F = T.alloc_buffer((4, 4), 'int32')\n    G = T.alloc")
    found = {c.name: claims(c) for c in callees(told(parse(text)["main"]))}
    assert "T.assume(a0 <= 2 or a1 <= 1 or A[a0, a1] == 0)" in found["addone"]  # what pad left in the same iteration
    assert (LEFT in found["addone"]) == permitted


PLACES = """
@T.prim_func
def make(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        B[i] = 7 - i

@T.prim_func
def use(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    for i in range(8):
        if 0 <= A[i] and A[i] < 8:
            C[i] = T.max(B[A[i]], 0)
        else:
            C[i] = -1

@T.prim_func
def main(X: T.Buffer((8,), "int32"), Y: T.Buffer((8,), "int32")):
    H = T.alloc_buffer((8,), "int32")
    G = T.alloc_buffer((8,), "int32")
    make(X, H)
    use(H, X, G)
    use(G, X, Y)
"""
FUNCTIONS = {  # what the first call stores, a line between both, and what the last one is told
    "a function of the place": ("7 - i", "", ["A[a0] == 7 - a0"]),
    "of a buffer that both take": ("T.abs(A[i])", "", ["A[a0] == T.abs(B[a0])", "A[a0_1] >= 0"]),
    "which was written since": (
        "T.abs(A[i])", "X[0] = 2", ["a0 == 0 or A[a0] == T.abs(B[a0])", "A[a0_1] >= 0", "b0 >= 1 or B[b0] == 2"],
    ),
    "of what is arbitrary": ("T.abs(A[i])", "make(G, H)", []),
}  # fmt: skip


@pytest.mark.parametrize("case", FUNCTIONS)
def test_callees_are_told_functions_of_the_place_and_bounds(case: str) -> None:
    stored, between, expected = FUNCTIONS[case]
    text = PLACES.replace("7 - i", stored).replace(
        "    use(H, X, G)\n    use(G, X, Y)", f"    {between}\n    use(H, X, Y)"
    )
    used = {c.name: c for c in callees(told(parse(text)["main"]))}["use"]
    assert [str(s.cond) for s in walk(used.body) if isinstance(s, Assume)] == expected


def test_floats_that_may_be_no_numbers_are_not_said_to_equal_themselves() -> None:
    text = PLACES.replace("7 - i", "T.abs(A[i])").replace("use(G, X, Y)", "make(G, Y)").replace("int32", "float32")
    text = text.replace("T.max(B[A[i]], 0)", "2.0")
    for floats, count in ((DEFAULT_FLOATS, 2), (Floats.STRICT, 0)):
        used = {c.name: c for c in callees(told(parse(text)["main"], floats))}["use"]
        assert sum(isinstance(s, Assume) for s in walk(used.body)) == count


def test_what_a_callee_in_a_loop_is_told_stays_though_nothing_reads_it() -> None:
    loop = "    for t in range(2):\n        total(H, Y, 14)\n"
    text = SUMS.replace("    total(H, Y, 14)\n    total(H, Z, 3)\n", loop).replace("    B[0] = 0\n", "")
    x, y, z = np.arange(14, dtype=np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)
    given = told(specialized(parse(text)["main"]))
    assert interpret(without_calls(given), x, y, z, sanitize=True)[0] == 182
    assert interpret(optimize(parse(text)).best, x, y, z)[0] == 182


OPEN = """
@T.prim_func
def clear(A: T.Buffer((n,), "int32"), k: T.int32, n: T.int32):
    for i in range(n):
        if i >= k:
            A[i] = 0

@T.prim_func
def total(A: T.Buffer((m,), "int32"), S: T.Buffer((1,), "int32"), k: T.int32, m: T.int32):
    S[0] = 0
    for i in range(m):
        if i < k:
            S[0] += A[i]

@T.prim_func
def main(X: T.Buffer((n,), "int32"), S: T.Buffer((1,), "int32"), p: T.int32, q: T.int32, n: T.int32):
    T.assume(n >= 1)
    H = T.alloc_buffer((n + 2,), "int32")
    for i in range(n + 2):
        H[i] = X[T.max(T.min(i, n - 1), 0)]
    clear(H, p + 1, n + 2)
    total(H, S, p + 1, n + 2)
"""


@pytest.mark.parametrize(
    ("passed", "claim"),
    [
        ("total(H, S, p + 1", "a0 < k or A[a0] == 0"),
        ("total(H, S, p + 3", "k >= a0 + 3 or A[a0] == 0"),
        ("total(H, S, q", ""),  # which says nothing of p
    ],
)
def test_callees_are_told_what_holds_for_all_sizes_in_their_own_names(passed: str, claim: str) -> None:
    text = OPEN.replace("total(H, S, p + 1", passed)
    used = {c.name: c for c in callees(told(specialized(parse(text)["main"])))}["total"]
    assert [str(s.cond) for s in walk(used.body) if isinstance(s, Assume) and has_loads(s.cond)] == (
        [claim] if claim else []
    )


SCRATCH = """
@T.prim_func
def fill(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32"), k: T.int32):
    for i in range(6):
        if i < k:
            B[i] = A[i]
        else:
            B[i] = 0

@T.prim_func
def total(A: T.Buffer((6,), "int32"), B: T.Buffer((1,), "int32"), k: T.int32):
    for i in range(6):
        if i < k:
            B[0] += A[i]

@T.prim_func
def main(X: T.Buffer((6,), "int32"), Y: T.Buffer((1,), "int32"), p: T.int32):
    H = T.alloc_buffer((6,), "int32")
    fill(X, H, 2)
    for t in range(4):
        BODY
"""


@pytest.mark.parametrize(
    ("body", "claim"),
    [
        ("fill(X, H, t + 1)\n        total(H, Y, t + 1)", "a0 < k or A[a0] == 0"),
        ("fill(X, H, p)\n        if t > 1:\n            total(H, Y, p)", "a0 < k or A[a0] == 0"),
        ("total(H, Y, p)\n        fill(X, H, p)", ""),  # before the first one that is another p
        ("fill(X, H, p)\n        H[5] = Y[0]\n        total(H, Y, p)", "a0 <= 4 and a0 < k or a0 == 5 or A[a0] == 0"),
        ("if t > 1:\n            fill(X, H, p)\n        total(H, Y, p)", ""),
    ],
)
def test_calls_in_loops_are_told_what_the_same_iteration_left(body: str, claim: str) -> None:
    text = SCRATCH.replace("BODY", body)
    used = {c.name: c for c in callees(told(specialized(parse(text)["main"])))}["total"]
    claims = [str(s.cond) for s in walk(used.body) if isinstance(s, Assume) and has_loads(s.cond)]
    assert claims == ([claim] if claim else [])
    x, y = np.arange(6, dtype=np.int32), np.zeros(1, np.int32)
    given = told(specialized(parse(text)["main"]))
    assert interpret(without_calls(given), x, y, p=3, sanitize=True) == interpret(parse(text)["main"], x, y, p=3)


ASSUMED = """
@T.prim_func
def total(A: T.Buffer((16,), "float32"), B: T.Buffer((1,), "float32")):
    B[0] = 0.0
    for i in range(16):
        if i < 13:
            B[0] += A[i]

@T.prim_func
def main(X: T.Buffer((16,), "float32"), Y: T.Buffer((1,), "float32"), Z: T.Buffer((1,), "float32")):
    for i in range(16):
        T.assume(i < 13 or X[i] == 0.0)
    total(X, Y)
    total(X, Z)
"""


@pytest.mark.parametrize(
    ("floats", "claims"), [(DEFAULT_FLOATS, ["a0 <= 12 or A[a0] == 0.0"]), (Floats(0), [])]
)  # zeros are equal and have signs
def test_calls_are_told_what_the_entry_function_assumes_of_floats(floats: Floats, claims: list[str]) -> None:
    used = {c.name: c for c in callees(told(parse(ASSUMED)["main"], floats))}["total"]
    assert [str(s.cond) for s in walk(used.body) if isinstance(s, Assume)] == claims


GUARDED = """
@T.prim_func
def scale(A: T.Buffer((14,), "float32"), n: T.int32):
    for i in range(14):
        if i < n:
            A[i] = A[i] * 0.5

@T.prim_func
def store(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32"), n: T.int32):
    for i in range(14):
        if i < n:
            B[i] = A[i]

@T.prim_func
def main(X: T.Buffer((14,), "float32"), Y: T.Buffer((14,), "float32"), n: T.int32):
    H = T.alloc_buffer((14,), "float32")
    store(X, H, 14)
    scale(H, 9)
    scale(H, n)
    store(H, Y, 5)
"""


def test_what_is_read_further_down_is_left_by_all_calls_before() -> None:
    given = specialized(parse(GUARDED)["main"])
    changed = told(given)
    (left,) = [c for c in callees(changed) if c.name == "scale" and c.scalars]
    assert "a0 <= 4 or a0 < n or A[a0] == T.undef" in str(left)  # what neither it nor the last call reads
    assert "if a0_1 >= 5:" in str(left)
    x = np.random.default_rng(0).random(14, "float32")
    for n in (0, 3, 20):
        found, wanted = (interpret(without_calls(f), x, x, n=n)[0] for f in (changed, given))
        assert found.tolist() == wanted.tolist()
