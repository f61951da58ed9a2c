"""The time that a check may take: what is not decided by then is answered with "cannot tell"."""

from __future__ import annotations

import time


class Deadline:
    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """The seconds that are left, 0 where time is over."""
        return max(0.0, self._end - time.monotonic())

    @property
    def is_over(self) -> bool:
        return self.left == 0.0

    def part(self, seconds: float) -> Deadline:
        """The deadline of one question: so many seconds from now, and no later than this one."""
        return Deadline(min(seconds, self.left))
