"""Programs: nodes, syntax, meaning and analyses."""

from ir import errors
from ir.blocks import lower_blocks
from ir.dtypes import DType
from ir.errors import LoopsatError
from ir.interpret import interpret
from ir.nodes import Buffer, Expr, Module, PrimFunc, Stmt
from ir.script.parser import parse, parse_expr
from ir.script.printer import to_script
from ir.specialize import specialize
from ir.verify import verify

__all__ = [
    "Buffer", "DType", "Expr", "LoopsatError", "Module", "PrimFunc", "Stmt",
    "errors", "interpret", "lower_blocks", "parse", "parse_expr",
    "specialize", "to_script", "verify",
]  # fmt: skip
