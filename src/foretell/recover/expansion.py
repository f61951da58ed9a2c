"""The statements with LOSING of a program, as the patterns that run for them and the stages that make estimates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from foretell.events.delays.delay_model import DelayModel
from foretell.language.checked import CheckedStatement, CheckedSubscription
from foretell.machine.result_stage import ResultStage
from foretell.plan.lower.program import UnsupportedError
from foretell.recover.estimate_stage import EstimateStage
from foretell.recover.hidden_patterns import hindrance


def expanded(
    statements: Sequence[CheckedStatement],
    delays: Callable[[str], DelayModel],
    recorded: Mapping[str, Mapping[str, Any]],
) -> tuple[tuple[CheckedStatement, ...], dict[str, ResultStage]]:
    """`recorded` are the states of stages in a snapshot. Raises UnsupportedError for a statement that hidden patterns
    cannot run."""
    why = expansion_hindrance(statements)
    if why is not None:
        raise UnsupportedError(why)
    expansion: list[CheckedStatement] = []
    stages: dict[str, ResultStage] = {}
    for statement in statements:
        if isinstance(statement, CheckedSubscription) and statement.tree.losing is not None:
            stage = EstimateStage(statement, delays(statement.name), recorded.get(statement.name))
            stages[statement.name] = stage
            expansion += stage.statements
        else:
            expansion.append(statement)
    return tuple(expansion), stages


def expansion_hindrance(statements: Sequence[CheckedStatement]) -> str | None:
    """The reason why hidden patterns cannot run a program's statements with LOSING; None where they can."""
    names = {statement.name for statement in statements}
    losing = [s for s in statements if isinstance(s, CheckedSubscription) and s.tree.losing is not None]
    for statement in losing:
        if names & set(map(str, statement.tree.streams)):
            return "LOSING over the results of a statement"
        if (why := hindrance(statement)) is not None:
            return why
    estimated = {statement.name for statement in losing}
    if any(estimated & set(map(str, statement.tree.streams)) for statement in statements):
        return "a statement that reads estimates"
    return None
