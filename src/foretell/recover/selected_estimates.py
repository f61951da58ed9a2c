"""Estimates under AFTER MATCH: certain matches are taken first, and an estimate only from what they leave.

An estimate is reported when it is known, unless a certain match excludes it by then, or an earlier estimate that has
not been withdrawn. It is withdrawn when a certain match completes that could not be taken together with it, or a lost
step is seen outside its gap (decision 0015). So the results that were reported are held for as long as that may happen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.language.checked import CheckedSubscription
from foretell.machine.input.event_buffer import EventBuffer
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.matches.results import ResultBatch
from foretell.plan.match_selection import after_match_rule
from foretell.records import record
from foretell.recover.candidates import CandidateMatches, VariantMatches
from foretell.recover.completions import CompletionKey, completions_of, restored_completions
from foretell.recover.held_results import HeldResults, WithdrawnEstimate
from foretell.recover.match_exclusions import MatchEvents, Name, excluded_until, no_exclusions
from foretell.recover.row_estimates import FoundMatches, KeyedTimes, until_when
from foretell.storage.recorded_values import array, require, times

#: The order at the same place: certain matches come first, and what withdraws before what is reported.
_CERTAIN, _TELLING, _ESTIMATE = range(3)


@record
class _Occurrence:
    """A match, or one that tells of a lost step: the row of a source."""

    known: CompletionKey
    turn: int
    events: MatchEvents
    variant: int
    source: CandidateMatches
    row: int

    @property
    def order(self) -> tuple[object, ...]:
        return self.known, self.turn, self.events.positions, self.events.steps

    @property
    def name(self) -> Name:
        return self.variant, np.array(self.events.positions, np.int64).tobytes()

    @property
    def end(self) -> int | float:
        end: int | float = self.source.results.end[self.row].item()
        return end


@record
class _Reported:
    """An estimate that may be withdrawn, unless it was confirmed."""

    known: CompletionKey
    until: int | float
    events: MatchEvents
    confirmed: bool = False


class SelectedEstimates:
    def __init__(self, subscription: CheckedSubscription, variants: Sequence[VariantMatches]) -> None:
        after = subscription.tree.after
        step = None if after.step is None else subscription.positive.index(after.step)
        self._rule = after_match_rule(after.policy, step)
        self._variants, self._within = variants, subscription.within
        self._by_time = subscription.simultaneous
        self._seen = [KeyedTimes(len(variant.steps)) for variant in variants]
        self._certain = no_exclusions(self._rule, latest=True)
        self._estimates = no_exclusions(self._rule, latest=False)
        self._held = HeldResults(variants)
        self._reported: dict[Name, _Reported] = {}
        self._kept = 0

    @property
    def nbytes(self) -> int:
        seen = 300 * sum(map(len, self._seen))
        return seen + self._held.nbytes + self._certain.nbytes + self._estimates.nbytes

    @property
    def held(self) -> Iterable[ResultBatch]:
        return self._held.results

    def renew(self, renewed: Callable[[ResultBatch], ResultBatch]) -> None:
        self._held.renew(renewed)

    # ── matches of a batch ──

    def process(self, found: Sequence[FoundMatches]) -> list[ResultBatch]:
        certain, reported, withdrawn = list[_Occurrence](), list[_Occurrence](), list[WithdrawnEstimate]()
        for occurrence in sorted(self._occurrences(found), key=lambda occurrence: occurrence.order):
            if occurrence.turn == _TELLING:
                withdrawn += self._withdrawn([occurrence.name], occurrence)
            elif occurrence.turn == _ESTIMATE:
                if self._is_reported(occurrence):
                    reported.append(occurrence)
            elif not any(self._certain.excluding(occurrence.events)):
                certain.append(occurrence)
                self._certain.add(occurrence.name, occurrence.events, excluded_until(occurrence.end, self._within))
                withdrawn += self._withdrawn(list(self._estimates.excluding(occurrence.events)), occurrence)
        results = [result for _, own in self._own(certain, "match") for result in own]
        for occurrences, own in self._own(reported, "estimate"):
            results += own
            self._held.add([occurrence.name for occurrence in occurrences], own[0])
        return results + self._held.withdraw(withdrawn)

    def _occurrences(self, found: Sequence[FoundMatches]) -> Iterator[_Occurrence]:
        for number, matches in enumerate(found):
            variant, seen = self._variants[number], self._seen[number]
            for telling in matches.telling:
                starts = telling.results.start.tolist()
                for name, key, start in zip(telling.names, telling.known.keys, starts, strict=True):
                    seen.note(name, key, until_when(start, self._within))
                yield from self._rows(number, telling, [_TELLING] * len(telling))
            for candidates in matches.candidates:
                turns = np.where(variant.certain(candidates), _CERTAIN, _ESTIMATE).tolist()
                yield from self._rows(number, candidates, turns)

    def _rows(self, variant: int, source: CandidateMatches, turns: Sequence[int]) -> Iterator[_Occurrence]:
        matches = source.results.matches
        assert matches is not None
        events = self._events(variant, source.positions, source.results.lane, matches.buffer)
        for row, (known, turn, own) in enumerate(zip(source.known.keys, turns, events, strict=True)):
            yield _Occurrence(known, turn, own, variant, source, row)

    def _events(self, variant: int, positions: Ints, lanes: Ints, buffer: EventBuffer) -> Iterator[MatchEvents]:
        """The events of matches of a variant, by their positions."""
        steps, rule = tuple(self._variants[variant].steps.tolist()), self._rule
        ranks = buffer.times(positions.ravel()).reshape(positions.shape) if self._by_time else positions
        to: list[int | float | None] = [None] * len(positions)
        if rule.skip_to is None or rule.skip_to in steps:
            to = ranks[:, -1 if rule.skip_to is None else steps.index(rule.skip_to)].tolist()
        rows = zip(positions.tolist(), lanes.tolist(), ranks[:, 0].tolist(), to, strict=True)
        for own, lane, first, last in rows:
            yield MatchEvents(tuple(own), steps, lane, first, last)

    def _is_reported(self, estimate: _Occurrence) -> bool:
        name, events = estimate.name, estimate.events
        if self._seen[estimate.variant].known_by(name[1], estimate.known):
            return False
        if any(self._certain.excluding(events)) or any(self._estimates.excluding(events)):
            return False
        self._report(name, _Reported(estimate.known, until_when(estimate.end, self._within), events))
        return True

    def _report(self, name: Name, reported: _Reported) -> None:
        self._reported[name] = reported
        self._estimates.add(name, reported.events, reported.until)

    def _withdrawn(self, names: Sequence[Name], by: _Occurrence) -> Iterator[WithdrawnEstimate]:
        for name in names:
            reported = self._reported.get(name)
            if reported is not None and not reported.confirmed and reported.known < by.known:
                self._discard(name)
                yield WithdrawnEstimate(name, by.end, by.source.results, by.row)

    def _discard(self, name: Name) -> None:
        self._estimates.discard(name, self._reported.pop(name).events)

    # ── estimates that others revise ──

    @property
    def reported(self) -> Iterable[tuple[int, ResultBatch]]:
        return self._held.by_variant

    def stands(self, variant: int, positions: Ints) -> Flags:
        found = [self._reported.get((variant, row.tobytes())) for row in np.ascontiguousarray(positions)]
        return np.array([own is not None and not own.confirmed for own in found], np.bool_)

    def revise(self, variant: int, positions: Ints, *, confirmed: bool) -> None:
        for row in np.ascontiguousarray(positions):
            name = variant, row.tobytes()
            if confirmed:
                self._reported[name] = replace(self._reported[name], confirmed=True)
            else:
                self._discard(name)
                self._held.discard(name)

    def _own(self, chosen: Sequence[_Occurrence], kind: str) -> Iterator[tuple[list[_Occurrence], list[ResultBatch]]]:
        """Matches as results of the statement, those of a source together."""
        by_source: dict[int, list[_Occurrence]] = {}
        for occurrence in chosen:
            by_source.setdefault(id(occurrence.source), []).append(occurrence)
        for occurrences in by_source.values():
            occurrences.sort(key=lambda occurrence: occurrence.row)
            source, variant = occurrences[0].source, self._variants[occurrences[0].variant]
            keep = np.zeros(len(source), np.bool_)
            keep[[occurrence.row for occurrence in occurrences]] = True
            yield occurrences, variant.as_own(source.only(keep), kind)

    # ── what can no longer matter, and snapshots ──

    def forget(self, now: int | float) -> None:
        size = len(self._reported) + sum(map(len, self._seen))
        if size < 2 * self._kept + 64:
            return
        self._drop(now)
        self._kept = len(self._reported) + sum(map(len, self._seen))

    def _drop(self, now: int | float) -> None:
        for name, reported in list(self._reported.items()):
            if reported.until < now:
                self._discard(name)
        for seen in self._seen:
            seen.forget(now)
        self._certain.forget(now)
        self._held.keep(self._reported.keys())

    def state(self) -> Mapping[str, Any]:
        kept = list(self._reported.values())
        return {
            "seen": [seen.state() for seen in self._seen],
            "certain": self._certain.state(),
            "held": self._held.state(list(self._reported)),
            **completions_of([reported.known for reported in kept]).state(),
            "until": np.array([float(reported.until) for reported in kept]),
            "confirmed": np.array([reported.confirmed for reported in kept], np.bool_),
        }

    def restore(self, state: Mapping[str, Any], bounds: StateBounds, like: ResultBatch) -> None:
        require(len(state["seen"]) == len(self._seen), "the estimates")
        for seen, recorded in zip(self._seen, state["seen"], strict=True):
            seen.restore(recorded, bounds)
        self._certain.restore(state["certain"], bounds)
        names = self._held.restore(state["held"], bounds, like)
        assert like.matches is not None
        keys = restored_completions(state, len(names), bounds).keys
        until = times(state["until"], np.float64, (len(names),), "the estimates").tolist()
        confirmed = state.get("confirmed", np.zeros(len(names), np.bool_))  # early snapshots have none
        flags = array(confirmed, np.bool_, (len(names),), "the estimates").tolist()
        for name, known, time, flag in sorted(zip(names, keys, until, flags, strict=True), key=lambda row: row[1]):
            part, row = self._held.places[name]
            positions = np.frombuffer(name[1], np.int64).reshape(1, -1)
            (events,) = self._events(name[0], positions, part.results.lane[row : row + 1], like.matches.buffer)
            self._report(name, _Reported(known, time, events, flag))
