"""How long a search may go on: its budget of work, the caller's time limit, and Ctrl-C. Owns the signal handler that is
in place while one runs.

The handler only counts: an exception raised from it inside of isl would take the process down. A search asks between
questions instead, and what it has when it must stop is used.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

from ir.presburger import sets as presburger

# What is charged for each question and each place that rules in Python look at, in steps of isl. Those of a question
# that takes many are charged besides.
LOOK = 50
MATCH = 10  # what is charged for a match of the engine's rules, in the same unit
PROOF = 8_000  # and for a question to z3, which is first written as a formula, besides half of the steps of z3
# The share of a time limit that is kept for extraction, and what extraction takes for each row of terms (s).
RESERVE = 0.1
SECONDS_A_ROW = 6e-5


class Patience:
    """The limits of a call on work (steps of isl) and time (s), counted from now, and the interrupts it has seen.

    As many interrupts as `allowed` end the call with `KeyboardInterrupt`; fewer let it end with what it has.
    """

    def __init__(self, seconds: float = float("inf"), allowed: int = 2, work: float = float("inf")) -> None:
        self.seconds = seconds
        self.work = work
        self.allowed = allowed
        self.interrupts = 0
        self._looks = 0
        self._matches = 0
        self._proofs = 0
        self._steps = presburger.steps()
        self._began = time.perf_counter()
        self._deadline = self._began + seconds * (1 - RESERVE)

    def reserve(self, rows: int) -> None:
        """Keep enough time to extract from so many rows of terms."""
        kept = max(self.seconds * RESERVE, rows * SECONDS_A_ROW)
        self._deadline = self._began + self.seconds - kept

    def over(self) -> bool:
        """Whether to stop searching.

        Raises:
            KeyboardInterrupt: the user insists.
        """
        if self.interrupts >= self.allowed:
            raise KeyboardInterrupt
        self._looks += 1
        return self.interrupts > 0 or self.done() > self.work or self._late()

    def matched(self, count: int) -> None:
        """Take note of matches of the engine's rules."""
        self._matches += count

    def proved(self, steps: int) -> None:
        """Take note of a question to z3 that took so many of its steps."""
        self._proofs += PROOF + steps // 2

    def done(self) -> int:
        """The work so far."""
        noted = self._looks * LOOK + self._matches * MATCH + self._proofs
        return noted + presburger.steps() - self._steps

    def _late(self) -> bool:
        return self._deadline < float("inf") and time.perf_counter() > self._deadline

    def reason(self) -> str:
        """Why it is over."""
        if self.interrupts:
            return "interrupted"
        return f"time budget: {self.seconds:g} s" if self._late() else f"work budget: {self.work:,} steps"


@contextmanager
def listening(patience: Patience) -> Generator[None]:
    """Count interrupts instead of raising, in the main thread of a program that has not turned them off.

    Once the call must end, the handler that was there before is back, in case nobody asks any more.

    Raises:
        KeyboardInterrupt: there were as many as that, and nobody has asked.
    """
    previous = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(previous):
        yield
        return

    def count(number: int, frame: FrameType | None) -> None:
        del number, frame
        patience.interrupts += 1
        if patience.interrupts >= patience.allowed:
            signal.signal(signal.SIGINT, previous)

    signal.signal(signal.SIGINT, count)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
    if patience.interrupts >= patience.allowed:
        raise KeyboardInterrupt
