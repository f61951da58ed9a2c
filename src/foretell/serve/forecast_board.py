"""The forecasts of keys with their recent past: the likeliest and latest of each statement, in bounded memory."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from foretell.serve.records import EventTime, ForecastPoint, StatementSource

#: Keys of a statement that are kept, those that an answer has, and the points of each.
_MOST_KEYS, SHOWN_KEYS, MOST_POINTS = 500, 50, 60
#: Smaller changes of a probability are no new point.
_SMALL = 0.001


@dataclass
class KeyForecast:
    """The forecast of one key; `serial` says how late it changed."""

    statement: str
    key: Mapping[str, Any] | None
    probability: float = 0.0
    at: EventTime = None
    match: EventTime = None
    serial: int = 0
    history: deque[tuple[EventTime, float]] = field(default_factory=lambda: deque(maxlen=MOST_POINTS))


class ForecastBoard:
    """Not safe for threads by itself: the recorder has the lock."""

    def __init__(self) -> None:
        self._keys: dict[str, dict[str, KeyForecast]] = {}
        self._serial = 0

    def update(self, points: Iterable[ForecastPoint]) -> None:
        for point in points:
            known = self._of(point.statement, point.key)
            if known.history and known.at == point.at and abs(known.probability - point.probability) < _SMALL:
                continue
            if len(known.history) > 1 and all(abs(p - point.probability) < _SMALL for _, p in list(known.history)[-2:]):
                known.history.pop()  # a level stretch needs its two ends alone
            self._serial += 1
            known.probability, known.at, known.serial = point.probability, point.at, self._serial
            known.history.append((point.at, round(point.probability, 4)))

    def matched(self, statement: str, key: Mapping[str, Any] | None, at: EventTime) -> None:
        """Remember the latest match of a key that has forecasts."""
        known = self._keys.get(statement, {}).get(_name(key))
        if known is not None:
            known.match = at

    def forget(self, statement: str) -> None:
        self._keys.pop(statement, None)

    def _of(self, statement: str, key: Mapping[str, Any] | None) -> KeyForecast:
        keys = self._keys.setdefault(statement, {})
        name = _name(key)
        if name not in keys:
            if len(keys) >= _MOST_KEYS:
                del keys[min(keys, key=lambda each: keys[each].serial)]
            keys[name] = KeyForecast(statement, key)
        return keys[name]

    def rows(self, sources: Mapping[str, StatementSource], wanted: Collection[str] = ()) -> list[dict[str, Any]]:
        """The highest and latest of each statement, with their past."""
        chosen: list[KeyForecast] = []
        for name, keys in self._keys.items():
            if not wanted or name in wanted:
                by_height = sorted(keys.values(), key=lambda known: (-known.probability, -known.serial))
                chosen += by_height[:SHOWN_KEYS]
        return [{**_row(known, sources), "history": list(map(list, known.history))} for known in chosen]

    def changed(
        self, since: int, most: int, sources: Mapping[str, StatementSource]
    ) -> tuple[list[dict[str, Any]], int]:
        """The forecasts that changed since a serial number, newest first, and the number of now."""
        every = [known for keys in self._keys.values() for known in keys.values() if known.serial > since]
        every.sort(key=lambda known: -known.serial)
        return [_row(known, sources) for known in every[:most]], self._serial


def _row(known: KeyForecast, sources: Mapping[str, StatementSource]) -> dict[str, Any]:
    source = sources.get(known.statement)
    return {
        "statement": known.statement,
        "key": known.key,
        "probability": known.probability,
        "threshold": None if source is None else source.threshold,
        "horizon": None if source is None else source.horizon,
        "at": known.at,
        "match": known.match,
    }


def _name(key: Mapping[str, Any] | None) -> str:
    return json.dumps(key, sort_keys=True, default=str)
