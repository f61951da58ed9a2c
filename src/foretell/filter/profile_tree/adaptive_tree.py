"""A profile tree that follows the events: it samples them, notices drift, and is rebuilt beside the running tree.

Which tree runs changes only how long matching takes, never what matches. So the sample need not be in a snapshot.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress

from foretell.filter.column import Column
from foretell.filter.profile_matches import ProfileMatches
from foretell.filter.profile_tree.ageing_sample import SAMPLE_EVENTS, AgeingSample
from foretell.filter.profile_tree.attribute_order import MOST_TREES, best_tree
from foretell.filter.profile_tree.drift import drift
from foretell.filter.profile_tree.event_distribution import EventDistribution, JointDistribution
from foretell.filter.profile_tree.profiles import ProfileSet
from foretell.filter.profile_tree.tree import ProfileTree, ordered_tree
from foretell.filter.profile_tree.tree_size import ProfileTreeTooLargeError
from foretell.filter.profile_tree.tree_structure import MOST_MEMBERS
from foretell.filter.profile_tree.value_order import ValueOrder
from foretell.records import record


@record
class AdaptationSettings:
    """A tree is rebuilt if an attribute drifts by more than `most_drift` (total variation beyond chance), or if the
    tree takes `most_cost` times the operations that were expected: then values that depend on one another have changed.
    That is tested when the sample is full, and then at intervals that double, at last every `check_events`. The new
    tree replaces the running one if it is expected to save `least_gain` of the operations, by events that did not take
    part in choosing it."""

    measure: ValueOrder = ValueOrder.CHEAPEST
    most_trees: int = MOST_TREES
    most_members: int = MOST_MEMBERS
    sample_events: int = SAMPLE_EVENTS
    half_life: float = 1_000_000
    check_events: int = 500_000
    most_drift: float = 0.1
    most_cost: float = 1.25
    least_gain: float = 0.1


@record
class Adaptation:
    """A rebuilt tree, the distribution that it is for, and the expected operations of the running tree and of this one,
    for the events that judged them."""

    tree: ProfileTree
    built_for: EventDistribution
    running: float
    rebuilt: float

    def gains(self, least_gain: float) -> bool:
        return self.rebuilt < (1 - least_gain) * self.running


class AdaptiveProfileTree:
    """Owns the running tree and the sample. With an executor trees are rebuilt there while the running one goes on;
    without one in the call that notices the drift."""

    def __init__(
        self,
        profiles: ProfileSet,
        distribution: EventDistribution | None = None,
        *,
        settings: AdaptationSettings | None = None,
        executor: Executor | None = None,
    ) -> None:
        self.settings = AdaptationSettings() if settings is None else settings
        self._profiles, self._executor = profiles, executor
        self._sample = AgeingSample(
            len(profiles.domains), size=self.settings.sample_events, half_life=self.settings.half_life
        )
        self._built_for = self._sample.distribution() if distribution is None else distribution
        self.tree = _best(profiles, self._built_for, self.settings)
        self._expected = self.tree.expected.total
        self.checks = self.swaps = 0
        self._next_check = min(self.settings.check_events, self.settings.sample_events)
        self._rebuilding: Future[Adaptation] | None = None

    def match(self, columns: Sequence[Column], count: int) -> ProfileMatches:
        """The profiles that each event matches, by the tree that runs when the batch begins."""
        if self._rebuilding is not None and self._rebuilding.done():
            self.finish()
        keys, nulls = self.tree.keys(columns, count)
        matches = self.tree.match_keys(keys, nulls)
        self._sample.add(keys, nulls)
        if self._sample.events >= self._next_check:
            self._next_check = self._sample.events + min(self.settings.check_events, self._sample.events)
            self.check()
        return matches

    def sampled(self) -> JointDistribution:
        """The distribution of the events so far, in which old ones have lost weight."""
        return self._sample.distribution()

    def drift(self) -> float:
        """How far the sampled events are from those that the running tree was built for: 0 to 1."""
        return drift(self._profiles, self._built_for, self.sampled())

    def cost(self) -> float:
        """The operations that the running tree takes for the sampled events, by those that were expected."""
        present = self.tree.expected_under(self.sampled()).total
        if self._expected:
            return present / self._expected
        return math.inf if present else 1.0

    def _has_drifted(self) -> bool:
        return self.drift() > self.settings.most_drift or self.cost() > self.settings.most_cost

    def check(self) -> None:
        """Start a rebuild if the events have drifted and none is under way."""
        self.checks += 1
        if self._rebuilding is not None or not self._has_drifted():
            return
        build_for, judge_by = self._sample.halves()
        if self._executor is None:
            self._swap(_rebuilt(self._profiles, self.tree, build_for, judge_by, self.settings))
        else:
            self._rebuilding = self._executor.submit(
                _rebuilt, self._profiles, self.tree, build_for, judge_by, self.settings
            )

    def finish(self) -> None:
        """Wait for a rebuild that is under way, and take its tree if it gains."""
        if self._rebuilding is not None:
            rebuilding, self._rebuilding = self._rebuilding, None
            self._swap(rebuilding.result())

    def _swap(self, adaptation: Adaptation) -> None:
        # The running tree may still be the best for what the events are now: then that is what it is compared with.
        self._built_for, self._expected = adaptation.built_for, adaptation.running
        if adaptation.gains(self.settings.least_gain):
            self._expected = adaptation.rebuilt
            self.tree = adaptation.tree
            self.swaps += 1


def _best(profiles: ProfileSet, distribution: EventDistribution, settings: AdaptationSettings) -> ProfileTree:
    return best_tree(
        profiles,
        distribution,
        measure=settings.measure,
        most_trees=settings.most_trees,
        most_members=settings.most_members,
    )


def _rebuilt(
    profiles: ProfileSet,
    running: ProfileTree,
    build_for: JointDistribution,
    judge_by: JointDistribution,
    settings: AdaptationSettings,
) -> Adaptation:
    """The better of a new tree and of the running one with its branches in a new order; the latter alone where every
    order of attributes that is tried for these events gives too large a tree."""
    candidates = [ordered_tree(running.domains, running.structure, build_for, settings.measure)]
    with suppress(ProfileTreeTooLargeError):
        candidates.append(_best(profiles, build_for, settings))
    best = min(candidates, key=lambda tree: tree.expected_under(judge_by).total)
    return Adaptation(
        tree=best,
        built_for=build_for,
        running=running.expected_under(judge_by).total,
        rebuilt=best.expected_under(judge_by).total,
    )
