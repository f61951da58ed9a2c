"""The horizon of a forecast: how far ahead it looks."""

from __future__ import annotations

from dataclasses import dataclass

from foretell.errors import InputError


@dataclass(frozen=True)
class Horizon:
    """A number of events of the lane, or a length of time.

    >>> str(Horizon(events=5)), str(Horizon(time=90.0)), str(Horizon(time=90.0, unit="s"))
    ('5 events', '90', '90 s')
    """

    events: int | None = None
    time: float | None = None
    unit: str = ""

    def __post_init__(self) -> None:
        if (self.events is None) == (self.time is None):
            raise InputError("wrong-horizon", "a horizon is either a number of events or a length of time")
        if self.amount <= 0:
            raise InputError("wrong-horizon", f"a horizon must be greater than 0, not {self.amount:g}")

    @property
    def amount(self) -> float:
        """The number of events, or the length of time."""
        return float(self.events if self.time is None else self.time)  # type: ignore[arg-type]

    def __str__(self) -> str:
        unit = self.unit if self.events is None else "event" if self.events == 1 else "events"
        return f"{self.amount:g} {unit}".rstrip()
