"""Access sets against the comparison of the reference evaluator, while profiles are added and removed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.filter.access_sets import access_plan, access_set_index, generation
from foretell.filter.access_sets.access_plan import Times
from foretell.filter.access_sets.access_set_index import AccessSetIndex
from foretell.filter.profile_matches import ProfileMatches
from foretell.filter.string_dictionary import StringDictionary
from tests.filter.access_sets.random_profiles import (
    columns_of,
    comparisons,
    event_columns,
    events,
    lists_of,
    naive_matches,
    rows_of,
)

#: Nothing costs anything but candidates: every group that leaves fewer of them is made.
_FREE = Times(probe=0.0, probe_attribute=0.0, block=0.0, bisection=0.0, candidate=1.0, match=0.0)


@pytest.fixture(autouse=True, params=["one by one", "groups", "sorted groups", "hash tables"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The forms in which profiles may lie; with few of them most would never be chosen."""
    if request.param != "one by one":
        monkeypatch.setattr(access_set_index, "MOST_RECENT", 3)
    if request.param in ("sorted groups", "hash tables"):
        monkeypatch.setattr(access_plan, "TIMES", ((np.inf, _FREE),))
    if request.param == "hash tables":
        monkeypatch.setattr(generation, "CELLS", 0)
        monkeypatch.setattr(generation, "LEAST_CELLS", 0)


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_every_event_finds_the_profiles_that_it_satisfies(data: st.DataObject) -> None:
    conjuncts, types = data.draw(comparisons())
    rows = data.draw(rows_of(types, 12))
    strings = StringDictionary()
    index = AccessSetIndex(conjuncts, columns_of(rows, types, strings))
    profiles = dict(enumerate(rows))
    for _ in range(data.draw(st.integers(1, 5))):
        if data.draw(st.booleans()):
            more = data.draw(rows_of(types, 6))
            numbers = index.add(columns_of(more, types, strings)).tolist()
            assert numbers == list(range(numbers[0] if numbers else 0, (numbers[0] if numbers else 0) + len(more)))
            profiles |= zip(numbers, more, strict=True)
        if data.draw(st.booleans()):
            removed = [number for number in profiles if data.draw(st.integers(0, 2)) == 0]
            index.remove(np.array(removed, np.int64))
            profiles = {number: row for number, row in profiles.items() if number not in removed}
        assert len(index) == len(profiles)
        batch = data.draw(events())
        expected = naive_matches(batch, profiles, conjuncts)
        assert lists_of(index.match(event_columns(batch, strings), strings)) == expected
        wanted = np.array([data.draw(st.booleans()) for _ in batch], np.bool_)
        parts = list(index.slices(event_columns(batch, strings), strings, wanted, most=3))
        assert all(len(part) == 1 or len(part.profiles) <= 3 for part in parts[: len(batch)])
        some = [found if is_wanted else [] for found, is_wanted in zip(expected, wanted, strict=True)]
        assert lists_of(ProfileMatches.one_after_another(parts)) == some
