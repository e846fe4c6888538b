"""Programs: nodes, syntax, meaning and analyses."""

from ir import errors
from ir.dtypes import DType
from ir.errors import LoopsatError
from ir.nodes import Buffer, Expr, Module, PrimFunc, Stmt
from ir.printing.printer import to_script
from ir.program.blocks import lower_blocks
from ir.script import te
from ir.script.parser import parse, parse_expr
from ir.semantics.interpret import interpret
from ir.semantics.specialize import specialize
from ir.semantics.verify import verify

__all__ = [
    "Buffer", "DType", "Expr", "LoopsatError", "Module", "PrimFunc", "Stmt",
    "errors", "interpret", "lower_blocks", "parse", "parse_expr",
    "specialize", "te", "to_script", "verify",
]  # fmt: skip
