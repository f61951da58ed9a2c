"""The JSON texts of a column are those of msgspec, value by value."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.events.types import format_timestamp
from foretell.notify import json_texts as module
from foretell.notify.json_texts import json_objects, json_texts

MOMENT = pa.timestamp("us", tz="UTC")
LAST = 253_402_300_799_999_999
texts = st.text('ab "\\/\x00\n\x1f\x7fé\u2028😀', max_size=6)
moments = st.integers(-62_135_596_800_000_000, LAST) | st.integers(-9, 9).map(lambda second: second * 1_000_000)
SCALARS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.int8(), st.integers(-128, 127)),
    (pa.uint64(), st.integers(0, 2**64 - 1)),
    (pa.float64(), st.floats()),
    (pa.float32(), st.floats(width=32)),
    (pa.bool_(), st.booleans()),
    (pa.string(), texts),
    (pa.large_string(), texts),
    (pa.dictionary(pa.int32(), pa.string()), texts),
    (pa.date32(), st.dates(date(1, 1, 1), date(9999, 12, 31))),
    (pa.null(), st.none()),
    (MOMENT, moments),
]


@st.composite
def typed_values(draw: st.DrawFn, depth: int = 2) -> tuple[Any, st.SearchStrategy[Any]]:
    """An Arrow type, and values of it."""
    shape = draw(st.sampled_from(["scalar", "list", "large list", "struct"] if depth else ["scalar"]))
    if shape == "scalar":
        kind, values = draw(st.sampled_from(SCALARS))
    elif shape == "struct":
        names = draw(st.lists(texts, max_size=3, unique=True))
        parts = {name: draw(typed_values(depth - 1)) for name in names}
        kind = pa.struct([(name, part) for name, (part, _) in parts.items()])
        values = st.fixed_dictionaries({name: part for name, (_, part) in parts.items()})
    else:
        item, items = draw(typed_values(depth - 1))
        kind = pa.list_(item) if shape == "list" else pa.large_list(item)
        values = st.lists(items, max_size=3)
    return kind, st.none() | values


@st.composite
def columns(draw: st.DrawFn) -> tuple[Any, list[Any]]:
    kind, values = draw(typed_values())
    return kind, draw(st.lists(values, max_size=6))


def expected(value: Any, kind: Any) -> Any:
    """A value with timestamps as texts."""
    if value is None:
        return None
    if kind == MOMENT:
        return format_timestamp(value)
    if pa.types.is_struct(kind):
        return {field.name: expected(value[field.name], field.type) for field in kind}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [expected(item, kind.value_type) for item in value]
    return value


@settings(max_examples=400, deadline=None)
@given(columns(), st.integers(0, 3))
def test_texts_are_those_of_msgspec(column: tuple[Any, list[Any]], first: int) -> None:
    kind, values = column
    array = pa.array(values, kind).slice(first)
    assert json_texts(array).to_pylist() == [
        msgspec.json.encode(expected(value, kind)).decode() for value in values[first:]
    ]


def test_chunks() -> None:
    assert json_texts(pa.chunked_array([[1, None], [3]])).to_pylist() == ["1", "null", "3"]
    assert json_texts(pa.chunked_array([], pa.float64())).to_pylist() == []


def test_numbers_that_json_does_not_have() -> None:
    assert json_texts(pa.array([np.nan, np.inf, -np.inf, -0.0])).to_pylist() == ["null", "null", "null", "-0.0"]


def test_other_units_and_zones_of_time() -> None:
    moment = datetime(2024, 5, 1, 12, 30, tzinfo=UTC)
    for kind in (pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("ns"), pa.timestamp("us", tz="Asia/Tokyo")):
        assert json_texts(pa.array([moment], kind)).to_pylist() == ['"2024-05-01T12:30:00Z"']


@pytest.mark.parametrize("micros", [LAST + 1, -62_135_596_800_000_001, 2**62])
def test_moments_without_a_date(micros: int) -> None:
    with pytest.raises(OverflowError, match=str(micros)):
        json_texts(pa.array([0, micros], MOMENT))


def test_a_value_at_a_null_does_not_matter() -> None:
    hidden = pa.Array.from_buffers(MOMENT, 2, [pa.py_buffer(b"\x01"), pa.py_buffer(np.array([0, 2**62]).tobytes())])
    assert json_texts(hidden).to_pylist() == ['"1970-01-01T00:00:00Z"', "null"]


def test_too_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_BYTES", 30)
    with pytest.raises(pa.ArrowCapacityError, match="2 timestamps"):
        json_texts(pa.array([0, 1], MOMENT))


def test_objects_of_columns() -> None:
    values, count = pa.array([1, None]), 2
    assert json_objects({"a": values, "b": "true"}, count).to_pylist() == ['{"a":1,"b":true}', '{"a":null,"b":true}']
    assert json_objects({"b": '"x"', "a": values, "c": values}, count).to_pylist() == [
        '{"b":"x","a":1,"c":1}',
        '{"b":"x","a":null,"c":null}',
    ]
    assert json_objects({"b": '"x"'}, count).to_pylist() == ['{"b":"x"}'] * 2
    assert json_objects({}, 1).to_pylist() == ["{}"]


def test_objects_within_objects() -> None:
    kind = pa.struct([("in", pa.struct([("a", pa.int64())])), ("none", pa.struct([]))])
    whole = pa.array([{"in": {"a": 1}, "none": {}}, {"in": {"a": None}, "none": {}}], kind)
    assert json_objects({"x": whole, "y": "1"}, 2).to_pylist() == [
        '{"x":{"in":{"a":1},"none":{}},"y":1}',
        '{"x":{"in":{"a":null},"none":{}},"y":1}',
    ]
    assert json_objects({"y": pa.array([{"in": None, "none": {}}, None], kind)}, 2).to_pylist() == [
        '{"y":{"in":null,"none":{}}}',
        '{"y":null}',
    ]
