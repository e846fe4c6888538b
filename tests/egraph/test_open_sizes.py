"""Guards that follow from products of sizes, from bounds of loops that data give, and from what iterations keep.

Each case is a program and how many branches and selections the search leaves of it; beside them are programs that only
look alike, and random ones, which are what they were whatever goes.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from compare import assert_refines
from egraph_rules import optimize
from ir import parse, to_script
from ir.nodes import Binary, If, PrimFunc, Select
from ir.traverse import all_exprs, walk
from profiles import some

FLAT = 'h: T.int32, w: T.int32, A: T.Buffer((h * w,), "float32"), Y: T.Buffer((h, w), "float32")'
ROWS = 'Z: T.Buffer((6, 8), "float32"), L: T.Buffer((6,), "int32"), Y: T.Buffer((6,), "float32")'
STEPS = 'A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32"), n: T.int32, Y: T.Buffer((4,), "float32")'
LENGTHS = """
    for i in range(6):
        T.assume(0 <= L[i] and L[i] <= 8)"""
PADDED = f"""{LENGTHS}
    for i, t in T.grid(6, 8):
        T.assume(t < L[i] or Z[i, t] == 0.0)"""
SUMS = """
    for i in range(6):
        Y[i] = 0.0
        for t in range(8):
            if t < L[i]:
                Y[i] = Y[i] + Z[i, t]"""
ZEROS = """
    T.assume(n >= 0 and n < 5)
    for i, j in T.grid(4, 8):
        T.assume(j < 6 or A[i, j] == 0.0)
    for i, j in T.grid(4, 8):
        B[i, j] = 0.0"""
LAST = """
    for i in range(4):
        Y[i] = 0.0
        for j in range(8):
            if j < 6:
                Y[i] = Y[i] + B[i, j]"""

# By name: parameters, a body, and how many guards, selections, minima and maxima are left.
CASES = {
    "rows of a flat array": (
        FLAT,
        """
    for i, j in T.grid(h, w):
        if i * w + j < h * w:
            Y[i, j] = A[i * w + j] * 2.0
        else:
            Y[i, j] = 0.0""",
        0,
    ),
    "the last element of a flat array": (
        FLAT,
        """
    for i, j in T.grid(h, w):
        Y[i, j] = A[T.min(i * w + j, h * w - 1)]""",
        0,
    ),
    "a flat loop over rows": (
        'h: T.int32, w: T.int32, A: T.Buffer((h, w), "float32"), Y: T.Buffer((h * w,), "float32")',
        """
    T.assume(w > 0)
    for k in range(h * w):
        if k // w < h:
            Y[k] = A[k // w, k % w] * 2.0
        else:
            Y[k] = 0.0""",
        0,
    ),
    "a row further of three axes": (
        'n: T.int32, h: T.int32, w: T.int32, A: T.Buffer((n * h * w,), "float32"), Y: T.Buffer((1,), "float32")',
        """
    Y[0] = 0.0
    for b in range(n):
        for i in range(h - 1):
            for j in range(w):
                if b * h * w + (i + 1) * w + j < n * h * w:
                    Y[0] = Y[0] + A[b * h * w + (i + 1) * w + j]""",
        0,
    ),
    "a loop as long as data say": (
        ROWS,
        f"""{LENGTHS}
    for i in range(6):
        Y[i] = 0.0
        for t in range(L[i]):
            if t < L[i] and t < 8:
                Y[i] = Y[i] + Z[i, t]""",
        0,
    ),
    "a loop between two offsets": (
        'o: T.Buffer((7,), "int32"), V: T.Buffer((20,), "float32"), Y: T.Buffer((6,), "float32")',
        """
    for i in range(6):
        T.assume(0 <= o[i] and o[i] <= o[i + 1] and o[i + 1] <= 20)
    for i in range(6):
        Y[i] = 0.0
        for k in range(o[i], o[i + 1]):
            if k >= o[i] and k < o[i + 1] and k < 20:
                Y[i] = Y[i] + V[k]""",
        0,
    ),
    "a name for the length of a row": (
        ROWS,
        f"""{LENGTHS}
    for i in range(6):
        Y[i] = 0.0
        length = L[i]
        for t in range(length):
            if t < L[i] and t < 8:
                Y[i] = Y[i] + Z[i, t]""",
        0,
    ),
    "names for two offsets": (
        'o: T.Buffer((7,), "int32"), V: T.Buffer((20,), "float32"), Y: T.Buffer((6,), "float32")',
        """
    for i in range(6):
        T.assume(0 <= o[i] and o[i] <= o[i + 1] and o[i + 1] <= 20)
    for i in range(6):
        Y[i] = 0.0
        a = o[i]
        b = o[i + 1]
        for k in range(a, b):
            if k >= 0 and k < o[i + 1] and k < 20:
                Y[i] = Y[i] + V[k]""",
        0,
    ),
    "a sum over padded rows of open length": (
        'm: T.int32, A: T.Buffer((4, m), "float32"), x: T.Buffer((m,), "float32"), Y: T.Buffer((4,), "float32")',
        """
    P = T.alloc_buffer((4, (m + 3) // 4 * 4), "float32")
    Q = T.alloc_buffer(((m + 3) // 4 * 4,), "float32")
    for i, j in T.grid(4, (m + 3) // 4 * 4):
        P[i, j] = A[i, j] if j < m else 0.0
    for j in range((m + 3) // 4 * 4):
        Q[j] = x[j] if j < m else 0.0
    for i in range(4):
        Y[i] = 0.0
        for j in range((m + 3) // 4 * 4):
            Y[i] = Y[i] + P[i, j] * Q[j]""",
        0,
    ),
    "a name for a clamped position": (
        'X: T.Buffer((9,), "float32"), V: T.Buffer((5,), "float32"), Y: T.Buffer((9,), "float32")',
        """
    for i in range(9):
        T.assume(X[i] > -100.0 and X[i] < 100.0)
    for i in range(9):
        k = T.max(T.min(T.cast(X[i], "int32"), 4), 0)
        if k >= 0 and k < 5:
            Y[i] = V[k]
        else:
            Y[i] = 0.0""",
        2,
    ),
    "padding by lengths that each element keeps": (
        ROWS,
        f"""{PADDED}
    for i, t in T.grid(6, 8):
        if t < L[i]:
            Z[i, t] = Z[i, t] * 2.0{SUMS}""",
        0,
    ),
    "padding that iterations write again": (
        STEPS,
        f"""{ZEROS}
    for s in range(n):
        for i, j in T.grid(4, 8):
            B[i, j] = A[i, j] * 0.5 + B[i, j] * 0.25 if j < 6 else 0.0{LAST}""",
        0,
    ),
    "padding that iterations keep": (
        STEPS,
        f"""{ZEROS}
    for s in range(n):
        for i, j in T.grid(4, 8):
            if j < 6:
                B[i, j] = A[i, j] * 0.5 + B[i, j] * 0.25{LAST}""",
        0,
    ),
}
TRAPS = {
    "a column more than rows have": (
        FLAT,
        """
    for i in range(h):
        for j in range(w + 1):
            if i * w + j < h * w and h > 0:
                Y[i, 0] = A[i * w + j]""",
        1,
    ),
    "a flat loop where rows may be of no or fewer than no elements": (
        'h: T.int32, w: T.int32, Y: T.Buffer((16,), "float32")',
        """
    T.assume(h * w <= 16 and w != 0 and h > -5 and h < 5 and w > -5 and w < 5)
    for k in range(h * w):
        if k // w < h:
            Y[k] = 1.0""",
        1,
    ),
    "a name for a length that an iteration changes": (
        ROWS,
        f"""{LENGTHS}
    for i in range(6):
        length = L[i]
        for t in range(length):
            if t < L[i]:
                L[i] = T.max(L[i] - 2, 0)
                Y[i] = Z[i, t]""",
        1,
    ),
    "a length that an iteration changes": (
        ROWS,
        f"""{LENGTHS}
    for i in range(6):
        for t in range(L[i]):
            if t < L[i]:
                L[i] = T.max(L[i] - 2, 0)
                Y[i] = Z[i, t]""",
        1,
    ),
    "padding by lengths that an element does not keep": (
        ROWS,
        f"""{PADDED}
    for i, t in T.grid(6, 8):
        Z[i, t] = Z[i, t] + 1.0{SUMS}""",
        1,
    ),
    "lengths that change with the elements": (
        ROWS,
        f"""{PADDED}
    for i, t in T.grid(6, 8):
        Z[i, t] = Z[i, t] * 2.0
        L[i] = T.max(L[i] - 1, 0){SUMS}""",
        1,
    ),
    "padding that some iterations write as another number": (
        STEPS,
        f"""{ZEROS}
    for s in range(n):
        for i, j in T.grid(4, 8):
            B[i, j] = A[i, j] * 0.5 + B[i, j] * 0.25 if j < 6 else T.if_then_else(s == 3, 1.0, 0.0){LAST}""",
        1,
    ),
}


def _program(params: str, body: str) -> PrimFunc:
    return parse(f"@T.prim_func\ndef f({params}):{body}\n").funcs[0]


def _decisions(func: PrimFunc) -> int:
    """How many branches, selections, minima and maxima a program has."""
    exprs = all_exprs(func.body)
    chosen = sum(isinstance(e, Select) or (isinstance(e, Binary) and e.op in ("min", "max")) for e in exprs)
    return chosen + sum(isinstance(s, If) for s in walk(func.body))


@pytest.mark.parametrize("name", some(CASES, 0.15))
def test_guards_go(name: str) -> None:
    params, body, left = CASES[name]
    func = _program(params, body)
    best = optimize(func).best
    assert _decisions(best) == left, to_script(best)
    assert assert_refines(func, best, np.random.default_rng(0)) > 0


@pytest.mark.parametrize("name", some(TRAPS, 0.43))
def test_guards_that_matter_stay(name: str) -> None:
    params, body, guards = TRAPS[name]
    func = _program(params, body)
    result = optimize(func, k=3)
    assert _decisions(result.best) >= guards, to_script(result.best)
    for variant, _ in result.variants:
        assert assert_refines(func, variant, np.random.default_rng(1)) > 0


def _products(number: int) -> str:
    """A program with conditions on products and quotients of sizes."""
    dice = Random(number)
    sizes = ["h * w", "w * h - 1", "h * w + w", "(h + 1) * w", "h * h"]
    places = ["i * w + j", "(i + 1) * w + j", "j * h + i", "i * h + j", "i * w + j + 1", "(h - 1 - i) * w + j"]
    loops = [("h", "w"), ("h", "w"), ("h - 1", "w"), ("w", "h"), ("h", "w + 1")]
    tests = ["{p} < {s}", "{p} <= {s}", "{p} >= 0", "{p} // w < h", "{p} // w == i", "{p} % w == j", "{s} > {p}"]
    given = ["T.assume(h > 0 and w > 0)", "T.assume(h >= 0)", "T.assume(w >= 1 and h >= -2)", "T.assume(h > w)"]
    one, other = (dice.choice(tests).format(p=dice.choice(places), s=dice.choice(sizes)) for _ in range(2))
    rows, columns = dice.choice(loops)
    guard = dice.choice((one, one, f"{one} and {other}", f"{one} or {other}"))
    return f"""@T.prim_func
def f(h: T.int32, w: T.int32, A: T.Buffer((30,), "int32"), Y: T.Buffer((1,), "int32"), Z: T.Buffer((1,), "int32")):
    {dice.choice(given)}
    T.assume(h > -5 and h < 5 and w > -5 and w < 5 and w != 0)
    Y[0] = 0
    for i in range({rows}):
        for j in range({columns}):
            if {guard}:
                Y[0] = Y[0] + i * 7 + j
            else:
                Z[0] = Z[0] + A[T.min(T.max({dice.choice(places)}, 0), 29)]
    for k in range({dice.choice(sizes)}):
        if {dice.choice([t for t in tests if "== " not in t]).format(p="k", s=dice.choice(sizes))} and k % w <= h * w:
            Z[0] = Z[0] + k
"""


@pytest.mark.parametrize("number", some([*range(2000)], 2))
def test_random_products_of_sizes(number: int) -> None:
    func = parse(_products(number)).funcs[0]
    assert_refines(func, optimize(func).best, np.random.default_rng(number), 8)


def _iterations(number: int) -> str:
    """A program that stores to padded arrays again and again."""
    dice = Random(number)
    bound = dice.choice(("t < L[i]", "t < L[i]", "t < 5", "t < L[0]"))
    place = ("i, t", "i, t", "i, t", "i, 7 - t", "i, 0", "i, T.max(t - 1, 0)")
    values = ("{z} * 2.0", "{z} * 0.5 + {w} * 0.25", "{z} + 1.0", "T.max({z}, {w})", "{w} * X[i, t]", "0.0", "{z}")
    lines: list[str] = []
    for _ in range(dice.randint(1, 3)):
        target = dice.choice("ZW")
        value = dice.choice(values).format(z=f"{target}[{dice.choice(place[:4])}]", w=f"W[{dice.choice(place)}]")
        guard = dice.choice((bound, bound, None, "t < 6", f"{bound} and n > 1"))
        chosen = f"{value} if {guard} else {dice.choice(('0.0', '0.0', '1.0', 'W[i, t]'))}" if guard else value
        nest = f"for i, t in T.grid(4, 8):\n    {target}[{dice.choice(place[:4])}] = {chosen}"
        if guard and dice.random() < 0.5:
            nest = f"for i, t in T.grid(4, 8):\n    if {guard}:\n        {target}[{dice.choice(place[:4])}] = {value}"
        lines.append(nest)
    if dice.random() < 0.2:
        lines.append("L[1] = T.max(L[1] - 1, 0)")
    body = "\n".join(lines).replace("\n", "\n        ")
    given = dice.choice((f"{bound} or Z[i, t] == 0.0", f"{bound} or Z[i, t] == 1.0", "t < 6 or Z[i, t] == 0.0"))
    step = dice.choice(("Y[i] + Z[i, t]", "Y[i] + W[i, t]", "T.max(Y[i], Z[i, t] * W[i, t])"))
    return f"""@T.prim_func
def f(X: T.Buffer((4, 8), "float32"), Z: T.Buffer((4, 8), "float32"), W: T.Buffer((4, 8), "float32"),
      L: T.Buffer((4,), "int32"), n: T.int32, Y: T.Buffer((4,), "float32")):
    T.assume(n >= 0 and n < 4)
    for i in range(4):
        T.assume(0 <= L[i] and L[i] <= 8)
    for i, t in T.grid(4, 8):
        T.assume({given})
    for i, t in T.grid(4, 8):
        W[i, t] = {dice.choice(("0.0", "0.0", "1.0", "Z[i, t]"))}
    for s in range({dice.choice(("n", "1", "3"))}):
        {body}
    for i in range(4):
        Y[i] = 0.0
        length = L[i] - {dice.choice((0, 0, 1))}
        for t in range({dice.choice(("8", "8", "L[i]", "length", "T.max(length, 2)"))}):
            if {dice.choice((bound, bound, f"t < length and {bound}"))}:
                Y[i] = {step}
"""


@pytest.mark.parametrize("number", some([*range(2000)], 1))
def test_random_iterations_over_padding(number: int) -> None:
    func = parse(_iterations(number)).funcs[0]
    assert_refines(func, optimize(func).best, np.random.default_rng(number), 4)


INDICES = ("i * w + j", "i * w + j", "j + w * i", "j * h + i", "(h - 1 - i) * w + j", "i * w + (w - 1 - j)",
           "i * w + j // 2", "i * (w - 1) + j", "i * w * 2 + j * 2", "i * w * 2 + j", "1 * w + j", "i + j")  # fmt: skip


def _by_rows(number: int) -> str:
    """Rows of an unknown width that are stored in one axis, some twice or in part, and read there in another order."""
    dice = Random(number)
    store, again, read = (dice.choice(INDICES) for _ in range(3))
    read = store if dice.random() < 0.6 else read
    guard = dice.choice(("", "", "", "if i > 0:", "if j < w - 1:", "if X[i, j] > 0:"))
    value = dice.choice(("X[i, j]", "X[i, j] + i", "X[i, w - 1 - j] * 2", "i * 10 + j", "a[i * w + j] + 1", "7"))
    rest = f" for i, j in T.grid(h, w):\n  a[{again}] = X[i, j] + 5"
    twice = dice.choice(("", "", rest, " a[3] = 9", " X[0, 0] = 4"))
    first = dice.choice(("", " for f in range(60):\n  a[f] = f"))
    nest = dice.choice(("for i, j in T.grid(h, w):", "for i, j in T.grid(h, w):", "for j, i in T.grid(w, h):"))
    lines = f""" T.assume(1 <= h and h <= 5 and 1 <= w and w <= 5)
 a = T.alloc_buffer((60,), "int32")
{first}
 {nest}
  {guard or "if True:"}
   a[{store}] = {value}
{twice}
 for i, j in T.grid(h, w):
  O[i, j] = a[{read}] * 2"""
    types = 'X: T.Buffer((5, 5), "int32"), O: T.Buffer((5, 5), "int32"), h: T.int32, w: T.int32'
    return f"@T.prim_func\ndef f({types}):\n{lines}\n"


@pytest.mark.parametrize("number", some([*range(1000)], 2))
def test_rows_of_an_unknown_width_are_read_as_they_were_stored(number: int) -> None:
    func = parse(_by_rows(number)).funcs[0]
    assert_refines(func, optimize(func).best, np.random.default_rng(number), 8)


@pytest.mark.parametrize(
    ("nest", "index"),
    some(
        [
            ("i, j in T.grid(h, w)", "i * w + j"),
            ("i, j in T.grid(h, w)", "j + w * i"),
            ("i, j, k in T.grid(h, w, n)", "(i * w + j) * n + k"),
            ("i, j, k in T.grid(h, w, n)", "i * w * n + j * n + k"),
        ],
        0.5,
    ),
)
def test_rows_of_an_unknown_width_need_no_buffer(nest: str, index: str) -> None:
    place = nest.split(" in ")[0]
    rank = place.count(",") + 1
    shape, extents = ", ".join("hwn"[:rank]), " * ".join("hwn"[:rank])
    func = parse(f"""
@T.prim_func
def f(X: T.Buffer(({shape}), "float32"), O: T.Buffer(({shape}), "float32"), h: T.int32, w: T.int32, n: T.int32):
    T.assume(h >= 1 and w >= 1 and n >= 1)
    a = T.alloc_buffer(({extents},), "float32")
    for {nest}:
        a[{index}] = X[{place}] * 2.0
    for {nest}:
        O[{place}] = a[{index}] + 1.0
""").funcs[0]
    best = optimize(func).best
    assert "alloc" not in str(best)
    assert assert_refines(func, best, np.random.default_rng(0)) > 0
