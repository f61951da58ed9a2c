"""The processes that a process has started, as Linux lists them, and the processor time of all of them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_PROCESSES = Path("/proc")


@dataclass(frozen=True)
class Process:
    """`seconds` is its processor time, with that of the children that have ended and were waited for."""

    number: int
    parent: int
    command: tuple[bytes, ...]
    seconds: float


def descendants(parent: int) -> list[Process]:
    """Return the processes that a process has started, directly or through others. Raises OSError without /proc."""
    children: dict[int, list[Process]] = {}
    for place in _PROCESSES.iterdir():
        if place.name.isdecimal() and (process := _process(int(place.name))) is not None:
            children.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    pending = [parent]
    while pending:
        own = children.get(pending.pop(), [])
        found += own
        pending += [process.number for process in own]
    return found


def processor_seconds() -> float | None:
    """Return the processor time so far of this process and all that it has started; None without /proc."""
    try:
        return sum(os.times()[:4]) + sum(process.seconds for process in descendants(os.getpid()))
    except OSError:
        return None


def _process(number: int) -> Process | None:
    """A process; None where it has ended."""
    place = _PROCESSES / str(number)
    try:
        fields = (place / "stat").read_text().rsplit(")", 1)[1].split()
        command = tuple((place / "cmdline").read_bytes().split(b"\0"))
    except OSError:
        return None
    ticks = sum(map(int, fields[11:15]))  # utime, stime, cutime, cstime
    return Process(number, int(fields[1]), command, ticks / os.sysconf("SC_CLK_TCK"))
