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
from foretell.recover.candidate_order import CandidateOrder, CandidateSource, MatchOccurrence, Turn, match_events
from foretell.recover.candidates import VariantMatches
from foretell.recover.completions import CompletionKey, completions_of, restored_completions
from foretell.recover.held_results import HeldResults, WithdrawnEstimate
from foretell.recover.match_exclusions import MatchEvents, Name, excluded_until, no_exclusions
from foretell.recover.row_estimates import FoundMatches, KeyedTimes, until_when
from foretell.storage.recorded_values import array, require, times

#: So many estimates are looked at before those behind them are compared with the ones that were taken; then twice as
#: many, and so on.
_FIRST = 64


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
        certain, reported, withdrawn = list[MatchOccurrence](), list[MatchOccurrence](), list[WithdrawnEstimate]()
        for occurrence in self._open(found):
            if occurrence.turn == Turn.TELLING:
                withdrawn += self._withdrawn([occurrence.name], occurrence)
            elif occurrence.turn == Turn.ESTIMATE:
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

    def _open(self, found: Sequence[FoundMatches]) -> Iterator[MatchOccurrence]:
        """The matches in their order, but for estimates that are excluded long before their turn: as long as only
        estimates follow, none is withdrawn, so that more and more are excluded."""
        order = CandidateOrder(list(self._sources(found)), self._rule, by_time=self._by_time)
        for turn, rows in order.stretches():
            size = _FIRST if turn is Turn.ESTIMATE else len(rows)
            while len(rows):
                part, rows = rows[:size], rows[size:]
                if turn is Turn.ESTIMATE:
                    columns = order.columns(part)
                    part = part[~(self._certain.excluded(columns) | self._estimates.excluded(columns))]
                yield from order.occurrences(part)
                size *= 2

    def _sources(self, found: Sequence[FoundMatches]) -> Iterator[CandidateSource]:
        for number, matches in enumerate(found):
            variant, seen = self._variants[number], self._seen[number]
            steps = tuple(variant.steps.tolist())
            for telling in matches.telling:
                starts = telling.results.start.tolist()
                for name, key, start in zip(telling.names, telling.known.keys, starts, strict=True):
                    seen.note(name, key, until_when(start, self._within))
                yield CandidateSource(number, telling, steps, np.full(len(telling), Turn.TELLING))
            for candidates in matches.candidates:
                turns = np.where(variant.certain(candidates), Turn.CERTAIN, Turn.ESTIMATE)
                yield CandidateSource(number, candidates, steps, turns)

    def _events(self, variant: int, positions: Ints, lane: int, buffer: EventBuffer) -> MatchEvents:
        """The events of a match of a variant, by their positions."""
        ranks = buffer.times(positions) if self._by_time else positions
        steps = tuple(self._variants[variant].steps.tolist())
        return match_events(positions.tolist(), steps, lane, ranks.tolist(), self._rule)

    def _is_reported(self, estimate: MatchOccurrence) -> bool:
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

    def _withdrawn(self, names: Sequence[Name], by: MatchOccurrence) -> Iterator[WithdrawnEstimate]:
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

    def _own(
        self, chosen: Sequence[MatchOccurrence], kind: str
    ) -> Iterator[tuple[list[MatchOccurrence], list[ResultBatch]]]:
        """Matches as results of the statement, those of a source together."""
        by_source: dict[int, list[MatchOccurrence]] = {}
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
            positions = np.frombuffer(name[1], np.int64)
            events = self._events(name[0], positions, part.results.lane[row].item(), like.matches.buffer)
            self._report(name, _Reported(known, time, events, flag))
