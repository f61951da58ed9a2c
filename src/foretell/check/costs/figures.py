"""The costs of statements on a sample of events, as figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from foretell.display import counted, size_text
from foretell.records import record


@record
class ConditionFigures:
    """A condition of a step on single events, and the share of the events that satisfy it."""

    step: str
    condition: str
    selectivity: float


@record
class StatementFigures:
    """The costs of a statement on a sample. `partial` is the greatest number of partial matches at once, `in_lane` that
    of one lane, `memory` the most bytes that the statement held; `stopped` says where a limit ended the measurement."""

    statement: str
    events: int
    lanes: int
    matches: int
    partial: int
    in_lane: int
    memory: int
    conditions: tuple[ConditionFigures, ...] = ()
    stopped: str = ""

    @property
    def matches_per_event(self) -> float:
        return self.matches / self.events if self.events else 0.0

    @property
    def memory_per_lane(self) -> float:
        return self.memory / self.lanes if self.lanes else 0.0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"matches_per_event": self.matches_per_event, "memory_per_lane": self.memory_per_lane}

    def lines(self) -> Iterator[str]:
        """The figures for people."""
        yield f"{self.statement} on {counted(self.events, 'event')} in {counted(self.lanes, 'lane')}"
        yield f"  matches: {self.matches:,}, {_amount(self.matches_per_event)} per event"
        if self.partial:
            yield f"  partial matches at once: up to {self.partial:,}, in one lane up to {self.in_lane:,}"
        yield f"  memory: up to {size_text(self.memory)}, {size_text(self.memory_per_lane)} per lane"
        for figures in self.conditions:
            yield f"  {figures.step}: {figures.condition} holds for {_share(figures.selectivity)} of the events"
        if self.stopped:
            yield f"  stopped: {self.stopped}"


def _amount(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _share(share: float) -> str:
    return f"{100 * share:.3g}%"
