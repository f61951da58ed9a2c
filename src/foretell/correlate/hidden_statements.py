"""The statements that run for CORRELATE, and the stages that make tokens of their results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from foretell.correlate.row_token_stage import RowTokenStage
from foretell.correlate.template_token_stage import TemplateTokenStage
from foretell.correlate.token_stage import TokenStage
from foretell.events.ingest.template_tables import TemplateTable
from foretell.language.checked import CheckedCorrelator, CheckedStatement
from foretell.machine.result_stage import ResultStage


def with_tokens(
    statements: Iterable[CheckedStatement], tables: Mapping[str, TemplateTable]
) -> tuple[tuple[CheckedStatement, ...], dict[str, ResultStage]]:
    """The statements with the events of correlators in place of CORRELATE, and the stages that make tokens of them.
    `tables` has the rows of FOR EACH tables."""
    running: list[CheckedStatement] = []
    stages: dict[str, ResultStage] = {}
    for statement in statements:
        if isinstance(statement, CheckedCorrelator):
            table = statement.tree.table
            stage: TokenStage | RowTokenStage
            if table is None:
                stage = TokenStage(statement)
            elif statement.tree.forecast is None:
                stage = TemplateTokenStage(statement, tables[table])
            else:
                stage = RowTokenStage(statement)
            stages[statement.name] = stage
            running.append(stage.events)
        else:
            running.append(statement)
    return tuple(running), stages
