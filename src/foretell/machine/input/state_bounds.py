"""How far the numbers in a snapshot may reach, so that each leads to something that is there."""

from __future__ import annotations

from foretell.machine.kernels.run_checks import HeldEvents
from foretell.records import record


@record
class StateBounds:
    """How many there are: lanes, events of the merged stream (`positions`), places in the order of all events, strings
    that have a code (`texts`). `held` are the events that matches may refer to."""

    lanes: int
    positions: int
    places: int
    texts: int
    held: HeldEvents
