"""The report of a backtest: tables for people, plain values for programs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from io import StringIO
from typing import Any

import numpy as np

from foretell.forecast.evaluation.metrics import ConfusionCounts
from foretell.forecast.evaluation.model_warnings import metric_warnings
from foretell.forecast.evaluation.notification_metrics import NotificationMetrics
from foretell.forecast.evaluation.scorecard import Metrics, Scorecard

#: The number of keys that the table shows; the JSON has more.
SHOWN_KEYS = 10


@dataclass(frozen=True)
class Report:
    """`scorecards` has one for each subscription and horizon; `warnings` are reasons to distrust the model, `notes` say
    how forecasts were made where there is a choice."""

    scorecards: tuple[Scorecard, ...]
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, scorecards: Iterable[Scorecard], warnings: Iterable[str] = ()) -> Report:
        """Adds the warnings that follow from the metrics."""
        cards = tuple(scorecards)
        return cls(cards, (*warnings, *metric_warnings(cards)))

    def text(self) -> str:
        """The tables, then notes and warnings."""
        return "".join(
            [self.tables(), *(f"note: {n}\n" for n in self.notes), *(f"warning: {w}\n" for w in self.warnings)]
        )

    def tables(self) -> str:
        from rich.console import Console  # loaded only for text: programs use as_dict

        file = StringIO()
        # Wider than any table: rich would cut off columns of a table that does not fit.
        console = Console(file=file, width=1_000, highlight=False, markup=False)
        for table in _tables(self.scorecards):
            console.print(table)
        return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; NaN and infinity become None."""
        return {
            "scorecards": [_plain_scorecard(card) for card in self.scorecards],
            "warnings": list(self.warnings),
            "notes": list(self.notes),
        }


# ── tables ──


_PROBABILITY_METRICS = ("points", "base rate", "AUC", "Brier", "skill", "calibration error")


def _tables(cards: Sequence[Scorecard]) -> Iterator[Any]:
    yield _overall(cards)
    yield _at_threshold(cards)
    if any(card.overall.intervals is not None and card.overall.intervals.made for card in cards):
        yield _intervals(cards)
    yield from (_by_key(card) for card in cards if card.keys)


def _overall(cards: Iterable[Scorecard]) -> Any:
    table = _table("Probability forecasts", ("subscription", "within"), (*_PROBABILITY_METRICS, "censored"))
    for card in cards:
        overall = card.overall
        table.add_row(card.subscription, str(card.horizon), *_probability_cells(overall), f"{overall.censored:,}")
    return table


def _at_threshold(cards: Iterable[Scorecard]) -> Any:
    title = "At the threshold: points that reach it, and notifications when a probability rises to it"
    columns = ("threshold", "precision", "recall", "notified", "came true", "matches foreseen", "lead time")
    table = _table(title, ("subscription", "within"), columns)
    for card in cards:
        notifications, k = card.overall.notifications, card.table_threshold
        table.add_row(
            card.subscription,
            str(card.horizon),
            f"{notifications.thresholds[k]:g}",
            *_threshold_cells(card.overall, k),
            f"{notifications.made[k]:,}",
            _percent(notifications.precision[k]),
            _percent(notifications.recall[k]),
            _number(notifications.lead[k], 1),
        )
    return table


def _intervals(cards: Iterable[Scorecard]) -> Any:
    columns = ("intervals", "precision", "spread", "distance", "censored")
    table = _table("Intervals for the next match", ("subscription", "within"), columns)
    for card in cards:
        if (intervals := card.overall.intervals) is not None:
            table.add_row(
                card.subscription,
                str(card.horizon),
                f"{intervals.made:,}",
                _percent(intervals.precision),
                _number(intervals.spread, 1),
                _number(intervals.distance, 1),
                f"{intervals.censored:,}",
            )
    return table


def _by_key(card: Scorecard) -> Any:
    threshold = f"{card.overall.confusion.thresholds[card.table_threshold]:g}"
    columns = (*_PROBABILITY_METRICS, f"precision at {threshold}", "recall")
    table = _table(f"{card.subscription} within {card.horizon}, by key", ("key",), columns)
    for key, metrics in card.keys[:SHOWN_KEYS]:
        table.add_row(key, *_probability_cells(metrics), *_threshold_cells(metrics, card.table_threshold))
    more = len(card.keys) - SHOWN_KEYS + card.more_keys
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


def _probability_cells(metrics: Metrics) -> tuple[str, ...]:
    return (
        f"{metrics.points:,}",
        _percent(metrics.base_rate),
        _number(metrics.auc),
        _number(metrics.brier.score),
        _number(metrics.brier.skill),
        _number(metrics.reliability.error),
    )


def _threshold_cells(metrics: Metrics, k: int) -> tuple[str, str]:
    return _percent(metrics.confusion.precision[k]), _percent(metrics.confusion.recall[k])


def _percent(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.1%}"


def _number(value: float, digits: int = 3) -> str:
    return "–" if math.isnan(value) else f"{value:,.{digits}f}"


# ── plain values ──


def _plain_scorecard(card: Scorecard) -> dict[str, Any]:
    """Overall with all curves; each key with its numbers alone."""
    overall, k = card.overall, card.table_threshold
    curves: dict[str, ConfusionCounts | NotificationMetrics] = {
        "confusion": overall.confusion,
        "notifications": overall.notifications,
    }
    return {
        "subscription": card.subscription,
        "horizon": {"events": card.horizon.events, "time": card.horizon.time, "text": str(card.horizon)},
        "above": card.above,
        **_plain_metrics(overall, k),
        "reliability": _plain_fields(overall.reliability),
        **{
            name: {**_plain_fields(curve), "precision": _plain(curve.precision), "recall": _plain(curve.recall)}
            for name, curve in curves.items()
        },
        "keys": [{"key": key, **_plain_metrics(metrics, k)} for key, metrics in card.keys],
        "more_keys": card.more_keys,
    }


_PLAIN = ("points", "positives", "base_rate", "censored", "silent", "auc")


def _plain_metrics(metrics: Metrics, k: int) -> dict[str, Any]:
    brier, confusion, notifications = metrics.brier, metrics.confusion, metrics.notifications
    return {
        **{name: _plain(getattr(metrics, name)) for name in _PLAIN},
        "brier": {**_plain_fields(brier), "within": _plain(brier.within), "skill": _plain(brier.skill)},
        "calibration_error": _plain(metrics.reliability.error),
        "at": {
            "threshold": _plain(confusion.thresholds[k]),
            "precision": _plain(confusion.precision[k]),
            "recall": _plain(confusion.recall[k]),
            "notified": _plain(notifications.made[k]),
            "came_true": _plain(notifications.precision[k]),
            "foreseen": _plain(notifications.recall[k]),
        },
        "intervals": None if metrics.intervals is None else _plain_fields(metrics.intervals),
    }


def _plain_fields(values: Any) -> dict[str, Any]:
    return {field.name: _plain(getattr(values, field.name)) for field in fields(values)}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [_plain(item) for item in value.tolist()]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
