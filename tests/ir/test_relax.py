"""Relax modules as people paste them: graphs of calls of prim_funcs in destination-passing style."""

from __future__ import annotations

import numpy as np
import pytest

from egraph_rules import optimize
from ir import interpret, parse, to_script, verify
from ir.errors import ParseError

PASTED = """
# from tvm.script import ir as I
# from tvm.script import tir as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    @T.prim_func(private=True)
    def add(A: T.Buffer((T.int64(2), T.int64(3)), "float32"), B: T.Buffer((T.int64(2), T.int64(3)), "float32"),
            T_add: T.Buffer((T.int64(2), T.int64(3)), "float32")):
        T.func_attr({"tir.noalias": T.bool(True)})
        for ax0, ax1 in T.grid(T.int64(2), T.int64(3)):
            with T.block("T_add"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[v_ax0, v_ax1], B[v_ax0, v_ax1])
                T.writes(T_add[v_ax0, v_ax1])
                T_add[v_ax0, v_ax1] = A[v_ax0, v_ax1] + B[v_ax0, v_ax1]

    @T.prim_func(private=True)
    def relu(x: T.handle, y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n, T.int64(3)), "float32")
        Y = T.match_buffer(y, (n, T.int64(3)), "float32")
        for i, j in T.grid(n, T.int64(3)):
            with T.block("relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.max(X[vi, vj], T.float32(0.0))

    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32"), b: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), "float32"):
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.add, (x, b), out_sinfo=R.Tensor((2, 3), dtype="float32"))
            lv1 = R.call_tir(cls.relu, (lv,), out_sinfo=R.Tensor((2, 3), dtype="float32"))
            gv: R.Tensor((2, 3), dtype="float32") = lv1
            R.output(gv)
        return gv
"""


def test_a_pasted_module_reads_runs_and_is_optimized() -> None:
    module = parse(PASTED)
    main = module["main"]
    assert [p.name for p in main.params] == ["x", "b", "lv1"]
    verify(main)
    assert parse(to_script(module))["main"] == main
    rng = np.random.default_rng(0)
    x, b = (rng.normal(size=(2, 3)).astype(np.float32) for _ in range(2))
    np.testing.assert_array_equal(interpret(module, x, b)[0], np.maximum(x + b, 0))
    np.testing.assert_array_equal(interpret(optimize(module).best, x, b)[0], np.maximum(x + b, 0))


def test_several_results_tuples_and_symbolic_sizes() -> None:
    text = """
class M:
    pass

@T.prim_func
def both(n: T.int64, A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32"), C: T.Buffer((n,), "float32")):
    for i in range(n):
        B[i] = A[i] + 1.0
        C[i] = A[i] * 2.0

@T.prim_func
def swapped(a: T.handle, b: T.handle, c: T.handle, n: T.int64):
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    C = T.match_buffer(c, (n,), "float32")
    for i in range(n):
        B[i] = A[i] + 1.0
        C[i] = A[i] * 2.0

@R.function
def main(x: R.Tensor(("n",), "float32")):
    n = T.int64()
    lv = R.call_tir(swapped, (x,), out_sinfo=[R.Tensor((n,)), R.Tensor((n,), "float32")], tir_vars=R.shape([n]))
    a = lv[0]
    return (a, lv[1])
"""
    x = np.arange(5, dtype=np.float32)
    a, b = interpret(parse(text), x)
    np.testing.assert_array_equal(a, x + 1)
    np.testing.assert_array_equal(b, x * 2)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "R.call_tir(cls.relu, (lv,), ",
            "R.nn.relu(lv) if 0 else R.call_tir(cls.relu, (lv,), ",
            "only calls of kernels",
        ),
        ("cls.relu", "cls.rellu", "no kernel `rellu`"),
        ("(lv,)", "(lw,)", "`lw` is no tensor"),
        ("(lv,)", "(lv, b)", "relu takes 2 arguments, 3 given"),
        ("return gv", "return x", "is returned as it came in"),
        ("return gv", "pass", "returns nothing"),
    ],
)
def test_what_is_not_read_is_named(old: str, new: str, message: str) -> None:
    with pytest.raises(ParseError) as found:
        parse(PASTED.replace(old, new))
    assert message in found.value.message and found.value.span is not None and found.value.help


def test_wrong_shapes_are_told_where_the_call_stands() -> None:
    text = PASTED.replace("(lv,), out_sinfo=R.Tensor((2, 3)", "(lv,), out_sinfo=R.Tensor((4, 3)")
    with pytest.raises(Exception, match=r"lv1 has \(4, 3\)"):
        verify(parse(text)["main"])
