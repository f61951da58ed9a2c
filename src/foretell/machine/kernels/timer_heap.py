"""A binary heap of timers, the earliest first, as arrays. The caller keeps the count and provides room."""

from __future__ import annotations

from typing import Any

from foretell.machine.kernels.decorators import kernel
from foretell.machine.kernels.structs import Timers


@kernel
def push_timer(due: Any, owner: Any, serial: Any, timers: Timers, count: int) -> None:
    """Add a timer to a heap of `count`."""
    at = count
    while at > 0:
        above = (at - 1) // 2
        if timers.due[above] <= due:
            break
        timers.due[at], timers.owner[at], timers.serial[at] = (
            timers.due[above], timers.owner[above], timers.serial[above],
        )  # fmt: skip
        at = above
    timers.due[at], timers.owner[at], timers.serial[at] = due, owner, serial


@kernel
def replace_first_timer(due: Any, owner: Any, serial: Any, timers: Timers, count: int) -> None:
    """Put a timer in the place of the earliest of a heap of `count`, and move it down to where it belongs."""
    at = 0
    while 2 * at + 1 < count:
        below = 2 * at + 1
        if below + 1 < count and timers.due[below + 1] < timers.due[below]:
            below += 1
        if due <= timers.due[below]:
            break
        timers.due[at], timers.owner[at], timers.serial[at] = (
            timers.due[below], timers.owner[below], timers.serial[below],
        )  # fmt: skip
        at = below
    timers.due[at], timers.owner[at], timers.serial[at] = due, owner, serial


@kernel
def drop_first_timer(timers: Timers, count: int) -> None:
    """Take the earliest timer off a heap of `count`."""
    last = count - 1
    replace_first_timer(timers.due[last], timers.owner[last], timers.serial[last], timers, last)
