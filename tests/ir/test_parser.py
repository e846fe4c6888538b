"""The front end: spellings that mean the same, and what is refused with which place and advice."""

from __future__ import annotations

import pytest

from ir import lower_blocks, parse, parse_expr, to_script
from ir import script as T
from ir.dtypes import DType
from ir.errors import LoopsatError
from ir.nodes import Block, Buffer, For, If, Let, PrimFunc, Select, Var
from ir.traverse import walk


def kernel(body: str, params: str = 'A: T.Buffer((4, 4), "float32"), n: T.int32') -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return parse(f"@T.prim_func\ndef f({params}):\n{lines}\n", "k.py").funcs[0]


def refused(body: str, params: str = 'A: T.Buffer((4, 4), "float32"), n: T.int32') -> LoopsatError:
    with pytest.raises(LoopsatError) as caught:
        kernel(body, params)
    return caught.value


@pytest.mark.parametrize(
    "params",
    [
        'A: T.Buffer((16,), "float32")',
        'A: T.Buffer[(16,), "float32"]',
        'A: T.Buffer(16, "float32")',
        'A: T.Buffer[16, "float32"]',
        "A: T.Buffer(16)",
    ],
)
def test_buffer_spellings_agree(params: str) -> None:
    assert kernel("A[0] = 1.0", params) == kernel("A[0] = 1.0", 'A: T.Buffer((16,), "float32")')


@pytest.mark.parametrize(
    "loop", ["range(4)", "T.serial(4)", "T.serial(0, 4)", "range(0, 4)", "T.grid(4)", "T.serial(M)", "range(2 * 2)"]
)
def test_loop_spellings_agree(loop: str) -> None:
    text = f'M = 4\n@T.prim_func\ndef f(A: T.Buffer((4,), "int32")):\n    for i in {loop}:\n        A[i] = i\n'
    (func,) = parse(text).funcs
    assert isinstance(func.body, For)
    assert to_script(func).count("T.serial(4)") == 1


def test_handles_and_shape_variables() -> None:
    func = kernel('m = T.int32()\nA = T.match_buffer(a, (m, 4), "float32")\nA[0, 0] = 1.0', "a: T.handle")
    assert isinstance(func.params[0], Buffer)
    assert func.params[0].name == "A"
    assert parse(to_script(func)).funcs[0] == func


def test_blocks_in_both_spellings() -> None:
    body = (
        'for i, j in T.grid(4, 4):\n    with T.{0}("update"):\n        vi, vj = T.axis.remap("SR", [i, j])\n'
        "        T.where(vi + vj < 6)\n        T.reads(A[vi, 0:vj + 1])\n        T.writes(A[vi, vj])\n"
        "        with T.init():\n            A[vi, 0] = 0.0\n        A[vi, vj] += 1.0"
    )
    func = kernel(body.format("block"))
    assert func == kernel(body.format("sblock"))
    (block,) = (s for s in walk(func.body) if isinstance(s, Block))
    assert [a.kind for a in block.axes] == ["spatial", "reduce"]
    assert parse(to_script(func)).funcs[0] == func
    plain = lower_blocks(func)
    assert not any(isinstance(s, Block) for s in walk(plain.body))
    assert "if j == 0:" in to_script(plain)
    assert "if i + j < 6:" in to_script(plain)


def test_expressions() -> None:
    x = Var("x", DType.INT32)
    names = {"x": "int32", "y": "int32", "f": "float32"}
    assert parse_expr("(x * 4 + y) // 4", names).same((x * 4 + Var("y", DType.INT32)) // 4)
    assert parse_expr("0 <= x < 4", names).same((x >= 0) & (x < 4)) or to_script(parse_expr("0 <= x < 4", names))
    assert isinstance(parse_expr("x if x > 0 else -x", names), Select)
    assert parse_expr("min(x, 3)", names).same(T.min(x, 3))
    assert parse_expr("T.ceildiv(x, 4)", names).same(T.ceildiv(x, 4))
    assert parse_expr("x.astype('int64')", names).dtype is DType.INT64
    assert parse_expr("f + 1", names).dtype is DType.FLOAT32


def test_decorator_reads_its_own_source() -> None:
    size = 4

    @T.prim_func
    def closed(A: T.Buffer((size,), "int32")):
        for i in T.serial(size):
            A[i] = i

    assert isinstance(closed, PrimFunc)
    assert closed.buffers[0].shape[0].same(parse_expr("4", {}))
    assert closed.body.span is not None
    assert closed.body.span.file.endswith("test_parser.py")


def test_lets_are_renamed_where_python_would_rebind() -> None:
    func = kernel("x = n\nx = x + 1\nA[0, 0] = T.cast(x, 'float32')")
    lets = [s for s in walk(func.body) if isinstance(s, Let)]
    assert [s.var.name for s in lets] == ["x", "x_1"]
    assert parse(to_script(func)).funcs[0] == func


def test_elif_chains_and_attributes_round_trip() -> None:
    func = kernel(
        'T.func_attr({"tir.noalias": True})\n'
        "for i in T.parallel(4, annotations={'unroll': 2}):\n"
        "    if i < 1:\n        A[i, 0] = 1.0\n    elif i < 2:\n        pass\n    else:\n        A[i, 0] = -0.0"
    )
    assert dict(func.attrs) == {"tir.noalias": True}
    assert sum(isinstance(s, If) for s in walk(func.body)) == 2
    assert parse(to_script(func)).funcs[0] == func


@pytest.mark.parametrize(
    ("body", "code", "advice"),
    [
        ("A[0, 0] = Q[0]", "unknown-name", "before it is used"),
        ("A[0, 0] = AA[0, 0]", "unknown-name", "did you mean `A`?"),
        ("A[0] = 1.0", "rank", "one index for each dimension"),
        ("A[0, 0] = A", "rank", "load an element"),
        ("A[0, 0] = n", "dtype-mismatch", "T.cast"),
        ("A[n / 2, 0] = 1.0", "dtype-mismatch", "//"),
        ("A[0.5, 0] = 1.0", "dtype-mismatch", ""),
        ("if n:\n    A[0, 0] = 1.0", "dtype-mismatch", "x != 0"),
        ("A[T.undef(), 0] = 1.0", "undef-misuse", "bind it first"),
        ("if T.undef('bool'):\n    A[0, 0] = 1.0", "undef-misuse", "bind it first"),
        ("A[0, 0] = T.expp(1.0)", "unknown-function", "did you mean `exp`?"),
        ("while n > 0:\n    pass", "unsupported", "for loop"),
        ("return n", "unsupported", "write their results"),
        ("for i in [1, 2]:\n    pass", "unsupported", "T.serial"),
        ("x = n\nfor i in T.serial(4):\n    x = x + 1", "rebinding", "another name"),
        ("for i in T.serial(4):\n    y = i\nA[y, 0] = 1.0", "unknown-name", "nested block"),
        ("A[0, 0] = 1.0 if n > 0 else n", "dtype-mismatch", ""),
        ("for i, j in T.grid(4):\n    pass", "arguments", ""),
    ],
)
def test_refusals(body: str, code: str, advice: str) -> None:
    error = refused(body)
    assert error.code == code
    assert error.span is not None
    assert error.span.file == "k.py"
    assert error.span.line >= 3
    assert advice in error.help


def test_literals_must_fit() -> None:
    assert refused("A[0] = 300", 'A: T.Buffer((4,), "int8")').code == "literal-range"
    assert refused("A[0] = -1", 'A: T.Buffer((4,), "uint8")').code == "literal-range"


def test_int32_widens_beside_int64() -> None:
    func = kernel("B[0] = B[0] + n", 'B: T.Buffer((4,), "int64"), n: T.int32')
    assert 'T.cast(n, "int64")' in to_script(func)


@pytest.mark.parametrize("text", ["", "x = 1\n", "def f(:\n", "class A:\n    pass\n"])
def test_texts_without_a_kernel(text: str) -> None:
    with pytest.raises(LoopsatError) as caught:
        parse(text, "empty.py")
    assert caught.value.code in ("no-kernel", "syntax")


def test_deep_and_huge_texts_end_in_an_error() -> None:
    with pytest.raises(LoopsatError):
        parse("x = 1\n" * 1_000_000)
    deep = "(" * 150 + "n" + " + 1)" * 150
    assert kernel(f"A[0, 0] = T.cast({deep}, 'float32')") is not None
    assert refused("A[0, 0] = " + " + ".join(["1.0 * A[0, 0]"] * 3000)).code in ("too-deep", "syntax")
