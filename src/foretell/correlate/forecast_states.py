"""The states by which forecasts know a correlator: those of its smallest deterministic machine (ECL section 6).

Models and snapshots have the numbers of these states. So they are numbered in an order that depends on nothing but the
machine: by the fewest moves from the initial state, and among these by the sets of steps that lead there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from foretell.arrays import Words
from foretell.correlate.construction import correlation_machine
from foretell.correlate.determinisation import MOST_ROUNDS, MOST_TRANSITIONS, DeterminisedMachine, determinised
from foretell.correlate.flat_machine import flat_machine
from foretell.correlate.minimisation import minimised
from foretell.correlate.reachability import pruned
from foretell.correlate.running_machine import RunningMachine
from foretell.errors import NOWHERE, refuse
from foretell.language import tree
from foretell.language.checked import CheckedCorrelator
from foretell.language.token_forecasts import forecast_tokens
from foretell.records import record

#: With so many states each has a bit of its own.
_BITS = 64

#: Otherwise a state has a bit for its distance from a token, above so many bits for its number.
_NUMBER_BITS = 16


@record
class StateMove:
    """The move of an event that satisfies these steps, of those that a state looks at: the next state, and the tokens
    that it emits."""

    steps: tuple[str, ...]
    following: int
    tokens: tuple[str, ...]


@record
class ForecastStates:
    """The moves of each state; the first one is the initial state. `tokens` are those that are forecast, `whole` says
    whether the machine is that of the whole expression."""

    tokens: tuple[str, ...]
    moves: tuple[tuple[StateMove, ...], ...]
    whole: bool

    def __len__(self) -> int:
        return len(self.moves)

    def emits(self, move: StateMove) -> bool:
        """Whether an event that makes this move is what is forecast."""
        return not set(self.tokens).isdisjoint(move.tokens)

    @property
    def distances(self) -> tuple[int | None, ...]:
        """The fewest events from each state that emit a token; None where none can come any more."""
        found: list[int | None] = [1 if any(map(self.emits, moves)) else None for moves in self.moves]
        leads_to: list[set[int]] = [set() for _ in self.moves]
        for state, moves in enumerate(self.moves):
            for move in moves:
                leads_to[move.following].add(state)
        reached = [state for state, distance in enumerate(found) if distance is not None]
        distance = 1
        while reached:
            distance += 1
            reached = [s for s in {s for state in reached for s in leads_to[state]} if found[s] is None]
            for state in reached:
                found[state] = distance
        return tuple(found)

    @property
    def configurations(self) -> Words:
        """Each state as a configuration of a Markov chain; the initial one is 0.

        Where a chain has too many states it merges those that share the highest bit: of states with the same distance
        from a token, as of partial matches.
        """
        count = len(self)
        if count <= _BITS:
            return np.array([0, *(1 << state for state in range(1, count))], np.uint64)
        most = 63 - _NUMBER_BITS
        nearness = [0 if distance is None else 1 << (63 - min(distance - 1, most)) for distance in self.distances]
        return np.array([0, *(near | state for state, near in enumerate(nearness) if state)], np.uint64)


def forecast_states(correlator: CheckedCorrelator) -> ForecastStates | None:
    """Of the whole expression or, where its machine would be too large, of what may emit the tokens of the forecast;
    None where that is too large as well."""
    tokens, expression = forecast_tokens(correlator.tree), correlator.tree.expression
    running = RunningMachine.of(expression)
    if running.determinised is not None:
        return ForecastStates(tokens, _numbered(running.determinised, running.steps, running.flat.tokens), True)
    part = _emitting(expression, tokens)
    if part == expression:
        return None
    flat = flat_machine(pruned(correlation_machine(part)))
    machine = determinised(flat)
    if machine is None:
        return None
    return ForecastStates(tokens, _numbered(minimised(machine), flat.machine.steps, flat.tokens), False)


#: The reason where there are no states.
TOO_MANY = (
    f"its deterministic machine would have more than {MOST_TRANSITIONS:,} transitions, or count more than "
    f"{MOST_ROUNDS} rounds: too many states to learn from"
)


def require_forecast_states(correlator: CheckedCorrelator) -> ForecastStates:
    """Raises LanguageError where there are too many states."""
    states, forecast = forecast_states(correlator), correlator.tree.forecast
    if states is None:
        place = NOWHERE if forecast is None else forecast.place
        hint = "write several correlators, or name with OF the tokens of a smaller part of parallel{...}"
        refuse("too-many-states", f"'{correlator.name}' cannot have a FORECAST: {TOO_MANY}", place, hint)
    return states


def _emitting(expression: tree.Correlation, tokens: Collection[str]) -> tree.Correlation:
    """The expression without the parts of an outermost `parallel` that emit none of the tokens: parts of it have
    nothing to do with each other."""
    match expression:
        case tree.Parallel(parts=parts):
            kept = [_emitting(part, tokens) for part in parts if _emits(part, tokens)]
            return kept[0] if len(kept) == 1 else tree.Parallel(tuple(kept))
    return expression


def _emits(expression: tree.Correlation, tokens: Collection[str]) -> bool:
    return any(isinstance(node, tree.Push) and node.token in tokens for node in expression.walk())


def _numbered(
    machine: DeterminisedMachine, steps: tuple[str, ...], tokens: tuple[str, ...]
) -> tuple[tuple[StateMove, ...], ...]:
    """The moves of each state, by the new numbers."""
    number = {0: 0}
    order = [0]
    for state in order:
        for following, _, _ in _moves(machine, state, steps):
            if following not in number:
                number[following] = len(number)
                order.append(following)
    emitted = [tuple(tokens[token] for token in output) for output in machine.outputs_of]
    return tuple(
        tuple(
            StateMove(names, number[following], emitted[output])
            for following, output, names in _moves(machine, state, steps)
        )
        for state in order
    )


def _moves(
    machine: DeterminisedMachine, state: int, steps: tuple[str, ...]
) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """The next state, the output, and the steps of each move that an event makes, by the names of the steps."""
    names = sorted((steps[step], 1 << bit) for bit, step in enumerate(machine.steps[state]))
    for selection in range(1, 1 << len(names)):
        chosen = [name for place, name in enumerate(names) if selection >> place & 1]
        move = sum(bit for _, bit in chosen)
        yield (
            int(machine.following[state][move]),
            int(machine.outputs[state][move]),
            tuple(name for name, _ in chosen),
        )
