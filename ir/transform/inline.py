"""Computing a stage inside another: into its consumers, or into its producer.

Both forward a value from the one store of a buffer to where it is loaded. Loop variables of the vanishing side are
solved by isl from the equality of the two indices. A value that is undef may be another one at each load, so stores of
undef are not forwarded.
"""

from __future__ import annotations

from ir.nodes import PrimFunc
from ir.presburger import sets as pb
from ir.program.edit import ROOT, Changed, refuse
from ir.transform.forward_substitute import inlined
from ir.transform.fusion import fused

_OPERATIONS = 4_000_000  # all questions of one step; those of hand-written programs need some thousand


def compute_inline(func: PrimFunc, block: str) -> Changed:
    """Replace each load of the buffer that a block stores to by the value stored, and drop block and buffer.

    Assumptions about the buffer become assumptions about the value.

    Raises:
        ScheduleError: the block is not one store to a local buffer that only it writes, its indices cannot be solved
            for its loops, an element is loaded that it does not compute, or an input changes in between.
    """
    _refuse_root(func, block)
    done = pb.within_budget(lambda: inlined(func, block), None, _OPERATIONS)
    return _budget(block) if done is None else done


def reverse_compute_inline(func: PrimFunc, block: str) -> Changed:
    """Compute an elementwise consumer where its input is stored, and drop the consumer's nest and the buffer.

    Where the producer computes more than the consumer reads, the store gets a guard.

    Raises:
        ScheduleError: the block is not one store, loads the buffer at several or not invertible indices, has a
            predicate or reduces; its input is not local, read by others, or not one plain store; it is not covered by
            the producer, or only without the producer's predicate; the new order would change what is computed.
    """
    _refuse_root(func, block)
    done = pb.within_budget(lambda: fused(func, block), None, _OPERATIONS)
    return _budget(block) if done is None else done


def _refuse_root(func: PrimFunc, block: str) -> None:
    if block == ROOT:
        refuse("whole-function", "the whole body cannot be inlined", func.span, help="name a block")


def _budget(block: str) -> Changed:
    refuse("budget", f"moving `{block}` into another stage takes too many steps", help="simplify its indices")
