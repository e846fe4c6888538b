"""What padding would buy: pad values that an implementation supports, and those worth proposing between functions."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from egraph_rules import padding_of, suggest_padding
from egraph_rules.cost.target import CPU
from egraph_rules.modules.queries import Paddings
from ir import interpret, parse, to_script
from ir.nodes import Const, Undef, seq
from lower import compile

SPLIT = """
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

@T.prim_func
def product(B: T.Buffer((4, 4), "int32"), C: T.Buffer((1,), "int32")):
    C[0] = 1
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            C[0] = C[0] * B[io, ii]

@T.prim_func
def written_for_zero(B: T.Buffer((4, 4), "int32"), C: T.Buffer((1,), "int32")):
    for io, ii in T.grid(4, 4):
        T.assume(4 * io + ii < 14 or B[io, ii] == 0)
    C[0] = 0
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            C[0] = C[0] + B[io, ii]

@T.prim_func
def plain(B: T.Buffer((14,), "int32"), C: T.Buffer((14,), "int32")):
    for i in range(14):
        C[i] = B[i] + 1

@T.prim_func
def first(B: T.Buffer((4, 4), "int32"), C: T.Buffer((4,), "int32")):
    for i in range(4):
        C[i] = B[0, i]
"""
FUNCS = parse(SPLIT)


def numbers(found: Paddings, name: str) -> list[int | str]:
    return ["undef" if isinstance(o.value, Undef) else int(o.value.value) for o in found[name].options]


def test_a_reader_is_asked_which_value_pays_and_says_what_it_takes() -> None:
    found = padding_of(FUNCS["compute_C"])
    padding = found["B"]
    assert numbers(found, "B")[0] == 0 and {*numbers(found, "B")} == {0, 1, "undef"}
    assert padding.options[0].saves > 0 and [o.saves for o in padding.options[1:]] == [0, 0]
    assert "T.assume" in padding.options[0].claim
    assert padding.required is None and not padding.elidable and not padding.written
    assert "best 0" in str(found)


def test_the_neutral_element_depends_on_the_reduction() -> None:
    assert numbers(padding_of(FUNCS["product"]), "B")[0] == 1


def test_stating_what_pays_gives_that_price_and_the_same_results() -> None:
    func = FUNCS["compute_C"]
    best = padding_of(func)["B"].options[0]
    parameter = ", ".join(('B: T.Buffer((4, 4), "int32")', 'C: T.Buffer((1,), "int32")'))
    claim = parse(f"@T.prim_func\ndef f({parameter}):\n    " + "\n    ".join(best.claim.splitlines()))
    told = replace(func, body=seq(claim["f"].body, func.body))
    assert padding_of(told).price == best.price
    b = np.append(np.arange(14), [0, 0]).astype(np.int32).reshape(4, 4)
    assert interpret(told, b, sanitize=True)[0] == interpret(func, b)[0]


def test_a_writer_gains_by_permission_to_leave_anything() -> None:
    found = padding_of(FUNCS["transform_A"])
    assert found["B"].written
    assert numbers(found, "B")[0] == "undef"
    assert "B[b0, b1] = T.undef" in found["B"].options[0].claim


def test_a_function_that_was_written_for_a_value_requires_it() -> None:
    required = padding_of(FUNCS["written_for_zero"])["B"].required
    assert isinstance(required, Const) and required.value == 0
    assert not padding_of(FUNCS["written_for_zero"])["B"].options


def test_padding_that_nothing_wants_is_not_asked_for() -> None:
    assert padding_of(FUNCS["plain"]).parameters == ()
    assert padding_of(FUNCS["first"])["B"].elidable


def test_modules_and_kernels_are_asked_as_well() -> None:
    params = "B: T.Buffer((4, 4), 'int32'), C: T.Buffer((1,), 'int32')"
    module = parse(f"{SPLIT}\n@T.prim_func\ndef main({params}):\n    compute_C(B, C)\n")
    of_kernel = padding_of(compile(FUNCS["compute_C"]))
    of_module = padding_of(module)
    for found in (of_kernel, of_module):
        assert numbers(found, "B")[0] == 0
        assert to_script(found["B"].where) == to_script(padding_of(FUNCS["compute_C"])["B"].where)


CHAIN = """
@T.prim_func
def addone(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    for i in range(14):
        B[i] = A[i] + 1

@T.prim_func
def total(A: T.Buffer((14,), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = 0
    for i in range(14):
        B[0] = B[0] + A[i]

@T.prim_func
def main(X: T.Buffer((14,), "int32"), Y: T.Buffer((1,), "int32")):
    H = T.alloc_buffer((14,), "int32")
    addone(X, H)
    total(H, Y)
"""


def test_values_are_suggested_for_buffers_between_functions_the_cheapest_first() -> None:
    found = suggest_padding(parse(CHAIN), CPU, maps={"H": [lambda i: [i // 4, i % 4]]})  # pyright: ignore
    values = [str(s.storage.pad) for s in found if s.buffer == "H"]
    assert values[0] == "0" and len(values) == 2
    assert found[0].readers == ("total",)
    assert [s.price for s in found] == sorted(s.price for s in found)
