"""The plain index against the comparison of the reference evaluator."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.filter.profile_index import PlainProfileIndex
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


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_every_event_finds_the_profiles_that_it_satisfies(data: st.DataObject) -> None:
    conjuncts, types = data.draw(comparisons())
    rows, more = data.draw(rows_of(types, 8)), data.draw(rows_of(types, 4))
    batch = data.draw(events())
    strings = StringDictionary()
    index = PlainProfileIndex(conjuncts, columns_of(rows, types, strings))
    numbers = index.add(columns_of(more, types, strings)).tolist()
    profiles = dict(enumerate(rows)) | dict(zip(numbers, more, strict=True))
    removed = [number for number in profiles if data.draw(st.integers(0, 4)) == 0]
    index.remove(np.array(removed, np.int64))
    profiles = {number: row for number, row in profiles.items() if number not in removed}
    expected = naive_matches(batch, profiles, conjuncts)
    assert len(index) == len(profiles)
    columns = event_columns(batch, strings)
    assert lists_of(index.match(columns, strings)) == expected
    wanted = np.array([data.draw(st.booleans()) for _ in batch], np.bool_)
    parts = list(index.slices(columns, strings, wanted, most=3))
    assert all(len(part) == 1 or len(part.profiles) <= 3 for part in parts)
    some = [found if is_wanted else [] for found, is_wanted in zip(expected, wanted, strict=True)]
    assert lists_of(ProfileMatches.one_after_another(parts)) == some
