"""The report of a backtest: tables for people, plain values for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from io import StringIO
from typing import Any

import numpy as np

from foretell.display import WIDTH, View, Viewed, counted
from foretell.events.notification import pairs_text
from foretell.forecast.evaluation.metrics import ConfusionCounts
from foretell.forecast.evaluation.model_warnings import metric_warnings
from foretell.forecast.evaluation.notification_metrics import NotificationMetrics
from foretell.forecast.evaluation.scorecard import Metrics, Scorecard

#: The number of keys that the table shows; the JSON has more.
SHOWN_KEYS = 10


#: The scorecards whose calibration the text shows; the JSON has all.
SHOWN_CALIBRATIONS = 5


@dataclass(frozen=True, repr=False)
class Report(Viewed):
    """`scorecards` has one for each subscription and horizon; `warnings` are reasons to distrust the model, `notes` say
    how forecasts were made where there is a choice. `text()` has all tables, `as_dict()` all figures.

    >>> Report((), ("the model is stale",))
    Backtest of 0 statements
      warning: the model is stale
    """

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
        # In a notebook rich shows what it prints in place of writing it.
        console = Console(file=file, width=WIDTH, highlight=False, markup=False, force_jupyter=False)
        for title, table in _tables(self.scorecards):
            console.print(title)
            console.print(table)
        return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; NaN and infinity become None."""
        return {
            "scorecards": [_plain_scorecard(card) for card in self.scorecards],
            "warnings": list(self.warnings),
            "notes": list(self.notes),
        }

    def _view(self, rows: int) -> View:
        shown = [
            (card.subscription, str(card.horizon), *_probability_cells(card.overall)) for card in self.scorecards[:rows]
        ]
        remarks = [*(f"note: {note}" for note in self.notes), *(f"warning: {warning}" for warning in self.warnings)]
        if len(remarks) > 3:
            remarks[2:] = [f"{len(remarks) - 2} more notes and warnings: see .text()"]
        title = f"Backtest of {counted(len({card.subscription for card in self.scorecards}), 'statement')}"
        header = ("statement", "within", *_PROBABILITY_METRICS)
        return View(title, header, shown, remarks, len(self.scorecards) - len(shown))


# ── tables ──


_PROBABILITY_METRICS = ("points", "base rate", "AUC", "Brier", "skill", "calibr. error")


def _tables(cards: Sequence[Scorecard]) -> Iterator[tuple[str, Any]]:
    """The tables with their titles."""
    yield "Probability forecasts", _overall(cards)
    yield "At the threshold: points that reach it, and notifications on rising to it", _at_threshold(cards)
    if any(card.overall.intervals is not None and card.overall.intervals.made for card in cards):
        yield "Intervals for the next match", _intervals(cards)
    for card in cards[:SHOWN_CALIBRATIONS]:
        if card.overall.points:
            yield (
                f"{card.subscription} within {card.horizon}: forecasts, and the fraction that came true",
                _calibration(card),
            )
    for card in cards:
        if card.keys:
            yield f"{card.subscription} within {card.horizon}, by key", _by_key(card)


def _overall(cards: Iterable[Scorecard]) -> Any:
    table = _table(("statement", "within"), (*_PROBABILITY_METRICS, "censored"))
    for card in cards:
        overall = card.overall
        table.add_row(card.subscription, str(card.horizon), *_probability_cells(overall), f"{overall.censored:,}")
    return table


def _at_threshold(cards: Iterable[Scorecard]) -> Any:
    columns = ("above", "precision", "recall", "noti- fied", "came true", "fore- seen", "lead time")
    table = _table(("statement", "within"), columns)
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
            _amount(card, notifications.lead[k]),
        )
    return table


def _intervals(cards: Iterable[Scorecard]) -> Any:
    columns = ("intervals", "precision", "spread", "distance", "censored")
    table = _table(("statement", "within"), columns)
    for card in cards:
        if (intervals := card.overall.intervals) is not None:
            table.add_row(
                card.subscription,
                str(card.horizon),
                f"{intervals.made:,}",
                _percent(intervals.precision),
                _amount(card, intervals.spread),
                _amount(card, intervals.distance),
                f"{intervals.censored:,}",
            )
    return table


def _calibration(card: Scorecard) -> Any:
    table = _table(("forecast",), ("points", "mean forecast", "came true"))
    bins = card.overall.calibration
    columns = (bins.low, bins.high, bins.count, bins.forecast, bins.observed)
    for low, high, count, forecast, observed in zip(*(column.tolist() for column in columns), strict=True):
        text = f"below {high:g}" if low == 0 else f"{low:g} or more" if high == 1 else f"{low:g} to {high:g}"
        table.add_row(text, f"{count:,}", f"{forecast:.2g}", f"{observed:.2g}")
    return table


def _key_cell(key: str) -> str:
    """The key of a lane, which is a JSON object, as views show it."""
    try:
        values = json.loads(key)
    except ValueError:
        return key
    return pairs_text(values) if isinstance(values, dict) else key


def _by_key(card: Scorecard) -> Any:
    threshold = f"{card.overall.confusion.thresholds[card.table_threshold]:g}"
    columns = (*_PROBABILITY_METRICS, f"precision at {threshold}", "recall")
    table = _table(("key",), columns)
    for key, metrics in card.keys[:SHOWN_KEYS]:
        table.add_row(_key_cell(key), *_probability_cells(metrics), *_threshold_cells(metrics, card.table_threshold))
    more = len(card.keys) - SHOWN_KEYS + card.more_keys
    if more > 0:
        table.add_row(f"… {more:,} more", *[""] * len(columns))
    return table


def _table(names: Iterable[str], numbers: Iterable[str]) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in names:
        table.add_column(name, overflow="fold")  # a long name goes on in the next line, so that no number is cut off
    for name in numbers:
        table.add_column(name.replace(" ", "\n", 1), justify="right", no_wrap=True)
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
    """A fraction; of a small one two digits, so that rare matches are seen."""
    if math.isnan(value):
        return "–"
    return f"{100 * value:.2g}%" if 0 < value < 0.00095 else f"{value:.1%}"


def _number(value: float) -> str:
    if math.isnan(value):
        return "–"
    return f"{value:.1g}" if 0 < abs(value) < 0.00095 else f"{value:,.3f}"


def _amount(card: Scorecard, value: float) -> str:
    """A mean number of events, or a mean duration."""
    return "–" if math.isnan(value) else card.horizon.amount_text(value)


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
        "calibration": _plain_fields(overall.calibration),
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
