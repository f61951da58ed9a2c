"""The access-set index: profiles in generations of access tables, which grow and shrink while events are matched.

New profiles wait until the next batch. A few of them are compared one by one; the first ones, and more, become a
generation. A generation is merged with the ones before it that are less than four times as large, so that a profile
moves a logarithmic number of times (Bentley and Saxe 1980). Removed profiles are marked, and dropped when half of a
generation is gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from foretell.arrays import Flags, Ints, room_for
from foretell.events.types import Type
from foretell.filter.access_sets.condition_chances import AttributeSample
from foretell.filter.access_sets.event_slots import EventSlots
from foretell.filter.access_sets.generation import Generation
from foretell.filter.access_sets.match_kernels import BLOCK_WORDS, append_matches, match_events, match_recent
from foretell.filter.access_sets.profile_conditions import (
    ConditionReader,
    ProfileConditions,
    kind_of_operand,
    without_old_codes,
)
from foretell.filter.access_sets.text_orders import TextOrders
from foretell.filter.column import Column
from foretell.filter.predicates import EventColumns
from foretell.filter.profile_index import (
    MOST_MATCHES,
    ProfileComparison,
    constant_truth,
    constants_alone,
    rows_in,
    stacked,
)
from foretell.filter.profile_matches import ProfileMatches
from foretell.filter.string_dictionary import StringDictionary
from foretell.language.printer import expression_text
from foretell.records import record

#: Profiles that are compared one by one, at most, and those that are read before the next batch.
MOST_RECENT, _MANY = 256, 4096
#: A generation is at least so many times as large as the next one.
_GROWTH = 4
#: Words of the events that are matched at once: they stay in the processor's second cache.
_EVENT_WORDS, _LEAST_EVENTS = 1 << 16, 1024
#: Nanoseconds for an event, for each of its slots and for each recent profile.
_PER_EVENT, _PER_SLOT, _PER_RECENT = 5.0, 3.0, 1.5
#: Groups that a summary names.
_NAMED_GROUPS = 6
#: Numbers of profiles are below this.
_MOST_NUMBERS = 1 << 31


class AccessSetIndex:
    """A ProfileIndex with access sets. `sample` is that of the events for which its groups are planned."""

    def __init__(
        self,
        comparisons: Sequence[ProfileComparison],
        columns: Mapping[str, Column],
        sample: AttributeSample | None = None,
    ) -> None:
        kinds = {name: column.kind for name, column in columns.items()}
        alone = constants_alone(comparisons)
        orders = [c for c in comparisons if c not in alone and _orders_texts(c, kinds)]
        self._constant = alone
        self._reader = ConditionReader.of([c for c in comparisons if c not in (*alone, *orders)], kinds)
        self._text_orders = TextOrders(orders)
        self._sample = sample
        self._generations: list[Generation] = []
        self._recent = ProfileConditions.none()
        self._waiting: list[_Addition] = []
        self._removed: list[Ints] = []
        self._live = np.zeros(0, np.bool_)
        self._numbers = self._count = 0
        self._scratch = _Scratch()
        self.add(columns)

    # ── changes ──

    def add(self, columns: Mapping[str, Column]) -> Ints:
        count = rows_in(columns)
        numbers = np.arange(self._numbers, self._numbers + count)
        if self._numbers + count > _MOST_NUMBERS:
            raise OverflowError(f"an index numbers at most {_MOST_NUMBERS:,} profiles; make a new one")
        if self._numbers + count > len(self._live):
            live = np.zeros(room_for(2 * (self._numbers + count), len(self._live)), np.bool_)
            live[: self._numbers] = self._live[: self._numbers]
            self._live = live
        self._live[self._numbers : self._numbers + count] = True
        self._numbers += count
        self._count += count
        self._text_orders.add(columns)
        if count:
            self._waiting.append(_Addition(numbers, columns))
        if sum(len(addition.numbers) for addition in self._waiting) >= _MANY and not self._reader.has_texts:
            self.settle(None)
        return numbers

    def remove(self, profiles: Ints) -> None:
        present = profiles[self._live[profiles]]
        self._live[present] = False
        self._count -= len(present)
        self._removed.append(present)

    def plan(self, sample: AttributeSample) -> None:
        """Put all profiles into new groups, chosen for the events of a sample."""
        self._sample = sample
        conditions = self.conditions()
        self._generations = []
        self._grow(conditions)

    def settle(self, strings: StringDictionary | None) -> None:
        """Take in what has changed since the last batch."""
        if self._waiting:
            added = _together(self._waiting)
            self._waiting = []
            read = self._reader.read(added.numbers, added.columns, strings)
            read = read.where(self._live[read.numbers])
            recent = ProfileConditions.together([self._recent, read])
            if len(recent) <= MOST_RECENT and self._generations:
                self._recent = recent
            else:
                self._grow(recent)
        if self._removed:
            self._take_removed()

    def _grow(self, conditions: ProfileConditions) -> None:
        """Make a generation of profiles and the small ones before it."""
        parts = [conditions]
        count = len(conditions)
        while self._generations and self._generations[-1].left < _GROWTH * count:
            generation = self._generations.pop()
            count += generation.left
            parts.insert(0, generation.conditions(self._reader.slots))
        together = ProfileConditions.together(parts)
        if not self._generations:
            together = without_old_codes(together, self._reader.slots)
        self._recent = ProfileConditions.none()
        if len(together):
            self._generations.append(Generation.of(together, self._reader.slots, self._sample))

    def _take_removed(self) -> None:
        removed = np.sort(np.concatenate([np.zeros(0, np.int64), *self._removed]))
        self._removed = []
        if not len(removed):
            return
        for place, generation in enumerate(self._generations):
            first, last = np.searchsorted(removed, generation.numbers[[0, -1]] + [0, 1])
            if first < last:
                generation.remove(removed[first:last])
            if 2 * generation.left < len(generation.numbers):
                left = generation.conditions(self._reader.slots)
                self._generations[place] = Generation.of(left, self._reader.slots, self._sample)
        self._generations = [generation for generation in self._generations if generation.left]
        if len(self._recent):
            self._recent = self._recent.where(self._live[self._recent.numbers])

    # ── events ──

    def match(self, events: EventColumns, strings: StringDictionary, wanted: Flags | None = None) -> ProfileMatches:
        return ProfileMatches.one_after_another(self.slices(events, strings, wanted))

    def slices(
        self, events: EventColumns, strings: StringDictionary, wanted: Flags | None = None, most: int = MOST_MATCHES
    ) -> Iterator[ProfileMatches]:
        self.settle(strings)
        wanted = constant_truth(self._constant, events, strings, wanted)
        slots = self._reader.slots
        # All of these may change between two slices.
        generations, recent, tables = tuple(self._generations), self._recent, slots.code_tables
        step = max(_LEAST_EVENTS, _EVENT_WORDS // max(1, len(slots.used)))
        for begin in range(0, max(1, len(events)), step):
            part = slice(begin, min(len(events), begin + step))
            rows = slots.of_events(events, strings, part, tables)
            place = 0
            while place < len(rows) or part.stop == 0:
                matches = self._matches(generations, recent, rows, wanted[part], place, most)
                yield self._text_orders.filtered(matches, events, strings, begin + place)
                place += len(matches)
                if part.stop == 0:
                    break

    def _matches(
        self,
        generations: Sequence[Generation],
        recent: ProfileConditions,
        rows: Ints,
        wanted: Flags,
        begin: int,
        most: int,
    ) -> ProfileMatches:
        """Those of the events from one on, as far as there are at most so many."""
        stop = len(rows)
        parts: list[ProfileMatches] = []
        for generation in generations:
            parts.append(self._scratch.match(generation, rows, wanted, begin, stop, most))
            stop = begin + len(parts[-1])
        if len(recent):
            stop = min(stop, begin + max(1, most // len(recent)))
            parts.append(self._scratch.match_recent(recent, rows, wanted, begin, stop))
        if not parts:
            return ProfileMatches.none(stop - begin)
        found = parts[0].first(stop - begin)
        for part in parts[1:]:
            joined = part.first(stop - begin)
            found = ProfileMatches(*append_matches(found.offsets, found.profiles, joined.offsets, joined.profiles))
        return found.first(found.events_with(most))

    # ── figures ──

    @property
    def generations(self) -> tuple[Generation, ...]:
        return tuple(self._generations)

    @property
    def live(self) -> Flags:
        """Of each number whether its profile is there."""
        return self._live[: self._numbers]

    @property
    def slots(self) -> EventSlots:
        return self._reader.slots

    @property
    def waits(self) -> bool:
        """Whether changes wait for the next batch."""
        return bool(self._waiting)

    @property
    def has_text_orders(self) -> bool:
        return bool(self._text_orders)

    def conditions(self) -> ProfileConditions:
        """The conditions of all profiles but those that wait for the next batch."""
        self._take_removed()
        parts = [generation.conditions(self._reader.slots) for generation in self._generations]
        return ProfileConditions.together([*parts, self._recent])

    def saving(self, sample: AttributeSample) -> tuple[float, int]:
        """The nanoseconds that an event would save, if the groups of the largest generation were planned for the events
        of a sample; and the events that it has matched."""
        if not self._generations:
            return 0.0, 0
        largest = max(self._generations, key=lambda generation: generation.left)
        return largest.replanned(self._reader.slots, sample), largest.events

    def __len__(self) -> int:
        return self._count

    @property
    def nanoseconds(self) -> float:
        """About the processor time that an event takes, for a planner that compares indexes."""
        found = sum(generation.nanoseconds for generation in self._generations)
        return found + _PER_EVENT + _PER_SLOT * len(self._reader.slots.used) + _PER_RECENT * len(self._recent)

    @property
    def summary(self) -> str:
        """The groups and what they take."""
        groups = sum(len(generation.plan.access) for generation in self._generations)
        counted = bool(self._generations) and all(generation.events for generation in self._generations)
        candidates = sum(generation.candidates for generation in self._generations) + len(self._recent)
        keys = ", ".join(self._named_groups())
        size = f"{self._count:,} profiles in {groups:,} group{'' if groups == 1 else 's'}"
        size += f" ({keys})" if keys else ""
        took = f"{candidates:,.1f} candidates and {self.nanoseconds:,.0f} ns an event"
        return f"access sets: {size}, {self.nbytes / 1e3:,.0f} kB; {'counted' if counted else 'expected'} {took}"

    def _named_groups(self) -> list[str]:
        """The keys of the groups of the largest generation, a few."""
        if not self._generations:
            return []
        plan = max(self._generations, key=lambda generation: generation.left).plan
        attributes = self._reader.slots.attributes
        by_size = np.argsort(-plan.sizes, kind="stable").tolist()
        names: list[str] = []
        for group in by_size[:_NAMED_GROUPS]:
            key = [expression_text(attributes[a].expression) for a in plan.access[group]] or ["no equality"]
            slot = int(plan.sort_slot[group])
            order = (
                f" by {expression_text(attributes[self._reader.slots.used[slot][0]].expression)}" if slot >= 0 else ""
            )
            names.append(f"{' + '.join(key)}{order}: {int(plan.sizes[group]):,}")
        return [*names, "…"] if len(by_size) > _NAMED_GROUPS else names

    @property
    def nbytes(self) -> int:
        tables = sum(generation.nbytes for generation in self._generations)
        return tables + self._reader.slots.nbytes + self._live.nbytes + self._text_orders.nbytes + self._scratch.nbytes


class _Scratch:
    """Arrays that kernels write to, kept from batch to batch."""

    def __init__(self) -> None:
        self._out = np.empty(1 << 12, np.int64)
        self._spare = np.empty(1 << 12, np.int64)
        self._blocks = np.empty(64, np.int64)
        self._counts = np.empty(256, np.int64)

    @property
    def nbytes(self) -> int:
        return self._out.nbytes + self._spare.nbytes

    def match(
        self, generation: Generation, rows: Ints, wanted: Flags, begin: int, stop: int, most: int
    ) -> ProfileMatches:
        """The matches of the events from `begin` on, as far as there is room for their candidates."""
        offsets = np.zeros(stop - begin + 1, np.int64)
        groups = len(generation.plan.access)
        if BLOCK_WORDS * groups > len(self._blocks):
            self._blocks = np.empty(2 * BLOCK_WORDS * groups, np.int64)
        kept: list[Ints] = []
        at, total = begin, 0
        while True:
            done, needed = match_events(
                generation.tables,
                rows,
                wanted,
                at,
                stop,
                offsets[at - begin :],
                self._out,
                self._blocks,
                self._spare,
                self._counts,
                generation.work,
            )
            generation.events += done - at
            kept.append(self._out[: offsets[done - begin] if done > at else 0].copy())
            offsets[at - begin + 1 : done - begin + 1] += total
            offsets[at - begin] = total
            total += len(kept[-1])
            at = done
            if done == stop or (total and total + needed > most):
                break
            self._reserve(min(max(needed, 2 * len(self._out)), max(needed, most)))
        profiles = kept[0] if len(kept) == 1 else np.concatenate(kept)
        return ProfileMatches(offsets[: at - begin + 1], profiles)

    def match_recent(
        self, recent: ProfileConditions, rows: Ints, wanted: Flags, begin: int, stop: int
    ) -> ProfileMatches:
        self._reserve((stop - begin) * len(recent))
        offsets = np.zeros(stop - begin + 1, np.int64)
        columns = (recent.numbers, recent.starts, recent.slots, recent.lows, recent.spans)
        match_recent(*columns, rows, wanted, begin, stop, offsets, self._out)
        return ProfileMatches(offsets, self._out[: offsets[-1]].copy())

    def _reserve(self, room: int) -> None:
        if room > len(self._out):
            self._out, self._spare = np.empty(room, np.int64), np.empty(room, np.int64)


@record
class _Addition:
    """The profiles of one call of `add`."""

    numbers: Ints
    columns: Mapping[str, Column]


def _together(parts: Sequence[_Addition]) -> _Addition:
    """The profiles of several calls, so that those that come one by one are read together."""
    first = parts[0]
    if len(parts) == 1:
        return first
    columns = {name: stacked([part.columns[name] for part in parts]) for name in first.columns}
    return _Addition(np.concatenate([part.numbers for part in parts]), columns)


def _orders_texts(comparison: ProfileComparison, kinds: Mapping[str, Type]) -> bool:
    """Whether a comparison is about the order of texts, which codes do not have."""
    is_text = Type.STRING in (comparison.kind, kind_of_operand(comparison, kinds))
    return is_text and comparison.operator not in ("=", "<>")
