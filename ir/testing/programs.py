"""Hypothesis strategies: programs of the kind people write over padded layouts, as source text or parsed."""

from __future__ import annotations

from hypothesis import strategies as st
from msgspec.structs import replace

from ir.nodes import Module, PrimFunc
from ir.script.parser import parse
from ir.testing.stages import assumption, stage
from ir.testing.writer import Writer

DTYPES = ("int32", "float32", "int32", "float32", "float64", "int64", "uint8")
MIXED = (*DTYPES, "int8", "uint16", "bool")


@st.composite
def program_texts(draw: st.DrawFn, dtype: str | None = None) -> str:
    """Source text of a kernel whose accesses stay in bounds.

    Padded layouts, tiles, blocks, guards, borders, equations, reductions and assumptions; at times of several dtypes,
    unless `dtype` is the one of all buffers.
    """
    of_one_dtype = dtype is not None or draw(st.sampled_from((True, True, False)))
    dtype = dtype or draw(st.sampled_from(DTYPES))
    plane = st.tuples(st.integers(1, 3), st.integers(1, 3))
    shape = st.one_of(plane, plane, plane, st.tuples(st.integers(1, 6)), st.tuples(*[st.integers(1, 3)] * 3))
    shapes = {name: draw(shape) for name in draw(st.sampled_from(("AB", "ABC")))}
    dtypes = {name: dtype if of_one_dtype or name == "A" else draw(st.sampled_from(MIXED)) for name in shapes}
    writer = Writer(draw, shapes, dtypes)
    params = [f'{b}: T.Buffer({s}, "{dtypes[b]}")' for b, s in shapes.items()]
    for buffer in draw(st.sampled_from(([], [], ["A"], ["B"], ["A", "B"]))):
        assumption(writer, buffer)
    if draw(st.booleans()):
        writer.local(draw(shape), dtype)
    for _ in range(draw(st.integers(1, 4))):
        stage(writer)
    head = f"@T.prim_func\ndef f({', '.join(params)}, n: T.int32):\n    T.assume(n >= 0 and n < 5)\n"
    return head + "\n".join(writer.lines) + "\n"


@st.composite
def programs(draw: st.DrawFn) -> PrimFunc:
    """Kernels as parsed: valid, and defined on some inputs unless their assumptions contradict each other."""
    return parse(draw(program_texts())).funcs[0]


@st.composite
def modules(draw: st.DrawFn, max_functions: int = 3) -> Module:
    """Modules of up to so many functions, called `f0`, `f1` and so on."""
    funcs = draw(st.lists(programs(), min_size=1, max_size=max_functions))
    return Module(tuple(replace(func, name=f"f{k}") for k, func in enumerate(funcs)))
