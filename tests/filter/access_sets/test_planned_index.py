"""The planned index against the comparison of the reference evaluator, with every plan that it may choose."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.filter import planned_index
from foretell.filter.access_sets import access_set_index
from foretell.filter.planned_index import PlannedIndex
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


@pytest.fixture(params=["plans", "trees"])
def hasty(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is worth its price at once: new plans after every batch, or trees."""
    monkeypatch.setattr(access_set_index, "MOST_RECENT", 0)
    monkeypatch.setattr(planned_index, "_FIRST_REVIEW", 1)
    monkeypatch.setattr(planned_index, "_LAST_REVIEW", 1)
    monkeypatch.setattr(planned_index, "_PLAN_TIME", -1e12 if request.param == "plans" else 1e12)
    monkeypatch.setattr(planned_index, "_LEAST_SAVING", -1e12)
    monkeypatch.setattr(planned_index, "_TREE_TIME", 0.0)


@settings(max_examples=120, deadline=None)
@given(st.data())
@pytest.mark.usefixtures("hasty")
def test_every_event_finds_the_profiles_that_it_satisfies(data: st.DataObject) -> None:
    conjuncts, types = data.draw(comparisons())
    rows = data.draw(rows_of(types, 12))
    strings = StringDictionary()
    index = PlannedIndex(conjuncts, columns_of(rows, types, strings))
    profiles = dict(enumerate(rows))
    for _ in range(data.draw(st.integers(1, 5))):
        change = data.draw(st.integers(0, 4))
        if change == 0:
            more = data.draw(rows_of(types, 6))
            profiles |= zip(index.add(columns_of(more, types, strings)).tolist(), more, strict=True)
        elif change == 1:
            removed = [number for number in profiles if data.draw(st.integers(0, 2)) == 0]
            index.remove(np.array(removed, np.int64))
            profiles = {number: row for number, row in profiles.items() if number not in removed}
        assert len(index) == len(profiles)
        batch = data.draw(events())
        expected = naive_matches(batch, profiles, conjuncts)
        assert lists_of(index.match(event_columns(batch, strings), strings)) == expected
        wanted = np.array([data.draw(st.booleans()) for _ in batch], np.bool_)
        parts = list(index.slices(event_columns(batch, strings), strings, wanted, most=3))
        assert all(len(part) <= 1 or len(part.profiles) <= 3 for part in parts)
        some = [found if is_wanted else [] for found, is_wanted in zip(expected, wanted, strict=True)]
        assert lists_of(ProfileMatches.one_after_another(parts)) == some
