"""The statements with FORECAST; of a correlator its horizon, and the tokens that it is about."""

from __future__ import annotations

from typing import TypeAlias

from foretell.errors import refuse, suggestion
from foretell.events.types import Type
from foretell.language import tree
from foretell.language.stream_schemas import positive_duration
from foretell.language.tree import place_of

#: A statement that may have FORECAST.
ForecastingStatement: TypeAlias = tree.Subscription | tree.Correlator


def forecasting_statements(program: tree.Program) -> list[ForecastingStatement]:
    """The statements with FORECAST, in the order of the text."""
    statements = (s for s in program.statements if isinstance(s, tree.Subscription | tree.Correlator))
    return [statement for statement in statements if statement.forecast is not None]


def forecast_tokens(correlator: tree.Correlator) -> tuple[str, ...]:
    """The tokens that its FORECAST is about, sorted: those of OF, without it all that the correlator may emit."""
    emitted = _emitted(correlator)
    named = () if correlator.forecast is None else correlator.forecast.tokens
    return tuple(sorted({*map(str, named)} or emitted))


def check_token_forecast(correlator: tree.Correlator, time: Type) -> int | float | None:
    """The horizon of a forecast by time, in the unit of the streams' time."""
    forecast = correlator.forecast
    if forecast is None:
        return None
    if correlator.table is not None:
        message = f"FORECAST of '{correlator.name}' cannot be FOR EACH row of a table"
        refuse("forecast-for-each", message, forecast.place, "write a CORRELATE statement for each row")
    emitted = _emitted(correlator)
    if not emitted:
        message = f"'{correlator.name}' emits no token, so that there is nothing to forecast"
        refuse("unknown-token", message, forecast.place, "name a token: push('done'){...}")
    seen = set[str]()
    for token in forecast.tokens:
        if token not in emitted:
            message = f"'{correlator.name}' emits no token '{token}'"
            refuse("unknown-token", message, place_of(token), suggestion(token, sorted(emitted)))
        if token in seen:
            refuse("twice", f"OF names '{token}' twice", place_of(token), "delete one of them")
        seen.add(token)
    return positive_duration(forecast.duration, time, "FORECAST WITHIN")


def _emitted(correlator: tree.Correlator) -> set[str]:
    return {str(node.token) for node in correlator.expression.walk() if isinstance(node, tree.Push)}
