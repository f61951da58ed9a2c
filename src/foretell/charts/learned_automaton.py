"""The learned probabilities of an automaton: where the furthest partial match of a lane waits after the next event.

A model counts transitions between configurations, sets of states at which partial matches wait. People read an
automaton by its states, so configurations with the same furthest state count as one. That is an average over whatever
else waits, weighted as in training; forecasts themselves use the whole configuration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from foretell.arrays import Floats
from foretell.events.types import Type
from foretell.forecast.chain.first_passage import MarkovChain, match_probability
from foretell.language.checked import CheckedSubscription
from foretell.learn.model import SubscriptionModel
from foretell.learn.trace import furthest
from foretell.machine.observe.observer import state_bits
from foretell.plan.explain import Codes
from foretell.plan.nfa.state_bits import BITS
from foretell.plan.single_nfa import single_nfa

#: No partial match.
NOTHING = -1


@dataclass(frozen=True)
class LearnedState:
    """The events after which the furthest partial match waited at a state, or after which there was none: their weight,
    the share that completed a match, the shares that led to each state, and the probability of a match within the
    horizon, None where that is a duration."""

    events: float
    match: float
    moves: Mapping[int, float]
    soon: float | None = None


@dataclass(frozen=True)
class LearnedAutomaton:
    """`states` has those that training has seen, by number; NOTHING is the state without a partial match. `why_not`
    says why there are none."""

    states: Mapping[int, LearnedState] = field(default_factory=dict)
    why_not: str = ""


def learned_automaton(
    subscription: CheckedSubscription, model: SubscriptionModel, parameters: Mapping[str, Type] | None = None
) -> LearnedAutomaton:
    """The probabilities of a statement's model."""
    nfa = single_nfa(subscription, Codes(), parameters, observed=True)
    bits = {int(bit): state for state, bit in enumerate(state_bits(nfa.compiled)) if bit}
    if len(bits) < sum(bit > 0 for bit in state_bits(nfa.compiled)):
        return LearnedAutomaton(why_not=f"more than {BITS} states wait: the model counts several of them as one")
    statistics = model.statistics.without_contexts()
    leaders = furthest(statistics.states)
    if any(int(leader) not in bits for leader in leaders.tolist() if leader):
        return LearnedAutomaton(why_not="the model has states that this plan lacks")
    numbers = np.array([bits.get(int(leader), NOTHING) for leader in leaders.tolist()], np.int64)
    soon = _soon(subscription, statistics.counts, statistics.matched)
    found = {
        int(number): _state(numbers == number, numbers, (statistics.counts, statistics.matched, soon))
        for number in np.unique(numbers)
        if statistics.leaving[numbers == number].sum() > 0
    }
    return LearnedAutomaton(found, "" if found else "the model has seen no events of it")


def _soon(subscription: CheckedSubscription, counts: Floats, matched: Floats) -> Floats:
    """The probability of a match within the horizon from each configuration; NaN where it is a duration."""
    forecast = subscription.tree.forecast
    if forecast is None or forecast.events is None:
        return np.full(len(matched), np.nan)
    return match_probability(MarkovChain.of(counts, matched, 0.0), forecast.events)


def _state(own: np.ndarray, numbers: np.ndarray, learned: tuple[Floats, Floats, Floats]) -> LearnedState:
    """The configurations of one state together; `own` marks them."""
    counts, matched, soon = learned
    leaving = counts[own].sum(axis=1) + matched[own]
    total = float(leaving.sum())
    reached = {
        int(target): float(counts[np.ix_(own, numbers == target)].sum()) / total for target in np.unique(numbers)
    }
    known = ~np.isnan(soon[own])
    weight = float(leaving[known].sum())
    likely = float((soon[own] * leaving)[known].sum()) / weight if weight else None
    moves = {target: share for target, share in reached.items() if share > 0}
    return LearnedState(total, float(matched[own].sum()) / total, moves, likely)
