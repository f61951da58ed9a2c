"""Two calls: `train` learns from history what forecasts need, `backtest` judges forecasts on later data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foretell.errors import InputError
from foretell.events.read import Loaded, LoadedTable
from foretell.forecast.backtest import Judges
from foretell.forecast.expectation import Asked
from foretell.forecast.outcomes import Horizon
from foretell.forecast.report import Report
from foretell.forecast.training import learned
from foretell.forecast.watchers import Forecasts, Recorders, untrained
from foretell.given.arguments import by_name, columns_by_name, wrong
from foretell.given.model import model_of
from foretell.given.sources import known_schema, tables_of
from foretell.given.statements import statements_of
from foretell.language.checked import Checked, CheckedSubscription
from foretell.language.subscriptions import Subscriptions
from foretell.learn.model import Model
from foretell.learn.settings import Learning
from foretell.machine.running import Running
from foretell.machine.watching import Watching
from foretell.plan.program import UnsupportedError
from foretell.run import loaded_inputs


def train(
    subscriptions: Any,
    inputs: Mapping[str, object],
    *,
    time: Mapping[str, str] | None = None,
    tables: Mapping[str, object] | None = None,
    learning: Learning | None = None,
    strict: bool = False,
) -> Model:
    """What forecasts need, learned from history: for each subscription with FORECAST how its partial matches go on.

    `inputs` are as in `run`. `learning` says how: how fast old events lose weight, which features tell events apart.
    """
    program, settings = statements_of(subscriptions), _settings(learning)
    watching = Recorders(settings)
    checked = _watched(program, inputs, time, tables, strict, watching)
    statements = {s.name: s for s in checked.statements if isinstance(s, CheckedSubscription)}
    if not watching.made:
        raise InputError(
            "no-forecasts", "no subscription asks for forecasts", hint="add FORECAST WITHIN 5 EVENTS ABOVE 0.8 to one"
        )
    return Model({name: learned(statements[name], some, settings) for name, some in watching.made.items()})


def backtest(
    subscriptions: Any,
    inputs: Mapping[str, object],
    *,
    model: object = None,
    time: Mapping[str, str] | None = None,
    tables: Mapping[str, object] | None = None,
    horizons: Sequence[int] | None = None,
    thresholds: Sequence[float] | None = None,
    confidence: float = 0.8,
    learning: Learning | None = None,
    strict: bool = False,
) -> Report:
    """How good forecasts are on later data: at each event the probability, and whether a match came within the horizon.

    Without `horizons` those of the statements' FORECAST; with some, so many events ahead, for all subscriptions.
    Intervals in which the next match should fall with the `confidence` are judged too; they look four times as far.
    """
    judges, given = _judges(subscriptions, model, horizons, learning, Asked(confidence))
    _watched(statements_of(subscriptions), inputs, time, tables, strict, judges)
    return judges.report(given, thresholds)


def recalibrate(
    subscriptions: Any,
    inputs: Mapping[str, object],
    *,
    model: object,
    time: Mapping[str, str] | None = None,
    tables: Mapping[str, object] | None = None,
    learning: Learning | None = None,
    strict: bool = False,
) -> Model:
    """The model with its probabilities set right by what came of them on these data (isotonic regression)."""
    judges, given = _judges(subscriptions, model, None, learning)
    _watched(statements_of(subscriptions), inputs, time, tables, strict, judges)
    return judges.recalibrated(given)


def _judges(
    subscriptions: Any,
    model: object,
    horizons: Sequence[int] | None,
    learning: Learning | None,
    asked: Asked | None = None,
) -> tuple[Judges, Model]:
    given = model_of(model)
    untrained(given, statements_of(subscriptions))
    ahead: Any = horizons or ()
    if not all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in ahead):
        raise wrong("horizons", "numbers of events", horizons)
    some = tuple(Horizon(events=n) for n in horizons or ())
    settings = None if learning is None else _settings(learning)
    return Judges(Forecasts(given.learned, settings), some, asked or Asked()), given


def _watched(
    program: Subscriptions,
    inputs: Mapping[str, object],
    time: Mapping[str, str] | None,
    tables: Mapping[str, object] | None,
    strict: bool,
    watching: Watching,
) -> Checked:
    """Runs statements in process, for those who watch."""
    sources = by_name(inputs, "inputs", "inputs={'logins': 'logins.jsonl'}")
    times = columns_by_name({} if time is None else time, "time", "time={'logins': 'time'}")
    given: dict[str, LoadedTable] = tables_of(
        program, by_name({} if tables is None else tables, "tables", "tables={'limits': 'limits.csv'}")
    )
    loaded: dict[str, Loaded] = loaded_inputs(program, sources, times, strict)
    schemas = {name: known_schema(one) for name, one in loaded.items()}
    checked = program.checked(schemas, {name: table.types for name, table in given.items()})
    try:
        Running(checked, given, watching=watching).tell(loaded)
    except UnsupportedError as error:
        raise InputError("not-in-engine", f"no forecasts are made of {error} yet") from None
    return checked


def _settings(learning: object) -> Learning:
    if learning is None:
        return Learning()
    if not isinstance(learning, Learning):
        raise wrong("learning", "ft.Learning(...)", learning)
    return learning
