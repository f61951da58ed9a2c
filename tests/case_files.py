"""The cases in tests/cases/*.toml: this stream, this subscription, these notifications. Every engine runs them all.

    [[case]]
    name = "the very next event"
    text = "SUBSCRIBE m FROM s MATCH a , b DEFINE a AS kind = 'a', b AS kind = 'b' AND v = $v;"
    expect = "m 1..2 a=0 b=1 $v=5"
    streams.s = '''
    time kind v
    1    a    3
    2    b    5
    '''

Streams are tables: a header, then a row an event; `-` is NULL, quotes hold a text with blanks together. The column
`time` is the time unless a STREAM statement says otherwise. `expect` has a line a notification, in order:

    subscription start..end step=event step=[event,event] step=- $binding=value per.attribute=value
                 [kind:estimate] [p~0.95] [id:row] [token=x]
                 [score:independent] [lost.step~low..high] [gap.after.before~0.95]

With one of the last three a line says all that an estimate rests on; its score is that of both ends unless it says
another one, and `-` is the edge of the window. Times with a fraction are as near as 1e-3.

Also: `tables.NAME` (as a stream), `until`, `model` (a table), and `error` (the code of the error expected instead).
`late.NAME` are events of a stream that come later than LATE BY allows; `arrives` is the time that was reached by then.
`late_cases` has the cases with such events, `cases` the others.
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from foretell.events.estimate_detail import EstimateDetail
from foretell.events.notification import Notification
from foretell.events.types import Scalar, Type, format_timestamp, parse_timestamp

FOLDER = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Case:
    file: str
    name: str
    text: str
    streams: Mapping[str, list[dict[str, Scalar]]]
    expect: list[dict[str, Any]]
    tables: Mapping[str, list[dict[str, Scalar]]] = field(default_factory=dict)
    until: str | int | float | None = None
    model: Mapping[str, object] | None = None
    error: str | None = None
    late: Mapping[str, list[dict[str, Scalar]]] = field(default_factory=dict)

    @property
    def is_compiled(self) -> bool:
        """Whether the compiled engine runs the case."""
        return True

    @property
    def time(self) -> dict[str, str]:
        """The time column of the streams that the text does not declare."""
        return {name: "time" for name in self.streams if f"STREAM {name} " not in self.text}


def cases() -> list[Case]:
    return [case for path in sorted(FOLDER.glob("*.toml")) for case in _read(path) if not case.late]


def late_cases() -> list[Case]:
    return [case for path in sorted(FOLDER.glob("*.toml")) for case in _read(path) if case.late]


def _read(path: Path) -> Iterator[Case]:
    for raw in tomllib.loads(path.read_text(encoding="utf-8"))["case"]:
        unknown = set(raw) - {"name", "text", "streams", "expect", "tables", "until", "model", "error", "why", "late"}
        assert not unknown, f"{path.name}: {raw['name']}: unknown {unknown}"
        assert ("expect" in raw) != ("error" in raw), f"{path.name}: {raw['name']}: expect or error"
        yield Case(
            file=path.stem,
            name=raw["name"],
            text=raw["text"],
            streams={name: _table(text) for name, text in raw.get("streams", {}).items()},
            expect=[_expected(line) for line in raw.get("expect", "").splitlines() if line.strip()],
            tables={name: _table(text) for name, text in raw.get("tables", {}).items()},
            until=raw.get("until"),
            model=raw.get("model"),
            error=raw.get("error"),
            late={name: _table(text) for name, text in raw.get("late", {}).items()},
        )


def _table(text: str) -> list[dict[str, Scalar]]:
    header, *rows = [shlex.split(line) for line in text.splitlines() if line.strip()]
    for row in rows:
        assert len(row) == len(header), row
    return [dict(zip(header, map(_scalar, row), strict=True)) for row in rows]


def _scalar(text: str) -> Scalar:
    if text in ("-", "true", "false"):
        return {"-": None, "true": True, "false": False}[text]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text


def _value(text: str) -> Scalar | list[Scalar]:
    if text.startswith("["):
        return [_scalar(item) for item in text[1:-1].split(",")]
    return _scalar(text)


def _expected(line: str) -> dict[str, Any]:
    subscription, span, *rest = shlex.split(line)
    start, end = span.split("..")
    row: dict[str, Any] = {
        "subscription": subscription,
        "kind": "match",
        "start": _scalar(start),
        "end": _scalar(end),
        "key": None,
        "id": None,
        "probability": 1.0,
        "bindings": {},
        "events": {},
        "estimate": None,
    }
    detail: dict[str, Any] = {"score": "both ends", "lost": {}, "gaps": []}
    for item in rest:
        if item.startswith("kind:"):
            row["kind"] = item.removeprefix("kind:")
        elif item.startswith("id:"):
            row["id"] = _scalar(item.removeprefix("id:"))
        elif item.startswith("p~"):
            row["probability"] = pytest.approx(float(item.removeprefix("p~")), abs=1e-4)
            row["kind"] = "estimate"
        elif item.startswith("score:"):
            row["estimate"] = detail | {"score": item.removeprefix("score:")}
        elif item.startswith(("lost.", "gap.")):
            row["estimate"] = row["estimate"] or detail
            _add_detail(row["estimate"], item)
        elif item.startswith("token="):
            row["bindings"], row["kind"] = {"token": item.removeprefix("token=")}, "token"
        elif item.startswith("$"):
            name, _, found = item[1:].partition("=")
            row["bindings"][name] = _approximate(_scalar(found))
        elif item.startswith("per."):
            name, _, found = item.removeprefix("per.").partition("=")
            row["key"] = {**(row["key"] or {}), name: _scalar(found)}
        else:
            name, _, found = item.partition("=")
            row["events"][name] = _value(found)
    if row["kind"] in ("estimate", "confirmed", "withdrawn") and row["id"] is None:
        row["id"] = ANY  # an estimate has an id of its own
    if row["kind"] == "withdrawn":
        row["probability"] = 0.0
    if row["kind"] == "estimate" and row["estimate"] is None:
        row["estimate"] = ANY
    return row


def _add_detail(detail: dict[str, Any], item: str) -> None:
    """Add when a lost step happened, or the factor of a gap."""
    name, _, found = item.partition("~")
    group, *steps = name.split(".")
    if group == "lost":
        detail["lost"][steps[0]] = [_near(_scalar(end)) for end in found.split("..")]
    else:
        detail["gaps"].append([*map(_scalar, steps), pytest.approx(float(found), abs=1e-4)])


def _near(time: Scalar) -> Any:
    if isinstance(time, str):
        return pytest.approx(parse_timestamp(time), abs=1000)
    return pytest.approx(time, abs=1e-3) if isinstance(time, float) else time


def _approximate(value: Scalar) -> Any:
    return pytest.approx(value, rel=1e-9) if isinstance(value, float) else value


def rows(notifications: Iterable[Notification]) -> list[dict[str, Any]]:
    """Notifications in the shape of `expect`."""
    return [
        {
            "subscription": n.subscription,
            "kind": n.kind,
            "start": _time(n.start, n.time_type),
            "end": _time(n.end, n.time_type),
            "key": None if n.key is None else dict(n.key),
            "id": n.id,
            "probability": n.probability,
            "bindings": dict(n.bindings),
            "events": {step: list(e) if isinstance(e, list) else e for step, e in n.events.items()},
            "estimate": None if n.estimate is None else _detail(n.estimate),
        }
        for n in notifications
    ]


def _detail(detail: EstimateDetail) -> dict[str, Any]:
    return {
        "score": detail.score,
        "lost": {lost.step: [lost.low, lost.high] for lost in detail.lost},
        "gaps": [[gap.after, gap.before, gap.factor] for gap in detail.gaps],
    }


def _time(time: int | float, kind: Type) -> object:
    return format_timestamp(int(time)) if kind is Type.TIMESTAMP else time


def sampled(every: Iterable[Case], step: int = 3) -> list[Any]:
    """Every so many of the cases as a quick test, the others as long ones."""
    return [
        pytest.param(case, id=f"{case.file}: {case.name}", marks=[] if number % step == 0 else [pytest.mark.soak])
        for number, case in enumerate(every)
    ]
