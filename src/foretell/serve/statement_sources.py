"""Statements and streams of an engine as the page shows them."""

from __future__ import annotations

from collections.abc import Iterator

from foretell.language import tree
from foretell.language.layout.formatter import format_text
from foretell.language.printer import horizon_text, statement_text
from foretell.language.subscriptions import Subscriptions
from foretell.serve.records import StatementSource, StreamSource


def statement_sources(program: Subscriptions) -> Iterator[StatementSource]:
    for statement in program.program.statements:
        if isinstance(statement, tree.Subscription | tree.Correlator):
            yield _source(statement)


def stream_sources(program: Subscriptions) -> Iterator[StreamSource]:
    """The input streams, in the order of their first mention."""
    declared = program.declared
    for name in dict.fromkeys([*program.sources, *map(str, declared)]):
        yield StreamSource(str(name), shown_text(declared[name]) if name in declared else "")


def _source(statement: tree.Subscription | tree.Correlator) -> StatementSource:
    forecast = statement.forecast
    kind = "correlate" if isinstance(statement, tree.Correlator) else "subscribe"
    return StatementSource(
        name=str(statement.name),
        kind=kind if statement.table is None else "template",
        text=shown_text(statement),
        reads=tuple(map(str, statement.streams)),
        threshold=None if forecast is None else forecast.above,
        horizon=None if forecast is None else horizon_text(forecast),
    )


def shown_text(statement: tree.Statement) -> str:
    """The text of a statement in the usual layout."""
    return format_text(statement_text(statement)).strip()
