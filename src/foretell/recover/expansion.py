"""The statements with LOSING of a program, as the patterns that run for them and the stages that make estimates."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from foretell.events.delays.delay_model import DelayModel
from foretell.language.checked import CheckedStatement, CheckedSubscription
from foretell.machine.result_stage import ResultStage
from foretell.plan.losing_size import LosingLimits
from foretell.recover.estimate_stage import EstimateStage


def expanded(
    statements: Sequence[CheckedStatement],
    delays: Callable[[str], DelayModel],
    recorded: Mapping[str, Mapping[str, Any]],
    names: Collection[str],
    most: LosingLimits,
    *,
    live: bool,
) -> tuple[tuple[CheckedStatement, ...], dict[str, ResultStage]]:
    """`recorded` are the states of stages in a snapshot; `names` are those of all statements, whose results last.
    In a `live` run estimates may be confirmed."""
    expansion: list[CheckedStatement] = []
    stages: dict[str, ResultStage] = {}
    for statement in statements:
        if isinstance(statement, CheckedSubscription) and statement.tree.losing is not None:
            instants = not any(str(stream) in names for stream in statement.tree.streams)
            state = recorded.get(statement.name)
            stage = EstimateStage(statement, delays(statement.name), state, most=most, instants=instants, live=live)
            stages[statement.name] = stage
            expansion += stage.statements
        else:
            expansion.append(statement)
    return tuple(expansion), stages
