"""What a backtest found: as tables for people, as plain values for programs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from io import StringIO
from typing import Any

import numpy as np

from foretell.forecast.evaluation.metrics import Predictions
from foretell.forecast.evaluation.model_warnings import doubts_of_figures
from foretell.forecast.evaluation.notification_metrics import Alarms
from foretell.forecast.evaluation.scorecard import Figures, Judged

#: Of the keys, the table shows so many; the JSON has more.
SHOWN_KEYS = 10


@dataclass(frozen=True)
class Report:
    """`judged` has an item for each subscription and horizon; `warnings` are reasons not to believe the model, `notes`
    say how forecasts were made where there is a choice."""

    judged: tuple[Judged, ...]
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, judged: Iterable[Judged], doubts: Iterable[str] = ()) -> Report:
        """With the doubts that the figures raise, after those that are given."""
        every = tuple(judged)
        return cls(every, (*doubts, *doubts_of_figures(every)))

    def text(self) -> str:
        """Tables, then the notes and warnings."""
        return "".join(
            [self.tables(), *(f"note: {n}\n" for n in self.notes), *(f"warning: {w}\n" for w in self.warnings)]
        )

    def tables(self) -> str:
        from rich.console import Console  # only people need it

        file = StringIO()
        # As wide as they are: a table that is squeezed shows less than it says.
        console = Console(file=file, width=1_000, highlight=False, markup=False)
        for table in _tables(self.judged):
            console.print(table)
        return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as JSON has them: what is not a number is None."""
        return {
            "judged": [_judged(one) for one in self.judged],
            "warnings": list(self.warnings),
            "notes": list(self.notes),
        }


# ── tables ──


_FIGURES = ("points", "came true", "AUC", "Brier", "skill", "calibration error")


def _tables(judged: Sequence[Judged]) -> Iterator[Any]:
    yield _overall(judged)
    yield _at_threshold(judged)
    if any(one.overall.intervals is not None and one.overall.intervals.made for one in judged):
        yield _intervals(judged)
    yield from (_by_key(one) for one in judged if one.keys)


def _overall(judged: Iterable[Judged]) -> Any:
    table = _table("How good the probabilities are", ("subscription", "within"), (*_FIGURES, "censored"))
    for one in judged:
        table.add_row(one.subscription, str(one.horizon), *_of_figures(one.overall), f"{one.overall.censored:,}")
    return table


def _at_threshold(judged: Iterable[Judged]) -> Any:
    title = "At a threshold: all points at which it is reached, and notifications when it is"
    numbers = ("threshold", "precision", "recall", "notified", "came true", "matches foreseen", "ahead by")
    table = _table(title, ("subscription", "within"), numbers)
    for one in judged:
        alarms, k = one.overall.alarms, one.shown
        notified = (
            f"{alarms.made[k]:,}",
            _part(alarms.precision[k]),
            _part(alarms.recall[k]),
            _number(alarms.lead[k], 1),
        )
        threshold = f"{alarms.thresholds[k]:g}"
        table.add_row(one.subscription, str(one.horizon), threshold, *_predicted(one.overall, k), *notified)
    return table


def _intervals(judged: Iterable[Judged]) -> Any:
    numbers = ("intervals", "held the match", "spread", "distance", "censored")
    table = _table("Intervals in which the match should fall", ("subscription", "within"), numbers)
    for one in judged:
        if (found := one.overall.intervals) is not None:
            figures = _part(found.precision), _number(found.spread, 1), _number(found.distance, 1)
            table.add_row(one.subscription, str(one.horizon), f"{found.made:,}", *figures, f"{found.censored:,}")
    return table


def _by_key(one: Judged) -> Any:
    threshold = f"{one.overall.predictions.thresholds[one.shown]:g}"
    columns = (*_FIGURES, f"precision at {threshold}", "recall")
    table = _table(f"{one.subscription} within {one.horizon}, by key", ("key",), columns)
    for key, figures in one.keys[:SHOWN_KEYS]:
        table.add_row(key, *_of_figures(figures), *_predicted(figures, one.shown))
    more = len(one.keys) - SHOWN_KEYS + one.more_keys
    if more > 0:
        table.add_row(f"… {more:,} more", *[""] * len(columns))
    return table


def _table(title: str, names: Iterable[str], numbers: Iterable[str]) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="", padding=(0, 1, 0, 0))
    for name in names:
        table.add_column(name)
    for name in numbers:
        table.add_column(name.replace(" ", "\n", 1), justify="right")
    return table


def _of_figures(figures: Figures) -> tuple[str, ...]:
    return (
        f"{figures.points:,}",
        _part(figures.rate),
        _number(figures.auc),
        _number(figures.brier.score),
        _number(figures.brier.skill),
        _number(figures.reliability.error),
    )


def _predicted(figures: Figures, k: int) -> tuple[str, str]:
    return _part(figures.predictions.precision[k]), _part(figures.predictions.recall[k])


def _part(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.1%}"


def _number(value: float, digits: int = 3) -> str:
    return "–" if math.isnan(value) else f"{value:,.{digits}f}"


# ── plain values ──


def _judged(one: Judged) -> dict[str, Any]:
    """The curves overall; of each key the figures alone."""
    overall, k = one.overall, one.shown
    curves: dict[str, Predictions | Alarms] = {"predictions": overall.predictions, "notifications": overall.alarms}
    return {
        "subscription": one.subscription,
        "horizon": {"events": one.horizon.events, "time": one.horizon.time, "text": str(one.horizon)},
        "above": one.above,
        **_figures(overall, k),
        "reliability": _fields(overall.reliability),
        **{
            name: {**_fields(curve), "precision": _plain(curve.precision), "recall": _plain(curve.recall)}
            for name, curve in curves.items()
        },
        "keys": [{"key": key, **_figures(figures, k)} for key, figures in one.keys],
        "more_keys": one.more_keys,
    }


def _figures(figures: Figures, k: int) -> dict[str, Any]:
    brier, said, alarms = figures.brier, figures.predictions, figures.alarms
    return {
        **{name: _plain(getattr(figures, name)) for name in ("points", "came", "rate", "censored", "silent", "auc")},
        "brier": {**_fields(brier), "within": _plain(brier.within), "skill": _plain(brier.skill)},
        "calibration_error": _plain(figures.reliability.error),
        "at": {
            "threshold": _plain(said.thresholds[k]),
            "precision": _plain(said.precision[k]),
            "recall": _plain(said.recall[k]),
            "notified": _plain(alarms.made[k]),
            "came_true": _plain(alarms.precision[k]),
            "foreseen": _plain(alarms.recall[k]),
        },
        "intervals": None if figures.intervals is None else _fields(figures.intervals),
    }


def _fields(values: Any) -> dict[str, Any]:
    return {field.name: _plain(getattr(values, field.name)) for field in fields(values)}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [_plain(one) for one in value.tolist()]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
