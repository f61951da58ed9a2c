"""Half a surrogate, NUL, times at the ends of their range, and ten thousand columns: the right result, or a reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import foretell as ft
from foretell.events.types import LAST_TIME

STREAM = "STREAM s (k STRING, t INT) TIME t;"
SAME = STREAM + "SUBSCRIBE m FROM s MATCH a ; b DEFINE b AS k = a.k WITHIN 5 RETURN a.k AS k;"
HALF = "\ud800"

#: Makes of events what a run reads, in a folder.
Source = Callable[[list[dict[str, Any]], Path], Any]


def _json(events: list[dict[str, Any]], folder: Path) -> Path:
    (folder / "s.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    return folder / "s.jsonl"


def _csv(events: list[dict[str, Any]], folder: Path) -> Path:
    rows = [list(events[0]), *(event.values() for event in events)]
    text = "".join(",".join(map(str, row)) + "\n" for row in rows)
    (folder / "s.csv").write_bytes(text.encode("utf-8", "surrogatepass"))
    return folder / "s.csv"


SOURCES = pytest.mark.parametrize("source", [lambda events, _: events, _json, _csv], ids=["Python", "JSON", "CSV"])


def _run(text: str, source: Any, **given: Any) -> ft.Notifications:
    found: Any = ft.run(text, {"s": source}, engine="embedded", **given)
    return found


@SOURCES
def test_half_a_surrogate_in_an_event(source: Source, tmp_path: Path) -> None:
    """It is no text: the value cannot be read, or the line is not UTF-8. Nothing equals it."""
    events = [{"k": "x", "t": 1}, {"k": HALF, "t": 2}, {"k": HALF, "t": 3}, {"k": "x", "t": 4}]
    found = _run(SAME, source(events, tmp_path))
    assert [(n.start, n.end, n.bindings) for n in found] == [(1, 4, {"k": "x"})]
    assert sum(values.count for values in found.unreadable) + len(found.bad) == 2


def test_half_a_surrogate_in_a_statement() -> None:
    found = _run(f"{STREAM} SUBSCRIBE m FROM s MATCH a DEFINE a AS k = '{HALF}' OR k = 'x';", [{"k": "x", "t": 1}])
    assert len(found) == 1
    found = _run(f"{STREAM} SUBSCRIBE m FROM s MATCH a DEFINE a AS k = '{HALF}';", [{"k": "x", "t": 1}])
    assert len(found) == 0


@SOURCES
def test_a_nul_is_a_character(source: Source, tmp_path: Path) -> None:
    events = [{"k": "a\0b", "t": 1}, {"k": "a\0c", "t": 2}, {"k": "a", "t": 3}, {"k": "a\0b", "t": 4}]
    found = _run(SAME, source(events, tmp_path))
    assert [(n.start, n.end, n.bindings) for n in found] == [(1, 4, {"k": "a\0b"})]
    engine = ft.Engine(SAME)
    engine.push("s", events[:3])
    assert len(ft.Engine.restore(None, engine.snapshot()).push("s", events[3:])) == 1


@SOURCES
@pytest.mark.parametrize("sign", [1, -1])
def test_the_ends_of_whole_times(source: Source, sign: int, tmp_path: Path) -> None:
    """As far as a window can be added to them; events beyond are set aside."""
    last = sign * LAST_TIME
    times = sorted([last - 2 * sign, last, last + sign, sign * (2**63 - 1)], key=abs)
    found = _run(SAME, source([{"k": "x", "t": t} for t in times], tmp_path))
    assert [(n.start, n.end) for n in found] == [(min(last, last - 2 * sign), max(last, last - 2 * sign))]
    assert [bad.reason for bad in found.bad] == ["t beyond range"] * 2


def test_time_cannot_pass_beyond_the_last() -> None:
    engine = ft.Engine(SAME)
    engine.push("s", [{"k": "x", "t": 1}])
    for now in (LAST_TIME + 1, 1e300, -1e300):
        with pytest.raises(ft.InputError):
            engine.advance(now)
    engine.advance(LAST_TIME)
    assert len(ft.Engine.restore(None, engine.snapshot()).push("s", [{"k": "x", "t": LAST_TIME}])) == 0


@SOURCES
@pytest.mark.parametrize("year", ["0001", "9999"])
def test_the_ends_of_timestamps(source: Source, year: str, tmp_path: Path) -> None:
    text = SAME.replace("t INT", "t TIMESTAMP").replace("WITHIN 5", "WITHIN 5 s")
    events = [{"k": "x", "t": f"{year}-12-31T23:59:{second}Z"} for second in (58, 59)]
    found = _run(text, source([*events, {"k": "x", "t": "10000-01-01T00:00:00Z"}], tmp_path))
    (notification,) = found
    assert year in str(notification)
    assert len(found.bad) == 1


@SOURCES
def test_ten_thousand_columns(source: Source, tmp_path: Path) -> None:
    text = "SUBSCRIBE m FROM s MATCH a ; b DEFINE b AS c9999 = a.c9999 RETURN a.c5 AS c;"
    columns = {f"c{number}": number for number in range(10_000)}
    found = _run(text, source([{**columns, "t": t} for t in (1, 2)], tmp_path), time="t")
    assert [(n.start, n.end, n.bindings) for n in found] == [(1, 2, {"c": 5})]
