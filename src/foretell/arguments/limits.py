"""Limits on partial matches, as a caller hands them in."""

from __future__ import annotations

from foretell.arguments.validation import bad_argument
from foretell.machine.exec.limits import Limits


def as_limits(limits: object) -> Limits:
    if limits is None or isinstance(limits, Limits):
        return limits or Limits()
    raise bad_argument("limits", "a foretell.Limits", limits)
