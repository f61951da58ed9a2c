"""The fixed cost of a push, as a number of calls: it does not depend on how busy the machine is."""

import cProfile
import pstats
from collections.abc import Callable

import pyarrow as pa
import pytest

import foretell as ft
from foretell.bench.workloads.ticks import ticks
from foretell.filter.string_dictionary import StringDictionary

STREAM = "STREAM ticks (ts INT, name STRING, price FLOAT, volume INT) TIME ts;"
RISE = (
    "SUBSCRIBE rise FROM ticks PER name MATCH a , b , c "
    "DEFINE a AS price < 60, b AS price > a.price, c AS price > b.price;"
)

WARM, COUNTED = 300, 100


def named_ticks(count: int) -> pa.Table:
    table = ticks(count)
    return table.set_column(table.column_names.index("name"), "name", table["name"].dictionary_encode())


def calls_per_push(batches: list[object]) -> float:
    engine = ft.Engine(STREAM + RISE)
    for batch in batches[:WARM]:
        engine.push("ticks", batch)
    profile = cProfile.Profile()
    profile.enable()
    for batch in batches[WARM:]:
        engine.push("ticks", batch)
    profile.disable()
    return pstats.Stats(profile).total_calls / len(batches[WARM:])  # type: ignore[attr-defined]


@pytest.mark.parametrize(("form", "most"), [(lambda row: row, 455), (pa.Table.to_pylist, 505)], ids=["Arrow", "dict"])
def test_one_event_takes_few_calls(form: Callable[[pa.Table], object], most: int) -> None:
    table = named_ticks(WARM + COUNTED)
    assert calls_per_push([form(table.slice(i, 1)) for i in range(WARM + COUNTED)]) < most


def test_a_batch_with_a_known_dictionary_looks_up_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, table = ft.Engine(STREAM + RISE), named_ticks(200)
    engine.push("ticks", table.slice(0, 100))
    looked_up = []
    code = StringDictionary.code

    def noted(strings: StringDictionary, text: str) -> int:
        looked_up.append(text)
        return code(strings, text)

    monkeypatch.setattr(StringDictionary, "code", noted)
    engine.push("ticks", table.slice(100))
    assert set(looked_up) <= {"ticks"}  # the name of the stream
