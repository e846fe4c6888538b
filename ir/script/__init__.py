"""The dialect: `from ir import script as T` gives decorators, annotation types and expression builders."""

from ir.script.dialect import *  # noqa: F403 - this module is the namespace `T`
from ir.script.dialect import bool_
from ir.script.kernel_names import (
    alloc_buffer,
    assume,
    axis,
    block,
    block_attr,
    evaluate,
    func_attr,
    grid,
    init,
    match_buffer,
    parallel,
    reads,
    serial,
    thread_binding,
    unroll,
    vectorized,
    where,
    writes,
)

bool = bool_  # `T.bool`, which dialect.py cannot bind because it needs Python's

__all__ = [
    "alloc_buffer", "assume", "axis", "block", "block_attr", "bool", "evaluate", "func_attr", "grid", "init",
    "match_buffer", "parallel", "reads", "serial", "thread_binding", "unroll", "vectorized", "where", "writes",
]  # fmt: skip
