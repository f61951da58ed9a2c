"""A generation: profiles that were put into access tables together. Changes only mark profiles as removed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.filter.access_sets.access_plan import AccessPlan, plan_access
from foretell.filter.access_sets.access_tables import (
    BY_RANGE,
    NOT_SORTED,
    AccessTables,
    slot_words,
)
from foretell.filter.access_sets.condition_chances import AttributeSample, condition_chances, key_limits
from foretell.filter.access_sets.event_slots import EventSlots, SlotKind
from foretell.filter.access_sets.match_kernels import CANDIDATES, MATCHES, WORK_KINDS
from foretell.filter.access_sets.profile_conditions import ProfileConditions
from foretell.filter.access_sets.table_kernels import (
    Conditions,
    read_tables,
    remove_records,
    write_blocks,
    write_keys_and_bounds,
    write_records,
)

#: Profiles by which the plan of a generation is judged.
_TYPICAL = 4096
#: The table of a group is an array if it has at most so many cells for each block.
CELLS, LEAST_CELLS = 4, 1024
#: At least so many bits of a hash table for each block: of 16 keys without a block 15 are known by their bit.
KEY_BITS = 16


@dataclass
class Generation:
    """`places` are those of the profiles' records, in the order of their numbers; `left` is how many are left.
    `typical` are some of the profiles, and `work` counts what `events` have taken."""

    tables: AccessTables
    plan: AccessPlan
    numbers: Ints
    places: Ints
    array_sizes: Ints
    left: int
    typical: ProfileConditions
    work: Ints
    events: int = 0

    @classmethod
    def of(cls, conditions: ProfileConditions, slots: EventSlots, sample: AttributeSample | None) -> Generation:
        """The tables of profiles, planned for the events of a sample."""
        chances = condition_chances(conditions, slots, sample)
        plan = plan_access(conditions, slots, chances)
        chance = chances.chance
        del chances  # the rest of it is as large as the tables
        tables, places, sizes = _tables(conditions, plan, slots, chance)
        typical = conditions.take(np.arange(0, len(conditions), 1 + len(conditions) // _TYPICAL))
        plan = replace(plan, group=np.zeros(0, np.int64))  # 8 MB of a million profiles
        work = np.zeros(WORK_KINDS, np.int64)
        return cls(tables, plan, conditions.numbers, places, sizes, len(conditions), typical, work)

    @property
    def nanoseconds(self) -> float:
        """About the processor time of an event: as counted, or before events as expected."""
        if not self.events:
            return self.plan.nanoseconds
        matches = self.work[MATCHES] / self.events
        return self.plan.nanoseconds_of(self.work, self.events) + float(matches) * self.plan.times.match

    @property
    def candidates(self) -> float:
        """The candidates of an event: as counted, or before events as expected."""
        return float(self.work[CANDIDATES]) / self.events if self.events else self.plan.candidates

    def replanned(self, slots: EventSlots, sample: AttributeSample) -> float:
        """The nanoseconds that an event would save if the groups were planned for a sample of events."""
        chances = condition_chances(self.typical, slots, sample)
        plan = plan_access(self.typical, slots, chances, self.left / max(1, len(self.typical)))
        return self.plan.nanoseconds_of(self.work, self.events) - plan.nanoseconds

    @property
    def nbytes(self) -> int:
        plan = (self.plan.sort_slot, self.plan.width_class)
        return sum(int(array.nbytes) for array in (*self.tables, *plan, self.numbers, self.places))

    def remove(self, numbers: Ints) -> None:
        """Mark profiles as removed; others may be among the numbers."""
        at = np.minimum(np.searchsorted(self.numbers, numbers), len(self.numbers) - 1)
        at = at[self.numbers[at] == numbers]
        at = at[self.tables.records[self.places[at]] >= 0]
        remove_records(self.tables.records, self.places[at])
        self.left -= len(at)

    def conditions(self, slots: EventSlots) -> ProfileConditions:
        """The conditions of the profiles that are left."""
        tables = self.tables
        most = int((self.plan.sizes * (np.diff(tables.digit_begin) + tables.width + 1)).sum())
        out = Conditions(
            numbers=np.empty(self.left, np.int64),
            counts=np.empty(self.left, np.int64),
            slots=np.empty(most, np.int32),
            lows=np.empty(most, np.int64),
            spans=np.empty(most, np.int64),
        )
        limits = np.array([key_limits(slots.attributes[a].is_float) for a, _ in slots.used], np.int64).reshape(-1, 2)
        end = read_tables(tables, self.array_sizes, limits, out)
        unordered = ProfileConditions(
            out.numbers, _begins(out.counts), out.slots[:end], out.lows[:end], out.spans[:end]
        )
        return unordered.take(np.argsort(out.numbers, kind="stable"))


def _tables(
    conditions: ProfileConditions, plan: AccessPlan, slots: EventSlots, chance: NDArray[np.float32]
) -> tuple[AccessTables, Ints, Ints]:
    """The tables of a plan, the place of each profile's record, and the sizes of the arrays of cells."""
    layout = _layout(conditions, plan, slots)
    keys, bounds = np.empty(len(conditions), np.int64), np.empty(len(conditions), np.int64)
    columns = (conditions.slots, conditions.lows, conditions.spans)
    write_keys_and_bounds(layout, plan.group, conditions.starts, *columns, keys, bounds)
    is_sorted = bool((layout.sort_kind != NOT_SORTED).any())
    order = np.lexsort((bounds, keys, plan.group) if is_sorted else (keys, plan.group))
    group, key = plan.group[order], keys[order]
    begins = np.ones(len(order), np.bool_)
    begins[1:] = (group[1:] != group[:-1]) | (key[1:] != key[:-1])
    firsts = np.flatnonzero(begins)
    order_begin = np.concatenate([np.zeros(1, np.int64), np.cumsum(plan.sizes)])
    block_group = group[firsts]
    tables, array_sizes = _with_cells(layout, np.bincount(block_group, minlength=len(plan.access)))
    from_group = order_begin[block_group]
    stops = np.append(firsts[1:], len(order))
    write_blocks(tables, array_sizes, block_group, key[firsts], firsts - from_group, stops - from_group)
    is_bound = tables.sort_kind[group] != NOT_SORTED
    tables = tables._replace(bounds=bounds[order][is_bound])
    places = np.empty(len(order), np.int64)
    scratch = np.empty(int(np.diff(conditions.starts).max(initial=0)) + 1, np.int64)
    write_records(tables, order, order_begin, conditions.numbers, conditions.starts, *columns, chance, places, scratch)
    return tables, places, array_sizes


def _layout(conditions: ProfileConditions, plan: AccessPlan, slots: EventSlots) -> AccessTables:
    """The tables without cells, bounds and contents of records."""
    digits = [[(slots.numbers[a, SlotKind.CODE], len(slots.codes[a])) for a in access] for access in plan.access]
    sizes = [[size for _, size in of_group] for of_group in digits]
    values = [[prod(of_group[:n]) for n in range(len(of_group))] for of_group in sizes]
    sort_kind = np.where(plan.width_class < 0, NOT_SORTED, np.minimum(plan.width_class, BY_RANGE))
    reach = np.zeros(len(plan.access), np.int64)
    counts = np.diff(conditions.starts)
    sort_slot = np.repeat(plan.sort_slot[plan.group], counts) == conditions.slots
    by_range = np.flatnonzero(sort_slot & np.repeat((sort_kind == BY_RANGE)[plan.group], counts))
    np.maximum.at(
        reach.view(np.uint64), np.repeat(plan.group, counts)[by_range], conditions.spans[by_range].view(np.uint64)
    )
    reach = np.where(sort_kind == BY_RANGE, reach, -1)
    stride = np.array([slot_words(width) + 2 * width for width in plan.width.tolist()], np.int64)
    no_ints = np.zeros(0, np.int64)
    return AccessTables(
        digit_begin=_begins([len(of_group) for of_group in digits]),
        digit_slot=np.array([slot for of_group in digits for slot, _ in of_group], np.int64),
        digit_size=np.array([size for of_group in sizes for size in of_group], np.int64),
        digit_value=np.array([value for of_group in values for value in of_group], np.int64),
        shift=np.zeros(len(plan.access), np.uint64),
        cell_begin=no_ints,
        cells=np.zeros(0, np.int32),
        places=no_ints,
        bit_begin=no_ints,
        bit_shift=np.zeros(0, np.uint64),
        bits=np.zeros(0, np.uint8),
        record_begin=_begins(plan.sizes * stride)[:-1],
        width=plan.width,
        stride=stride,
        sort_kind=sort_kind,
        sort_slot=plan.sort_slot,
        reach=reach,
        bound_begin=_begins(np.where(sort_kind == NOT_SORTED, 0, plan.sizes))[:-1],
        bounds=no_ints,
        records=np.empty(int((plan.sizes * stride).sum()), np.int64),
    )


def _with_cells(layout: AccessTables, blocks: Ints) -> tuple[AccessTables, Ints]:
    """Room for the blocks of each group, and the sizes of the arrays."""
    cell_begin, shift, array_sizes, bit_begin, bit_shift = [], [], [], [], []
    cells = places = bit_bytes = 0
    for group, count in enumerate(blocks.tolist()):
        bit_begin.append(bit_bytes)
        digits = slice(layout.digit_begin[group], layout.digit_begin[group + 1])
        keys = prod(layout.digit_size[digits].tolist())
        if keys <= max(LEAST_CELLS, CELLS * count):
            cell_begin.append(cells)
            shift.append(64)
            bit_shift.append(64)
            cells += keys + 1
            array_sizes.append(keys + 1)
        else:
            bits = max(4, (2 * count - 1).bit_length())
            cell_begin.append(places)
            shift.append(64 - bits)
            places += 1 << bits
            bits = max(4, (KEY_BITS * count - 1).bit_length())
            bit_shift.append(64 - bits)
            bit_bytes += 1 << (bits - 3)
            array_sizes.append(0)
    tables = layout._replace(
        shift=np.array(shift, np.uint64),
        cell_begin=np.array(cell_begin, np.int64),
        cells=np.zeros(cells, np.int32),
        places=np.zeros(2 * places, np.int64),
        bit_begin=np.array(bit_begin, np.int64),
        bit_shift=np.array(bit_shift, np.uint64),
        bits=np.zeros(bit_bytes, np.uint8),
    )
    return tables, np.array(array_sizes, np.int64)


def _begins(counts: NDArray[np.int64] | list[int]) -> Ints:
    """Where each begins whose counts these are, and where the last ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.asarray(counts, np.int64))])
