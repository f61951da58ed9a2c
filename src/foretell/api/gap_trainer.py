"""Training of LOSING: runs the patterns that find the gaps of a history, in this process or on Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from foretell.engine.planning import start_counting
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


def only_losing(program: Subscriptions) -> Subscriptions:
    """The statements with LOSING, and those that they read."""
    statements = program.program.statements
    losing = [str(s.name) for s in statements if getattr(s, "losing", None) is not None]
    wanted = {s.name for name in losing for s in program[name].program.statements}
    return of_program(tree.Program(tuple(s for s in statements if s.name in wanted)))


def without_losing(program: Subscriptions) -> Subscriptions:
    kept = [s for s in program.program.statements if getattr(s, "losing", None) is None]
    return of_program(tree.Program(tuple(kept)))
