"""The profiles of access sets as those of a profile tree."""

from __future__ import annotations

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.events.types import Type
from foretell.filter.access_sets.event_slots import EventSlots, SlotKind
from foretell.filter.access_sets.profile_conditions import ProfileConditions
from foretell.filter.predicates import EventColumns
from foretell.filter.profile_tree.profiles import AttributeDomain, AttributeRanges, ProfileSet
from foretell.filter.profile_tree.value_keys import LEAST_KEY, keys_of
from foretell.filter.string_dictionary import StringDictionary
from foretell.language.printer import expression_text


def tree_profiles(conditions: ProfileConditions, slots: EventSlots) -> ProfileSet | None:
    """The profiles, attribute by attribute; None where one has several ranges of an attribute, as `<>` is."""
    if any(kind is SlotKind.PRESENCE for _, kind in slots.used):
        return None
    count = len(conditions)
    profile = np.repeat(np.arange(count), np.diff(conditions.starts))
    domains, ranges = [], []
    for attribute, indexed in enumerate(slots.attributes):
        lows, highs = np.zeros(count, np.int64), np.zeros(count, np.int64)
        cares = np.zeros(count, np.bool_)
        for kind in (SlotKind.KEY, SlotKind.CODE):
            rows = np.flatnonzero(conditions.slots == slots.numbers[attribute, kind])
            low, span = conditions.lows[rows], conditions.spans[rows]
            if kind is SlotKind.CODE:
                low = slots.codes[attribute].values[low]
            high = low + span
            if kind is SlotKind.KEY and not indexed.is_float:
                low = np.where(low == LEAST_KEY + 1, LEAST_KEY, low)  # the key of the least INT is one more
            lows[profile[rows]], highs[profile[rows]] = low, high
            cares[profile[rows]] = True
        kind_of = Type.FLOAT if indexed.is_float else Type.INT
        domains.append(AttributeDomain(expression_text(indexed.expression), kind_of))
        ranges.append(AttributeRanges.of_columns(lows, highs, cares))
    return ProfileSet(tuple(domains), count, tuple(ranges))


def event_keys(slots: EventSlots, events: EventColumns, strings: StringDictionary, rows: Ints) -> tuple[Ints, Flags]:
    """The keys of some events and the mask of their NULLs: a row for each attribute."""
    keys = np.zeros((len(slots.attributes), len(rows)), np.int64)
    nulls = np.zeros((len(slots.attributes), len(rows)), np.bool_)
    for number, attribute in enumerate(slots.attributes):
        words, missing = attribute.words(events, strings)
        found = words[rows]
        keys[number] = keys_of(found.view(np.float64), Type.FLOAT) if attribute.is_float else found
        nulls[number] = missing[rows]
    return keys, nulls
