"""The language: what each spelling means, seen in the program it gives."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ir import Buffer, Module, PrimFunc, parse, parse_expr, to_script
from ir import script as T
from ir.dtypes import DType
from ir.errors import ParseError
from ir.nodes import Assume, Block, Const, Evaluate, Expr, For, If, Let, Seq, Stmt, Store, Undef, Var, const
from ir.semantics.verify import verify
from ir.traverse import walk

HEAD = "@T.prim_func\ndef f(A: T.Buffer((16, 4), 'float32'), B: T.Buffer(16, 'int32'), n: T.int32, x: T.float32):\n"


def kernel(*lines: str) -> PrimFunc:
    return parse(HEAD + "\n".join("    " + line for line in lines)).funcs[0]


def normal(*lines: str) -> str:
    """The body as it prints, without the signature."""
    text = to_script(kernel(*lines)).splitlines()[2:]
    return "\n".join(line.removeprefix("    ") for line in text)


def first(func: PrimFunc, kind: type[Stmt]) -> Stmt:
    return next(s for s in walk(func.body) if isinstance(s, kind))


# Statements -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("B[0] += 2", "B[0] = B[0] + 2"),
        ("B[n] //= 4", "B[n] = B[n] // 4"),
        ("A[0, 0] = 1", "A[0, 0] = 1.0"),
        ("A[0, 0] = A[1, 1] + 2", "A[0, 0] = A[1, 1] + 2.0"),
        ("A[0, 0] = T.undef()", 'A[0, 0] = T.undef("float32")'),
        ("A[0, 0] = T.undef(dtype='float32')", 'A[0, 0] = T.undef("float32")'),
        ("A[0, 0] = 1 if n < 3 else 0", "A[0, 0] = T.if_then_else(n < 3, T.float32(1.0), T.float32(0.0))"),
        ("A[0, 0] = T.Select(n < 3, T.undef(), 2)",
         'A[0, 0] = T.if_then_else(n < 3, T.undef("float32"), 2.0)'),
        ("A[0, 0] = x * (2 if n < 3 else 1.5)", "A[0, 0] = x * T.if_then_else(n < 3, T.float32(2.0), T.float32(1.5))"),
        ("A[0, 0] = T.float32(B[0])", 'A[0, 0] = T.cast(B[0], "float32")'),
        ("A[0, 0] = B[0].astype('float32')", 'A[0, 0] = T.cast(B[0], "float32")'),
        ("A[0, 0] = T.cast(B[0], T.float32)", 'A[0, 0] = T.cast(B[0], "float32")'),
        ("A[0, 0] = T.Cast('float32', B[0])", 'A[0, 0] = T.cast(B[0], "float32")'),
        ("A[0, 0] = T.exp(x, dtype='float32')", "A[0, 0] = T.exp(x)"),
        ("A[0, 0] = T.max_value('float32')", "A[0, 0] = 3.4028234663852886e+38"),
        ("A[0, 0] = float('-inf')", 'A[0, 0] = T.float32("-inf")'),
        ("A[0, 0] = x ** 2", "A[0, 0] = T.pow(x, 2.0)"),
        ("B[0] = 1 << 4", "B[0] = 16"),
        ("B[0] = 2 ** 10 - 1", "B[0] = 1023"),
        ("B[0] = -7 // 2", "B[0] = -4"),
        ("B[0] = T.ceildiv(n, 4)", "B[0] = (n + 3) // 4"),
        ("B[0] = T.ceildiv(n, B[1])", "B[0] = (n + B[1] - 1) // B[1]"),
        ("B[0] = T.div(n, 4)", "B[0] = T.truncdiv(n, 4)"),
        ("B[0] = T.bitwise_and(n, 3) | (n ^ 1) << 2", "B[0] = n & 3 | (n ^ 1) << 2"),
        ("B[0] = T.shift_right(~n, 1)", "B[0] = ~n >> 1"),
        ("B[0] = B.shape[0] + A.shape[1]", "B[0] = T.int32(16) + T.int32(4)"),
        ("B[0] = tir.min(n, tvm.tir.max(n, 3))", "B[0] = T.min(n, T.max(n, 3))"),
        ("T.evaluate(0)", "T.evaluate(0)"),
        ("T.evaluate(T.assume(n < 4))", "T.assume(n < 4)"),
        ("assert n > 0, 'positive'", "assert n > 0, 'positive'"),
        ("T.assume(0 <= n < 16)", "T.assume(0 <= n and n < 16)"),
        ("T.assume(B[0] == T.undef())", 'T.assume(B[0] == T.undef("int32"))'),
        ("T.assume(T.likely(n != 3))", "T.assume(n != 3)"),
        ("T.assume(T.And(n > 1, T.Not(n == 2)))", "T.assume(n > 1 and not n == 2)"),
        ("pass\n    'no docstring'", "pass"),
        ("return", "pass"),
    ],
)  # fmt: skip
def test_statement(written: str, printed: str) -> None:
    assert normal(written) == printed


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("for i in range(16):", "for i in T.serial(16):"),
        ("for i in range(0, n):", "for i in T.serial(n):"),
        ("for i in range(2, 16):", "for i in T.serial(2, 16):"),
        ("for i in T.serial(0, 16, 1):", "for i in T.serial(16):"),
        ("for i in T.serial(n, n + 4):", "for i in T.serial(n, n + 4):"),
        ("for i in T.serial(2, stop=8):", "for i in T.serial(2, 8):"),
        ("for i in T.parallel(16):", "for i in T.parallel(16):"),
        ("for i in T.vectorized(0, 4):", "for i in T.vectorized(4):"),
        ("for i in T.unroll(4, annotations={'k': [1, 2]}):", "for i in T.unroll(4, annotations={'k': (1, 2)}):"),
        ("for i in T.thread_binding(0, 8, thread='threadIdx.x'):",
         "for i in T.parallel(8, annotations={'thread': 'threadIdx.x'}):"),
        ("for i in T.thread_binding(8, 'blockIdx.x'):",
         "for i in T.parallel(8, annotations={'thread': 'blockIdx.x'}):"),
        ("for (i, j) in T.grid(4, n):", "for i, j in T.grid(4, n):"),
        ("for i in T.grid(4):", "for i in T.serial(4):"),
    ],
)  # fmt: skip
def test_loop(written: str, printed: str) -> None:
    assert normal(written, "    pass") == f"{printed}\n    pass"


def test_start_and_extent_of_a_loop() -> None:
    loop = first(kernel("for i in T.serial(n, 16):", "    B[i] = i"), For)
    assert isinstance(loop, For)
    n = Var("n", DType.INT32)
    assert loop.start.same(n) and loop.extent.same(const(16, DType.INT32) - n)


def test_branches() -> None:
    text = normal("if n < 1:", "    B[0] = 1", "elif n < 2:", "    B[0] = 2", "else:", "    B[0] = 3")
    assert text == "if n < 1:\n    B[0] = 1\nelif n < 2:\n    B[0] = 2\nelse:\n    B[0] = 3"


# Names ----------------------------------------------------------------------------------------------------------------


def test_lets_scope_over_what_follows() -> None:
    func = kernel("y = n + 1", "B[y] = y", "z: T.int32 = y * 2", "w: T.let[T.float32] = 3", "u: T.let = z", "B[u] = z")
    let = func.body
    assert isinstance(let, Let) and isinstance(let.body, Seq) and isinstance(let.body.stmts[1], Let)
    assert "w = 3.0" in to_script(func)


def test_the_same_name_again_in_one_list_gives_a_new_one() -> None:
    assert normal("y = n", "y = y + 1", "y += 2", "B[y] = y") == "y = n\ny_1 = y + 1\ny_2 = y_1 + 2\nB[y_2] = y_2"
    assert normal("n = n + 1", "B[n] = n") == "n_1 = n + 1\nB[n_1] = n_1"
    text = normal("L = T.alloc_buffer(4)", "L[0] = 1.0", "L = T.alloc_buffer(5)", "L[1] = 2.0")
    assert "L_1 = T.alloc_buffer((5,)" in text and "L_1[1] = 2.0" in text


def test_values_of_a_tuple_assignment_see_the_names_before() -> None:
    assert normal("y, z = n, n + 1", "y, z = z, y", "B[y] = z") == ("y = n\nz = n + 1\ny_1 = z\nz_1 = y\nB[y_1] = z_1")


def test_loop_variables_that_hide_a_name_are_renamed() -> None:
    text = normal("i = n", "for i in T.serial(4):", "    for i in T.serial(4):", "        B[i] = i", "B[i] = 0")
    assert text == "i = n\nfor i_1, i_2 in T.grid(4, 4):\n    B[i_2] = i_2\nB[i] = 0"
    verify(
        kernel(
            "for i in T.serial(4):", "    with T.block('b'):", "        i = T.axis.spatial(4, i)", "        B[i] = 0"
        )
    )


def test_siblings_may_share_names() -> None:
    text = normal(
        "for i in T.serial(4):", "    y = i", "    B[y] = 0", "for i in T.serial(5):", "    y = i", "    B[y] = 1"
    )
    assert text.count("y = i\n") == 2


def test_scoped_bindings() -> None:
    text = normal("with T.LetStmt(n + 1) as y:", "    B[y] = y", "with T.LetStmt(n) as y:", "    B[y] = 0")
    assert text == "with T.LetStmt(n + 1) as y:\n    B[y] = y\ny = n\nB[y] = 0"
    text = normal("v = T.int32()", "with T.LetStmt(n + 1, var=v):", "    B[v] = v")
    assert "B[v_1] = v_1" in text
    assert "T.alloc_buffer((4,)" in normal("with T.decl_buffer((4,), 'int32') as L:", "    L[0] = 1")


# Parameters and buffers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "shape", "dtype"),
    [
        ("T.Buffer[(4, 4), 'float32']", (4, 4), "float32"),
        ("T.Buffer((4, 4), 'float16')", (4, 4), "float16"),
        ("T.Buffer((4, 4), T.bfloat16)", (4, 4), "bfloat16"),
        ("T.Buffer(16, 'int32')", (16,), "int32"),
        ("T.Buffer[16, 'int8']", (16,), "int8"),
        ("T.Buffer[(16,), DT]", (16,), "uint8"),
        ("T.Buffer([2, 3, 4])", (2, 3, 4), "float32"),
        ("T.Buffer[4, 4]", (4, 4), "float32"),
        ("T.Buffer(shape=(N, 2 * N), dtype='bool')", (8, 16), "bool"),
        ("T.Buffer(SHAPE, 'float64')", (3, 5), "float64"),
        ("T.Buffer((SHAPE[1], W), 'uint64')", (5, 1024), "uint64"),
        ("T.Buffer((), 'int64')", (), "int64"),
        ("T.Buffer((0,), 'int32', offset_factor=1)", (0,), "int32"),
        ("'T.Buffer((4,), \"float32\")'", (4,), "float32"),
    ],
)
def test_buffer_spelling(annotation: str, shape: tuple[int, ...], dtype: str) -> None:
    head = "N = 8\nSHAPE = (3, 5)\nDT: str = 'uint8'\nW = 1 << 10\n"
    (param,) = parse(f"{head}@T.prim_func\ndef f(A: {annotation}):\n    pass").funcs[0].params
    assert isinstance(param, Buffer)
    assert tuple(e.value for e in param.shape if isinstance(e, Const)) == shape and str(param.dtype) == dtype


@pytest.mark.parametrize("dtype", [str(d) for d in DType])
def test_every_dtype_names_buffers_and_scalars(dtype: str) -> None:
    func = parse(f"@T.prim_func\ndef f(A: T.Buffer((4,), '{dtype}'), s: T.{dtype}):\n    A[0] = s").funcs[0]
    assert [str(p.dtype) for p in func.params] == [dtype, dtype]
    verify(func)


def test_symbolic_shapes() -> None:
    texts = (
        "def f(n: T.int32, A: T.Buffer((n, n * 2), 'float32')):\n    A[0, 0] = 1",
        "def f(A: T.Buffer((n, n * 2), 'float32'), n: T.int32):\n    A[0, 0] = 1",
        "def f(n: T.int32, a: T.handle):\n    A = T.match_buffer(a, (n, n * 2), 'float32')\n    A[0, 0] = 1",
    )
    first_, second, third = (parse("@T.prim_func\n" + t).funcs[0] for t in texts)
    assert first_ == third and set(map(str, first_.params)) == set(map(str, second.params))
    for declare in ("n = T.int32()", "n = T.var('int32')", "n, m = T.int32(), T.int64()"):
        body = f"    {declare}\n    A = T.match_buffer(a, shape=[n, 4], dtype='float32')\n    A[0, 0] = 1\n"
        func = parse(f"@T.prim_func\ndef f(a: T.handle):\n{body}").funcs[0]
        assert func.buffers[0].shape[0].same(Var("n", DType.INT32)) and not func.scalars


@pytest.mark.parametrize("call", ["alloc_buffer", "sblock_alloc_buffer", "decl_buffer"])
def test_allocation(call: str) -> None:
    text = normal(f"L = T.{call}((4, n), 'int32', scope='shared')", "L[0, 0] = 1")
    assert text == 'L = T.alloc_buffer((4, n), "int32", scope="shared")\nL[0, 0] = 1'


def test_attributes_are_kept() -> None:
    attrs = "{'global_symbol': 'main', 'x': {'a': [1, T.y]}}"
    text = f"@T.prim_func(private=True)\ndef f():\n    T.func_attr({attrs})\n    pass"
    func = parse(text).funcs[0]
    assert func.attrs == (("private", True), ("global_symbol", "main"), ("x", "{'a': [1, T.y]}"))
    assert parse(to_script(func)).funcs[0] == func
    hash(func)


# Blocks ---------------------------------------------------------------------------------------------------------------

BLOCK = """
@T.prim_func
def f(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16,), "float32")):
    for i, j in T.grid(16, 8):
        with T.block("sum"):
            {axes}
            T.where(i * 8 + j < 100)
            T.reads(A[vi, vj], B[0:16], A[:, 0])
            T.writes([B[vi]])
            T.block_attr({{"k": 1}})
            {late}
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + A[vi, vj]
"""


@pytest.mark.parametrize(
    "axes",
    [
        "vi, vj = T.axis.remap('SR', [i, j])",
        "vi = T.axis.spatial(16, i)\n            vj = T.axis.reduce(8, j)",
        "vi = T.axis.S(16, i)\n            vj = T.axis.R((0, 8), j)",
    ],
)
def test_block(axes: str) -> None:
    func = parse(BLOCK.format(axes=axes, late="'text'")).funcs[0]
    block = first(func, Block)
    assert isinstance(block, Block)
    assert [(a.var.name, a.kind, to_script(a.extent)) for a in block.axes] == [
        ("vi", "spatial", "16"),
        ("vj", "reduce", "8"),
    ]
    assert to_script(block.predicate) == "i * 8 + j < 100" and isinstance(block.init, Store)
    assert block.reads is not None and len(block.reads) == 3 and block.writes is not None
    assert to_script(block.reads[2].ranges[0][1]) == "16" and block.annotations == (("k", 1),)
    assert parse(to_script(func)).funcs[0] == func
    assert parse(BLOCK.replace("T.block(", "T.sblock(").format(axes=axes, late="'text'")).funcs[0] == func


def test_init_after_an_allocation_belongs_to_the_block() -> None:
    block = first(
        parse(BLOCK.format(axes="vi, vj = T.axis.remap('SR', [i, j])", late="L = T.alloc_buffer(4)")).funcs[0], Block
    )
    assert isinstance(block, Block) and block.init is not None


def test_axes_take_the_dtype_of_their_value() -> None:
    func = kernel(
        "for i in T.serial(T.int64(4)):",
        "    with T.block('b'):",
        "        v = T.axis.opaque((1, 4), i)",
        "        B[v] = 1",
    )
    block = first(func, Block)
    assert isinstance(block, Block) and block.axes[0].extent.same(const(3, DType.INT64))
    verify(func)


# Modules and files ----------------------------------------------------------------------------------------------------

TEXT = '''
"""A file with Python around its kernels."""
import numpy as np
from tvm.script import tir as TT

N, M = 4, 2 * 3
LIMIT: int = N * M
BAD = int(np.ones(3)[0])

def helper(x): return "\\d"

@TT.prim_func
def alone(A: TT.Buffer((N, M), "float32")):
    for i in TT.serial(LIMIT):
        A[i // M, i % M] = 0.0

{decorator}
class Mod:
    K = N + 1
    @T.prim_func
    def first(A: T.Buffer((K,), "float32")):
        A[0] = 1.0
    @T.prim_func
    def second(A: T.Buffer((K,), "float32")):
        A[0] = 2.0
    def other(self): ...

if __name__ == "__main__":
    print(alone)
'''


@pytest.mark.parametrize(
    "decorator", ["@T.module", "@I.ir_module", "@tvm.script.ir_module", "@tvm.script.ir_module(check=False)"]
)
def test_a_file_with_several_kernels(decorator: str) -> None:
    module = parse(TEXT.format(decorator=decorator), "k.py")
    assert [f.name for f in module.funcs] == ["alone", "first", "second"] and module.name == "Mod"
    assert module["second"].span is not None and module["second"].span.file == "k.py"
    assert to_script(module["alone"].buffers[0].shape[1]) == "6"


def test_constants_that_change_are_no_constants() -> None:
    text = "N = 4\nN = int(open('x'))\nM = 3\nM += 1\n@T.prim_func\ndef f(A: T.Buffer(({}, ), 'float32')):\n    pass"
    for name in "NM":
        with pytest.raises(ParseError, match="unknown-name"):
            parse(text.format(name))


def test_text_is_never_executed(tmp_path: Path) -> None:
    path = tmp_path / "made"
    parse(f"open({str(path)!r}, 'w')\nN = [open({str(path)!r}, 'w')]\n" + HEAD + "    pass")
    assert not path.exists()


def test_places_count_characters_and_true_lines() -> None:
    func = parse("\ufeff# é\x0c\n" + HEAD + "    é = n; B[é] = é + B[0]\n").funcs[0]
    store = first(func, Store)
    assert isinstance(store, Store) and store.span is not None
    assert store.span.line == 4 and store.span.text[store.span.column : store.span.end_column] == "B[é]"
    assert isinstance(store.value, Expr) and store.value.span is not None


# Expressions ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("(x*4 + y)//4", "(x * 4 + y) // 4"),
        (" x < y < 3 and not b ", "x < y and y < 3 and not b"),
        ("min(x, 3) + T.max(y, 2)", "T.min(x, 3) + T.max(y, 2)"),
        ("x if b else 3", "T.if_then_else(b, x, 3)"),
        ("x + z", 'T.cast(x, "int64") + z'),
        ("x + 1 + z", 'T.cast(x + 1, "int64") + z'),
        ("b == True", "b == True"),
        ("b & (x > 1) | b", "b and x > 1 or b"),
        ("b ^ b", "b != b"),
        ("f * 2", "f * 2.0"),
        ("3000000000", "T.int64(3000000000)"),
        ("T.int8(3) + 4", "T.int8(3) + T.int8(4)"),
        ("+x - -x", "x - -x"),
        ("1.5 if b else 2", "T.if_then_else(b, T.float32(1.5), T.float32(2.0))"),
        ("0 < 1 < x", "True and 1 < x"),
    ],
)
def test_expression(text: str, printed: str) -> None:
    names = {"x": "int32", "y": "int32", "z": "int64", "b": "bool", "f": "float32"}
    assert to_script(parse_expr(text, names)) == printed


def test_dtypes_of_names_may_be_given_as_such() -> None:
    assert parse_expr("x + 1", {"x": DType.INT64}).dtype is DType.INT64


# At run time ----------------------------------------------------------------------------------------------------------

N = 8


@T.prim_func
def decorated(A: T.Buffer((N, 4), "float32"), B: T.Buffer[(4, 4), float32], a: T.handle, s: T.bool):  # noqa: F821
    C = T.match_buffer(a, (N,), "int32")
    for i in T.serial(N):
        C[i] = N


def test_decorator_gives_a_kernel_with_its_place() -> None:
    assert isinstance(decorated, PrimFunc) and [p.name for p in decorated.params] == ["A", "B", "C", "s"]
    assert decorated.span is not None and decorated.span.file == __file__
    line = Path(__file__).read_text().splitlines()[decorated.span.line - 1]
    assert line.startswith("def decorated") and decorated.span.text == line


def test_decorator_sees_what_encloses_it() -> None:
    size, other = 5, 2

    class Inner:
        """Text at the margin:
        not indented.
        """

        width = 3

        @T.prim_func(private=True)
        def f(A: T.Buffer((size, width), "int32")):
            """Text
            at the margin."""
            A[other, 0] = size

    func = Inner.f
    assert isinstance(func, PrimFunc) and [to_script(e) for e in func.buffers[0].shape] == ["5", "3"]
    assert func.span is not None and func.span.text.startswith("        def f(")
    assert "A[2, 0] = 5" in to_script(func)


def test_module_decorator() -> None:
    @T.module
    class Pair:
        @T.prim_func
        def one(A: T.Buffer((4,), "int32")):
            A[0] = 1

        @T.prim_func
        def two(A: T.Buffer((4,), "int32")):
            A[0] = 2

    assert isinstance(Pair, Module) and [f.name for f in Pair.funcs] == ["one", "two"] and Pair.name == "Pair"
    with pytest.raises(ParseError, match="no-kernel"):
        T.module(type("Empty", (), {}))


def test_decorator_without_source() -> None:
    namespace: dict[str, object] = {"T": T}
    with pytest.raises(ParseError, match="no-source"):
        exec("@T.prim_func\ndef f(n: T.int32):\n    pass", namespace)
    with pytest.raises(ParseError, match="no-source"):
        T.prim_func(3)  # pyright: ignore


def test_expressions_are_built_at_run_time() -> None:
    x, y, z, b = T.int32("x"), T.int32("y"), T.int64("z"), T.bool_("b")
    assert to_script(T.min(x + 1, 3) // T.max(y, x)) == "T.min(x + 1, 3) // T.max(y, x)"
    assert to_script(T.if_then_else(T.And(x < y, T.Not(b)), x, 0)) == "T.if_then_else(x < y and not b, x, 0)"
    assert to_script(T.min(x, z)) == 'T.min(T.cast(x, "int64"), z)'
    assert to_script(T.cast(x, "float32")) == to_script(T.float32(x)) == 'T.cast(x, "float32")'
    assert T.int32(x) is x and T.uint8(3.0).same(Const(3, DType.UINT8)) and T.min(3, 4).same(const(3, DType.INT32))
    assert T.exp(1).same(T.exp(T.float32(1))) and T.undef("int8").same(Undef(DType.INT8))
    assert T.max_value("int8").same(T.int8(127)) and T.infinity("float32").same(T.float32("inf"))
    assert to_script(T.ceildiv(x, 4)) == "(x + 3) // 4"
    assert T.likely(b) is b and T.Select is T.if_then_else and T.bool is T.bool_


@pytest.mark.parametrize(
    ("build", "code"),
    [
        (lambda: T.int8(300), "literal-range"),
        (lambda: T.int32(1.5), "dtype-mismatch"),
        (lambda: T.min(T.int32("x"), T.float32("y")), "dtype-mismatch"),
        (lambda: T.exp(T.int32("x")), "dtype-mismatch"),
        (lambda: T.if_then_else(T.int32("x"), 1, 2), "dtype-mismatch"),
        (lambda: T.int32("lambda"), "name"),
        (lambda: T.int32("a.b"), "name"),
        (lambda: T.cast(T.int32("x"), "int33"), "unknown-dtype"),
    ],
)
def test_run_time_errors_are_ours(build, code: str) -> None:
    with pytest.raises(ParseError) as error:
        build()
    assert error.value.code == code


def test_annotations_may_be_deferred(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(
        "from __future__ import annotations\nfrom ir import script as T, to_script\n\n\n"
        "@T.prim_func\ndef f(A: T.Buffer((n,), 'float32'), n: T.int32):\n    for i in range(n):\n        A[i] = 1\n"
        "\nprint(to_script(f))\n"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    found = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True, env=env)
    assert 'A: T.Buffer((n,), "float32")' in found.stdout


def test_statements_keep_their_kind() -> None:
    func = kernel("T.exp(x)", "T.assume(True)", "if True:", "    pass")
    assert isinstance(func.body, Seq) and [type(s) for s in func.body.stmts] == [Evaluate, Assume, If]
