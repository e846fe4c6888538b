"""Every example runs, and every kernel in it is optimized to something the interpreter finds equal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from compare import assert_refines
from egraph_rules import optimize
from ir import parse
from ir.nodes import If
from ir.semantics.verify import verify
from ir.traverse import walk
from profiles import some

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))
GUARDS_LEFT = {
    "conv1d_producer.py": 0,
    "elementwise_undef.py": 0,
    "internal_padded_buffer.py": 0,
    "padded_row_sum.py": 0,
    "padded_row_sum_small.py": 0,
}


@pytest.mark.parametrize("path", some(EXAMPLES, 2), ids=lambda p: p.name)
def test_example_runs(path: Path) -> None:
    subprocess.run([sys.executable, str(path)], check=True, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize("path", some(EXAMPLES, 0.24), ids=lambda p: p.name)
def test_example_is_optimized(path: Path) -> None:
    text = path.read_text().replace("range(20)", "range(2)")  # fewer steps in time to interpret
    for func in parse(text, str(path)).funcs:
        verify(func)
        best = optimize(func).best
        if path.name in GUARDS_LEFT:
            assert sum(isinstance(s, If) for s in walk(best.body)) == GUARDS_LEFT[path.name]
        if "4096" not in text:  # too large to interpret
            assert assert_refines(func, best, np.random.default_rng(0), runs=1) == 1
