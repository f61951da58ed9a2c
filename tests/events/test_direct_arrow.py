"""Arrow data that are read as they are: the same events as the general reader gives, or none at all."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import foretell as ft
from foretell.events.ingest.direct_arrow import DirectReader
from foretell.events.ingest.reader import StreamDeclaration, read
from foretell.events.types import LAST_TIME, Type

TYPES = {"k": Type.STRING, "v": Type.INT, "w": Type.FLOAT, "b": Type.BOOL, "at": Type.TIMESTAMP, "t": Type.INT}
DECLARED = StreamDeclaration("s", TYPES, "t")
UTC = pa.timestamp("us", tz="UTC")


def table(chance: random.Random, rows: int) -> pa.Table:
    """Random events; some have what must be read with care, or columns of other types."""
    wrong = chance.random() < 0.5

    def notifications_of(*usual: Any, rare: tuple[Any, ...] = ()) -> list[Any]:
        return [chance.choice(rare) if wrong and rare and chance.random() < 0.05 else chance.choice(usual)
                for _ in range(rows)]  # fmt: skip

    texts: Any = pa.array(notifications_of("a", "b", "é", None), pa.string())
    if chance.random() < 0.1:
        data = pa.array([b"a", b"\xff"] * rows, pa.binary())[:rows]
        texts = pa.Array.from_buffers(pa.string(), rows, data.buffers()[:3])
    columns: dict[str, Any] = {
        "k": chance.choice([texts, texts.dictionary_encode() if chance.random() < 0.5 else texts]),
        "v": pa.array(
            notifications_of(1, 2, None),
            chance.choice([pa.int64(), pa.int64(), pa.int32(), pa.int8(), pa.uint8(), pa.uint64(), pa.float64()]),
        ),
        "w": pa.array(
            notifications_of(1.5, None, rare=(float("nan"), float("inf"))), chance.choice([pa.float64(), pa.float32()])
        ),
        "b": pa.array(notifications_of(True, False, None)),
        "at": pa.array(
            notifications_of(0, 1_700_000_000_000_000, None, rare=(-(10**17), 10**18)),
            chance.choice([*[UTC] * 9, pa.timestamp("us"), pa.timestamp("ns", tz="UTC"), pa.int64()]),
        ),
        "t": pa.array(notifications_of(*range(9), rare=(None, LAST_TIME + 1, -LAST_TIME - 1)), pa.int64()),
        "unread": pa.array(notifications_of("x", None)),
    }
    names = [name for name in columns if not wrong or name == "t" or chance.random() < 0.97]
    chance.shuffle(names)
    whole = pa.table({name: columns[name] for name in names})
    cut = chance.randrange(rows)
    chunked = pa.concat_tables([whole.slice(0, cut), whole.slice(cut)])
    return chance.choice([whole, chunked, whole.slice(cut)])


def test_the_same_as_the_general_reader() -> None:
    direct = 0
    for seed in range(400):
        events = table(random.Random(seed), 12)
        reader = DirectReader.of(DECLARED, events.schema, None)
        found = None if reader is None else reader.read(events)
        if found is None:
            continue
        direct += 1
        wanted = read(events, DECLARED)
        assert found.table.cast(wanted.table.schema).to_pylist() == wanted.table.to_pylist(), seed
        assert (found.schema, found.total, found.time_known) == (wanted.schema, wanted.total, wanted.time_known)
        assert (wanted.quarantined, wanted.nulled, wanted.notes) == ((), (), ())
    assert direct > 60


def engine(late: str = "") -> ft.Engine:
    return ft.Engine(
        f"STREAM s (k STRING, v INT, w FLOAT, b BOOL, at TIMESTAMP, t INT) TIME t {late};"
        "SUBSCRIBE m FROM s PER k MATCH a ; b WITHIN 3 DEFINE b AS w >= a.w OR v = a.v RETURN a.at AS at, b.b AS yes;"
    )


def rows(found: ft.Notifications) -> list[str]:
    return [*map(str, found), *map(repr, found.bad), *map(repr, found.late), *map(repr, found.unreadable)]


@pytest.mark.parametrize("late", ["", "LATE BY 3"])
def test_batches_of_an_engine(late: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dictionaries and narrow numbers, with events that are held back, beside an engine that reads all in general."""
    for seed in range(25):
        chance = random.Random(seed)
        batches = [table(chance, 12) for _ in range(4)]
        found = []
        for of in (DirectReader.of, lambda *_: None):
            monkeypatch.setattr(DirectReader, "of", of)
            embedded_engine, message = engine(late), []
            for number, batch in enumerate(batches):
                times = pa.array((np.arange(batch.num_rows) // 3 + 3 * number).astype(np.int64))
                batch = batch.set_column(batch.column_names.index("t"), "t", times)
                try:
                    message += rows(embedded_engine.push("s", batch))
                except ft.InputError as error:
                    message.append(str(error))
                if number == 2:
                    embedded_engine = ft.Engine.restore(None, embedded_engine.snapshot())
            found.append([*message, *rows(embedded_engine.end())])
        assert found[0] == found[1], seed


def test_it_is_kept_from_batch_to_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    of = DirectReader.of

    def counted(*given: Any) -> DirectReader | None:
        made.append(given)
        return of(*given)

    monkeypatch.setattr(DirectReader, "of", counted)
    engine = ft.Engine("STREAM s (k STRING, t INT) TIME t; SUBSCRIBE m FROM s MATCH a ; b WITHIN 3;")
    for time in range(5):
        engine.push("s", pa.table({"k": ["x"], "t": [time]}))
    assert len(made) <= 2
