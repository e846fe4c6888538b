"""Modules are imported when they are first used."""

from __future__ import annotations

import gc
import subprocess
import sys

from ir.later import keeping, later, uncollected


def test_no_garbage_is_looked_for_and_what_was_made_is_old() -> None:
    before = len(gc.get_objects(generation=0))
    with uncollected():
        assert not gc.isenabled()
        kept = [[k] for k in range(5000)]
    assert gc.isenabled()
    assert len(gc.get_objects(generation=0)) < before + 5000
    assert gc.get_freeze_count() == 0
    assert len(kept) == 5000


def test_old_garbage_is_looked_for_seldom_and_then_as_before() -> None:
    before = gc.get_threshold()
    with keeping():
        assert gc.get_threshold()[2] > before[2]
        with keeping():
            pass
        assert gc.get_threshold()[2] > before[2]
    assert gc.get_threshold() == before


def test_a_compiled_module_without_its_package_is_that_of_the_package() -> None:
    script = """
import sys
from ir.later import later

bindings = later("egglog.bindings", alone=True)
assert "egglog" not in sys.modules
first = bindings.EGraph
assert "egglog" not in sys.modules
import egglog.bindings

assert egglog.bindings.EGraph is first
assert str(egglog.EGraph().extract(egglog.i64(1) + egglog.i64(2))) == "i64(3)"
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_module_that_is_not_compiled_is_imported_with_its_package() -> None:
    assert later("json.decoder", alone=True).JSONDecoder is __import__("json").JSONDecoder
