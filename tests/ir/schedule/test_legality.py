"""The one proof behind every primitive that moves work: known orders, hand-made mistakes, and random reorderings."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from compare import assert_refines
from ir.analysis.legality import check_order, events
from ir.nodes import Expr, For, PrimFunc, Stmt, Var, const, seq
from ir.presburger import sets as presburger
from ir.traverse import substitute
from texts import read


def chain(stmt: Stmt) -> tuple[list[For], Stmt]:
    loops: list[For] = []
    while isinstance(stmt, For):
        loops.append(stmt)
        stmt = stmt.body
    return loops, stmt


def nested(loops: list[For], body: Stmt) -> Stmt:
    for loop in reversed(loops):
        body = replace(loop, body=body)
    return body


def check(old: Stmt, new: Stmt, back: dict[Var, Expr] | None = None, **options: bool):
    return check_order(old, new, back or {}, presburger.always(), **options)


def interchanged(func: PrimFunc, order: tuple[int, ...]) -> Stmt:
    loops, body = chain(func.body)
    return nested([loops[k] for k in order], body)


STENCIL = read("""
def f(A: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(7, 7):
        A[i + 1, j + 1] = A[i, j] + A[i, j + 1]
""")
SKEWED = read("""
def f(A: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(7, 7):
        A[i + 1, j] = A[i, j + 1]
""")


def test_interchange_is_legal_exactly_without_a_reversed_dependence():
    assert check(STENCIL.body, interchanged(STENCIL, (1, 0))) is None
    found = check(SKEWED.body, interchanged(SKEWED, (1, 0)))
    assert found is not None
    assert "in the other order" in found.message
    assert found.notes == ("for example at j = 0, i = 1 and at j = 1, i = 0",)


def test_reductions_change_order_only_where_partial_results_may():
    def product(dtype: str, op: str) -> PrimFunc:
        return read(f"""
def f(A: T.Buffer((4, 4), "{dtype}"), B: T.Buffer((1,), "{dtype}")):
    for i, j in T.grid(4, 4):
        B[0] = {op}
""")

    total = product("float32", "B[0] + A[i, j]")
    assert check(total.body, interchanged(total, (1, 0))) is None
    assert check(total.body, interchanged(total, (1, 0)), reassociate=False) is not None
    signed = product("int32", "B[0] + A[i, j]")
    assert check(signed.body, interchanged(signed, (1, 0))) is not None, "a partial sum might leave int32"
    for other in (product("uint32", "B[0] + A[i, j]"), product("int32", "T.max(B[0], A[i, j])")):
        assert check(other.body, interchanged(other, (1, 0)), reassociate=False) is None
    mixed = product("float32", "A[i, j] - B[0]")
    assert check(mixed.body, interchanged(mixed, (1, 0))) is not None


def test_lost_added_and_repeated_instances_are_found():
    func = read("""
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.serial(8):
        A[i] = B[i]
""")
    (loop,), body = chain(func.body)
    i, j, k = loop.var, Var("j", loop.var.dtype), Var("k", loop.var.dtype)

    def split(outer: int, inner: int, value: Expr):
        loops = [replace(loop, var=v, extent=const(n, v.dtype)) for v, n in ((j, outer), (k, inner))]
        return check(func.body, nested(loops, substitute(body, {i: value})), {i: value})

    assert split(2, 4, j * 4 + k) is None
    lost = split(2, 3, j * 3 + k)
    assert lost is not None and "no longer runs" in lost.message and lost.notes == ("for example at i = 6",)
    added = split(3, 4, j * 4 + k)
    assert added is not None and "did not run before" in added.message
    twice = split(2, 5, j * 3 + k)
    assert twice is not None and "runs twice" in twice.message
    gone = check(func.body, substitute(body, {i: const(0, i.dtype)}))
    assert gone is not None and "no longer around it" in gone.message


def test_local_buffers_carry_nothing_between_iterations():
    func = read("""
def f(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        L = T.alloc_buffer((1,), "float32")
        L[0] = A[i, j]
        B[i, j] = L[0]
""")
    assert check(func.body, interchanged(func, (1, 0))) is None
    shared = read("""
def f(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32"), L: T.Buffer((1,), "float32")):
    for i, j in T.grid(4, 4):
        L[0] = A[i, j]
        B[i, j] = L[0]
""")
    assert check(shared.body, interchanged(shared, (1, 0))) is not None


def test_a_binding_that_loads_is_read_where_it_stands():
    func = read("""
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in T.serial(4):
        x = A[i]
        A[i] = 0.0
        B[i] = x
""")
    assert len(events(func.body)) == 3


@st.composite
def nests(draw: st.DrawFn) -> PrimFunc:
    """A nest of two or three loops over one statement with shifted, scaled or data-dependent accesses."""
    depth = draw(st.integers(2, 3))
    names = "ijk"[:depth]
    extents = [draw(st.integers(1, 3)) for _ in names]

    def index() -> str:
        var = draw(st.sampled_from(names))
        return draw(st.sampled_from([var, f"{var} + 1", f"3 - {var}", f"2 * {var}", f"{var} // 2", "2"]))

    def access(name: str) -> str:
        return f"{name}[{index()}, {index()}]"

    left = access("A")
    value = draw(st.sampled_from([f"{left} + {access('B')}", f"{access('A')} + {access('B')}", access("A"), "1.0"]))
    guard = draw(st.sampled_from(["", f"if {names[0]} <= {names[-1]}:", f"if {access('B')} > 0.0:"]))
    store = f"{left} = {value}"
    body = f"        {guard}\n            {store}" if guard else f"        {store}"
    return read(f"""
def f(A: T.Buffer((6, 6), "float32"), B: T.Buffer((6, 6), "float32")):
    for {", ".join(names)} in T.grid({", ".join(map(str, extents))}):
{body}
""")


@given(func=nests(), data=st.data())
def test_accepted_orders_do_the_same(func: PrimFunc, data: st.DataObject):
    loops, _ = chain(func.body)
    order = data.draw(st.sampled_from(list(itertools.permutations(range(len(loops))))))
    new = interchanged(func, order)
    if check(func.body, new) is None:
        assert_refines(func, replace(func, body=new), np.random.default_rng(0), runs=2)
    elif order == tuple(range(len(loops))):
        pytest.fail("the order as it was is refused")


@given(func=nests(), data=st.data())
def test_refusals_name_a_real_pair(func: PrimFunc, data: st.DataObject):
    loops, _ = chain(func.body)
    order = data.draw(st.sampled_from(list(itertools.permutations(range(len(loops))))))
    found = check(func.body, interchanged(func, order))
    if found is not None:
        assert found.notes and "for example" in found.notes[0]


def test_distribution_keeps_flow_between_the_parts():
    func = read("""
def f(A: T.Buffer((5,), "float32"), B: T.Buffer((5,), "float32")):
    for i in T.serial(4):
        A[i] = 1.0
        B[i] = A[i + 1]
""")
    assert isinstance(func.body, For)
    i, j = func.body.var, Var("j", func.body.var.dtype)
    first, second = func.body.body.stmts  # pyright: ignore
    parts = seq(replace(func.body, body=first), replace(func.body, var=j, body=substitute(second, {i: j})))
    found = check(func.body, parts, {i: j})
    assert found is not None and "A[1]" in found.message
