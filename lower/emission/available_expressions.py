"""What earlier statements are known to have left in buffers, and whether that still holds where a later one asks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from msgspec.structs import replace

from ir.nodes import Buffer, Expr, Load, Var
from ir.traverse import free_vars, loads, reads
from lower.analysis.linear_forms import same_range
from lower.array.access import Bounds
from lower.array.job import Job
from lower.array.reduction_start import Start, with_start
from lower.array.views import Axis
from lower.emission.scope import Names, Scope
from lower.program.nodes import JaxExpr, Name
from lower.tensor.known import Known
from lower.tensor.write import sums_as_terms


class Recall:
    """Answers for one statement. `only` are buffers that a single statement reads besides those that write them."""

    def __init__(self, scope: Scope, names: Names, only: Collection[Buffer]) -> None:
        self.scope = scope
        self.names = names
        self.only = only

    # Starts of reductions.

    def keep_start(self, job: Job) -> None:
        """Remember a store that a reduction may start from, after it was written."""
        own = reads(job.buffer, job.value)
        if job.op is None and not job.guards and not own:
            self.scope.starts[job.buffer] = Start(job, len(self.scope.stmts), self.scope.next())

    def started(self, job: Job, bounds: Bounds, just_set: Callable[[Job, tuple[Expr, ...]], bool]) -> Job | None:
        """The job with the value it starts from among its elements, where it was that before; or None."""
        start = self.scope.starts.get(job.buffer)
        if start is None or not just_set(start.job, job.indices):
            return None
        if self.scope.assigned_since(start.at, self.names.of(job.buffer)):
            return None
        for buffer in dict.fromkeys(load.buffer for load in loads(start.job.value)):
            later = any(h.number > start.number for h in self.scope.pending(buffer))
            if later or buffer in self.scope.fills or self.scope.assigned_since(start.at, self.names.of(buffer)):
                return None
        return with_start(job, start.job, bounds)

    # Terms.

    def renamed(self, known: Known, buffer: Buffer, kept: tuple[Axis, ...]) -> Known:
        """A term that a store is about to give a buffer; what the buffer held gets a name that stays, if needed."""
        known = replace(known, kept=kept, only=buffer in self.only)
        name = self.names.of(buffer)
        if name in known.words():
            old = self.names.fresh(f"old_{buffer.name}")
            self.scope.assign(old, Name(name))
            known = known.with_name(name, old)
        return known

    def keep(self, buffer: Buffer, known: Known) -> None:
        """Remember a term, after the store that gave it to a buffer."""
        held = self.scope.held.get(buffer)
        number = 0 if held is None else held.number
        self.scope.known[buffer] = replace(known, at=len(self.scope.stmts), number=number)

    def loaded(self, load: Load, job: Job) -> Known | None:
        """What a buffer is known to hold, where a load reads all of it, along axes of a job."""
        known = self._valid(load.buffer)
        if known is None:
            return None
        axes = {a.var: a for a in job.axes}
        names = [i for i in load.indices if isinstance(i, Var)]
        rest = [i for i in load.indices if free_vars(i) and not isinstance(i, Var)]
        if rest or len(names) != len(known.kept) or len(set(names)) != len(names) or not set(names) <= set(axes):
            return None
        return known if all(map(same_range, (axes[v] for v in names), known.kept)) else None

    def joinable(self, job: Job, kept: Sequence[Axis], positions: Callable[[Axis], JaxExpr]) -> Known | None:
        """What a statement adds to all of, if that is known and nobody has looked at it yet.

        `positions` gives what the statement may give the name of an axis as its value, before it takes what is known.
        """
        known = self._valid(job.buffer)
        if job.op != "add" or known is None or self.scope.mentioned_since(known.at, self.names.of(job.buffer)):
            return None
        names = [(self.names.of(a.var), a) for a in job.axes]
        words = known.words()
        if any(name in words and self.scope.defined.get(name) != positions(a) for name, a in names):
            return None
        stored = [i for i in job.indices if isinstance(i, Var)]
        whole = len(stored) == len(job.indices) == len(kept) and stored == [a.var for a in kept]
        own = reads(job.buffer, *job.exprs())
        reduced = {a.var for a in job.reduced()}
        outer = any(not free_vars(g) & reduced for g in job.guards)
        fits = whole and not own and not outer and bool(reduced) and sums_as_terms("add", job.value.dtype)
        return known if fits and all(map(same_range, kept, known.kept)) else None

    def _valid(self, buffer: Buffer) -> Known | None:
        """What a buffer was known to hold, if it still does and names still say the same."""
        known, held = self.scope.known.get(buffer), self.scope.held.get(buffer)
        if known is None or buffer in self.scope.fills or buffer in self.scope.parked:
            return None
        if held is not None and held.number != known.number:
            return None
        words = {*known.words(), self.names.of(buffer)}
        return None if any(self.scope.assigned_since(known.at, word) for word in words) else known
