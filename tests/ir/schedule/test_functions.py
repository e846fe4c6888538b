"""`split_function`: the document's modules, what may follow them, refusals, and random pairs of stages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare import assert_refines
from egraph_rules import optimize
from ir import parse, to_script
from ir.errors import LoopsatError, ScheduleError
from ir.nodes import If, Module, PrimFunc
from ir.schedule import Schedule
from ir.semantics.inputs import Inputs, random_inputs
from ir.semantics.interpret import interpret_with_undef
from ir.traverse import results_of, walk
from renamed import assert_same_up_to_names

HEAD = "from __future__ import annotations\nfrom ir import script as T\n"


def module_of(text: str) -> Module:
    return parse(HEAD + text)


def split(text: str, block: str, name: str) -> tuple[PrimFunc, Module]:
    """The original function, and the module after the split, checked to do the same."""
    module = module_of(text)
    schedule = Schedule(module)
    assert schedule.split_function(block, name) == (name, module.funcs[0].name)
    for seed in range(5):
        assert_same(module.funcs[0], schedule.mod, name, np.random.default_rng(seed))
    return module.funcs[0], schedule.mod


def run(func: PrimFunc, state: Inputs) -> tuple[Inputs, dict[str, np.ndarray]]:
    """The state after a function, assumptions checked, and what is undef in it."""
    named = {p.name: state[p.name] for p in func.params}
    results = interpret_with_undef(func, **named, sanitize=True)
    written = [b.name for b in results_of(func)]
    masks = {name: mask for name, (_, mask) in zip(written, results, strict=True)}
    return state | {name: values for name, (values, _) in zip(written, results, strict=True)}, masks


def assert_same(original: PrimFunc, module: Module, stage: str, rng: np.random.Generator) -> None:
    """Run both functions in turn on what the original takes; the buffers between them start as garbage."""
    inputs = random_inputs(original, rng)
    expected, undef = run(original, inputs)
    first, second = module[stage], module[original.name]
    state = dict(inputs)
    scalars = {k: int(v) for k, v in inputs.items() if np.ndim(v) == 0}
    for buffer in (*first.buffers, *second.buffers):
        if buffer.name not in state:
            shape = [int(eval(to_script(e), {"T": None}, scalars)) for e in buffer.shape]
            state[buffer.name] = rng.integers(2, 50, shape).astype(buffer.dtype.value)
    state, masks = run(first, state)
    for name, mask in masks.items():
        state[name] = np.where(mask, np.asarray(77, mask.dtype), state[name]).astype(np.asarray(state[name]).dtype)
    state, masks = run(second, state)
    for buffer in original.buffers:
        hidden = undef.get(buffer.name, np.zeros(np.shape(expected[buffer.name]), bool))
        assert not (masks.get(buffer.name, hidden) & ~hidden).any()
        np.testing.assert_array_equal(
            np.where(hidden, 0, expected[buffer.name]), np.where(hidden, 0, state[buffer.name])
        )


# The document's programs ---------------------------------------------------------------------------------------------

SINGLE = """
@T.prim_func
def compute_C(A: T.Buffer((14,), "int32"), C: T.Buffer((1,), "int32")):
    B = T.alloc_buffer((4, 4), "int32")
    with T.block("transform"):
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                B[io, ii] = A[4 * io + ii]{otherwise}
    with T.block("compute"):
        C[0] = 0
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                C[0] = C[0] + B[io, ii]
"""
UNKNOWN = SINGLE.format(otherwise="")
ZERO = SINGLE.format(otherwise="\n            else:\n                B[io, ii] = 0")


def test_what_the_rest_never_reads_becomes_permission():
    _, module = split(UNKNOWN, "transform", "transform_A")
    assert [f.name for f in module.funcs] == ["transform_A", "compute_C"]
    assert (
        to_script(module["transform_A"]).strip()
        == """
@T.prim_func
def transform_A(A: T.Buffer((14,), "int32"), B: T.Buffer((4, 4), "int32")):
    with T.block("transform"):
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                B[io, ii] = A[4 * io + ii]
    for io_1, ii_1 in T.grid(4, 4):
        if 4 * io_1 + ii_1 >= 14:
            B[io_1, ii_1] = T.undef("int32")
""".strip()
    )
    assert (
        to_script(module["compute_C"]).strip()
        == """
@T.prim_func
def compute_C(B: T.Buffer((4, 4), "int32"), C: T.Buffer((1,), "int32")):
    for io, ii in T.grid(4, 4):
        T.assume(4 * io + ii < 14 or B[io, ii] == T.undef("int32"))
    with T.block("compute"):
        C[0] = 0
        for io_1, ii_1 in T.grid(4, 4):
            if 4 * io_1 + ii_1 < 14:
                C[0] = C[0] + B[io_1, ii_1]
""".strip()
    )


def test_what_the_stage_establishes_becomes_an_assumption():
    _, module = split(ZERO, "transform", "transform_A")
    assert "undef" not in to_script(module["transform_A"])
    assert to_script(module["compute_C"]).splitlines()[2:4] == [
        "    for io, ii in T.grid(4, 4):",
        "        T.assume(4 * io + ii < 14 or B[io, ii] == 0)",
    ]


def branches(func: PrimFunc) -> int:
    return sum(isinstance(s, If) for s in walk(optimize(func).best.body))


def test_known_padding_lets_the_consumer_drop_its_branch():
    _, module = split(ZERO, "transform", "transform_A")
    assert branches(module["compute_C"]) == 0


def test_permission_to_read_does_not_let_it():
    """It is safe to read the padding, but adding it would change the sum."""
    _, module = split(UNKNOWN, "transform", "transform_A")
    best = optimize(module["compute_C"]).best
    assert_refines(module["compute_C"], best, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    array = rng.integers(1, 9, (4, 4)).astype(np.int32)
    (want, _), (got, _) = (interpret_with_undef(f, array)[0] for f in (module["compute_C"], best))
    assert (want == got).all()


def test_without_facts_the_branches_stay():
    """Two functions that were told nothing about each other; neither may touch the padding."""
    text = """
@T.prim_func
def transform_A(A: T.Buffer((14,), "int32"), B: T.Buffer((4, 4), "int32")):
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            B[io, ii] = A[4 * io + ii]

@T.prim_func
def compute_C(B: T.Buffer((4, 4), "int32"), C: T.Buffer((1,), "int32")):
    C[0] = 0
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            C[0] = C[0] + B[io, ii]
"""
    module = module_of(text)
    full = np.arange(1, 17, dtype=np.int32).reshape(4, 4)
    best = optimize(module["compute_C"]).best
    assert interpret_with_undef(best, full)[0][0][0] == sum(range(1, 15))
    filled = np.full((4, 4), 9, np.int32)
    best = optimize(module["transform_A"]).best
    assert (interpret_with_undef(best, np.zeros(14, np.int32), filled)[0][0][3, 2:] == 9).all()


def test_permission_lets_the_producer_write_the_padding():
    """Zeros in the padding are allowed by the stores of undef after them."""
    _, module = split(UNKNOWN, "transform", "transform_A")
    text = to_script(module["transform_A"]).replace(
        "                B[io, ii] = A[4 * io + ii]\n",
        "                B[io, ii] = A[4 * io + ii]\n            else:\n                B[io, ii] = 0\n",
    )
    assert_refines(module["transform_A"], module_of(text).funcs[0], np.random.default_rng(0))


def test_padding_of_a_transformed_buffer_goes_along():
    module = module_of("""
@T.prim_func
def compute_C(A: T.Buffer((14,), "int32"), C: T.Buffer((1,), "int32")):
    B = T.alloc_buffer((14,), "int32")
    for i in T.serial(14):
        with T.block("transform"):
            B[i] = A[i]
    C[0] = 0
    for i in T.serial(14):
        with T.block("compute"):
            C[0] = C[0] + B[i]
""")
    schedule = Schedule(module)
    schedule.transform_layout("root", "B", lambda i: [i // 4, i % 4], pad_value=0)
    schedule.sequential_buffer_access("root", "B")
    schedule.split_function("transform", "transform_A")
    expected = module_of("""
@T.prim_func
def transform_A(A: T.Buffer((14,), "int32"), B: T.Buffer((4, 4), "int32")):
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            B[io, ii] = A[4 * io + ii]
    for io, ii in T.grid(4, 4):
        if 4 * io + ii >= 14:
            B[io, ii] = 0

@T.prim_func
def compute_C(B: T.Buffer((4, 4), "int32"), C: T.Buffer((1,), "int32")):
    for io, ii in T.grid(4, 4):
        T.assume(4 * io + ii < 14 or B[io, ii] == 0)
    C[0] = 0
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            C[0] = C[0] + B[io, ii]
""")
    for found, wanted in zip(schedule.mod.funcs, expected.funcs, strict=True):
        assert_same_up_to_names(found, wanted, blocks=False)
        assert [p.name for p in found.params] == [p.name for p in wanted.params]
    assert branches(schedule.mod["compute_C"]) == 0
    assert_same(module.funcs[0], schedule.mod, "transform_A", np.random.default_rng(0))


# More than the document ----------------------------------------------------------------------------------------------

SYMBOLIC = """
@T.prim_func
def f(A: T.Buffer((n,), "int32"), C: T.Buffer((n,), "int32"), n: T.int32, m: T.int32):
    T.assume(m <= n)
    for k in range(n):
        T.assume(k < m or A[k] == 0)
    B = T.alloc_buffer((n + 2,), "int32", scope="local")
    for i in range(n):
        with T.block("produce"):
            B[i + 1] = A[i] * 2
    for i in range(n):
        with T.block("consume"):
            C[i] = B[i + 1] + A[i]
"""


def test_assumptions_on_inputs_go_along():
    _, module = split(SYMBOLIC, "produce", "first")
    first, second = map(to_script, module.funcs)
    for text in (first, second):
        assert "T.assume(m <= n)" in text
        assert "T.assume(k < m or A[k] == 0)" in text
    assert 'def first(A: T.Buffer((n,), "int32"), B: T.Buffer((n + 2,), "int32"), n: T.int32, m: T.int32)' in first
    assert "T.alloc_buffer" not in first + second


def test_a_stage_independent_of_what_precedes_it_can_go_first():
    text = """
@T.prim_func
def f(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32"), D: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("one"):
            C[i] = A[i]
    for i in range(8):
        with T.block("two"):
            D[i] = A[i] + 1
"""
    _, module = split(text, "two", "second")
    assert [f.name for f in module.funcs] == ["second", "f"]
    assert [b.name for b in module["f"].buffers] == ["A", "C"]


def test_sizes_that_no_parameter_tells_are_passed():
    text = """
@T.prim_func
def f(a: T.handle, C: T.Buffer((4,), "int32")):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    for i in range(4):
        with T.block("one"):
            C[i] = n
    for i in range(n):
        with T.block("two"):
            A[i] = C[0]
"""
    schedule = Schedule(module_of(text))
    schedule.split_function("one", "first")
    first = schedule.mod["first"]
    assert [p.name for p in first.params] == ["C", "n"]
    assert interpret_with_undef(first, n=5)[0][0].tolist() == [5] * 4


def test_an_output_that_the_rest_overwrites_is_free_in_the_stage():
    text = """
@T.prim_func
def f(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("one"):
            C[i] = A[i]
    for i in range(4):
        with T.block("two"):
            C[i] = C[i + 4]
"""
    _, module = split(text, "one", "first")
    assert to_script(module["first"]).endswith('        if i_1 <= 3:\n            C[i_1] = T.undef("int32")\n')


REFUSED = {
    "dependence": ("two", "g", "dependence", "both touch B["),
    "unknown": ("twos", "g", "unknown-block", "did you mean `two`"),
    "root": ("root", "g", "split", "whole body"),
    "shared loops": ("inner", "g", "split", "no stage of its own"),
    "taken": ("one", "f", "name", "already"),
    "keyword": ("one", "for", "name", "cannot name"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str):
    block, name, code, text = REFUSED[case]
    module = module_of("""
@T.prim_func
def f(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.block("one"):
            B[i] = A[i]
    for i in range(8):
        with T.block("two"):
            C[i] = B[i]
    for i in range(8):
        C[i] = 1
        with T.block("inner"):
            C[i] = C[i] + 1
""")
    schedule = Schedule(module)
    before = schedule.mod
    with pytest.raises(ScheduleError) as caught:
        schedule.split_function(block, name)
    assert caught.value.code == code
    assert text in str(caught.value)
    assert schedule.mod is before


def test_nothing_left():
    text = """
@T.prim_func
def f(A: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("one"):
            A[i] = i
"""
    with pytest.raises(ScheduleError, match="all that f does"):
        Schedule(module_of(text)).split_function("one", "g")


# Random stages -------------------------------------------------------------------------------------------------------


@st.composite
def stages(draw: st.DrawFn) -> str:
    """A producer of L (or of the output C) with odd regions, and a consumer that reads or overwrites some of it."""

    def pick(*options):
        return draw(st.sampled_from(options))

    between = pick("L", "L", "C")
    low, high = pick(0, 1, 3), pick(2, 5, 8)
    value = pick("A[i]", "A[i] + 1", "0", "7", "T.undef()")
    lines = [f"for i in T.serial({low}, {max(low, high)}):", '    with T.block("stage"):']
    place = pick("i", "i", "7 - i", "i // 2")
    if pick(True, False):
        lines += [f"        if {pick('i < 4', 'i % 2 == 0', 'A[i] > 0')}:", f"            {between}[{place}] = {value}"]
        lines += (
            ["        else:", f"            {between}[{place}] = {pick('0', '3', 'A[i]')}"] if pick(True, False) else []
        )
    else:
        lines.append(f"        {between}[{place}] = {value}")
    before = [
        *pick([], [], ["for k in T.serial(8):", f"    T.assume(k < {pick(2, 6)} or A[k] == 0)"]),
        *pick([], [], ["for k in T.serial(8):", "    D[k] = A[k]"]),
    ]
    start, stop = pick(0, 2, 5), pick(4, 6, 8)
    target = pick("C[j]", "D[j]", f"{between}[j]")
    rest = [
        f"for j in T.serial({start}, {max(start, stop)}):",
        f"    {target} = {pick(f'{between}[j]', 'A[j]', '1')} + A[j]",
    ]
    if pick(True, False):
        rest += ["for j in T.serial(8):", f"    D[j] = {between}[{pick('j', '7 - j', '3')}]"]
    rest += ["D[0] = 1"]
    alloc = ['L = T.alloc_buffer((8,), "int32")'] if between == "L" else []
    body = [*alloc, *before, *lines, *rest]
    params = ", ".join(f'{b}: T.Buffer((8,), "int32")' for b in "ACD")
    return f"@T.prim_func\ndef f({params}):\n" + "\n".join("    " + line for line in body) + "\n"


@given(stages(), st.integers(0, 2**32 - 1))
def test_random_stages_do_the_same(text: str, seed: int):
    module = module_of(text)
    schedule = Schedule(module)
    schedule.split_function("stage", "first")
    rng = np.random.default_rng(seed)
    try:
        random_inputs(module.funcs[0], np.random.default_rng(seed))
    except LoopsatError:
        return
    assert_same(module.funcs[0], schedule.mod, "first", rng)
