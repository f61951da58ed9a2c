"""The choice of a profile index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from foretell.filter.access_sets.access_set_index import AccessSetIndex
from foretell.filter.column import Column
from foretell.filter.profile_index import ProfileComparison, ProfileIndex


def planned_index(comparisons: Sequence[ProfileComparison], columns: Mapping[str, Column]) -> ProfileIndex:
    """The index of the profiles that are the rows of `columns`, the parameters of the comparisons."""
    return AccessSetIndex(comparisons, columns)
