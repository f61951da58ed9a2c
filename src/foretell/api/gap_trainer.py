"""Training of LOSING: runs the patterns that find the gaps of a history, in this process or on Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from foretell.display import listed
from foretell.engine.planning import start_counting
from foretell.errors import InputError
from foretell.events.delays.delay_model import DelayModel, GapEnds
from foretell.language import tree
from foretell.language.subscriptions import Subscriptions, of_program
from foretell.learn.settings import Learning

if TYPE_CHECKING:
    from foretell.api.forecasting import History


def trained_gaps(program: Subscriptions, history: History, settings: Learning) -> dict[str, Mapping[str, object]]:
    """The gaps of each statement with LOSING, as a model file has them."""
    program = only_losing(program)
    runtime, stages = start_counting(history.checked(program), history.tables, complete=settings.complete)
    batches = {name: batch for name, batch in history.batches.items() if name in program.sources}
    for _ in runtime.pieces(batches, None, ends=True):
        pass  # the stages have counted what the pieces would have
    return {stage.subscription.name: stage.learned() for stage in stages}


def untrained_gaps(gaps: Mapping[str, Mapping[str, object]]) -> tuple[str, ...]:
    """Notes on the gaps of which a history has none. Raises InputError where it has none at all: an empty model would
    only overwrite a better one."""
    known = {name: DelayModel.of(document).gaps for name, document in gaps.items()}
    empty = {name: [ends for ends, counts in own.items() if not counts.totals.any()] for name, own in known.items()}
    if all(len(empty[name]) == len(own) for name, own in known.items()):
        names = listed([f"'{name}'" for name in gaps])
        message = f"there is nothing to learn from: the history has no two events that {names} would match"
        raise InputError("no-events", message, hint="train on more events, longer than WITHIN")
    return tuple(_note(name, empty[name]) for name in gaps if empty[name])


def _note(name: str, empty: Sequence[GapEnds]) -> str:
    places = listed([_place(*ends) for ends in empty])
    return f"'{name}': the history has no gap {places}; estimates of such gaps are 0 until a run has seen some"


def _place(start: str | None, end: str | None) -> str:
    if start is None:
        return f"before '{end}'"
    return f"after '{start}'" if end is None else f"from '{start}' to '{end}'"


def only_losing(program: Subscriptions) -> Subscriptions:
    """The statements with LOSING, and those that they read."""
    statements = program.program.statements
    losing = [str(s.name) for s in statements if getattr(s, "losing", None) is not None]
    wanted = {s.name for name in losing for s in program[name].program.statements}
    return of_program(tree.Program(tuple(s for s in statements if s.name in wanted)))


def without_losing(program: Subscriptions) -> Subscriptions:
    kept = [s for s in program.program.statements if getattr(s, "losing", None) is None]
    return of_program(tree.Program(tuple(kept)))
