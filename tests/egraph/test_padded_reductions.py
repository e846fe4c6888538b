"""Reductions over padded arrays of real sizes: the guard goes, whoever has written the padding and however.

A program is made of a body that the pad value leaves as it is, of a region, and of a way in which the padding came to
hold that value. `loopsat.optimize` is asked: prices of programs as a whole must not bring the guard back.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from textwrap import indent

import numpy as np
import pytest

import loopsat
from compare import assert_refines
from ir import PrimFunc, parse, to_script
from ir.nodes import Assume, For, If, Seq, Stmt
from ir.traverse import walk
from profiles import some


@dataclass(frozen=True)
class Body:
    """What a reduction does with an element `{x}`: a dtype, the first value of its result `{s}`, a step; what pads."""

    dtype: str
    first: str
    step: str
    pad: str


@dataclass(frozen=True)
class Region:
    """Loops over a shape, and where elements are no padding; `large` and `small` are extents `a` and `b` in them."""

    loops: str
    shape: str
    cond: str
    large: tuple[int, int]
    small: tuple[int, int]
    params: str = ""
    given: str = ""


BODIES = {
    "sum": Body("float32", "0.0", "{s} += {x}", "0.0"),
    "squares": Body("float32", "0.0", "{s} += {x} * {x}", "0.0"),
    "roots": Body("float32", "0.0", "{s} += T.sqrt(T.abs({x}))", "0.0"),
    "function": Body("float32", "0.0", "{s} += T.tanh({x}) * 2.0", "0.0"),
    "maximum": Body("float32", 'T.min_value("float32")', "{s} = T.max({s}, {x})", 'T.min_value("float32")'),
    "maximum from zero": Body("float32", "0.0", "{s} = T.max({s}, {x})", "-3.0"),
    "greatest distance": Body("float32", "0.0", "{s} = T.max({s}, T.abs({x}))", "0.0"),
    "product": Body("float32", "1.0", "{s} = {s} * {x}", "1.0"),
    "count": Body("float32", "0.0", "{s} += T.Select({x} > 2.0, 1.0, 0.0)", "0.0"),
    "distance": Body("float32", "0.0", "{s} += ({x} - 5.0) * ({x} - 5.0)", "5.0"),
    "shifted": Body("int32", "0", "{s} += {x} << 2", "0"),
    "floors": Body("int32", "0", "{s} += {x} // 4", "3"),
    "low bits": Body("int32", "0", "{s} += {x} & 7", "8"),
    "parity": Body("int32", "0", "{s} = {s} ^ {x}", "0"),
    "all bits": Body("int32", "-1", "{s} = {s} & {x}", "-1"),
    "equals": Body("int32", "0", "{s} += T.Select({x} == 7, 1, 0)", "9"),
    "remainders": Body("int32", "0", "{s} += {x} % 5", "10"),
}

REGIONS = {
    "tail": Region("i", "{a}", "i < {a} - 14", (65536, 0), (16, 0)),
    "front": Region("i", "{a}", "i >= 7", (40000, 0), (12, 0)),
    "blocks": Region("o, i", "{a}, {b}", "{b} * o + i < {a} * {b} - 5", (700, 64), (3, 4)),
    "rectangle": Region("i, j", "{a}, {b}", "i < {a} - 2 and j < {b} - 3", (300, 160), (5, 6)),
    "size": Region("i", "{a}", "i < n", (65536, 0), (9, 0), "n: T.int32", "T.assume(n >= 1 and n <= {a})"),
    "lengths": Region(
        "r, t", "{a}, {b}", "t < L[r]", (600, 160), (3, 5), 'L: T.Buffer(({a},), "int32")',
        "for r in range({a}):\n    T.assume(L[r] >= 0 and L[r] <= {b})",
    ),
    "frame": Region("i, j", "{a}, {b}", "1 <= i and i < {a} - 1 and 1 <= j and j < {b} - 1", (258, 258), (4, 5)),
    "triangle": Region("i, j", "{a}, {b}", "j <= i", (300, 300), (4, 4)),
    "steps": Region("i", "{a}", "i % 3 != 2", (60000, 0), (9, 0)),
    "channels": Region("c, y, l", "{a}, {b}, 4", "c * 4 + l < 4 * {a} - 2 and y < {b} - 1", (16, 640), (2, 3)),
}  # fmt: skip

# How the padding came to hold what it holds: a nest at `{i}`, where `{c}` holds for elements, and what is read then.
WRITTEN = {
    "assumed": "{for}if not ({c}):\n    T.assume(X[{i}] == {pad})",
    "branch": "{for}if {c}:\n    X[{i}] = Z[{i}] + Z[{i}]\nelse:\n    X[{i}] = {pad}",
    "choice": "{for}X[{i}] = T.Select({c}, Z[{i}] + Z[{i}], {pad})",
    "filled before": "{for}X[{i}] = {pad}\n{for}if {c}:\n    X[{i}] = Z[{i}]",
    "filled after": "{for}X[{i}] = Z[{i}]\n{for}if not ({c}):\n    X[{i}] = {pad}",
    "copied": "{for}if {c}:\n    Y[{i}] = Z[{i}] + Z[{i}]\nelse:\n    Y[{i}] = {pad}\n{for}X[{i}] = Y[{i}]",
}


def program(body: Body, region: Region, written: str, extents: tuple[int, int]) -> PrimFunc:
    """The program, with a reduction to one number."""
    sizes = dict(zip("ab", extents, strict=True))
    shape = region.shape.format(**sizes)
    nest = f"for {region.loops} in T.grid({shape}):"
    cond = region.cond.format(**sizes)

    def in_nest(text: str) -> str:
        return "\n".join(f"{nest}\n{indent(t, '    ')}" for t in text.split("{for}")[1:])

    fields = {"i": region.loops, "c": cond, "pad": body.pad}
    ways = in_nest(WRITTEN[written]).format(**fields)
    step = body.step.format(s="s[0]", x=f"X[{region.loops}]")
    lines = [region.given.format(**sizes), ways, f"s[0] = {body.first}", in_nest(f"{{for}}if {cond}:\n    {step}")]
    buffers = [f'{name}: T.Buffer(({shape},), "{body.dtype}")' for name in "ZYX"]
    params = ", ".join([*buffers, *filter(None, [region.params.format(**sizes)]), f's: T.Buffer((1,), "{body.dtype}")'])
    text = "\n".join(filter(None, lines))
    return parse(f"@T.prim_func\ndef f({params}):\n{indent(text, '    ')}\n").funcs[0]


def guards_of_the_reduction(func: PrimFunc) -> int:
    """How many branches there are in the last statement of a program, which reduces."""
    parts: tuple[Stmt, ...] = func.body.stmts if isinstance(func.body, Seq) else (func.body,)
    last = [s for s in parts if isinstance(s, For) and not any(isinstance(t, Assume) for t in walk(s))][-1]
    return sum(isinstance(s, If) for s in walk(last))


CASES = [*product(BODIES, REGIONS, WRITTEN)]


@pytest.mark.parametrize(("body", "region", "written"), some(CASES, 2))
def test_the_guard_of_a_reduction_goes(body: str, region: str, written: str) -> None:
    large = program(BODIES[body], REGIONS[region], written, REGIONS[region].large)
    best = loopsat.optimize(large).best
    assert guards_of_the_reduction(best) == 0, to_script(best)


@pytest.mark.parametrize(("body", "region", "written"), some(CASES, 2))
def test_the_sum_stays_what_it_is(body: str, region: str, written: str) -> None:
    small = program(BODIES[body], REGIONS[region], written, REGIONS[region].small)
    assert assert_refines(small, loopsat.optimize(small).best, np.random.default_rng(0), 3) > 0


@pytest.mark.parametrize("written", some([w for w in WRITTEN if w != "assumed"], 0.2))
def test_a_guard_stays_where_the_pad_value_counts(written: str) -> None:
    body = Body("float32", "0.0", "{s} += {x}", "1.0")
    func = program(body, REGIONS["frame"], written, REGIONS["frame"].large)
    small = program(body, REGIONS["frame"], written, REGIONS["frame"].small)
    assert "s[0] + X[i, j]" in to_script(loopsat.optimize(func).best)
    assert assert_refines(small, loopsat.optimize(small).best, np.random.default_rng(0), 3) > 0
