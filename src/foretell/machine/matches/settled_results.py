"""Results of a call in parts whose order is that of all, while later ones are still to come.

Notifications are ordered by their ends first, and a match may become known later than it ends: time completes it, or
LAST or AFTER MATCH LONGEST waits. So results wait until every result that is still to come ends later than they do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from time import monotonic
from typing import NamedTuple

from foretell.machine.exec.limits import RunLedger
from foretell.machine.matches.results import ResultBatch, ResultPiece

#: The part of an engine's memory that results may take which wait for earlier ones. Beyond it they wait no more.
WAITING_SHARE = 8
#: After so many seconds results are handed over, however few there are.
PATIENCE = 0.5


class _Waiting(NamedTuple):
    """Results, and the first of their ends."""

    first: int | float
    results: ResultBatch


class SettledResults:
    """Takes pieces and gives parts of about `at_once` results, or fewer where they come slowly. Tells the ledger the
    memory of those that it holds."""

    def __init__(self, ledger: RunLedger, at_once: int, *, patient: bool = False) -> None:
        self._ledger, self._at_once, self._patient = ledger, at_once, patient
        self._waiting: list[_Waiting] = []
        self._ready: list[ResultBatch] = []

    def parts(self, pieces: Iterable[ResultPiece]) -> Iterator[list[ResultBatch]]:
        """All results: none of a later part comes before one of an earlier part."""
        since = monotonic()
        try:
            for piece in pieces:
                self._add(piece)
                if not self._ready:
                    continue
                many = sum(map(len, self._ready)) >= self._at_once
                if many or (not self._patient and monotonic() - since > PATIENCE):
                    yield self._taken()
                    since = monotonic()
            if self._ready:
                yield self._taken()
        finally:
            self._ledger.forget(self)

    def _add(self, piece: ResultPiece) -> None:
        if not piece.results and not self._waiting:
            return
        waiting = [w for w in self._waiting if w.first >= piece.settled]
        known = [w.results for w in self._waiting if w.first < piece.settled]
        for result in filter(len, known + piece.results):
            settled = result.end < piece.settled
            if settled.all():
                self._ready.append(result)
                continue
            if settled.any():
                self._ready.append(result.filter(settled))
            later = result.filter(~settled) if settled.any() else result
            waiting.append(_Waiting(later.end.min().item(), later))
        self._waiting = waiting
        if sum(w.results.nbytes for w in waiting) > self._ledger.limits.budget // WAITING_SHARE:
            self._ready += [w.results for w in waiting]
            self._waiting = []
        self._account()

    def _taken(self) -> list[ResultBatch]:
        ready, self._ready = self._ready, []
        return ready

    def _account(self) -> None:
        held = sum(result.nbytes for result in self._ready) + sum(w.results.nbytes for w in self._waiting)
        self._ledger.bytes[id(self)] = held
