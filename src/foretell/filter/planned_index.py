"""The planned index: access sets or a profile tree, whichever takes less time for the events that come.

The choice depends on the table and on the events, so it is made here, while events are matched, and not when a
statement is planned; `summary` says what was chosen and by which figures. Access sets have every profile at every time.
They count what they take. Groups are planned again, or a tree is built beside them, once the time that this would have
saved so far exceeds about what it takes (the rule of renting until the price is paid). A change of the profiles drops
the tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.filter.access_sets.access_set_index import AccessSetIndex
from foretell.filter.access_sets.condition_chances import AttributeSample
from foretell.filter.access_sets.tree_profiles import event_keys, tree_profiles
from foretell.filter.column import Column
from foretell.filter.predicates import EventColumns
from foretell.filter.profile_index import (
    MOST_MATCHES,
    ProfileComparison,
    ProfileIndex,
    constant_truth,
    constants_alone,
)
from foretell.filter.profile_matches import ProfileMatches
from foretell.filter.profile_tree.ageing_sample import MOST_OF_A_BATCH, AgeingSample
from foretell.filter.profile_tree.tree import ProfileTree, build_tree
from foretell.filter.profile_tree.tree_size import ProfileTreeTooLargeError
from foretell.filter.string_dictionary import StringDictionary

#: The sample has every event at first, then one of so many; older events than this count half.
_EARLY_EVENTS, _EVERY = 8192, 64
_HALF_LIFE = 1 << 15
#: Events until the choice is looked at for the first time and, at most, until the next time.
_FIRST_REVIEW, _LAST_REVIEW = 4096, 1 << 20
#: Nanoseconds for each profile to plan its groups again, and to build a tree.
_PLAN_TIME, _TREE_TIME = 2_000.0, 50_000.0
#: A plan or a tree shall save so much of the time.
_LEAST_SAVING = 0.2
#: Profiles of a tree, and profiles in all its branches together.
_MOST_TREE_PROFILES, _MOST_MEMBERS = 20_000, 200_000
#: Nanoseconds to make an event's key of an attribute, which a tree needs and does not count.
_KEY_TIME = 5.0
#: Events that go through the tree at once.
_TREE_EVENTS = 1 << 16


def planned_index(comparisons: Sequence[ProfileComparison], columns: Mapping[str, Column]) -> ProfileIndex:
    """The index of the profiles that are the rows of `columns`, the parameters of the comparisons."""
    return PlannedIndex(comparisons, columns)


@dataclass
class _Tree:
    """A tree and the number of each of its profiles."""

    tree: ProfileTree
    numbers: Ints


class PlannedIndex:
    """A ProfileIndex that chooses between two."""

    def __init__(self, comparisons: Sequence[ProfileComparison], columns: Mapping[str, Column]) -> None:
        self._sets = AccessSetIndex(comparisons, columns)
        self._constants = constants_alone(comparisons)
        self._sample = AgeingSample(len(self._sets.slots.attributes), half_life=_HALF_LIFE)
        self._events = self._since_review = self._since_change = 0
        self._next_review = _FIRST_REVIEW
        self._patience = 1.0
        self._tree: _Tree | None = None
        self._about_tree = ""

    # ── changes ──

    def add(self, columns: Mapping[str, Column]) -> Ints:
        self._change()
        return self._sets.add(columns)

    def remove(self, profiles: Ints) -> None:
        self._change()
        self._sets.remove(profiles)

    def _change(self) -> None:
        self._tree, self._about_tree, self._since_change = None, "", 0

    # ── events ──

    def match(self, events: EventColumns, strings: StringDictionary, wanted: Flags | None = None) -> ProfileMatches:
        return ProfileMatches.one_after_another(self.slices(events, strings, wanted))

    def slices(
        self, events: EventColumns, strings: StringDictionary, wanted: Flags | None = None, most: int = MOST_MATCHES
    ) -> Iterator[ProfileMatches]:
        if self._since_review >= self._next_review:
            self._review()
        self._observe(events, strings)
        if self._tree is None:
            return self._sets.slices(events, strings, wanted, most)
        return self._by_tree(self._tree, events, strings, wanted, most)

    def _by_tree(
        self, chosen: _Tree, events: EventColumns, strings: StringDictionary, wanted: Flags | None, most: int
    ) -> Iterator[ProfileMatches]:
        wanted = constant_truth(self._constants, events, strings, wanted)
        step = max(1, min(_TREE_EVENTS, most // max(1, len(chosen.numbers))))
        for begin in range(0, max(1, len(events)), step):
            rows = np.arange(begin, min(len(events), begin + step))
            matches = chosen.tree.match_keys(*event_keys(self._sets.slots, events, strings, rows))
            if not wanted[rows].all():
                matches = matches.where(wanted[rows][matches.events()])
            yield ProfileMatches(matches.offsets, chosen.numbers[matches.profiles])

    def _observe(self, events: EventColumns, strings: StringDictionary) -> None:
        """Add some of the events to the sample."""
        every = 1 if self._events < _EARLY_EVENTS else _EVERY
        rows = np.arange(-self._events % every, len(events), every)[:_EARLY_EVENTS]
        for begin in range(0, len(rows) if self._sets.slots.attributes else 0, MOST_OF_A_BATCH):
            part = rows[begin : begin + MOST_OF_A_BATCH]
            self._sample.add(*event_keys(self._sets.slots, events, strings, part))
        self._events += len(events)
        self._since_review += len(events)
        self._since_change += len(events)

    # ── the choice ──

    def _review(self) -> None:
        """Plan the groups again or build a tree, if that would have saved enough."""
        self._since_review = 0
        self._next_review = min(2 * self._next_review, _LAST_REVIEW)
        distribution = self._sample.distribution()
        sample = AttributeSample(distribution.attributes, distribution.effective_events)
        if self._tree is not None:
            expected = self._tree.tree.expected_under(distribution)
            if expected.total > 2 * self._tree.tree.expected.total + 1:
                self._change()  # built for other events
            return
        saving, events = self._sets.saving(sample)
        price = self._patience * _PLAN_TIME * len(self._sets)
        if saving > _LEAST_SAVING * self._sets.nanoseconds and saving * events > price:
            self._sets.plan(sample)
            self._patience *= 2  # the estimate may be wrong, and then the next plan saves no more than this one
        elif self._sets.nanoseconds * self._since_change > _TREE_TIME * len(self._sets):
            self._consider_tree()

    def _consider_tree(self) -> None:
        if self._about_tree or self._sets.waits or self._sets.has_text_orders or not len(self._sets):
            return
        if len(self._sets) > _MOST_TREE_PROFILES:
            self._about_tree = "too many profiles for a profile tree"
            return
        conditions = self._sets.conditions()
        profiles = tree_profiles(conditions, self._sets.slots)
        if profiles is None:
            self._about_tree = "a profile tree of these has no <>"
            return
        try:
            tree = build_tree(profiles, self._sample.distribution(), most_members=_MOST_MEMBERS)
        except ProfileTreeTooLargeError as refusal:
            self._about_tree = f"a profile tree would have about {refusal.needed:.1g} profiles in its branches"
            return
        sets, by_tree = self._sets.nanoseconds, tree.nanoseconds + _KEY_TIME * len(profiles.domains)
        if by_tree < (1 - _LEAST_SAVING) * sets:
            self._tree = _Tree(tree, conditions.numbers)
            self._about_tree = f"access sets would take {sets:,.0f} ns"
        else:
            self._about_tree = f"a profile tree would take {by_tree:,.0f} ns"

    # ── figures ──

    def settle(self, strings: StringDictionary) -> None:
        """Make the groups of the profiles that wait for a batch."""
        self._sets.settle(strings)

    def __len__(self) -> int:
        return len(self._sets)

    @property
    def summary(self) -> str:
        chosen = self._sets.summary if self._tree is None else self._tree.tree.summary
        return f"{chosen}; {self._about_tree}" if self._about_tree else chosen

    @property
    def nbytes(self) -> int:
        return self._sets.nbytes + (0 if self._tree is None else self._tree.tree.nbytes)
