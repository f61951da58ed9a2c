"""The executor of templates of a single step: an index finds the rows that each event matches. There are no runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.filter.predicates import EventColumns
from foretell.filter.profile_matches import ProfileMatches
from foretell.filter.string_dictionary import StringDictionary
from foretell.filter.template_index import SHIFT
from foretell.machine.exec.limits import Limit, RunLedger
from foretell.machine.exec.raw_matches import NO_NODES, WORK_ON_MATCHES, RawMatches
from foretell.machine.exec.stopped_lanes import StoppedLanes
from foretell.machine.input.event_buffer import EventSegment
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.profiled_rows import ProfiledRows
from foretell.storage.recorded_values import FAR, indices, require_range


@dataclass(eq=False)
class ProfileExecutor:
    """Used as an NfaExecutor is."""

    rows: ProfiledRows
    strings: StringDictionary
    ledger: RunLedger = field(default_factory=RunLedger)

    alive = 0
    oldest = None
    counts_in_lanes = False
    has_many_lists = False

    def __post_init__(self) -> None:
        self.stopped = StoppedLanes()
        self.refusals: list[tuple[int, Ints, Limit]] = []
        self.dropped: dict[int, int] = {}
        self.dropped_by: Limit = "lane"
        self._matched = 0  # the memory of the matches of the present batch

    # ── a batch ──

    def process(self, segment: EventSegment, lane_count: int, now: int | float) -> RawMatches:
        """The matches of a batch: one for each event that matches any row, with the list of its profiles."""
        found = self._found(segment)
        counts = np.diff(found.offsets)
        event = np.flatnonzero(counts)
        self.rows.found = found.profiles
        self.account()
        return _raw_matches(segment, event, (found.offsets[event] << SHIFT) + counts[event])

    def _found(self, segment: EventSegment) -> ProfileMatches:
        """The profiles of all events, as far as there is memory for the matches."""
        wanted = self._wanted(segment.events)
        parts: list[ProfileMatches] = []
        done, self._matched = 0, 0
        for part in self.rows.profiles.matches(segment.events, self.strings, wanted):
            parts.append(part)
            done += len(part)
            self._matched += part.profiles.nbytes
            if done < len(segment) and WORK_ON_MATCHES * self._matched > self._room:
                lanes = np.unique(segment.lane[done:])
                self.refusals.append((0, self.stopped.stop(0, lanes, segment.base + done), "memory"))
                parts.append(ProfileMatches.none(len(segment) - done))
                break
        return ProfileMatches.one_after_another(parts)

    def _wanted(self, events: EventColumns) -> Flags | None:
        """The events that satisfy the conditions without parameters; None where there are no such conditions."""
        common = self.rows.plan.template.common
        return reduce(np.logical_and, [events.truth(c, self.strings) for c in common]) if common else None

    @property
    def _room(self) -> int:
        return self.ledger.remaining_bytes

    # ── as of runs, of which there are none ──

    def referenced(self) -> Ints:
        """No event is kept for a later match."""
        return np.zeros(0, np.int64)

    def texts(self) -> Iterator[Ints]:
        """The texts of rows stay in the dictionary in any case."""
        return iter(())

    def needed_lanes(self) -> Ints:
        """The lanes that cannot be freed."""
        return self.stopped.lanes

    def free_lanes(self, freed: Ints) -> None:
        """Nothing is kept by lane."""

    def free_lists(self) -> None:
        """There are no lists of runs."""

    def sweep(self) -> int:
        """Nothing is left to do."""
        return 0

    def compact(self) -> None:
        self.account()

    def relieve(self, position: int) -> None:
        """There are no partial matches that could be dropped."""

    def account(self) -> None:
        """Tell the ledger how much memory the matches of the present batch take, besides what is written of each."""
        self.ledger.held[id(self)] = 0
        self.ledger.bytes[id(self)] = self._matched + self.stopped.nbytes

    # ── state ──

    def state(self) -> dict[str, Any]:
        return {"refused": self.stopped.rows()[:, 1:]}

    def restore(self, state: Mapping[str, Any], bounds: StateBounds) -> None:
        refused = indices(state["refused"], FAR, "the stopped lanes", (None, 2))
        require_range(refused[:, 0], bounds.lanes, "the stopped lanes")
        self.stopped = StoppedLanes.of(np.pad(refused, ((0, 0), (1, 0))))


def _raw_matches(segment: EventSegment, event: Ints, rows: Ints) -> RawMatches:
    """Matches of single events."""
    position, nothing = segment.base + event, np.zeros(len(event), np.int64)
    return RawMatches(
        state=nothing,
        lane=segment.lane[event],
        position=position,
        first=position,
        chain=nothing - 1,
        rows=rows,
        slots=np.zeros((len(event), 0), np.int64),
        nulls=np.zeros((len(event), 0), np.uint8),
        nodes=NO_NODES,
    )
