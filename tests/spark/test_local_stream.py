"""The way of a micro-batch without Spark in between: packers and shards, with Spark's own tester for state.

All cases go this way, cut into micro-batches at random and out of order by as much as LATE BY allows; `test_stream` and
`test_stream_cases` have some of them on Spark itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

import foretell as ft
from foretell.arguments.streams import declaration_of
from foretell.events.arrow_interop import table_from_bytes
from foretell.events.ingest.reader import StreamDeclaration, read
from foretell.events.types import Type
from foretell.forecast.online.factory import Forecasts
from foretell.language.subscriptions import Subscriptions
from foretell.spark.partitioning.statement_groups import shard_ids, stream_groups
from foretell.spark.streaming import chunked_state, shard_processor
from foretell.spark.streaming.query import StreamTopology, topology_of
from foretell.spark.streaming.shuffle_rows import MapSidePacker
from tests.case_files import Case, sampled
from tests.spark.test_stream_cases import ALL, as_types, batches, lateness_of, live

CODES = (4112907113393557205, 4112907113393553511)
COLUMNS = ("subscription", "kind", "key", "start", "end", "id", "bindings", "events")


class Spark:
    """In its place: what is packed comes to the shards in parts of a micro-batch, and state stays with them."""

    def __init__(
        self,
        program: Subscriptions,
        types: Mapping[str, Mapping[str, Type]],
        tables: Any,
        shards: int,
        forecasts: Forecasts | None = None,
    ) -> None:
        declared = {name: declaration_of(program, name, {}) for name in program.sources}
        self.types, self.way = types, topology_of(program, declared, tables, shards, forecasts=forecasts)
        self._tester = TwsTester(self.way.shard)

    def push(self, batch: Mapping[str, list[dict[str, Any]]], random: Random) -> list[str]:
        rows = [row for name, events in batch.items() for row in self._packed(name, events, random)]
        told: list[str] = []
        for code in dict.fromkeys(row.shard for row in rows):
            mine = [row for row in rows if row.shard == code]
            random.shuffle(mine)
            for found in self._tester.test(code, mine):
                if found.told is not None:
                    told += map(shown, table_from_bytes(found.told).to_pylist())
        return sorted(told)

    def _packed(self, name: str, events: list[dict[str, Any]], random: Random) -> list[Row]:
        declaration = self.way.packers[name].declaration
        cut = random.randrange(len(events) + 1)
        rows = []
        for part, some in enumerate((events[:cut], events[cut:])):
            table = read(some, StreamDeclaration(name, self.types[name], declaration.time)).table.select(
                declaration.columns
            )
            for packed in self.way.packers[name](iter(table.to_batches())):
                rows += [Row(**{**row, "part": part}) for row in packed.to_pylist()]
        return rows


def shown(row: Mapping[str, object]) -> str:
    return repr([row[name] for name in COLUMNS])


class Forgetful(dict[bytes, ft.Engine]):
    """A worker that keeps no engine from one micro-batch to the next."""

    def pop(self, *_: object) -> Any:
        return None


@pytest.mark.parametrize("case", sampled(ALL))
def test_case(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every third case all state goes through pages, however small it is."""
    random, lateness = Random(case.name), lateness_of(case)
    if random.randrange(3) == 0:
        monkeypatch.setattr(chunked_state, "SMALL", 0)
        monkeypatch.setattr(shard_processor, "_engines", Forgetful())
    program, types, times = live(case, lateness)
    engine = ft.Engine(program, tables=case.tables)
    spark = Spark(program, types, case.tables, random.choice((1, 2, 5)))
    for batch in batches(case, types, times, lateness, random):
        typed = {name: as_types(events, types[name]) for name, events in batch.items()}
        wanted = engine.push_together(typed).table().to_pylist()
        assert spark.push(typed, random) == sorted(map(shown, wanted))


def test_forecasts() -> None:
    """As in process, as long as nothing is learned on the way."""
    text = """STREAM s (k STRING, l INT, t INT) TIME t;
    SUBSCRIBE p FROM s PER l MATCH a , b , c DEFINE a AS k = 'a', b AS k = 'b', c AS k = 'c'
    FORECAST WITHIN 2 EVENTS ABOVE 0.1;"""
    random, program = Random(1), ft.parse(text)
    events = [{"k": random.choice("aabbc"), "l": random.randrange(7), "t": t} for t in range(3_000)]
    learning = ft.Learning(online=False)
    model = ft.train(text, {"s": events[:2_000]})
    engine = ft.Engine(text, model=model, learning=learning)
    types = {"s": {"k": Type.STRING, "l": Type.INT, "t": Type.INT}}
    spark = Spark(program, types, None, 3, Forecasts(model.learned, learning))
    kinds = set()
    for first in range(2_000, 3_000, 250):
        batch = {"s": events[first : first + 250]}
        wanted = engine.push_together(batch).table().to_pylist()
        kinds |= {row["kind"] for row in wanted}
        assert spark.push(batch, random) == sorted(map(shown, wanted))
    assert kinds == {"match", "forecast"}


def way(shards: int) -> StreamTopology:
    program = ft.parse("STREAM s (k INT, t INT) TIME t; SUBSCRIBE a FROM s PER k MATCH x;")
    return topology_of(program, {"s": declaration_of(program, "s", {})}, None, shards)


def counts(packer: MapSidePacker, table: pa.Table) -> list[int]:
    (packed,) = packer(iter(table.to_batches()))
    return [0 if block is None else table_from_bytes(block).num_rows for block in packed.column("events").to_pylist()]


def test_keys_are_dealt_out_evenly() -> None:
    found = counts(way(8).packers["s"], pa.table({"k": list(range(8000)), "t": [0] * 8000}))
    assert min(found) > 800


def test_where_keys_are_does_not_change() -> None:
    """Checkpoints have them there."""
    assert counts(way(4).packers["s"], pa.table({"k": [0, 1, 2, 3, 4, 5, 6], "t": [0] * 7})) == [3, 1, 1, 2]
    assert shard_ids("PER k", 2) == CODES
    assert (
        stream_groups(ft.parse("STREAM s (k INT, t INT) TIME t; SUBSCRIBE a FROM s PER k MATCH x;"), 2)[0].shards
        == CODES
    )
