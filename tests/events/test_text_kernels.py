"""Columns of texts that Arrow parses at once, compared with the parser of single values."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.events.ingest.scalar_parsing import MisfitError, cast_each, convert, convert_text
from foretell.events.ingest.text_columns import TextColumn
from foretell.events.ingest.text_kernels import has_clock_times, has_leading_zeros, parse_texts
from foretell.events.types import Type

_SIGNS = st.sampled_from(["", "", "", "-", "+"])
_DIGITS = st.text("0123456789", min_size=1, max_size=20)
_INTS = st.builds("{}{}".format, _SIGNS, _DIGITS)
_EXPONENTS = st.one_of(st.just(""), st.builds("{}{}{}".format, st.sampled_from("eE"), _SIGNS, st.integers(0, 400)))
_FLOATS = st.builds(
    "{}{}{}{}{}".format, _SIGNS, _DIGITS, st.sampled_from(["", "."]), st.text("0123456789", max_size=20), _EXPONENTS
)
_ODD = st.sampled_from(
    [
        "nan",
        "NaN",
        "-nan",
        "nan(1)",
        "inf",
        "-Infinity",
        "0x1f",
        "1_0",
        "٣",
        ".",
        "1e",
        "true",
        "FALSE",
        "0",
        "1",
        " 5 ",
        "-0",
    ]
)
_DATES = st.builds(
    "{:04d}-{:02d}-{:02d}".format, st.sampled_from([0, 1, 1969, 2024, 9999]), st.integers(0, 13), st.integers(0, 32)
)
_CLOCKS = st.builds("{:02d}:{:02d}".format, st.integers(0, 24), st.integers(0, 60))
_SECONDS = st.one_of(
    st.just(""), st.builds(":{:02d}{}".format, st.integers(0, 60), st.sampled_from(["", ".5", ".123456", ".1234567"]))
)
_OFFSETS = st.sampled_from(["", "", "Z", "z", "+01", "+01:00", "-0130", "+23:59", "+24:00", "-00:00", " Z"])
_TIMES = st.one_of(
    _DATES,
    st.builds("{}{}{}{}{}".format, _DATES, st.sampled_from("T t"), _CLOCKS, _SECONDS, _OFFSETS),
    st.builds("{}T{:02d}{}".format, _DATES, st.integers(0, 24), _OFFSETS),
)


def one_by_one(texts: list[str | None], kind: Type) -> list[object] | None:
    try:
        if kind is Type.TIMESTAMP:
            return [None if text is None else convert(text, kind) for text in texts]
        return [None if text is None else convert_text(text, kind) for text in texts]
    except MisfitError:
        return None


def columns(texts: st.SearchStrategy[str]) -> st.SearchStrategy[list[str | None]]:
    return st.one_of(st.lists(texts, max_size=5), st.lists(st.one_of(st.none(), texts), max_size=5))


@settings(max_examples=1_500, deadline=None)
@given(
    texts=st.one_of(*(columns(s) for s in (_INTS, _FLOATS, _TIMES, _ODD, st.one_of(_INTS, _FLOATS, _ODD)))),
    kind=st.sampled_from([Type.INT, Type.FLOAT, Type.BOOL, Type.TIMESTAMP]),
    cut=st.integers(0, 5),
)
def test_parsed_at_once_or_not_at_all(texts: list[str | None], kind: Type, cut: int) -> None:
    chunked = pa.chunked_array([texts[:cut], texts[cut:]], pa.string())
    parsed = parse_texts(chunked, kind)
    if parsed is not None:
        values = parsed.cast(pa.int64()) if kind is Type.TIMESTAMP else parsed
        assert values.to_pylist() == one_by_one(texts, kind)


@settings(max_examples=800, deadline=None)
@given(
    texts=st.lists(st.one_of(_INTS, _FLOATS, st.sampled_from(["5", "7.5", "true"]), _ODD, st.none()), max_size=9),
    kind=st.sampled_from([Type.INT, Type.FLOAT, Type.BOOL]),
)
def test_columns_with_misfits(texts: list[str | None], kind: Type) -> None:
    column = TextColumn("a", pa.array(texts, pa.string()))
    expected = cast_each(texts, "a", kind, lambda text: convert_text(text, kind))
    found = column.cast(kind)
    assert found.values.to_pylist() == expected.values.to_pylist()
    assert found.misfits == expected.misfits


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (Type.INT, ["1", "-2", None, "9223372036854775807"]),
        (Type.FLOAT, ["1", "-2.5", None, "1e300", ".5"]),
        (Type.FLOAT, ["nan", "-inf", "1"]),
        (Type.BOOL, ["true", "False", None]),
        (Type.TIMESTAMP, ["2024-01-01", None, "1969-12-31"]),
        (Type.TIMESTAMP, ["2024-01-01 00:00", "2024-01-01T00:00:00.5"]),
        (Type.TIMESTAMP, ["2024-01-01T00:00:00Z", "2024-01-01T00:00:00+01:30"]),
    ],
)
def test_the_usual_spellings_are_parsed_at_once(kind: Type, texts: list[str | None]) -> None:
    parsed = parse_texts(pa.array(texts, pa.string()), kind)
    assert parsed is not None
    values = parsed.cast(pa.int64()) if kind is Type.TIMESTAMP else parsed
    assert values.to_pylist() == one_by_one(texts, kind)


@pytest.mark.parametrize(
    ("texts", "zeros"),
    [(["0", "10", "0.5", None, "-0"], False), (["1", "007"], True), (["-01"], True), (["0", "0"], False), ([], False)],
)
def test_leading_zeros(texts: list[str | None], zeros: bool) -> None:
    assert has_leading_zeros(pa.array([None, "9", *texts], pa.string())[1:]) == zeros


def test_clock_times() -> None:
    assert has_clock_times(pa.array(["2024-01-01T00:00", None, "2024-01-01 00:00:00Z"], pa.string()))
    assert not has_clock_times(pa.array(["2024-01-01T00:00", "2024-01-01"], pa.string()))
    assert not has_clock_times(pa.array(["2024-01-01T00+01:00"], pa.string()))


def test_a_column_does_not_remember_the_values_of_another() -> None:
    column = TextColumn("a", pa.array(["1", "2"], pa.string()))
    assert column.cast(Type.INT).values.to_pylist() == [1, 2]
    assert replace(column, texts=pa.array(["3"], pa.string())).cast(Type.INT).values.to_pylist() == [3]
