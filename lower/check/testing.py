"""Testing of kernels, programs and rules: what a test of a user needs (docs/testing.md).

Strategies for hypothesis: `dtypes`, `exprs`, `programs`, `modules`, `schedules`, and `inputs` of a given function.
Checks that fail with the smallest example found: `check_equivalent`, `check_instruction`, `check_kernel`,
`check_rule`.
"""

from __future__ import annotations

from egraph_rules.check.checker import require_rule as check_rule
from ir.errors import DifferenceError
from ir.testing.equivalence import check_equivalent
from ir.testing.expressions import dtypes, exprs
from ir.testing.inputs import inputs
from ir.testing.programs import modules, program_texts, programs
from ir.testing.schedules import schedules
from lower.check.drawn import check_instruction, check_kernel

__all__ = [
    "DifferenceError", "check_equivalent", "check_instruction", "check_kernel", "check_rule", "dtypes", "exprs",
    "inputs", "modules", "program_texts", "programs", "schedules",
]  # fmt: skip
