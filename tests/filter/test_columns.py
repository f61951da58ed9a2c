"""Expressions over one event, column by column, against the reference. The strategies here serve the kernel's too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foretell.events.event import Event
from foretell.events.ingest.scalar_parsing import LAST_MICROS, LEAST_MICROS
from foretell.events.types import EPOCH, Scalar, Type
from foretell.filter.arrow_conversion import column_from_arrow
from foretell.filter.column import Column, as_declared
from foretell.filter.predicates import EventColumns
from foretell.filter.string_dictionary import StringDictionary
from foretell.language import tree
from foretell.language.functions import CALENDAR_FIELDS, MOST_DIGITS
from foretell.language.tree import Binary, Call, Expression, Literal, Span
from foretell.language.type_check import Scope, type_of
from foretell.plan.lower.text_functions import TextFunction
from foretell.reference.expressions import Frame, value
from foretell.storage.recorded_values import UnfitValueError

TYPES = {
    "b": Type.BOOL,
    "n": Type.INT,
    "m": Type.INT,
    "x": Type.FLOAT,
    "y": Type.FLOAT,
    "s": Type.STRING,
    "u": Type.STRING,
    "ts": Type.TIMESTAMP,
}

# ── values ─────────────────────────────────────────────────────────────────────────────────────────────────────────

LIMITS = (2**63 - 1, -(2**63), 2**62, -(2**62) - 1, 2**53, 2**53 + 1, 2**32, 3_037_000_500)
ODD_TEXTS = (
    "",
    "a",
    "A",
    "ab",
    "aab",
    "a%b",
    "_",
    "%",
    "é",
    "É",
    "ß",
    "SS",
    "ﬁ",
    "İ",
    "漢字",
    "😀",
    "a\nb",
    "\0",
    "zz",
)
ALPHABET = "aAbé漢😀%_ß\n"
PATTERNS = ("", "a", "^a", "b$", "[^a]", "é|ß", "(?i)A.b", "\\pL{2}", "^$")

INTS = st.sampled_from((0, 1, -1, 2, 3, -7, *LIMITS)) | st.integers(-1000, 1000) | st.integers(-(2**63), 2**63 - 1)
FLOATS = (
    st.sampled_from((0.0, -0.0, 0.5, -1.5, 2.5, 0.1, 1e308, 5e-324, 2.0**53, 2.0**63, float("inf"), float("-inf")))
    | st.integers(-40, 40).map(lambda n: n / 4)
    | st.floats(allow_nan=False)
)
TEXTS = st.sampled_from(ODD_TEXTS) | st.text(ALPHABET, max_size=6)
MOMENTS = st.sampled_from((LEAST_MICROS, LAST_MICROS, 0, 1)) | st.integers(LEAST_MICROS, LAST_MICROS)
LENGTHS = (
    st.sampled_from((0, 1, -1, 3, 5, 10**6, 2**53 + 1, 2**62 + 1, -(2**63), 2**63 - 1))
    | st.integers(-1000, 1000)
    | st.integers(-(2**60), 2**60)
)
VALUES: Mapping[Type, st.SearchStrategy[Scalar]] = {
    Type.BOOL: st.booleans(),
    Type.INT: INTS,
    Type.FLOAT: FLOATS,
    Type.STRING: TEXTS,
    Type.TIMESTAMP: MOMENTS,
    Type.DURATION: LENGTHS,
}


def perhaps(kind: Type) -> st.SearchStrategy[Scalar]:
    return VALUES[kind] | st.none()


# ── expressions ────────────────────────────────────────────────────────────────────────────────────────────────────

Typed = Mapping[Type, st.SearchStrategy[Expression]]
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


def constants(kind: Type) -> st.SearchStrategy[Expression]:
    if kind is Type.TIMESTAMP:
        return MOMENTS.map(tree.Moment)
    if kind is Type.DURATION:
        return LENGTHS.map(lambda micros: Span(micros, "us"))
    return VALUES[kind].map(Literal)


def expressions(leaves: Mapping[Type, Sequence[Expression]], depth: int) -> st.SearchStrategy[Expression]:
    """Well-typed expressions of any type over the given leaves."""
    below: Typed = {kind: _simple(kind, leaves.get(kind, ())) for kind in VALUES}
    for _ in range(depth):
        below = {kind: _evenly(below[kind], *_composed(kind, below)) for kind in VALUES}
    return _evenly(*below.values(), *[below[Type.BOOL]] * 4)


def _evenly(*choices: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    """One of the choices; `one_of` would look into them, and take most often what has most choices of its own."""
    return st.sampled_from(choices).flatmap(lambda choice: choice)


def _simple(kind: Type, leaves: Sequence[Expression]) -> st.SearchStrategy[Expression]:
    plain = constants(kind) | st.just(Literal(None))
    return _evenly(st.sampled_from(leaves), st.sampled_from(leaves), plain) if leaves else plain


def _composed(kind: Type, below: Typed) -> Iterator[st.SearchStrategy[Expression]]:
    operand, number = below[kind], _evenly(below[Type.INT], below[Type.FLOAT])
    yield st.lists(operand, min_size=1, max_size=3).map(lambda parts: Call("coalesce", tuple(parts)))
    yield _cases(operand, below[Type.BOOL])
    if kind in (Type.INT, Type.FLOAT, Type.DURATION):
        yield _evenly(operand.map(lambda e: tree.Unary("-", e)), operand.map(lambda e: Call("abs", (e,))))
    match kind:
        case Type.BOOL:
            yield from _conditions(below)
        case Type.INT:
            yield _binary(("+", "-", "*", "%"), operand, operand)
            yield below[Type.STRING].map(lambda e: Call("length", (e,)))
            yield st.builds(lambda f, e: Call(f, (e,)), st.sampled_from(("floor", "ceil")), number)
            yield _rounded(operand)
            yield _calendar_fields(below[Type.TIMESTAMP])
        case Type.FLOAT:
            yield st.builds(lambda f, e: Call(f, (e,)), st.sampled_from(("sqrt", "ln", "exp")), number)
            yield st.builds(lambda a, b: Call("pow", (a, b)), number, number)
            yield _rounded(operand)
            yield _binary(("+", "-", "*", "/", "%"), operand, number)
            yield _binary(("+", "-", "*", "/", "%"), number, operand)
            yield _binary(("/",), below[Type.INT], below[Type.INT])
            yield _binary(("/",), below[Type.DURATION], below[Type.DURATION])
            yield st.tuples(below[Type.INT], operand).map(lambda parts: Call("coalesce", parts))
        case Type.STRING:
            yield st.builds(lambda f, e: Call(f, (e,)), st.sampled_from(("lower", "upper")), operand)
            places = _evenly(below[Type.INT], st.integers(-4, 4).map(Literal))
            yield st.builds(
                lambda e, parts: Call("substr", (e, *parts)), operand, st.lists(places, min_size=1, max_size=2)
            )
        case Type.TIMESTAMP:
            yield _binary(("+", "-"), operand, below[Type.DURATION])
            yield _binary(("+",), below[Type.DURATION], operand)
        case Type.DURATION:
            yield _binary(("+", "-"), operand, operand)
            yield _binary(("-",), below[Type.TIMESTAMP], below[Type.TIMESTAMP])
            yield _binary(("*", "/"), operand, number)
            yield _binary(("*",), number, operand)


def _cases(
    values: st.SearchStrategy[Expression], truths: st.SearchStrategy[Expression]
) -> st.SearchStrategy[Expression]:
    return st.builds(
        lambda parts, otherwise: tree.Case(tuple(c for c, _ in parts), tuple(v for _, v in parts), otherwise),
        st.lists(st.tuples(truths, values), min_size=1, max_size=2),
        st.none() | values,
    )


def _rounded(numbers: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    digits = st.none() | st.integers(-3, 3) | st.integers(-MOST_DIGITS, MOST_DIGITS)
    return st.builds(lambda e, d: Call("round", (e,) if d is None else (e, Literal(d))), numbers, digits)


def _calendar_fields(times: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    zones = st.sampled_from((None, "UTC", "Europe/Berlin", "America/St_Johns", "Asia/Gaza"))
    return st.builds(
        lambda f, e, zone: Call(f, (e,) if zone is None else (e, Literal(zone))),
        st.sampled_from(CALENDAR_FIELDS),
        times,
        zones,
    )


def _conditions(below: Typed) -> Iterator[st.SearchStrategy[Expression]]:
    truth, text, negated = below[Type.BOOL], below[Type.STRING], st.booleans()
    alike = [*below.values(), _evenly(below[Type.INT], below[Type.FLOAT])]
    yield truth.map(lambda e: tree.Unary("NOT", e))
    yield _binary(("AND", "OR"), truth, truth)
    yield st.builds(tree.Like, text, text, negated)
    tests = st.sampled_from(("contains", "starts_with", "ends_with"))
    yield st.builds(lambda f, a, b: Call(f, (a, b)), tests, text, text)
    yield st.builds(lambda a, p: Call("regexp_like", (a, Literal(p))), text, st.sampled_from(PATTERNS))
    yield st.builds(tree.IsNull, _evenly(*below.values()), negated)
    yield _evenly(*(_binary(COMPARISONS, operand, operand) for operand in alike))
    yield _evenly(*(_binary(("<", ">="), operand, operand) for operand in alike))
    yield _evenly(
        *(
            st.builds(tree.In, operand, st.lists(operand, min_size=1, max_size=3).map(tuple), negated)
            for operand in alike
        )
    )
    yield _evenly(*(st.builds(tree.Between, operand, operand, operand, negated) for operand in alike))


def _binary(
    signs: Sequence[str], left: st.SearchStrategy[Expression], right: st.SearchStrategy[Expression]
) -> st.SearchStrategy[Expression]:
    return st.builds(Binary, st.sampled_from(signs), left, right)


# ── what the reference says ────────────────────────────────────────────────────────────────────────────────────────


class BeyondReferenceError(Exception):
    """The reference itself raises here, or goes on with what the decisions call NULL or a FLOAT."""


def expected(expression: Expression, frame: Frame, scope: Scope) -> Scalar:
    """The reference's value as columns hold it; BeyondReferenceError where the reference is no guide."""
    for part in expression.walk():
        if isinstance(part, Expression) and isinstance(_stored(part, frame), int):
            # coalesce(INT, FLOAT) is a FLOAT by its type and may be an int there; NULL + 1 is of no known type.
            kind = type_of(part, scope)
            if kind is Type.UNKNOWN or (kind is Type.FLOAT and part is not expression):
                raise BeyondReferenceError
    found = _stored(expression, frame)
    return float(found) if isinstance(found, int) and type_of(expression, scope) is Type.FLOAT else found


def _stored(expression: Expression, frame: Frame) -> Scalar:
    try:
        found = value(expression, frame)
    except (ValueError, OverflowError):
        raise BeyondReferenceError from None  # infinity % x; - of the longest timedelta
    if isinstance(found, datetime):
        found = found - EPOCH
    if isinstance(found, timedelta):
        found = found // timedelta(microseconds=1)
        if not -(2**63) <= found < 2**63:
            raise BeyondReferenceError  # timedelta is wider than 64 bits
    return found


def event(attributes: Mapping[str, Scalar], time: int | float) -> Event:
    return Event("s", attributes, time, time, key=())


def column(kind: Type, values: Sequence[Scalar], strings: StringDictionary) -> Column:
    plain = [0 if v is None else strings.code(v) if isinstance(v, str) else v for v in values]
    dtype = np.float64 if kind is Type.FLOAT else np.int64
    return Column(kind, np.array(plain, dtype), np.array([v is None for v in values], np.bool_))


def scalars(found: Column, strings: StringDictionary) -> list[Scalar]:
    """A column's values as the reference has them."""
    plain: list[Any] = found.values.tolist()
    if found.kind is Type.STRING:
        plain = [strings.text(code) for code in plain]
    if found.kind is Type.BOOL:
        plain = [bool(truth) for truth in plain]
    return [None if null else row for row, null in zip(plain, found.nulls.tolist())]


# ── the tests ──────────────────────────────────────────────────────────────────────────────────────────────────────

THIS = tree.This()
LEAVES: dict[Type, list[Expression]] = {}
for _name, _kind in TYPES.items():
    LEAVES.setdefault(_kind, []).append(tree.Attribute(THIS, _name))
LEAVES[Type.TIMESTAMP].append(tree.TimeOf(THIS))
LEAVES[Type.STRING].append(tree.StreamOf(THIS))
ROWS = st.lists(
    st.tuples(st.fixed_dictionaries({name: perhaps(kind) for name, kind in TYPES.items()}), MOMENTS), max_size=6
)


@cache
def _over_one_event() -> st.SearchStrategy[Expression]:
    return expressions(LEAVES, 3)


@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_columns_agree_with_the_reference(data: st.DataObject) -> None:
    expression, rows = data.draw(_over_one_event()), data.draw(ROWS)
    strings = StringDictionary()
    columns = {name: column(kind, [row[name] for row, _ in rows], strings) for name, kind in TYPES.items()}
    time = column(Type.TIMESTAMP, [t for _, t in rows], strings)
    stream = column(Type.STRING, ["s"] * len(rows), strings)
    found = EventColumns(columns, TYPES, time, time, stream).evaluate(expression, strings)
    assert found.values.dtype == (np.float64 if found.kind is Type.FLOAT else np.int64)
    got = scalars(found, strings)
    assert len(got) == len(rows)
    scope = Scope(TYPES, ("s",), Type.TIMESTAMP)
    for (row, at), item in zip(rows, got):
        try:
            wanted = expected(expression, Frame(TYPES, Type.TIMESTAMP, event(row, at)), scope)
        except BeyondReferenceError:
            continue
        assert (item, type(item)) == (wanted, type(wanted))


def _single_value(expression: Expression, **values: tuple[Type, Scalar]) -> Scalar:
    strings = StringDictionary()
    columns = {name: column(kind, [found], strings) for name, (kind, found) in values.items()}
    time = column(Type.INT, [0], strings)
    types = {name: kind for name, (kind, _) in values.items()}
    return scalars(EventColumns(columns, types, time, time, time).evaluate(expression, strings), strings)[0]


# What the decisions say where the reference is no guide; the kernel's tests ask the same.
BEYOND_THE_REFERENCE: Sequence[tuple[str, Expression, Scalar]] = (
    ("infinity has no remainder", Binary("%", Literal(float("inf")), Literal(2.0)), None),
    ("the longest length has no opposite", tree.Unary("-", Span(-(2**63), "us")), None),
    ("nor a size", Call("abs", (Span(-(2**63), "us"),)), None),
    ("lengths beyond 64 bits", Binary("*", Span(2**62, "us"), Literal(2)), None),
    ("lengths beyond 64 bits, scaled", Binary("*", Span(2**62, "us"), Literal(2.0)), None),
    ("lengths beyond 64 bits, shrunk", Binary("/", Span(2**62, "us"), Literal(0.5)), None),
    ("lengths beyond 64 bits, added", Binary("+", Span(2**62, "us"), Span(2**62, "us")), None),
    ("the least length fits", Binary("*", Span(2**62, "us"), Literal(-2.0)), -(2**63)),
    ("beside a FLOAT an INT is a FLOAT", Call("coalesce", (Literal(2**53 + 1), Literal(0.5))), 2.0**53),
    (
        "and goes on as one",
        Binary("=", Binary("*", Call("coalesce", (Literal(2**62), Literal(0.5))), Literal(4)), Literal(2.0**64)),
        True,
    ),
)


@pytest.mark.parametrize(("expression", "wanted"), [case[1:] for case in BEYOND_THE_REFERENCE])
def test_what_the_decisions_say_beyond_the_reference(expression: Expression, wanted: Scalar) -> None:
    assert _single_value(expression) == wanted


def test_an_attribute_without_a_column_is_null() -> None:
    assert _single_value(tree.IsNull(tree.Attribute(THIS, "missing"))) is True
    assert _single_value(Binary("=", tree.Attribute(THIS, "missing"), Literal("a"))) is None


def test_types_say_what_a_narrower_column_means() -> None:
    strings = StringDictionary()
    columns = {"x": column(Type.INT, [2**53 + 1], strings)}
    time = column(Type.INT, [0], strings)
    events = EventColumns(columns, {"x": Type.FLOAT}, time, time, time)
    found = events.evaluate(tree.Attribute(THIS, "x"), strings)
    assert (found.kind, found.values.tolist()) == (Type.FLOAT, [2.0**53])
    assert as_declared(time, Type.TIMESTAMP).kind is Type.TIMESTAMP


@pytest.mark.parametrize("node", [tree.TimeOf(tree.BoundEvent("a")), tree.Elapsed()])
def test_what_is_not_about_one_event_is_refused(node: Expression) -> None:
    with pytest.raises(ValueError, match="cannot evaluate"):
        _single_value(node)


# ── strings and Arrow ──


@given(st.lists(TEXTS | st.none()), st.integers(1, 4))
def test_codes_are_equal_where_strings_are(texts: list[str | None], pieces: int) -> None:
    strings = StringDictionary()
    size = len(texts) // pieces + 1
    chunked = pa.chunked_array(
        [pa.array(texts[i : i + size], pa.string()) for i in range(0, len(texts), size)], pa.string()
    )
    codes, nulls = strings.encode(chunked)
    assert [None if null else strings.text(code) for code, null in zip(codes.tolist(), nulls.tolist())] == texts
    again = StringDictionary.restore(strings.state())
    assert again.encode(chunked.combine_chunks())[0].tolist() == codes.tolist()
    assert again.state() == strings.state()
    _check_heap(again)


def _check_heap(strings: StringDictionary) -> None:
    spans, data = strings.spans.reshape(-1, 2).tolist(), strings.data.tobytes()
    texts = strings.state()["texts"]
    assert [data[a:b].decode() for a, b in spans] == [text or "" for text in texts]
    lengths = strings.lengths.tolist()
    assert [lengths[code] for code, text in enumerate(texts) if text is not None] == [
        len(text) for text in texts if text is not None
    ]


def test_freed_texts() -> None:
    """Others keep their codes, new ones get those that are free, and who has kept the view reads what was."""
    strings = StringDictionary(["a", "bé", "c", "d"])
    assert strings.constant("d") == 4
    functions = (TextFunction("upper"),)
    strings.heap(functions)
    before, known = strings.view, len(strings)
    strings.free([np.array([2, -7, 99])])
    assert strings.state()["texts"][:5] == ["", None, "bé", None, "d"]
    _check_heap(strings)
    assert [strings.code(text) for text in ("bé", "x", "d", "yyy")] == [2, 1, 4, 3]
    assert [before.text(code) for code in range(5)] == ["", "a", "bé", "c", "d"]
    assert [strings.view.text(code) for code in range(5)] == ["", "x", "bé", "yyy", "d"]
    _, _, upper, _ = strings.heap(functions)
    assert [strings.text(upper[code, 0]) for code in range(5)] == ["", "X", "BÉ", "YYY", "D"]
    assert len(strings) == known
    again = StringDictionary.restore(strings.state())
    assert again.state() == strings.state()
    assert again.code("z") == strings.code("z")
    _check_heap(again)


def test_the_texts_of_early_snapshots() -> None:
    assert StringDictionary.restore(["", "a"]).code("a") == 1
    lists: list[list[Any]] = [["a"], ["", "a", "a"], [], ["", 1]]
    for wrong in lists:
        with pytest.raises(UnfitValueError):
            StringDictionary.restore(wrong)


def test_the_heap_grows() -> None:
    strings = StringDictionary()
    texts = [f"{i}é" * 20 for i in range(500)]
    assert [strings.code(text) for text in texts] == list(range(1, 501))
    _check_heap(strings)


def test_a_dictionary_column_may_hold_words_twice_and_null() -> None:
    words = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2, 3]), pa.array(["a", "b", "a", None]))
    codes, nulls = StringDictionary().encode(words)
    assert (codes.tolist(), nulls.tolist()) == ([1, 2, 0, 1, 0], [False, False, True, False, True])


@pytest.mark.parametrize(
    ("array", "kind", "wanted"),
    [
        (pa.array([1.5, None, float("nan")]), Type.FLOAT, [1.5, None, None]),
        (pa.array([2**63 - 1, None]), Type.INT, [2**63 - 1, None]),
        (pa.array([True, None, False]), Type.BOOL, [True, None, False]),
        (pa.array([7, None], pa.timestamp("us", tz="UTC")), Type.TIMESTAMP, [7, None]),
        (pa.array(["a", None]), Type.STRING, ["a", None]),
        (pa.nulls(2), Type.FLOAT, [None, None]),
        (pa.chunked_array([[1], [None, 3]], pa.int64()), Type.INT, [1, None, 3]),
        (pa.chunked_array([], pa.float64()), Type.FLOAT, []),
    ],
)
def test_from_arrow(array: pa.Array, kind: Type, wanted: list[Scalar]) -> None:
    strings = StringDictionary()
    found = column_from_arrow(array, kind, strings)
    assert found.kind is kind
    assert scalars(found, strings) == wanted
