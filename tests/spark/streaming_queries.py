"""Streaming queries from folders of files: logins, their statements, and the rows of a query and of the engine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import foretell as ft

LOGINS = "STREAM logins (id STRING, ip STRING, ok BOOL, at TIMESTAMP) TIME at ID id LATE BY 20 s;"
WATCH = (
    LOGINS
    + """
SUBSCRIBE guess FROM logins PER ip MATCH a , b , c DEFINE a AS NOT ok, b AS NOT ok, c AS ok WITHIN 2 min;
SUBSCRIBE quiet FROM logins PER ip MATCH a ; !b WITHIN 1 min DEFINE a AS NOT ok;
"""
)
TYPES = {"logins": "id STRING, ip STRING, ok BOOLEAN, at TIMESTAMP"}

Event = dict[str, Any]


def logins(count: int, seed: int = 1, disorder: int = 8) -> list[Event]:
    """Return logins two seconds apart, and not quite in order."""
    random = Random(seed)
    order = sorted(range(count), key=lambda i: i + random.uniform(0, disorder))
    return [_login(i, Random(i)) for i in order]


def _login(i: int, random: Random) -> Event:
    at = f"2026-03-01T{i // 1800:02}:{i // 30 % 60:02}:{2 * i % 60:02}Z"
    return {"id": f"e{i}", "ip": f"10.0.0.{random.randrange(40)}", "ok": random.random() < 0.4, "at": at}


def crowd(count: int, at: str, ok: bool = False) -> list[Event]:
    """Return logins of many addresses at one time, for a large state."""
    return [{"id": f"{at}{i}", "ip": f"11.0.{i // 250}.{i % 250}", "ok": ok, "at": at} for i in range(count)]


def put(folder: Path, events: Iterable[Event], number: int) -> None:
    """Add a file in one step; its modification time gives its place in the order."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f".{number}.json"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    path.rename(folder / f"{number:04}.json")


def in_files(folder: Path, events: Sequence[Event], size: int, first: int = 0) -> None:
    for number, start in enumerate(range(0, len(events), size)):
        put(folder, events[start : start + size], first + number)


def frame(spark: SparkSession, folder: Path, types: str, files: int = 1) -> DataFrame:
    return spark.readStream.schema(types).option("maxFilesPerTrigger", files).json(str(folder))


def finish(notified: DataFrame, folder: Path) -> None:
    """Run a query from its checkpoint until all files are read.

    Spark gives a Python process ten seconds to start, which is too few on a busy machine: then it is tried again.
    """
    writer = notified.writeStream.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    for tries_left in reversed(range(5)):
        try:
            writer.start(str(folder / "out"), format="parquet").awaitTermination()
            return
        except StreamingQueryException as error:
            if "failed to connect back" not in str(error) or not tries_left:
                raise


def rows_of(notified: DataFrame) -> list[tuple[object, ...]]:
    notified = notified.selectExpr("subscription", "kind", "key", "start", "end", "id", "bindings", "events")
    return sorted((tuple(row) for row in notified.collect()), key=repr)


def read(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.read.parquet(str(folder / "out"))


def expected(
    spark: SparkSession, notified: Iterable[ft.Notifications], *, json: bool = False
) -> list[tuple[object, ...]]:
    """Return the rows of the engine in process, in Spark's types."""
    tables = [item.table() if json else item.to_arrow() for item in notified if len(item)]
    return sorted((row for table in tables for row in rows_of(spark.createDataFrame(table))), key=repr)
