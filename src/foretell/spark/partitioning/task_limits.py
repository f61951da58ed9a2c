"""The limits of an engine in a task: other tasks run on the same computer."""

from __future__ import annotations

import os

from foretell.machine.exec.limits import Limits


def task_limits(limits: Limits | None) -> Limits:
    """The limits that a caller gave, else the defaults; a computer runs as many tasks as it has cores."""
    return (limits or Limits()).shared_by(os.cpu_count() or 1)
