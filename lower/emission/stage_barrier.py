"""What one statement computes and another reads at several places: worked out once, and kept in memory.

XLA fuses element operations into what reads them, once for each slice that is read. A chain of stencils would do the
work of each stage as often as the next one has taps, and that of the stage before as often again. What is `kept` is one
pass each. XLA:CPU takes optimization barriers away before it fuses (0.10), but leaves calls alone that say they are not
to be inlined. Measured: three stages of three taps over a million floats, in a loop, take 2.25 ms in place of 3.8 ms,
windows of 7 x 7 over five products of 82 x 82 elements, an axis after the other, 0.03 ms in place of 0.35 ms.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from msgspec.structs import replace

from egraph_rules.cost import operations
from egraph_rules.cost.target import Target
from ir.nodes import Buffer
from ir.traverse import free_vars, loads
from lower.analysis.deciding import cheaper
from lower.array.job import Job
from lower.array.views import Axis
from lower.nest.element_prices import work

_SHORT = 16  # positions of a last axis, of which a compiler makes no loop that it takes anything out of

KEPT_BY_CALL = '''
@jax.jit
def in_memory(x):
    """x; where this call stays one, it has a place in memory."""
    return x


def kept(x):
    """x, worked out once: XLA:CPU compiles what is before and what is after a call that is not inlined apart."""
    with set_xla_metadata(inlineable="false"):
        return in_memory(x)
'''
KEPT = '''
def kept(x):
    """x, worked out once."""
    return lax.optimization_barrier(x)
'''


def fused_work(job: Job, chosen: Iterable[Axis], target: Target) -> float:
    """What an element of a statement costs where XLA works it out for each reader anew; 0 for reductions.

    Readers are at places next to each other, so that what is read once more is near at hand. Measured on CPU: a
    difference of two elements that is read at two places takes 0.36 ms for 262,144 worked out twice, 0.47 ms kept,
    and for 4 million 11 ms in place of 38 ms.
    """
    taken = {a.var for a in chosen}
    if any(a.var not in taken for a in job.reduced()):
        return 0.0
    taps = prod(a.extent.const for a in chosen)
    near = replace(target, load=target.tap)
    return taps * sum(work(e, near) for e in job.exprs())


def rereads(job: Job, chosen: Iterable[Axis]) -> dict[Buffer, tuple[int, int]]:
    """At how many places a statement reads each buffer, taps written one by one, and how often it works out an element
    there that is fused into it, counted for all places: also for each position of an axis that does not matter to it.

    Along a long last axis a compiler takes that out of the loop. Measured on CPU: colours of 256 x 256 x 3 that are
    scaled by a sum of products of each take 1.4 ms so, and 0.29 ms with that sum in memory.
    """
    found: dict[Buffer, tuple[int, int]] = {}
    axes = [a for a in job.axes if job.op is None and a.extent.is_const]
    last = {v for i in job.indices[-1:] for v in free_vars(i)}
    outer = [a for a in axes if a.var not in last or a.extent.const <= _SHORT]
    for load in dict.fromkeys(load for e in job.exprs() for load in loads(e)):
        if any(free_vars(i) for i in load.indices):
            names = free_vars(load)
            taps = prod(a.extent.const for a in chosen if a.var in names)
            places, times = found.get(load.buffer, (0, 0))
            again = prod(a.extent.const for a in outer if a.var not in names)
            found[load.buffer] = places + taps, times + taps * again
    return found


def is_kept(work_each: float, reads: int, elements: float, target: Target, *, slow: bool = False) -> bool:
    """Whether what is read at several places is cheaper in memory than worked out for each; `slow` as for prices."""
    once = operations.kept_stage(target, elements, slow=slow)
    return cheaper("stage kept", once, elements * (reads - 1) * work_each)
