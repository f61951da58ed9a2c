"""Two calls: `train` learns from history what forecasts need, `backtest` judges forecasts on later data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from foretell.api.engine_choice import prefers_spark
from foretell.arguments.model import as_learning, as_model
from foretell.arguments.statements import as_subscriptions
from foretell.arguments.streams import check_input_names, declaration_of, observed_schema, read_inputs, read_tables
from foretell.arguments.validation import as_mapping, as_tables, as_time_columns, bad_argument, describe
from foretell.engine.planning import start_runtime
from foretell.errors import InputError
from foretell.events.ingest.quarantine import quarantine_summary
from foretell.events.ingest.reader import EventBatch
from foretell.events.ingest.template_tables import TemplateTable
from foretell.forecast.chain.match_interval import Asked
from foretell.forecast.evaluation.backtest import Judges
from foretell.forecast.evaluation.outcomes import Horizon
from foretell.forecast.evaluation.report import Report
from foretell.forecast.online.factory import Forecasts, untrained
from foretell.forecast.training.trace_recorder import Recorders
from foretell.forecast.training.train import learned
from foretell.language import tree
from foretell.language.checked import CheckedProgram, CheckedSubscription
from foretell.language.subscriptions import Subscriptions
from foretell.learn.model import Learned, Model
from foretell.learn.settings import Learning
from foretell.machine.observe.observer import ObserverFactory
from foretell.plan.lower.program import UnsupportedError


def train(
    subscriptions: Any,
    inputs: Mapping[str, object],
    *,
    time: Mapping[str, str] | None = None,
    tables: Mapping[str, object] | None = None,
    learning: Learning | None = None,
    engine: str | None = None,
    strict: bool = False,
) -> Model:
    """What forecasts need, learned from history: for each subscription with FORECAST how its partial matches go on.

    `inputs` and `engine` are as in `run`: files and Spark DataFrames are a Spark job, what is in memory is learned
    here.
    `learning` says how: how fast old events lose weight, which features tell events apart.
    """
    program, settings = as_subscriptions(subscriptions), _settings(learning)
    if not any(isinstance(s, tree.Subscription) and s.forecast is not None for s in program.program.statements):
        raise _no_forecasts()
    if engine not in (None, "spark", "embedded"):
        raise InputError(
            "unknown-engine", f"nothing is learned with the engine {describe(engine)}", hint="spark or embedded"
        )
    sources = as_mapping(inputs, "inputs", "inputs={'logins': 'logins.jsonl'}")
    if engine == "spark" or (engine is None and prefers_spark(program, sources)):
        return _made(*_trained_on_spark(program, sources, time, tables, strict, settings))
    watching = Recorders(settings)
    checked, notes = _watched(program, inputs, time, tables, strict, watching)
    statements = {s.name: s for s in checked.statements if isinstance(s, CheckedSubscription)}
    return _made({name: learned(statements[name], some, settings) for name, some in watching.made.items()}, notes)


def _made(found: Mapping[str, Learned], notes: tuple[str, ...] = ()) -> Model:
    """A model with something in it: one of nothing would only take the place of a better one."""
    nothing = [name for name, one in found.items() if not one.statistics.events]
    if len(nothing) == len(found):
        raise InputError("no-events", "there are no events to learn from", hint="; ".join(notes))
    return Model(found, notes=(*notes, *(f"'{name}' has seen no events: it stays untrained" for name in nothing)))


def _trained_on_spark(
    program: Subscriptions,
    sources: Mapping[str, object],
    time: Mapping[str, str] | None,
    tables: Mapping[str, object] | None,
    strict: bool,
    settings: Learning,
) -> tuple[dict[str, Learned], tuple[str, ...]]:
    from foretell.spark.batch import training
    from foretell.spark.batch.job import BatchJob

    times = as_time_columns(time)
    check_input_names(program, sources, times)
    given = read_tables(program.tables, as_tables(tables))
    declarations = {name: declaration_of(program, name, times) for name in program.sources}
    batch = BatchJob(program, sources, declarations, given, None, strict, Recorders(settings))
    asking = {
        s.name: s
        for s in batch.checked.statements
        if isinstance(s, CheckedSubscription) and s.tree.forecast is not None
    }
    return training.train(batch, asking, settings)


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
    some = _thresholds(thresholds)
    judges, given, untrained_ones = _judges(subscriptions, model, horizons, learning, Asked(confidence))
    _, aside = _watched(as_subscriptions(subscriptions), inputs, time, tables, strict, judges)
    if not judges.made:
        raise _no_forecasts()
    report = judges.report(given, some)
    return replace(report, warnings=(*untrained_ones, *aside, *report.warnings))


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
    judges, given, _ = _judges(subscriptions, model, None, learning)
    if not given.learned:
        raise InputError("no-model", "there is no model to recalibrate", hint="give the one that train has made")
    _watched(as_subscriptions(subscriptions), inputs, time, tables, strict, judges)
    return judges.recalibrated(given)


def _judges(
    subscriptions: Any,
    model: object,
    horizons: Sequence[int] | None,
    learning: Learning | None,
    asked: Asked | None = None,
) -> tuple[Judges, Model, tuple[str, ...]]:
    given = as_model(model)
    notes = untrained(given, as_subscriptions(subscriptions))
    ahead: Any = () if horizons is None else horizons
    for n in ahead if isinstance(ahead, Iterable) else [ahead]:
        if type(n) is not int or n < 1:
            raise bad_argument("horizons", "numbers of events, from 1 on", n)
    settings = None if learning is None else _settings(learning)
    some = tuple(Horizon(events=n) for n in ahead)
    return Judges(Forecasts(given.learned, settings), some, asked or Asked()), given, notes


def _watched(
    program: Subscriptions,
    inputs: Mapping[str, object],
    time: Mapping[str, str] | None,
    tables: Mapping[str, object] | None,
    strict: bool,
    watching: ObserverFactory,
) -> tuple[CheckedProgram, tuple[str, ...]]:
    """Runs statements in process, for those who watch; with what is to be said of malformed events."""
    sources = as_mapping(inputs, "inputs", "inputs={'logins': 'logins.jsonl'}")
    times = as_time_columns(time)
    given: dict[str, TemplateTable] = read_tables(program.tables, as_tables(tables))
    loaded: dict[str, EventBatch] = read_inputs(program, sources, times, strict)
    schemas = {name: observed_schema(one) for name, one in loaded.items()}
    checked = program.checked(schemas, {name: table.types for name, table in given.items()})
    try:
        start_runtime(checked, given, observers=watching).process(loaded)
    except UnsupportedError as error:
        raise InputError(
            "not-in-engine",
            f"no forecasts are made of {error} yet",
            hint="train and judge the other statements in a file of their own",
        ) from None
    bad = tuple(b for one in loaded.values() for b in one.quarantined)
    return checked, tuple(quarantine_summary(bad, [(name, one.total) for name, one in loaded.items()]))


def _no_forecasts() -> InputError:
    hint = "add FORECAST WITHIN 5 EVENTS ABOVE 0.8 to one"
    return InputError("no-forecasts", "no subscription asks for forecasts", hint=hint)


def _thresholds(given: Any) -> Sequence[float] | None:
    if given is None:
        return None
    some = list(given) if isinstance(given, Iterable) else []
    if not some or not all(isinstance(p, int | float) and not isinstance(p, bool) and 0 <= p <= 1 for p in some):
        raise bad_argument("thresholds", "probabilities", given)
    return some


def _settings(learning: object) -> Learning:
    return as_learning(learning) or Learning()
