"""What to write in place of what the dialect does not have. Texts only, for the parsers' messages."""

from __future__ import annotations

import ast

from ir.errors import suggest

CONTAINS = (
    "a kernel has loops over range or T.grid, `if`, stores to elements, names for scalars, T.alloc_buffer, T.assume "
    "and assert; help(ir.script) lists its functions"
)
_LOOP = "write a loop over the elements"
_OF_SCALARS = "a kernel works on elements: write loops, as in `for i in range(n)`"
_MESSAGE = 'kernels only compute: store what you want to see in a buffer, or write assert condition, "message"'

_FOREIGN = "what a foreign function does is not known here: write its loops as a kernel, and call that by name"

# names of Python, of NumPy and of other dialects of TVM
ELSEWHERE = {
    "len": "write the extent of an axis, as in A.shape[0]",
    "print": _MESSAGE,
    "sum": "write a loop that adds into an element, as in total[0] = total[0] + A[i]",
    "enumerate": "loop over the indices, as in `for i in range(A.shape[0])`",
    "zip": "loop over the indices, as in `for i in range(A.shape[0])`",
    "int": "write T.int32(x), which cuts fractions off",
    "zeros": 'allocate a buffer, as in L = T.alloc_buffer((16,), "float32"), and store zeros in a loop',
    "where": "write T.if_then_else(condition, a, b)",
    "dot": "write three loops that add A[i, k] * B[k, j] into C[i, j]",
    "matmul": "write three loops that add A[i, k] * B[k, j] into C[i, j]",
    "allocate": 'allocate a buffer, as in L = T.alloc_buffer((16,), "float32")',
    "launch_thread": 'write a loop: for tx in T.thread_binding(16, thread="threadIdx.x")',
    "env_thread": 'write a loop: for tx in T.thread_binding(16, thread="threadIdx.x")',
    "attr": "leave it out: attributes have no meaning here",
    "ramp": f"{_LOOP} (T.vectorized)",
    "broadcast": f"{_LOOP} (T.vectorized)",
    "Assert": 'write assert condition, "message"',
    **dict.fromkeys(("call_extern", "call_packed", "call_cpacked", "call_pure_extern", "tvm_call_packed"), _FOREIGN),
    "fmod": "write x - y * T.trunc(x / y), which rounds",
}
_SYNTAX: dict[type[ast.AST], str] = {
    ast.ListComp: _OF_SCALARS,
    ast.GeneratorExp: _OF_SCALARS,
    ast.List: 'allocate a buffer, as in L = T.alloc_buffer((16,), "float32")',
    ast.Lambda: "define a function of scalars outside of the kernel, under @T.function",
    ast.JoinedStr: _MESSAGE,
    ast.While: "use a for loop with an extent",
    ast.Return: "kernels write their results into buffer parameters and run to their end",
    ast.Break: "put the rest of the loop body under an `if`",
    ast.Continue: "put the rest of the loop body under an `if`",
    ast.FunctionDef: "kernels cannot be nested",
}
SLICES = f"{_LOOP}, as in `for i in range(A.shape[0]): A[i] = ...`"


def suggest_name(name: str, known: tuple[str, ...]) -> str:
    """A hint at the nearest name of the dialect, as one writes it."""
    last = name.rpartition(".")[2]
    if last in ELSEWHERE and last not in known:
        return ELSEWHERE[last]
    near = suggest(last, known)
    return near.replace("`", "`T.", 1) if near else "help(ir.script) lists what there is"


def in_place_of(node: ast.AST) -> str:
    """What to write in place of syntax that kernels cannot have; all that they can where nothing says more."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return ELSEWHERE["matmul"]
    return _SYNTAX.get(type(node), CONTAINS)
