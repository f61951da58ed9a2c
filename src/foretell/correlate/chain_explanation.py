"""The Markov chain of a correlator with FORECAST in words: its states, and what leads from each to the next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from foretell.correlate.forecast_states import TOO_MANY, ForecastStates, StateMove, forecast_states
from foretell.display import counted, listed
from foretell.language.checked import CheckedCorrelator
from foretell.language.token_forecasts import forecast_tokens

#: The states of larger chains are not listed, nor more sets of steps that lead from a state to the same one.
_SHOWN_STATES, _SHOWN_SETS = 12, 4


@dataclass(frozen=True)
class ExplainedMoves:
    """Moves with the same consequence: the sets of steps that an event may satisfy, the next state, and the tokens."""

    steps: tuple[tuple[str, ...], ...]
    following: int
    tokens: tuple[str, ...]


@dataclass(frozen=True)
class ExplainedChainState:
    """`distance` is the fewest events that emit one of the tokens; None where none can come any more."""

    moves: tuple[ExplainedMoves, ...]
    distance: int | None


@dataclass(frozen=True)
class ExplainedChain:
    """`states` is empty where there are too many to learn from: `refusal` says so."""

    tokens: tuple[str, ...]
    states: tuple[ExplainedChainState, ...]
    whole: bool
    refusal: str | None = None

    def lines(self) -> Iterator[str]:
        if self.refusal is not None:
            yield f"forecasts: refused ({self.refusal})"
            return
        chain = f"a chain of {counted(len(self.states), 'state')}, those of the smallest deterministic machine"
        yield f"forecasts: of {_quoted(self.tokens)} by {chain}{'' if self.whole else ' of the parts that emit them'}"
        if len(self.states) <= _SHOWN_STATES:
            for number, state in enumerate(self.states):
                yield f"state {number}{' (at first)' if number == 0 else ''}: {_state_text(state)}"


def _state_text(state: ExplainedChainState) -> str:
    if state.distance is None:
        return "none of these tokens can come any more"
    return "; ".join(map(_moves_text, state.moves))


def _moves_text(moves: ExplainedMoves) -> str:
    shown = " or ".join("+".join(steps) for steps in moves.steps[:_SHOWN_SETS])
    more = "" if len(moves.steps) <= _SHOWN_SETS else " or …"
    emitted = f", emits {_quoted(moves.tokens)}" if moves.tokens else ""
    return f"{shown}{more} → {moves.following}{emitted}"


def _quoted(tokens: Iterable[str]) -> str:
    return listed([f"'{token}'" for token in tokens])


def explain_chain(correlator: CheckedCorrelator) -> ExplainedChain | None:
    """None without FORECAST."""
    if correlator.tree.forecast is None:
        return None
    states = forecast_states(correlator)
    if states is None:
        return ExplainedChain(forecast_tokens(correlator.tree), (), True, TOO_MANY)
    return ExplainedChain(states.tokens, tuple(_explained_states(states)), states.whole)


def _explained_states(states: ForecastStates) -> Iterator[ExplainedChainState]:
    for number, (moves, distance) in enumerate(zip(states.moves, states.distances, strict=True)):
        yield ExplainedChainState(tuple(_alike(number, moves)), distance)


def _alike(state: int, moves: Iterable[StateMove]) -> Iterator[ExplainedMoves]:
    """The moves by their consequences, without those that change nothing."""
    by_consequence: dict[tuple[int, tuple[str, ...]], list[tuple[str, ...]]] = {}
    for move in moves:
        if move.following != state or move.tokens:
            by_consequence.setdefault((move.following, move.tokens), []).append(move.steps)
    for (following, tokens), steps in by_consequence.items():
        yield ExplainedMoves(tuple(steps), following, tokens)
