"""The access plan: for each profile the group in which it is found, chosen by the expected time of an event.

As in Le Subscribe, a group has the profiles that are found by their values of the same attributes, the access set. A
larger access set leaves fewer candidates, but every group costs each event a look-up. Access sets are chosen one after
another as long as they save more than they cost (facility location), by a sample of the profiles. Each profile goes to
the access set that it shares with the fewest events. Within an access set, profiles with a selective range lie apart,
sorted by that range (Cayuga's FR-index), wherever this saves more candidates than its bisection costs.
"""

from __future__ import annotations

from itertools import combinations
from math import prod

import numpy as np

from foretell.arrays import Flags, Floats, Ints, distinct
from foretell.filter.access_sets.condition_chances import (
    CLASSES,
    FIRST_CLASS,
    ConditionChances,
)
from foretell.filter.access_sets.event_slots import EventSlots, SlotKind
from foretell.filter.access_sets.plan_kernels import (
    assign_access,
    choose_sorts,
    equality_chances,
    equality_masks,
)
from foretell.filter.access_sets.profile_conditions import ProfileConditions
from foretell.records import record


@record
class Times:
    """Nanoseconds: of a look-up in a group, and more for each attribute of its key; of a block of candidates that is
    found, of a bisection in it, of a candidate, and of a match."""

    probe: float
    probe_attribute: float
    block: float
    bisection: float
    candidate: float
    match: float


#: By the number of profiles, for their tables leave one cache of the processor after the other. Fitted to the workloads
#: of `foretell bench filter`.
TIMES = (
    (20_000, Times(3.0, 1.0, 6.0, 20.0, 1.5, 3.0)),
    (300_000, Times(6.0, 1.0, 12.0, 30.0, 2.5, 5.0)),
    (np.inf, Times(20.0, 1.0, 40.0, 60.0, 5.0, 10.0)),
)


def times_of(profiles: int) -> Times:
    """The times of a generation of so many profiles."""
    return next(times for most, times in TIMES if profiles <= most)


#: Attributes that may be part of an access set: a word has a bit for each.
_MOST_ATTRIBUTES = 62
#: Profiles by which access sets are chosen, and access sets among which.
_SAMPLE, _MOST_CANDIDATES = 4096, 512
#: Keys are numbers below this.
_MOST_KEYS = 1 << 62
#: Conditions of a record, at most, in each class of groups; beyond the last by powers of two.
_WIDTHS = np.array([2, 4, 6, 8, 12, 16, 24, 32, 48, 64, *(1 << np.arange(7, 24))])


@record
class AccessPlan:
    """Groups, and the group of each profile. Of each group: the attributes of its key, the slot by whose range it is
    sorted (-1: it is not), the width class of the ranges, the most conditions that are left, and the profiles. Then the
    expected candidates of an event, and the nanoseconds of its look-ups and of the blocks that it finds."""

    access: tuple[tuple[int, ...], ...]
    sort_slot: Ints
    width_class: Ints
    width: Ints
    sizes: Ints
    group: Ints
    candidates: float
    times: Times
    probing: float
    found: float

    @property
    def nanoseconds(self) -> float:
        """About the processor time that an event takes, but for its matches."""
        return self.probing + self.found + self.times.candidate * self.candidates

    def nanoseconds_of(self, work: Ints, events: int) -> float:
        """The same from what was counted while so many events were matched."""
        blocks, bisections, candidates, _ = (work / max(1, events)).tolist()
        times = self.times
        return float(self.probing + times.block * blocks + times.bisection * bisections + times.candidate * candidates)


def plan_access(
    conditions: ProfileConditions, slots: EventSlots, chances: ConditionChances, weight: float = 1.0
) -> AccessPlan:
    """The plan for profiles, each with the chance of its conditions. Each stands for `weight` profiles."""
    attributes = [attribute for attribute, kind in slots.used if kind is SlotKind.CODE][:_MOST_ATTRIBUTES]
    bit_of_slot = np.full(max(1, len(slots.used)), -1, np.int64)
    bit_of_slot[slots.numbers[attributes, SlotKind.CODE]] = np.arange(len(attributes))
    starts = conditions.starts
    masks = equality_masks(starts, conditions.slots, conditions.spans, bit_of_slot)
    sizes = [len(slots.codes[attribute]) for attribute in attributes]
    times = times_of(round(weight * len(conditions)))
    opened = _access_masks(times, conditions, chances, masks, bit_of_slot, sizes, weight)
    access, key_chance = assign_access(
        starts, conditions.slots, chances.chance, masks, bit_of_slot, np.array(opened, np.int64)
    )
    sort, window = choose_sorts(starts, conditions.slots, chances.window, chances.width_class)
    kept = _worthwhile_sorts(times, access, sort, weight * key_chance, window)
    sort = np.where(kept, sort, -1)
    candidates = np.where(kept, window, 1.0) * key_chance * weight
    dropped = np.array([mask.bit_count() for mask in opened], np.int64)[access]
    dropped += kept & (sort % CLASSES < FIRST_CLASS)
    numbers = _combined(access, sort + 1)
    remaining = np.diff(starts) - dropped
    used, group = distinct(_combined(numbers, _width_buckets(numbers, remaining)))
    widths, sizes_of = np.zeros(len(used), np.int64), np.bincount(group, minlength=len(used)).astype(np.int64)
    np.maximum.at(widths, group, remaining)
    first = np.zeros(len(used), np.int64)
    first[group] = np.arange(len(group))
    chosen, sort_of = access[first], sort[first]
    sets = [tuple(a for bit, a in enumerate(attributes) if opened[n] >> bit & 1) for n in chosen.tolist()]
    return AccessPlan(
        access=tuple(sets),
        sort_slot=np.where(sort_of >= 0, sort_of // CLASSES, -1),
        width_class=np.where(sort_of >= 0, sort_of % CLASSES, -1),
        width=widths,
        sizes=sizes_of,
        group=group,
        candidates=float(candidates.sum()),
        times=times,
        probing=sum(_probe(times, len(attributes)) for attributes in sets),
        found=_time_of_blocks(times, np.bincount(group, candidates, len(used)).astype(np.float64), sort_of >= 0),
    )


def _combined(first: Ints, second: Ints) -> Ints:
    """Small numbers for pairs of numbers."""
    if not len(first):
        return first
    _, place = distinct(first * (int(second.max()) + 1) + second)
    return place


def _time_of_blocks(times: Times, candidates: Floats, is_sorted: Flags) -> float:
    """The time until the candidates of an event are found, which are so many in each group."""
    return float((np.minimum(1.0, candidates) * (times.block + times.bisection * is_sorted)).sum())


def _probe(times: Times, attributes: int) -> float:
    """The time of a look-up in a group."""
    return times.probe + times.probe_attribute * attributes


# ── access sets ──


def _access_masks(
    times: Times,
    conditions: ProfileConditions,
    chances: ConditionChances,
    masks: Ints,
    bit_of_slot: Ints,
    sizes: list[int],
    of_each: float,
) -> list[int]:
    """The access sets that are opened, as bits of attributes; the empty one is always among them if it is needed."""
    if not len(masks):
        return [0]
    step = max(1, len(masks) // _SAMPLE)
    sample = np.arange(0, len(masks), step)
    weight = of_each * len(masks) / len(sample)
    chance = equality_chances(
        sample, conditions.starts, conditions.slots, chances.chance, conditions.spans, bit_of_slot, max(1, len(sizes))
    )
    signatures = masks[sample]
    candidates = [0, *_candidate_masks(signatures, sizes)]
    costs = np.full((len(candidates), len(sample)), np.inf)
    for row, mask in enumerate(candidates):
        has = (signatures & mask) == mask
        bits = [bit for bit in range(len(sizes)) if mask >> bit & 1]
        expected = np.prod(chance[np.ix_(has, bits)], axis=1)
        costs[row, has] = weight * (times.candidate * expected + times.block * np.minimum(expected, 1.0 / weight))
    return _cheapest_cover(candidates, costs, np.array([_probe(times, m.bit_count()) for m in candidates]))


def _candidate_masks(signatures: Ints, sizes: list[int]) -> list[int]:
    """Sets of one to three attributes that profiles fix, and all that a profile fixes, the most frequent ones."""
    found: dict[int, int] = {}
    values, counts = np.unique(signatures, return_counts=True)
    for mask, count in sorted(zip(values.tolist(), counts.tolist()), key=lambda pair: -pair[1])[:_MOST_CANDIDATES]:
        bits = [bit for bit in range(len(sizes)) if mask >> bit & 1]
        subsets = [c for n in (1, 2, 3) if n < len(bits) for c in combinations(bits, n)]
        for subset in (tuple(bits), *subsets):
            if subset and prod(max(1, sizes[bit]) for bit in subset) < _MOST_KEYS:
                key = sum(1 << bit for bit in subset)
                found[key] = found.get(key, 0) + count
    return sorted(found, key=lambda mask: -found[mask])[:_MOST_CANDIDATES]


def _cheapest_cover(candidates: list[int], costs: Floats, prices: Floats) -> list[int]:
    """Open sets as long as one saves more than it costs, then close those that no longer do."""
    opened = [0]
    best = costs[0].copy()
    while len(opened) < len(candidates):
        gains = np.maximum(best - costs, 0.0).sum(axis=1) - prices
        gains[opened] = -np.inf
        row = int(np.argmax(gains))
        if gains[row] <= 0:
            break
        opened.append(row)
        best = np.minimum(best, costs[row])
    for row in sorted(opened[1:], key=lambda n: candidates[n].bit_count()):
        others = [n for n in opened if n != row]
        without = costs[others].min(axis=0)
        if (without - best).sum() <= prices[row]:
            opened, best = others, without
    # The empty set takes those that have no other: it costs nothing while it is empty.
    return [candidates[row] for row in sorted(opened)]


# ── sorted groups ──


def _worthwhile_sorts(times: Times, access: Ints, sort: Ints, key_chance: Floats, window: Floats) -> Flags:
    """The profiles whose group saves more candidates by being sorted than it costs."""
    group = _combined(access, sort + 1)
    groups = int(group.max()) + 1 if len(group) else 0
    mass = np.bincount(group, key_chance, groups)
    saved = times.candidate * np.bincount(group, key_chance * (1.0 - window), groups)
    costs = _probe(times, 2) + times.bisection * np.minimum(1.0, mass)
    kept: Flags = (saved > costs)[group] & (sort >= 0)
    return kept


def _width_buckets(numbers: Ints, conditions: Ints) -> Ints:
    """The most conditions of a record in the group of each profile. Records of a group have equal length: groups with
    long and short ones are divided."""
    bucket = np.searchsorted(_WIDTHS, np.maximum(conditions, 0))
    classes = len(_WIDTHS)
    counts = np.bincount(
        numbers * classes + bucket, minlength=(int(numbers.max()) + 1) * classes if len(numbers) else 0
    )
    table = counts.reshape(-1, classes)
    target = np.tile(np.arange(classes), (len(table), 1))
    for row in np.flatnonzero((table > 0).sum(axis=1) > 1).tolist():
        used = np.flatnonzero(table[row])
        joined, count = used[-1], table[row, used[-1]]
        for number in used[-2::-1].tolist():  # from the widest: few narrow ones join those that are wider
            if table[row, number] > max(64, count // 4):
                joined, count = number, 0
            target[row, number] = joined
            count += table[row, number]
    chosen: Ints = target[numbers, bucket]
    return chosen
