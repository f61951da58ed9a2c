"""Thousands of profiles in every form of group, against the plain index; and what they take."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from foretell.events.types import Type
from foretell.filter.access_sets.access_set_index import AccessSetIndex
from foretell.filter.column import Column, no_nulls
from foretell.filter.predicates import EventColumns
from foretell.filter.profile_index import PlainProfileIndex, ProfileComparison
from foretell.filter.profile_matches import ProfileMatches
from foretell.filter.string_dictionary import StringDictionary
from foretell.language.tree import Attribute, This

Columns = Mapping[str, Column]

ATTRIBUTES = {f"n{k}": Type.INT for k in range(10)} | {f"x{k}": Type.FLOAT for k in range(10)}


def compared(name: str, operator: str, *, optional: bool = False) -> ProfileComparison:
    kind = ATTRIBUTES[name]
    parameter = f"{name}_{operator}"
    return ProfileComparison(
        Attribute(This(), name), kind, operator, parameter, waived_by=parameter if optional else None
    )


def column(values: Any, kind: Type, nulls: Any = None) -> Column:
    dtype = np.float64 if kind is Type.FLOAT else np.int64
    return Column(kind, np.array(values, dtype), no_nulls(len(values)) if nulls is None else np.array(nulls, np.bool_))


def events_of(chance: np.random.Generator, count: int, values: int) -> EventColumns:
    columns = {
        name: column(
            chance.integers(0, values, count) if kind is Type.INT else chance.random(count),
            kind,
            chance.random(count) < 0.02,
        )
        for name, kind in ATTRIBUTES.items()
    }
    when = column(np.arange(count), Type.INT)
    return EventColumns(columns, ATTRIBUTES, when, when, when)


def thresholds(chance: np.random.Generator, count: int) -> Columns:
    return {f"x0_{o}": column(chance.random(count), Type.FLOAT) for o in (">", "<=")}


def narrow(chance: np.random.Generator, count: int) -> Columns:
    begin, width = chance.random(count), 10.0 ** -chance.integers(1, 7, count)
    return {
        "x0_>=": column(begin, Type.FLOAT),
        "x0_<=": column(begin + width, Type.FLOAT),
        "x1_<": column(chance.random(count), Type.FLOAT),
        "n0_=": column(chance.integers(0, 3, count), Type.INT),
    }


def long(chance: np.random.Generator, count: int) -> Columns:
    """Up to twenty conditions, of which a profile leaves most or few out."""
    left_out = chance.choice([0.2, 0.7, 0.9], count)
    columns = {
        f"n{k}_<>": column(chance.integers(0, 3, count), Type.INT, chance.random(count) < left_out) for k in range(2)
    }
    columns |= {
        f"n{k}_=": column(chance.integers(0, 3, count), Type.INT, chance.random(count) < left_out) for k in range(10)
    }
    columns |= {
        f"x{k}_>=": column(0.3 * chance.random(count), Type.FLOAT, chance.random(count) < left_out) for k in range(8)
    }
    return columns


FORMS = {
    "thresholds": ([compared("x0", ">")], thresholds, {0}),
    "limits": ([compared("x0", "<=")], thresholds, {1}),
    "narrow ranges": ([compared("x0", ">="), compared("x0", "<=")], narrow, {2}),
    "ranges and more": (
        [compared(n, o) for n, o in (("x0", ">="), ("x0", "<="), ("x1", "<"), ("n0", "="))],
        narrow,
        {2},
    ),
    "long": (
        [compared(f"n{k}", "<>", optional=True) for k in range(2)]
        + [compared(f"n{k}", "=", optional=True) for k in range(10)]
        + [compared(f"x{k}", ">=", optional=True) for k in range(8)],
        long,
        {-1},
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_of_groups_find_what_the_plain_index_finds(form: str) -> None:
    conjuncts, parameters, sort_kinds = FORMS[form]
    chance = np.random.default_rng(1)
    strings = StringDictionary()
    index = AccessSetIndex(conjuncts, parameters(chance, 4000))
    plain = PlainProfileIndex(conjuncts, parameters(np.random.default_rng(1), 4000))
    for _ in range(4):
        batch = events_of(chance, 300, 3)
        found, expected = index.match(batch, strings), plain.match(batch, strings)
        assert len(expected.profiles) > 0
        assert found.offsets.tolist() == expected.offsets.tolist()
        assert found.profiles.tolist() == expected.profiles.tolist()
        more = parameters(chance, 500)
        assert index.add(more).tolist() == plain.add(more).tolist()
        removed = chance.choice(4000, 300, replace=False)
        index.remove(removed)
        plain.remove(removed[plain.live[removed]])
    kinds = {int(kind) for generation in index.generations for kind in generation.tables.sort_kind}
    assert sort_kinds <= kinds


def test_events_that_match_everything_come_in_parts_of_bounded_size() -> None:
    conjuncts = [compared("x0", ">")]
    index = AccessSetIndex(conjuncts, {"x0_>": column(np.full(10_000, -1.0), Type.FLOAT)})
    batch = events_of(np.random.default_rng(1), 3000, 3)
    strings = StringDictionary()
    matches = events = largest = 0
    tracemalloc.start()
    for part in index.slices(batch, strings, most=100_000):
        matches, events, largest = matches + len(part.profiles), events + len(part), max(largest, len(part.profiles))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert events == 3000
    assert matches == 10_000 * int((~batch.attributes["x0"].nulls).sum())
    assert largest <= 100_000
    assert peak < 20e6


def wide_table(count: int) -> Columns:
    """Rows as those of Cayuga's benchmark: two equalities of four, two ranges of four."""
    chance = np.random.default_rng(1)
    columns: dict[str, Column] = {}
    for name, operators in (("n", ("=",)), ("x", (">=", "<="))):
        chosen = np.argsort(chance.random((count, 4)), axis=1) < 2
        for k in range(4):
            values = chance.integers(0, 100, count) if name == "n" else 0.3 * chance.random(count)
            for operator in operators:
                kind = ATTRIBUTES[f"{name}{k}"]
                columns[f"{name}{k}_{operator}"] = column(
                    values + (0.7 if operator == "<=" else 0), kind, ~chosen[:, k]
                )
    return columns


WIDE = [compared(f"n{k}", "=", optional=True) for k in range(4)] + [
    compared(f"x{k}", operator, optional=True) for k in range(4) for operator in (">=", "<=")
]


def rows(columns: Columns, begin: int, stop: int) -> Columns:
    return {n: Column(c.kind, c.values[begin:stop], c.nulls[begin:stop]) for n, c in columns.items()}


def test_a_million_profiles_fit() -> None:
    table = wide_table(1_000_000)
    tracemalloc.start()
    index = AccessSetIndex(WIDE, table)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert index.nbytes < 100e6
    assert peak < 300e6
    assert len(index.match(events_of(np.random.default_rng(1), 100, 100), StringDictionary()).profiles) > 1000


def test_profiles_come_and_go_at_speed() -> None:
    """100,000 a second in bulk and 10,000 one by one, with batches in between: here with as much time to spare as tests
    need on busy machines."""
    strings, batch = StringDictionary(), events_of(np.random.default_rng(1), 1000, 100)
    table = wide_table(150_000)
    index = AccessSetIndex(WIDE, rows(table, 0, 100_000))
    index.match(batch, strings)
    started = time.process_time()
    for begin in range(100_000, 150_000, 5_000):
        numbers = index.add(rows(table, begin, begin + 5_000))
        index.match(batch, strings)
        index.remove(numbers)
        index.match(batch, strings)
    assert time.process_time() - started < 2.0
    single = events_of(np.random.default_rng(2), 10, 100)
    started = time.process_time()
    for number in range(2_000):
        added = index.add(rows(table, number, number + 1))
        if number % 5 == 0:
            index.match(single, strings)
            index.remove(added)
    assert time.process_time() - started < 1.0
    assert len(index) == 101_600
    found = index.match(batch, strings)
    assert found.profiles.tolist() == rebuilt(index, table, batch, strings).profiles.tolist()


def test_values_that_come_and_go_leave_nothing_behind() -> None:
    conjuncts = [compared("n0", "="), compared("n1", "<>")]
    index = AccessSetIndex(conjuncts, {c.parameters[0]: column([], Type.INT) for c in conjuncts})
    strings = StringDictionary()
    for begin in range(0, 500_000, 10_000):
        values = np.arange(begin, begin + 10_000) * 1_000_003
        numbers = index.add({"n0_=": column(values, Type.INT), "n1_<>": column(values, Type.INT)})
        when = column([0, 1], Type.INT)
        columns = {"n0": column(values[7:9], Type.INT), "n1": column(values[[8, 8]], Type.INT)}
        batch = EventColumns(columns, ATTRIBUTES, when, when, when)
        assert index.match(batch, strings).profiles.tolist() == [numbers[7]]
        index.remove(numbers)
    assert index.nbytes < 16e6


def rebuilt(index: AccessSetIndex, table: Columns, batch: EventColumns, strings: StringDictionary) -> ProfileMatches:
    """The matches of a new index with the same profiles under the same numbers."""
    kept = np.flatnonzero(index.live)
    original = np.where(kept < 100_000, kept, (kept - 150_000) % 2_000)
    new = AccessSetIndex(WIDE, {name: c.take(original) for name, c in table.items()})
    found = new.match(batch, strings)
    return ProfileMatches(found.offsets, kept[found.profiles])
