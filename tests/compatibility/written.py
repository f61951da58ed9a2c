"""Writes files that later versions must still read: a snapshot, a model, a Spark checkpoint, and the rows they lead to.

    python -m tests.compatibility.written NAME

Run it at a release, under the release's name, and never again for that name: the files are what that version wrote.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import foretell as ft

FOLDER = Path(__file__).parent / "files"

STREAM = "STREAM s (k STRING, g STRING, v FLOAT, time INT) TIME time;\n"
#: One forecast for each way in which partial matches are observed: run pools, arrival lists, absences, contexts.
FORECASTS = (
    STREAM
    + """
SUBSCRIBE strict  FROM s PER g MATCH a , b , c DEFINE a AS k = 'a', b AS k = 'b', c AS v > a.v
                  FORECAST WITHIN 3 EVENTS ABOVE 0.2;
SUBSCRIBE lists   FROM s PER g MATCH a ; b ; c DEFINE a AS k = 'a', b AS k = 'b', c AS k = 'c' WITHIN 12
                  FORECAST WITHIN 4 EVENTS ABOVE 0.4;
SUBSCRIBE timed   FROM s PER g MATCH a ;{k = 'b'} b ;{k = 'c'} c DEFINE a AS k = 'a' WITHIN 30
                  FORECAST WITHIN 8 ABOVE 0.5;
SUBSCRIBE both    FROM s MATCH a & b & c DEFINE a AS k = 'a', b AS k = 'b', c AS k = 'c' WITHIN 9
                  FORECAST WITHIN 2 EVENTS ABOVE 0.8;
SUBSCRIBE absence FROM s PER g MATCH !a DEFINE a AS k = 'a' WITHIN 8 FORECAST WITHIN 4 EVENTS ABOVE 0.3;
"""
)
LEARNING = {"order": None, "features": ("v > 5",), "enough": 10.0, "half_life": 2_000.0}

#: A stream whose state on Spark is large enough to be written in chunks.
LOGINS = """STREAM logins (id STRING, ip STRING, ok BOOL, at TIMESTAMP) TIME at ID id LATE BY 20 s;
SUBSCRIBE guess FROM logins PER ip MATCH a , b , c DEFINE a AS NOT ok, b AS NOT ok, c AS ok WITHIN 2 hours;
SUBSCRIBE later FROM logins PER ip MATCH a ; b DEFINE a AS NOT ok, b AS ok WITHIN 3 hours AFTER MATCH CONSUME;
"""
LOGIN_TYPES = "id STRING, ip STRING, ok BOOLEAN, at TIMESTAMP"


def events(count: int, seed: int, first: int = 0) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    return [
        {"k": chance.choice("aabbccd"), "g": chance.choice("pq"), "v": chance.choice([1.5, 4.0, 7.5]), "time": time}
        for time in range(first, first + count)
    ]


def logins(addresses: int, minute: int, seed: int) -> list[dict[str, Any]]:
    """One login of each address within a minute."""
    chance = random.Random(seed)
    return [
        {
            "id": f"{minute}-{i}",
            "ip": f"10.0.{i // 250}.{i % 250}",
            "ok": chance.random() < 0.3,
            "at": f"2026-03-01T00:{minute:02}:{i % 60:02}Z",
        }
        for i in range(addresses)
    ]


BATCHES = [logins(2_500, 0, 1), logins(2_500, 1, 2)]
COMING = [logins(2_500, 2, 3), logins(2_500, 4, 4)]


def rows(notifications: ft.Notifications) -> list[dict[str, Any]]:
    return [json.loads(line) for line in b"".join(notifications.lines()).splitlines()]


def forecasting_engine() -> ft.Engine:
    """An engine that has learned while it ran."""
    engine = ft.Engine(FORECASTS, learning=ft.Learning(**LEARNING))  # type: ignore[arg-type]  # a mapping of settings
    for start in range(0, 3_000, 250):
        engine.push("s", events(250, start, start))
    return engine


def rows_after(engine: ft.Engine) -> list[dict[str, Any]]:
    return [row for start in range(3_000, 3_060, 20) for row in rows(engine.push("s", events(20, start, start)))]


def rows_of_model(model: ft.Model | Path) -> list[dict[str, Any]]:
    return rows(ft.run(FORECASTS, {"s": events(80, 99, 10_000)}, model=model, engine="embedded"))


def put(folder: Path, batch: list[dict[str, Any]], number: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{number:04}.json").write_text("".join(json.dumps(event) + "\n" for event in batch))


def run_stream(folder: Path) -> None:
    """Reads all files of folder/in that the checkpoint has not seen, one in each micro-batch."""
    from foretell.spark.session import session

    frame = session().readStream.schema(LOGIN_TYPES).option("maxFilesPerTrigger", 1).json(str(folder / "in"))
    notified: Any = ft.run(LOGINS, {"logins": frame})
    writer = notified.writeStream.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    writer.start(str(folder / "out"), format="parquet").awaitTermination()


def main(name: str) -> None:
    folder = FOLDER / name
    folder.mkdir(parents=True)
    engine = forecasting_engine()
    (folder / "forecasts.ftlstate").write_bytes(engine.snapshot())
    model = ft.train(FORECASTS, {"s": events(4_000, 5)}, learning=ft.Learning(**LEARNING), engine="embedded")  # type: ignore[arg-type]  # a mapping of settings
    model.save(folder / "model.json")
    expected = {"snapshot": rows_after(engine), "model": rows_of_model(model)}
    (folder / "expected.json").write_text(json.dumps(expected, indent=0) + "\n", encoding="utf-8")
    with tempfile.TemporaryDirectory() as scratch:
        for number, batch in enumerate(BATCHES):
            put(Path(scratch) / "in", batch, number)
        run_stream(Path(scratch))
        shutil.rmtree(Path(scratch) / "out")
        for file in (Path(scratch) / "checkpoint").rglob("*"):
            if file.is_file() and file.suffix != ".zip" and scratch.encode() in file.read_bytes():
                file.write_bytes(file.read_bytes().replace(scratch.encode(), b"/FOLDER"))
                print(f"{file.relative_to(scratch)} names its folder")  # noqa: T201
        for checksum in Path(scratch).rglob(".*.crc"):
            checksum.unlink()
        shutil.make_archive(str(folder / "checkpoint"), "gztar", scratch)


if __name__ == "__main__":
    main(*sys.argv[1:])
