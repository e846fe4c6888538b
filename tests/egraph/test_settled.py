"""Programs that differ in what is worse in any program are not both searched."""

from __future__ import annotations

from egraph_rules import optimize
from ir import PrimFunc, parse, to_script

RUNNING = """
    s[0] = 0.0
    for i in T.serial(16):
        B{k}[i] = s[0] * w
        s[0] = A[i]
"""


def program(loops: int, name: str = "w: T.float32") -> PrimFunc:
    """Loops that have nothing to do with each other."""
    arrays = "".join(f', B{k}: T.Buffer((16,), "float32")' for k in range(loops))
    head = f'A: T.Buffer((16,), "float32"){arrays}'
    body = "".join(RUNNING.format(k=k) for k in range(loops))
    param, _, bound = name.partition("=")
    binding = f"    w = {bound.strip()}\n" if bound else ""
    param = param.strip() if not bound else "v: T.float32"
    start = '    s = T.alloc_buffer((1,), "float32")\n'
    return parse(f"@T.prim_func\ndef f({head}, {param}):\n{binding}{start}{body}").funcs[0]


def test_a_name_for_a_name_is_no_second_program() -> None:
    plain, named = optimize(program(4)), optimize(program(4, "w = v"))
    assert "w = v" not in to_script(named.best)
    assert named.report.nodes < 1.2 * plain.report.nodes


NUMBERS = """
@T.prim_func
def f(A: T.Buffer((4,), "uint8"), B: T.Buffer((3, 3, 1), "uint8"), C: T.Buffer((3, 3, 3), "uint8"), n: T.int32):
    T.assume(n >= 0 and n < 5)
    for ii1 in T.serial(4):
        T.assume(ii1 < 0 or A[ii1] == 0)
    L = T.alloc_buffer((1, 1, 2), "uint8")
    for io2, io3, ii4 in T.grid(3, 3, 1):
        if 1 * io3 + ii4 < 1:
            B[io2, io3, ii4] = A[3 - io3]
    for io5, io6, ii7 in T.grid(3, 3, 1):
        if 1 * io6 + ii7 < 3:
            B[io5, io6, ii7] = L[(io6 * 3 + 0) % 1, io6 // 1 % 1, (io5 + io6) % 2]
        else:
            B[io5, io6, ii7] = T.min(L[io5 // 2 % 1, 0, 1 - ii7], T.uint8(2) - T.uint8(1))
"""


def test_forms_of_numbers_do_not_multiply() -> None:
    """Operations on known values that give one number are one class: each sum of two would be a new zero."""
    report = optimize(parse(NUMBERS).funcs[0]).report
    assert report.nodes < 5_000
    assert report.stopped.startswith("saturated")
