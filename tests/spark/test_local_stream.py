"""Streaming queries without Spark: mappers and shard processors, with Spark's own tester for state.

All cases run, cut into micro-batches at random and out of order by as much as LATE BY allows; `test_stream` and
`test_stream_cases` run some of them on Spark itself.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

import foretell as ft
from foretell.arguments.input_settings import InputSettings
from foretell.arguments.model import as_model
from foretell.arguments.streams import declaration_of
from foretell.events.arrow_interop import table_from_bytes
from foretell.events.ingest.reader import StreamDeclaration, read
from foretell.events.ingest.watched_files import WatchedFiles
from foretell.events.types import Type
from foretell.language.subscriptions import Subscriptions
from foretell.learn.model import Model
from foretell.spark.partitioning.shard_ids import shard_ids
from foretell.spark.partitioning.shuffle_rows import CHANGES, EVENTS, ShuffleRow, read_table
from foretell.spark.streaming import chunked_state, shard_processor
from foretell.spark.streaming.deferred_processor import DeferredProcessor
from foretell.spark.streaming.local_copies import read_copy, write_copy
from foretell.spark.streaming.map_side import StreamMapper
from foretell.spark.streaming.query import StreamTopology, topology_of
from tests.case_files import Case, sampled
from tests.recover.estimate_programs import ESTIMATE_MODEL, ESTIMATES, estimate_events, wide_program
from tests.spark.micro_batches import ALL, as_types, batches, lateness_of, live

SHARD_IDS = (4112907113393557205, 4112907113393553511)
COLUMNS = ("subscription", "kind", "key", "start", "end", "id", "bindings", "events")


class LocalStream:
    """A streaming query: shuffle rows of two map tasks come to the shards, whose state stays in Spark's tester."""

    def __init__(
        self,
        program: Subscriptions,
        types: Mapping[str, Mapping[str, Type]],
        tables: Any,
        shards: int,
        model: Model | None = None,
        learning: ft.Learning | None = None,
    ) -> None:
        declarations = {name: declaration_of(program, name, InputSettings()) for name in program.sources}
        self.types, self.topology = (
            types,
            topology_of(program, declarations, tables, shards, None, model, learning, json=True),
        )
        self._tester = TwsTester(DeferredProcessor(self.topology.processor))

    def push(self, batch: Mapping[str, list[dict[str, Any]]], random: Random) -> list[str]:
        rows = [row for name, events in batch.items() for row in self._shuffle_rows(name, events, random)]
        notifications: list[str] = []
        for shard in dict.fromkeys(row.shard for row in rows):
            of_shard = [row for row in rows if row.shard == shard]
            random.shuffle(of_shard)
            for output in self.process(shard, of_shard):
                if output.notifications is not None:
                    notifications += map(shown, table_from_bytes(output.notifications).to_pylist())
        return sorted(notifications)

    def process(self, shard: int, rows: list[Row]) -> list[Row]:
        return list(self._tester.test(shard, rows))

    def _shuffle_rows(self, name: str, events: list[dict[str, Any]], random: Random) -> list[Row]:
        mapper = self.topology.mappers[name]
        cut = random.randrange(len(events) + 1)
        rows = []
        for task, part in enumerate((events[:cut], events[cut:])):
            batch = read(part, StreamDeclaration(name, self.types[name], mapper.declaration.time), whole=False)
            for encoded in mapper(iter(batch.table.select(mapper.declaration.columns).to_batches())):
                rows += [Row(**{**row, "sequence": task}) for row in encoded.to_pylist()]
        return rows


def shown(row: Mapping[str, Any]) -> str:
    """What does not depend on rounding."""
    detail = json.loads(row.get("estimate") or "{}")
    outline = detail and (detail["score"], [*detail["lost"]], [(gap["after"], gap["before"]) for gap in detail["gaps"]])
    return repr([*(row[name] for name in COLUMNS), outline])


class EmptyCache(dict[tuple[str, int], tuple[bytes, ft.Engine]]):
    """A worker that caches no engine from one micro-batch to the next."""

    def pop(self, *_: object) -> Any:
        return None


@pytest.mark.parametrize("case", sampled(ALL))
def test_case(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state of every third case is in pages, however small it is."""
    random, lateness = Random(case.name), lateness_of(case)
    if random.randrange(3) == 0:
        monkeypatch.setattr(chunked_state, "SMALL_BYTES", 0)
        monkeypatch.setattr(shard_processor, "_engines", EmptyCache())
    program, types, times = live(case, lateness)
    engine = ft.Engine(program, tables=case.tables, model=case.model)
    stream = LocalStream(program, types, case.tables, random.choice((1, 2, 5)), as_model(case.model))
    for batch in batches(case, types, times, lateness, random):
        typed = {name: as_types(events, types[name]) for name, events in batch.items()}
        wanted = engine.push_together(typed).table().to_pylist()
        assert stream.push(typed, random) == sorted(map(shown, wanted))


@pytest.mark.parametrize("seed", [*range(4), 13, 23])
def test_estimates(seed: int) -> None:
    program, random = wide_program(Random(seed)), Random(seed)
    beats = "STREAM beats (t INT) TIME t LATE BY 3; SUBSCRIBE unheard FROM beats MATCH b DEFINE b AS FALSE;"
    text = f"{program.program.replace(';', ' LATE BY 3;', 1)} {beats}"
    names = [name for name in ("v", "k", "w", "l", "e", "time") if name != "e" or " e INT" in program.stream]
    types = {"s": dict.fromkeys(names, Type.INT), "beats": {"t": Type.INT}}
    engine = ft.Engine(text, tables=program.tables, model=program.model)
    stream = LocalStream(ft.parse(text), types, program.tables, random.choice((1, 2, 3)), as_model(program.model))
    events = [{name: event[name] for name in names} for event in program.events]
    cut = random.randrange(len(events))
    for own, beat in ((events[:cut], []), (events[cut:], []), ([], [{"t": program.until + 3}])):
        batch = {"s": own, "beats": beat}
        wanted = engine.push_together(batch).table().to_pylist()
        assert stream.push(batch, random) == sorted(map(shown, wanted))


def test_late_events_confirm_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each shard judges the late events of its lanes, also after another worker has restored its state."""
    monkeypatch.setattr(shard_processor, "_engines", ForgetfulCache())
    text, random = ESTIMATES.replace("ID e;", "ID e LATE BY 2;"), Random(1)
    events = estimate_events(400)
    engine = ft.Engine(text, model=ESTIMATE_MODEL)
    types = {"s": dict.fromkeys(("time", "tag", "v", "e"), Type.INT)}
    stream = LocalStream(ft.parse(text), types, None, 3, as_model(ESTIMATE_MODEL))
    kinds = Counter[str]()
    for first in range(0, 400, 40):
        late = [event for event in events[max(0, first - 40) : first] if event["e"] % 5 == 0]
        timely = [event for event in events[first : first + 40] if event["e"] % 5]
        for batch in ({"s": late}, {"s": timely}):
            wanted = engine.push_together(batch).table().to_pylist()
            kinds.update(row["kind"] for row in wanted)
            assert [row for row in stream.push(batch, random) if "'late'" not in row] == sorted(map(shown, wanted))
    assert kinds["confirmed"] > 2
    assert kinds["withdrawn"] > 5


def test_control_streams_confirm_estimates() -> None:
    """The shard of an estimate confirms it; malformed changes are refused once."""
    events = estimate_events(300)
    engine = ft.Engine(ESTIMATES, model=ESTIMATE_MODEL)
    types = {"s": dict.fromkeys(("time", "tag", "v", "e"), Type.INT)}
    stream = LocalStream(ft.parse(ESTIMATES), types, None, 3, as_model(ESTIMATE_MODEL))
    found = engine.push_together({"s": events})
    stream.push({"s": events}, Random(1))
    withdrawn = {n.id for n in found if n.kind == "withdrawn"}
    *_, first, second = (n for n in found if n.kind == "estimate" and n.id not in withdrawn)
    changes = [
        {"number": 1, "action": "confirm", "name": first.id, "rows": '{"subscription": "theft"}'},
        {"number": 2, "action": "refute", "name": second.id},
        {"number": 3, "action": "confirm", "name": first.id},
        {"number": 4, "action": "confirm", "name": second.id, "rows": "[]"},
        {"number": 5, "action": "refute"},
    ]
    expected = [*engine.confirm(first), *engine.confirm(second, happened=False)]
    rows = []
    for shard in stream.topology.groups[0].shards:
        row = Row(shard=shard, stream=None, kind=CHANGES, sequence=0, data=json.dumps(changes).encode())
        for output in stream.process(shard, [row]):
            if output.notifications is not None:
                rows += table_from_bytes(output.notifications).to_pylist()
    told = [(row["kind"], row["id"], row["end"]) for row in rows if row["kind"] != "refused"]
    assert told == [(n.kind, n.id, n.end) for n in expected]
    refused = [json.loads(row["bindings"]) for row in rows if row["kind"] == "refused"]
    assert [row["number"] for row in refused] == [4, 5]
    assert refused[1]["reason"] == "name: expected the id of an estimate, found None"


STEPS = "DEFINE a AS k = 'a', b AS k = 'b', c AS k = 'c'"
FORECASTS = {
    "match": f"SUBSCRIBE p FROM s PER l MATCH a , b , c {STEPS} FORECAST WITHIN 2 EVENTS ABOVE 0.1;",
    "token": f"""CORRELATE m FROM s PER l DO repeat{{do{{push('x'){{accumulate{{a, b}}}}}} unless{{c}}}} {STEPS}
    FORECAST OF 'x' WITHIN 1 EVENTS ABOVE 0.3;""",
}


@pytest.mark.parametrize("kind", FORECASTS)
def test_forecasts(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forecasts are those of the engine in process, as long as it does not learn online; each micro-batch restores the
    state of its shards."""
    monkeypatch.setattr(shard_processor, "_engines", EmptyCache())
    text = f"STREAM s (k STRING, l INT, t INT) TIME t; {FORECASTS[kind]}"
    random, program = Random(1), ft.parse(text)
    events = [{"k": random.choice("aabbc"), "l": random.randrange(7), "t": t} for t in range(3_000)]
    learning = ft.Learning(online=False)
    model = ft.train(text, {"s": events[:2_000]})
    engine = ft.Engine(text, model=model, learning=learning)
    types = {"s": {"k": Type.STRING, "l": Type.INT, "t": Type.INT}}
    stream = LocalStream(program, types, None, 3, model, learning)
    kinds = set()
    for first in range(2_000, 3_000, 250):
        batch = {"s": events[first : first + 250]}
        wanted = engine.push_together(batch).table().to_pylist()
        kinds |= {row["kind"] for row in wanted}
        assert stream.push(batch, random) == sorted(map(shown, wanted))
    assert kinds == {kind, "forecast"}


def topology(shards: int) -> StreamTopology:
    program = ft.parse("STREAM s (k INT, t INT) TIME t; SUBSCRIBE a FROM s PER k MATCH x;")
    return topology_of(program, {"s": declaration_of(program, "s", InputSettings())}, None, shards, json=False)


def counts(mapper: StreamMapper, table: pa.Table) -> list[int]:
    rows = [row for batch in mapper(iter(table.to_batches())) for row in ShuffleRow.of_arrow(batch)]
    events = {row.shard: read_table(row.data).num_rows for row in rows if row.kind == EVENTS}
    return [events.get(shard, 0) for group in mapper.groups for shard in group.shards]


def test_keys_are_partitioned_evenly() -> None:
    found = counts(topology(8).mappers["s"], pa.table({"k": list(range(8000)), "t": [0] * 8000}))
    assert min(found) > 800


def test_the_shard_of_a_key_does_not_change() -> None:
    """Checkpoints have the state of keys there."""
    assert counts(topology(4).mappers["s"], pa.table({"k": [0, 1, 2, 3, 4, 5, 6], "t": [0] * 7})) == [3, 1, 1, 2]
    assert shard_ids("PER k", 2) == SHARD_IDS
    assert topology(2).groups[0].shards == SHARD_IDS


def test_values_that_cannot_be_read_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    text = "STREAM s (k STRING, v INT, time INT) TIME time; SUBSCRIBE m FROM s PER k MATCH a DEFINE a AS v IS NULL;"
    stream = LocalStream(ft.parse(text), {}, None, 2)
    mapper = replace(stream.topology.mappers["s"], files=WatchedFiles())
    content = b"time,k,v\n1,a,1\n2,b,many\n3,c,NA\n,d,4\n5,e,x\n"
    file = pa.RecordBatch.from_pydict({"path": ["s.csv"], "content": [content]})
    rows = [Row(**row) for encoded in mapper(iter([file])) for row in encoded.to_pylist()]
    shards = {row.shard: [other for other in rows if other.shard == row.shard] for row in rows}
    outputs = [output for shard, of_shard in shards.items() for output in stream.process(shard, of_shard)]
    assert {name: sum(output[name] for output in outputs) for name in ("events", "bad", "unreadable", "matches")} == {
        "events": 5,
        "bad": 1,
        "unreadable": 2,
        "matches": 3,
    }
    assert [record.getMessage() for record in caplog.records if record.name.startswith("foretell")] == [
        "s: 'NA' is read as a missing value in v (1 value, the first at s.csv:4)",
        "s: 2 of 5 values of v set to NULL: 2 × expected INT, found 'many' (and others) (the first at s.csv:3)",
    ]


def outputs_of(limits: ft.Limits | None, events: int) -> tuple[list[Row], list[str]]:
    """The rows of a shard with the pairs of so many events, and the notifications in them."""
    program = ft.parse("STREAM s (t INT) TIME t; SUBSCRIBE p FROM s MATCH a ; b; SUBSCRIBE q FROM s MATCH a;")
    stream = LocalStream(program, {"s": {"t": Type.INT}}, None, 1)
    stream = replace_limits(stream, limits)
    rows = stream._shuffle_rows("s", [{"t": t} for t in range(events)], Random(0))
    outputs = [out for shard in dict.fromkeys(row.shard for row in rows) for out in stream.process(shard, rows)]
    tables = [table_from_bytes(out.notifications) for out in outputs]
    return outputs, [shown(row) for table in tables for row in table.to_pylist()]


def replace_limits(stream: LocalStream, limits: ft.Limits | None) -> LocalStream:
    stream._tester = TwsTester(DeferredProcessor(replace(stream.topology.processor, limits=limits)))
    return stream


def test_many_notifications_of_a_shard_are_several_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, expected = outputs_of(None, 101)
    assert (len(whole), whole[0].matches) == (1, 101 * 100 // 2 + 101)
    monkeypatch.setattr("foretell.engine.deployment.PART_RESULTS", 1)
    monkeypatch.setattr("foretell.spark.streaming.shard_output.ROW_NOTIFICATIONS", 500)
    monkeypatch.setattr("foretell.machine.runtime.SLICE", 16)
    outputs, found = outputs_of(None, 101)
    assert sorted(found) == sorted(expected)
    assert len(outputs) > 4
    assert {out.events for out in outputs[:-1]} == {None}
    assert (outputs[-1].events, outputs[-1].matches) == (whole[0].events, whole[0].matches)


def test_notifications_of_a_shard_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foretell.engine.deployment.PART_RESULTS", 1)
    monkeypatch.setattr("foretell.spark.streaming.shard_output.ROW_NOTIFICATIONS", 500)
    with pytest.raises(ft.InputError) as caught:
        outputs_of(ft.Limits(results="1 MiB"), 1000)
    assert caught.value.code == "results-limit"
    assert "in one micro-batch take over 1 MiB, compressed" in caught.value.message


class ForgetfulCache(dict[tuple[str, int], tuple[bytes, ft.Engine]]):
    """A worker that is another one now and then."""

    random = Random(5)

    def pop(self, *arguments: Any) -> Any:
        return None if self.random.random() < 0.3 else super().pop(*arguments)


def test_untouched_shards_write_their_clocks_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """One event in a micro-batch touches one shard. Time goes on in all of them: events that waited for it come, and
    it completes and ends matches, also after other workers have restored the state."""
    monkeypatch.setattr(chunked_state, "SMALL_BYTES", 0)
    monkeypatch.setattr(shard_processor, "_engines", ForgetfulCache())
    text = """STREAM s (k INT, v INT, t INT) TIME t LATE BY 3;
    SUBSCRIBE silent FROM s PER k MATCH a ; !b DEFINE a AS v = 1, b AS v = 2 WITHIN 20;
    SUBSCRIBE pair FROM s PER k MATCH a ; b DEFINE a AS v = 1, b AS v = 3 WITHIN 30;"""
    program, random = ft.parse(text), Random(3)
    engine, stream = ft.Engine(program), LocalStream(program, {"s": dict.fromkeys("kvt", Type.INT)}, None, 4)
    written: list[int] = []

    def process(shard: int, rows: list[Row]) -> list[Row]:
        outputs = list(stream._tester.test(shard, rows))
        written.append(outputs[-1].pages_written)
        return outputs

    monkeypatch.setattr(stream, "process", process)
    found = 0
    for t in range(90):
        batch = {"s": [{"k": random.randrange(12), "v": random.randrange(5), "t": t - random.randrange(3)}]}
        wanted = engine.push_together(batch).table().to_pylist()
        found += len(wanted)
        assert stream.push(batch, random) == sorted(map(shown, wanted))
    assert found > 10
    assert written.count(0) > 90  # of the four shards, most write nothing


@pytest.mark.parametrize("copies", [False, True])
def test_untouched_shards_whose_matches_wait_for_events_are_not_read(
    copies: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shard that gets no event, and waits for nothing else, leaves its engine as it is, in memory or not."""
    monkeypatch.setattr(chunked_state, "SMALL_BYTES", 0)
    monkeypatch.setattr(shard_processor, "_engines", ForgetfulCache())
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path) if copies else "")
    text = """STREAM s (k INT, v INT, t INT) TIME t;
    SUBSCRIBE pair FROM s PER k MATCH a ; b DEFINE a AS v = 1, b AS v = 3 WITHIN 30;
    SUBSCRIBE free FROM s PER k MATCH a ; b ; c DEFINE a AS v = 1, b AS v = 2, c AS v = 3 AFTER MATCH SKIP PAST LAST;"""
    program, random = ft.parse(text), Random(4)
    engine, stream = ft.Engine(program), LocalStream(program, {"s": dict.fromkeys("kvt", Type.INT)}, None, 4)
    restored: list[bytes] = []
    plain = shard_processor.ShardProcessor._restored

    def restore(processor: shard_processor.ShardProcessor, wanted: Subscriptions | None, snapshot: bytes) -> ft.Engine:
        restored.append(snapshot)
        return plain(processor, wanted, snapshot)

    monkeypatch.setattr(shard_processor.ShardProcessor, "_restored", restore)
    found, held = 0, 0
    for t in range(120):
        batch = {"s": [{"k": random.randrange(12), "v": random.randrange(1, 4), "t": t}]}
        wanted = engine.push_together(batch).table().to_pylist()
        found += len(wanted)
        assert stream.push(batch, random) == sorted(map(shown, wanted))
        files = [file for file in tmp_path.rglob("*") if file.is_file()]
        held = max(held, len(files))
    assert found > 20
    assert len(restored) < 4 + 120  # those that begin, and of later ones at most the shard of the event
    assert held == (4 if copies else 0)


def test_which_engines_await_time() -> None:
    """The others are left alone while no event comes."""
    stream = "STREAM s (k INT, t INT) TIME t"

    def awaits(statement: str, lateness: str = "", **options: Any) -> bool:
        engine = ft.Engine(f"{stream} {lateness}; {statement};", **options)
        engine.push("s", [{"k": 1, "t": 1}, {"k": 1, "t": 2}])
        return engine.awaits_time

    pair = "SUBSCRIBE p FROM s PER k MATCH a ; b DEFINE a AS k = 1, b AS k = 2 WITHIN 9"
    assert not awaits(pair)
    assert not awaits(f"{pair} AFTER MATCH SKIP PAST LAST; SUBSCRIBE q FROM p MATCH x")
    assert awaits(pair, "LATE BY 5")
    assert awaits("SUBSCRIBE p FROM s PER k MATCH a ; !b DEFINE a AS k = 1, b AS k = 2 WITHIN 9")
    assert awaits("SUBSCRIBE p FROM s MATCH !b DEFINE b AS k = 2 WITHIN 9")
    assert awaits("SUBSCRIBE p FROM s PER k MATCH a ; b+ DEFINE a AS k = 1 WITHIN 9 AFTER MATCH LONGEST")
    assert awaits(f"{pair} FORECAST WITHIN 2 EVENTS ABOVE 0.1")


def test_copies_of_snapshots_are_not_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},elsewhere")
    write_copy(b"names", b"snapshot", b"")
    assert read_copy(b"names") == b"snapshot"
    assert read_copy(b"others") is None
    write_copy(b"others", b"another", b"names")
    assert (read_copy(b"names"), read_copy(b"others")) == (None, b"another")
    (tmp_path / "file").touch()
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "file"))  # no folder can be made below
    write_copy(b"names", b"snapshot", b"")
    assert read_copy(b"names") is None
    monkeypatch.delenv("SPARK_LOCAL_DIRS")
    write_copy(b"names", b"snapshot", b"")
    assert read_copy(b"names") is None
