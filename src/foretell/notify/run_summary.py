"""The figures of a run: events read and set aside, values set to NULL, lanes, notifications."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from foretell.display import View, Viewed, counted
from foretell.events.ingest.nulled_values import NulledValues, cause_of
from foretell.events.ingest.quarantine import QuarantinedEvent
from foretell.events.notification import Notification
from foretell.events.reorder_buffer import LateEvent
from foretell.notify.lazy_notifications import LazyNotifications
from foretell.notify.written_notifications import WrittenNotifications

#: Kinds of notifications with an irregular plural.
_PLURALS = {"match": "matches", "confirmed": "confirmed", "withdrawn": "withdrawn"}


@dataclass(frozen=True, repr=False)
class RunSummary(Viewed):
    """The figures of a run, the same in every engine.

    By stream: `events` read, also those set aside; events `set_aside`, by cause; values that could not be read and are
    NULL (`unreadable`), by column; `late` events. By statement: `lanes`, None where the engine does not know their
    number, and `notifications`, by kind.
    """

    events: Mapping[str, int]
    set_aside: Mapping[str, Mapping[str, int]]
    unreadable: Mapping[str, Mapping[str, int]]
    late: Mapping[str, int]
    lanes: Mapping[str, int | None]
    notifications: Mapping[str, Mapping[str, int]]

    def _view(self, rows: int) -> View:
        figures = [*self._stream_figures(), *((name, statement_figures(self, name)) for name in self.notifications)]
        title = (
            f"{counted(sum(self.events.values()), 'event')} read, {counted_kind(sum(self.matches.values()), 'match')}"
        )
        return View(title, ("", ""), figures[:rows], more=max(len(figures) - rows, 0))

    def _stream_figures(self) -> Iterator[tuple[str, str]]:
        for stream, count in self.events.items():
            yield stream, f"{counted(count, 'event')} read" if count else "no events"
            for cause, events in self.set_aside.get(stream, {}).items():
                yield stream, f"{counted(events, 'event')} set aside: {cause}"
            for column, values in self.unreadable.get(stream, {}).items():
                yield stream, f"{counted(values, 'value')} of {column} set to NULL"
            if late := self.late.get(stream):
                yield stream, counted(late, "late event")

    @property
    def matches(self) -> dict[str, int]:
        """The number of matches of each statement."""
        return {name: kinds.get("match", 0) for name, kinds in self.notifications.items()}

    @property
    def forecasts(self) -> dict[str, int]:
        """The number of forecasts of each statement."""
        return {name: kinds.get("forecast", 0) for name, kinds in self.notifications.items()}

    @property
    def all_set_aside(self) -> bool:
        """Whether there were events, and all of them were set aside."""
        total = sum(self.events.values())
        return 0 < total == sum(sum(causes.values()) for causes in self.set_aside.values())

    @property
    def nothing_to_match(self) -> str:
        """The sentence for a run whose events were all set aside; else an empty text."""
        events = counted(sum(self.events.values()), "event")
        return f"all {events} were set aside: there was nothing to match" if self.all_set_aside else ""


def counted_kind(count: int, kind: str) -> str:
    """
    >>> counted_kind(1, "match"), counted_kind(0, "match"), counted_kind(1200, "forecast")
    ('1 match', 'no matches', '1,200 forecasts')
    """
    noun = kind if count == 1 else _PLURALS.get(kind, f"{kind}s")
    return f"{count:,} {noun}" if count else f"no {noun}"


def statement_figures(summary: RunSummary, name: str) -> str:
    """The notifications and lanes of one statement, as in '2 matches in 5 lanes'."""
    lanes = summary.lanes.get(name)
    place = f" in {counted(lanes, 'lane')}" if lanes is not None else ""
    kinds = (counted_kind(count, kind) for kind, count in summary.notifications[name].items())
    return f"{', '.join(kinds) or 'no matches'}{place}"


def waiting_notes(counts: Mapping[str, int]) -> tuple[str, ...]:
    """A note for each statement with partial matches that time would complete, had it not ended with the last event."""
    notes = []
    for name, count in counts.items():
        waiting = f"{counted(count, 'partial match', 'partial matches')} of '{name}' {'was' if count == 1 else 'were'}"
        advice = "let it pass with --until TIME, or until=TIME"
        notes.append(f"{waiting} still waiting for time to pass at the end of the input; {advice}")
    return tuple(notes)


def summarize(
    rows: Sequence[Notification],
    totals: Iterable[tuple[str, int]],
    bad: Iterable[QuarantinedEvent],
    unreadable: Iterable[NulledValues],
    lanes: Iterable[tuple[str, int | None]],
    late: Iterable[LateEvent],
) -> RunSummary:
    by_statement = dict(lanes)
    notifications: dict[str, dict[str, int]] = {name: {} for name in by_statement}
    for (name, kind), count in sorted(counts_by_kind(rows).items()):
        notifications.setdefault(name, {})[kind] = count
    return RunSummary(
        events=dict(totals),
        set_aside=_nested(Counter((event.stream, cause_of(event.reason)) for event in bad)),
        unreadable=_nested(_unreadable(unreadable)),
        late=dict(Counter(event.stream for event in late)),
        lanes=by_statement,
        notifications=notifications,
    )


def _unreadable(records: Iterable[NulledValues]) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    for record in records:
        counts[record.stream, record.column] += record.count
    return counts


def counts_by_kind(rows: Sequence[Notification]) -> Counter[tuple[str, str]]:
    """The number of notifications by statement and kind, in the order of the first of each."""
    if isinstance(rows, LazyNotifications | WrittenNotifications):
        return Counter(rows.counts())
    return Counter((row.subscription, row.kind) for row in rows)


def _nested(counts: Mapping[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    nested: dict[str, dict[str, int]] = {}
    for (outer, inner), count in counts.items():
        nested.setdefault(outer, {})[inner] = count
    return nested
