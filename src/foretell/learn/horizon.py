"""The horizon of a forecast: how far ahead it looks."""

from __future__ import annotations

from dataclasses import dataclass

from foretell.display import counted, duration_text
from foretell.errors import InputError


@dataclass(frozen=True)
class Horizon:
    """A number of events of the lane, or a length of time.

    >>> str(Horizon(events=5)), str(Horizon(time=90.0)), str(Horizon(time=432_000.0, unit="s"))
    ('5 events', '90', '5 days')
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
        if self.events is not None:
            return counted(self.events, "event")
        return duration_text(self.amount, exact=True) if self.unit == "s" else f"{self.amount:g}"

    def amount_text(self, amount: float) -> str:
        """A mean number of events, or a length of time, in the unit of the horizon.

        >>> Horizon(events=5).amount_text(1.25), Horizon(time=9.0).amount_text(1.25)
        ('1.2', '1.2')
        >>> Horizon(time=60.0, unit="s").amount_text(75)
        '1.25 min'
        """
        return duration_text(amount) if self.unit == "s" and self.events is None else f"{amount:,.1f}"
