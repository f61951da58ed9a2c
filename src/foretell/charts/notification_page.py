"""The page of matches and estimates: a table, and for each the charts of its events and its probability."""

from __future__ import annotations

import heapq
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from foretell.arguments.statements import SubscriptionsLike
from foretell.arguments.validation import bad_argument
from foretell.charts.estimates import EstimateCharts
from foretell.charts.lane_history import LaneHistory
from foretell.charts.page import ChartPage, PageTable, Section
from foretell.display import counted
from foretell.errors import InputError
from foretell.events.estimate_detail import CONFIDENCE
from foretell.events.ingest.read_options import ReadOptions
from foretell.events.notification import Notification, pairs_text
from foretell.language.checked import CheckedStatement, CheckedSubscription
from foretell.notify.files import in_parts
from foretell.notify.lazy_notifications import LazyNotifications
from foretell.notify.notifications import Notifications

#: The estimates and matches on a page.
MOST_SHOWN = 50

_HEADER = ("", "statement", "kind", "probability", "lost", "start", "end", "key")

_MATCH, _ESTIMATE = "match", "estimate"

_TITLE = "Estimates and matches"

_LEGEND = (
    "A timeline has a row for each step: points are its events, with their names; an orange band is the interval in "
    f"which a lost event happened with {CONFIDENCE:.0%} probability, with equal chances before and after; a dashed "
    "line is the time in which a negated step was not seen. The bars beside it show how the probability of an estimate "
    "falls from 1 by the factor of each gap."
)

_LANES = "Ticks in the lowest row are the other events of the lane."


def estimate_page(
    notifications: Iterable[Notification],
    path: str | os.PathLike[str] | None = None,
    *,
    subscriptions: SubscriptionsLike | None = None,
    inputs: Mapping[str, object] | None = None,
    time: Mapping[str, str] | str | None = None,
    read: ReadOptions | Mapping[str, ReadOptions] | None = None,
) -> ChartPage:
    """A page of the most probable estimates, and then of the first matches, with their charts. It opens without a
    network; with a `path` it is written there. The result of `ft.run` also tells windows, negated steps and thresholds;
    a list of notifications does not.

    With the `subscriptions` and the `inputs` of the run, timelines show the other events of the lane, and the times of
    all events of a match. `time` and `read` are those of the run.
    """
    if path is not None and not isinstance(path, str | os.PathLike):
        raise bad_argument("path", "the path of a file", path)
    if not isinstance(notifications, Iterable):
        raise bad_argument("notifications", "the result of ft.run or a list of notifications", notifications)
    if (subscriptions is None) != (inputs is None):
        missing = "inputs" if inputs is None else "subscriptions"
        hint = "pass both as to ft.run, or neither"
        raise InputError("bad-argument", f"{missing}: the events of lanes need it", hint=hint)
    page = NotificationPage()
    if isinstance(notifications, Notifications):
        page.describe(notifications.statements)
    for part in in_parts(notifications):
        page.write(part)
    if subscriptions is not None and inputs is not None:
        page.lanes = LaneHistory.read(subscriptions, inputs, time, read)
    found = page.chart_page()
    if path is not None:
        found.save(path)
    return found


@dataclass
class _Shown:
    """A match or an estimate on the page."""

    notification: Notification
    #: The kind of a later notification about it: it was confirmed or withdrawn.
    outcome: str = ""


class NotificationPage:
    """An output that keeps the most probable estimates and the first matches, in memory that does not depend on the
    number of all."""

    def __init__(self, most: int = MOST_SHOWN) -> None:
        self._most = most
        self._statements: Mapping[str, CheckedSubscription] = {}
        self._counts: Counter[str] = Counter()
        self._matches: list[Notification] = []
        self._estimates: dict[str, _Shown] = {}
        self._ranking: list[tuple[float, int, str]] = []  # the least probable first, of equal ones the latest
        self._numbers = count()
        #: The other events of the lanes, where they are known.
        self.lanes = LaneHistory()

    def describe(self, statements: Iterable[CheckedStatement]) -> None:
        """The statements of the notifications, before the first of these."""
        self._statements = {s.name: s for s in statements if isinstance(s, CheckedSubscription)}

    def write(self, part: Sequence[Notification]) -> None:
        for notification in self._relevant(part):
            if notification.kind == _MATCH:
                self._matches.append(notification)
            elif notification.kind == _ESTIMATE:
                self._rank(notification)
            elif shown := self._estimates.get(_identity(notification)):
                shown.outcome = notification.kind

    def _relevant(self, part: Sequence[Notification]) -> Iterator[Notification]:
        """The notifications that may be on the page or change it; of matches no more than it has room for."""
        if isinstance(part, LazyNotifications):
            counts = part.counts()
            # Estimates come before what came later about them.
            for name in sorted(counts, key=lambda name: name[1] != _ESTIMATE):
                subscription, kind = name
                self._counts[kind] += counts[name]
                wanted = min(counts[name], self._room) if kind == _MATCH else counts[name]
                yield from part.first(subscription, kind, wanted)
            return
        for notification in part:
            self._counts[notification.kind] += 1
            if notification.kind != _MATCH or self._room:
                yield notification

    @property
    def _room(self) -> int:
        return self._most - len(self._matches)

    def _rank(self, estimate: Notification) -> None:
        rank = estimate.probability, -next(self._numbers)
        if len(self._ranking) == self._most and rank < self._ranking[0][:2]:
            return
        identity = _identity(estimate)
        self._estimates[identity] = _Shown(estimate)
        heapq.heappush(self._ranking, (*rank, identity))
        if len(self._ranking) > self._most:
            *_, least = heapq.heappop(self._ranking)
            self._estimates.pop(least, None)

    # ── the page ──

    def save(self, path: Path) -> None:
        self.chart_page().save(path)

    def html(self) -> str:
        return self.chart_page().html()

    def chart_page(self) -> ChartPage:
        shown, rows, sections = self._shown(), [], []
        for number, each in enumerate(shown, 1):
            slug, notification = f"n{number}", each.notification
            statement = self._statements.get(notification.subscription)
            charts = EstimateCharts(slug, notification, statement, self.lanes.lane(notification)).charts()
            rows.append((slug, (str(number), *_cells(each))))
            sections.append(Section(slug, f"{number}. {_title(notification)}", _caption(each), tuple(charts)))
        introduction = " ".join([self._number_text(shown), _LEGEND, *([_LANES] if self.lanes.tables else [])])
        return ChartPage(_TITLE, introduction, tuple(sections), PageTable(_HEADER, tuple(rows)))

    def _shown(self) -> list[_Shown]:
        ranked = sorted(self._ranking, reverse=True)
        estimates = [self._estimates[identity] for *_, identity in ranked if identity in self._estimates]
        return [*estimates, *map(_Shown, self._matches)][: self._most]

    def _number_text(self, shown: Sequence[_Shown]) -> str:
        """How many there are of each kind, and how many of them the page shows."""
        texts = []
        for kind, part in ((_ESTIMATE, "the {} most probable"), (_MATCH, "the first {}")):
            total, count_shown = self._counts[kind], sum(each.notification.kind == kind for each in shown)
            which = "all" if count_shown == total else part.format(count_shown) if count_shown else "none"
            if total:
                texts.append(f"{which} of {counted(total, kind, 'matches' if kind == _MATCH else '')}")
        return f"The page shows {' and '.join(texts)}." if texts else "There are no estimates and no matches."


def _identity(notification: Notification) -> str:
    """The same for an estimate and for what comes later about it."""
    parts = [notification.subscription, notification.id, notification.key, notification.events]
    return json.dumps(parts, sort_keys=True, default=str)


def _title(notification: Notification) -> str:
    key = pairs_text(notification.key or {})
    return f"{notification.subscription} {key}" if key else notification.subscription


def _cells(shown: _Shown) -> tuple[str, ...]:
    """The cells of the header's columns, but for the number."""
    notification = shown.notification
    lost = () if notification.estimate is None else notification.estimate.lost
    kind = f"{notification.kind}, {shown.outcome}" if shown.outcome else notification.kind
    texts = notification.cells | {
        "statement": notification.subscription, "kind": kind, "lost": ", ".join(step.step for step in lost)
    }  # fmt: skip
    return tuple(texts[name] for name in _HEADER[1:])


def _caption(shown: _Shown) -> str:
    notification, cells = shown.notification, shown.notification.cells
    texts = [f"From {cells['start']} to {cells['end']}"]
    if notification.kind == _ESTIMATE:
        detail = notification.estimate
        score = f" ({detail.score})" if detail is not None else ""
        texts.append(f"probability {cells['probability']}{score}")
    if shown.outcome:
        texts.append(f"{shown.outcome} later")
    return "; ".join([*texts, *filter(None, [cells["bindings"]])])
