"""Half a surrogate, NUL, and times at the ends of their range on Spark, compared with the embedded engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import foretell as ft
from foretell.events.types import LAST_TIME

WHOLE = """STREAM s (k STRING, t INT) TIME t;
SUBSCRIBE m FROM s PER k MATCH a ; b WITHIN 5 RETURN a.k AS k;
SUBSCRIBE quiet FROM s PER k MATCH a ; !b WITHIN 5 DEFINE b AS FALSE;"""
STAMPED = WHOLE.replace("t INT", "t TIMESTAMP").replace("WITHIN 5", "WITHIN 5 s")

EVENTS: list[dict[str, Any]] = [
    *({"k": k, "t": t} for k in ("x", "a\0b", "a\0c", "\ud800") for t in (1, 3)),
    *({"k": "x", "t": sign * (LAST_TIME - back)} for sign in (-1, 1) for back in (2, 0, -1)),
    *({"k": "x", "t": sign * (2**63 - 1)} for sign in (-1, 1)),
]
STAMPS: list[dict[str, Any]] = [
    {"k": "x", "t": t}
    for year in ("0001", "9999")
    for t in (f"{year}-12-31T23:59:58Z", f"{year}-12-31T23:59:59Z", f"{year}-12-31T23:59:59.999999Z")
]


def _json(events: list[dict[str, Any]], folder: Path) -> Path:
    (folder / "s.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    return folder / "s.jsonl"


def _csv(events: list[dict[str, Any]], folder: Path) -> Path:
    text = "k,t\n" + "".join(f"{event['k']},{event['t']}\n" for event in events)
    (folder / "s.csv").write_bytes(text.encode("utf-8", "surrogatepass"))
    return folder / "s.csv"


@pytest.mark.parametrize("write", [_json, _csv])
@pytest.mark.parametrize(("text", "events"), [(WHOLE, EVENTS), (STAMPED, STAMPS)], ids=["whole", "timestamps"])
def test_files(spark: SparkSession, write: Any, text: str, events: list[dict[str, Any]], tmp_path: Path) -> None:
    path = write(events, tmp_path)
    embedded: Any = ft.run(text, {"s": path}, engine="embedded")
    on_spark: Any = ft.run(text, {"s": path}, engine="spark")
    assert len(embedded) > 4
    assert [str(n) for n in on_spark] == [str(n) for n in embedded]
    assert [(bad.row, bad.reason) for bad in on_spark.bad] == [(bad.row, bad.reason) for bad in embedded.bad]
    nulled = [[(values.column, values.count) for values in found.unreadable] for found in (on_spark, embedded)]
    assert nulled[0] == nulled[1]


def test_frames(spark: SparkSession) -> None:
    events = [event for event in EVENTS if event["k"] != "\ud800"]
    frame = spark.createDataFrame([(event["k"], event["t"]) for event in events], "k STRING, t BIGINT")
    embedded: Any = ft.run(WHOLE, {"s": events}, engine="embedded")
    found = ft.run(WHOLE, {"s": frame})
    rows = [row for row in found.collect() if row["kind"] == "match"]
    wanted = embedded.to_arrow().select(["subscription", "start", "end", "key"]).to_pylist()
    assert sorted(map(repr, wanted)) == sorted(
        repr({name: row.asDict(recursive=True)[name] for name in ("subscription", "start", "end", "key")})
        for row in rows
    )
