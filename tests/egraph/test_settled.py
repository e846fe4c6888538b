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
