"""How long a search may go on: its time limit, and Ctrl-C. Owns the signal handler that is in place while one runs.

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

# The share of a time limit that is kept for extraction, and what extraction takes for each row of terms (s).
RESERVE = 0.1
SECONDS_A_ROW = 6e-5


class Patience:
    """The time limit (s) of a call, counted from now, and the interrupts it has seen.

    As many interrupts as `allowed` end the call with `KeyboardInterrupt`; fewer let it end with what it has.
    """

    def __init__(self, seconds: float = float("inf"), allowed: int = 2) -> None:
        self.seconds = seconds
        self.allowed = allowed
        self.interrupts = 0
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
        return self.interrupts > 0 or time.perf_counter() > self._deadline

    def reason(self) -> str:
        """Why it is over."""
        return "interrupted" if self.interrupts else f"time budget: {self.seconds:g} s"


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
