"""A correlator as it runs: its machine, and the form that `plan.strategy` chooses for it."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.correlate.construction import correlation_machine
from foretell.correlate.determinisation import DeterminisedMachine, determinised
from foretell.correlate.flat_machine import FlatMachine, flat_machine
from foretell.correlate.minimisation import minimised
from foretell.correlate.reachability import pruned
from foretell.correlate.running_forms import ConcurrentForm, DeterminisedForm, RunningForm
from foretell.language import tree
from foretell.plan.strategy import CorrelatorForm, Decision, choose_correlator_form
from foretell.records import record
from foretell.storage.recorded_values import require, require_range


@record
class RunningMachine:
    """`determinised` is the minimal deterministic machine, None where it would be too large."""

    flat: FlatMachine
    determinised: DeterminisedMachine | None
    decision: Decision[CorrelatorForm]

    @classmethod
    def of(cls, expression: tree.Correlation) -> RunningMachine:
        return _running(expression)

    @property
    def steps(self) -> tuple[str, ...]:
        return self.flat.machine.steps

    def form(self) -> RunningForm:
        if self.decision.value is CorrelatorForm.CONCURRENT or self.determinised is None:
            return ConcurrentForm(self.flat)
        return DeterminisedForm(self.determinised)

    def check(self, active: NDArray[np.uint8], counters: Ints) -> None:
        """Refuse configurations from a snapshot that no machine like this one has."""
        require(bool(active.any(axis=1).all()), "the states of a correlator")
        for counter, rounds in enumerate(self._rounds):
            require_range(counters[:, counter], rounds, "the counters of a correlator")

    @property
    def _rounds(self) -> list[int]:
        rounds = [1] * self.flat.machine.counters
        for transition in self.flat.machine.transitions:
            if transition.round is not None:
                rounds[transition.round.counter] = transition.round.rounds
        return rounds


@lru_cache(maxsize=4)  # an engine, one that is restored from its snapshot, and an explanation make it once
def _running(expression: tree.Correlation) -> RunningMachine:
    flat = flat_machine(pruned(correlation_machine(expression)))
    found = determinised(flat)
    smallest = None if found is None else minimised(found)
    return RunningMachine(flat, smallest, choose_correlator_form(None if smallest is None else len(smallest)))
