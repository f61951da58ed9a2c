"""`train` learns a forecast model from history; `backtest` evaluates it on later data; `recalibrate` corrects it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from foretell.api.engine_choice import choose_engine, is_spark_frame
from foretell.arguments.input_settings import InputSettings, as_input_settings
from foretell.arguments.model import ModelLike, as_learning, as_model
from foretell.arguments.period import ANY_TIME, PeriodRequest
from foretell.arguments.statements import SubscriptionsLike, as_subscriptions
from foretell.arguments.streams import check_input_names, declaration_of, observed_schema, read_inputs, read_tables
from foretell.arguments.until import TimeLike
from foretell.arguments.validation import EVERY_STREAM, as_mapping, as_tables, bad_argument, describe
from foretell.engine.planning import start_runtime
from foretell.errors import InputError
from foretell.events.ingest.read_options import ReadOptions
from foretell.events.ingest.reader import EventBatch, misfit_summary, reading_notes
from foretell.events.ingest.template_tables import TemplateTable
from foretell.forecast.chain.match_interval import IntervalRequest
from foretell.forecast.evaluation.backtest import BacktestObserverFactory, recalibrated, report
from foretell.forecast.evaluation.report import Report
from foretell.forecast.online.factory import CONTEXTS, ForecasterFactory, untrained_notes
from foretell.forecast.training.trace_recorder import TraceRecorderFactory
from foretell.forecast.training.train import train_subscription
from foretell.language import tree
from foretell.language.checked import CheckedProgram
from foretell.language.correlator_events import reading_subscriptions
from foretell.language.subscriptions import Subscriptions
from foretell.language.token_forecasts import ForecastingStatement, forecasting_statements
from foretell.learn.horizon import Horizon
from foretell.learn.model import Model, SubscriptionModel
from foretell.learn.settings import Learning
from foretell.machine.observe.observer import NO_OBSERVERS, ObserverFactory

if TYPE_CHECKING:
    from foretell.spark.batch.job import BatchJob

Member = TypeVar("Member")


def train(
    subscriptions: SubscriptionsLike,
    inputs: Mapping[str, object],
    *,
    time: Mapping[str, str] | str | None = None,
    read: ReadOptions | Mapping[str, ReadOptions] | None = None,
    tables: Mapping[str, object] | None = None,
    learning: Learning | None = None,
    since: TimeLike | None = None,
    until: TimeLike | None = None,
    split: float | None = None,
    engine: str | None = None,
    strict: bool = False,
) -> Model:
    """Trains a model on history, for each subscription with FORECAST or LOSING.

    `inputs` and `engine` are as in `run`: large files and Spark DataFrames make a Spark job, others are processed in
    this process. `learning` has the settings: half-life, features, order of contexts. Only events from `since` on and
    before `until` are used; of these with `split` the first part only, 0.8 for four in five, so that `backtest` with
    the same `split` evaluates the model on the rest; Spark, which does not know the order of all events, makes no
    `split`.

    >>> import random, foretell as ft
    >>> coins = [{"time": i, "side": side} for i, side in enumerate(random.Random(1).choices("ht", k=1000))]
    >>> twice = "SUBSCRIBE twice FROM coins MATCH a , b DEFINE a, b AS side = 'h' FORECAST WITHIN 2 EVENTS ABOVE 0.5"
    >>> ft.train(twice, {"coins": coins}, time={"coins": "time"}, split=0.8)
    Model of 1 statement
      statement  events  matches  states  from  to
      twice      800     189      2       0     799
    """
    program, settings = as_subscriptions(subscriptions), _settings(learning)
    forecasting_trees = forecasting_statements(program.program)
    losing = [s for s in program.program.statements if isinstance(s, tree.Subscription) and s.losing]
    if not forecasting_trees and not losing:
        hint = "add FORECAST WITHIN 5 EVENTS ABOVE 0.8, or LOSING 0.05 ABOVE 0.8, to a subscription"
        raise InputError("no-forecasts", "no subscription has a FORECAST or LOSING clause", hint=hint)
    if any(s.forecast for s in losing):
        hint = "write two statements, one with FORECAST and one with LOSING"
        raise InputError("not-in-engine", "forecasts of LOSING are not supported yet", hint=hint)
    period = PeriodRequest(since, until, split)
    if engine not in (None, "spark", "embedded"):
        raise InputError(
            "unknown-engine",
            f"engine: cannot train with {describe(engine)}",
            hint="use 'spark' or 'embedded'",
        )
    sources = as_mapping(inputs, "inputs", "inputs={'logins': 'logins.jsonl'}")
    given = as_input_settings(time, read)
    if engine is None and split is not None and not any(map(is_spark_frame, sources.values())):
        engine = "embedded"
    on_spark = choose_engine(program, sources, given, engine).engine == "spark"
    gaps: dict[str, Mapping[str, object]] = {}
    if losing:
        from foretell.api.gap_trainer import trained_gaps, untrained_gaps, without_losing

        if on_spark:
            gaps, notes = _train_gaps_on_spark(program, sources, given, tables, strict, settings, period)
        else:
            history = read_history(program, inputs, time, read, tables, strict, period)
            gaps, notes = trained_gaps(program, history, settings), history.notes
        notes += untrained_gaps(gaps)
        if not forecasting_trees:
            return Model(delays=gaps, notes=notes)
        program = without_losing(program)
        sources, time, read = (_only(program.sources, arguments) for arguments in (sources, time, read))
        tables, given = _only(program.tables, tables), as_input_settings(time, read)
    unused = _unused_settings(forecasting_trees, settings)
    if on_spark:
        trained, notes = _train_on_spark(program, sources, given, tables, strict, settings, period)
        return replace(_model(trained, notes + unused), delays=gaps)
    observers = TraceRecorderFactory(settings)
    checked, guesses, misfits = run_observed(
        program, sources, observers, time=time, read=read, tables=tables, strict=strict, period=period
    )
    statements = {s.name: s for s in reading_subscriptions(checked.statements)}
    trained = {
        name: train_subscription(statements[name], recorders, settings)
        for name, recorders in _in_program_order(observers.recorders, checked).items()
    }
    return replace(_model(trained, guesses + misfits + unused), delays=gaps)


def _only(names: Iterable[str], arguments: Any) -> Any:
    """The arguments for these streams or tables, of a call that has others, too."""
    if not isinstance(arguments, Mapping):
        return arguments
    kept = {EVERY_STREAM, *names}
    return {name: value for name, value in arguments.items() if name in kept}


def _in_program_order(observers: Mapping[str, list[Member]], checked: CheckedProgram) -> dict[str, list[Member]]:
    """Observers are made by input group; models and reports list statements in the order of the program."""
    return {s.name: observers[s.name] for s in checked.statements if s.name in observers}


def _model(trained: Mapping[str, SubscriptionModel], notes: tuple[str, ...] = ()) -> Model:
    """Raises InputError without any events: an empty model would only overwrite a better one."""
    untrained = [name for name, model in trained.items() if not model.statistics.events]
    if len(untrained) == len(trained):
        raise InputError("no-events", "there are no events to learn from", hint="; ".join(notes))
    idle = [name for name, model in trained.items() if model.statistics.events and _has_idle_features(model)]
    return Model(
        trained,
        notes=(
            *notes,
            *(f"'{name}' has seen no events: it stays untrained" for name in untrained),
            *(f"'{name}': the features do not improve its forecasts, so its model has no contexts" for name in idle),
        ),
    )


def _has_idle_features(model: SubscriptionModel) -> bool:
    """Whether training has chosen the order 0 for a model with features, which then change no forecast."""
    settings = model.settings
    recorded = bool(settings.get("features") and settings.get("symbols"))  # a duration records no symbols
    return recorded and settings.get("order") is None and len(model.contexts) == 1


def _train_on_spark(
    program: Subscriptions,
    sources: Mapping[str, object],
    inputs: InputSettings,
    tables: Mapping[str, object] | None,
    strict: bool,
    settings: Learning,
    period: PeriodRequest,
) -> tuple[dict[str, SubscriptionModel], tuple[str, ...]]:
    from foretell.spark.batch import training

    observers = TraceRecorderFactory(settings)
    batch = _spark_job(program, sources, inputs, tables, strict, observers, period)
    statements = reading_subscriptions(batch.checked.statements)
    forecasting = {s.name: s for s in statements if s.tree.forecast is not None}
    return training.train(batch, forecasting, settings)


def _train_gaps_on_spark(
    program: Subscriptions,
    sources: Mapping[str, object],
    inputs: InputSettings,
    tables: Mapping[str, object] | None,
    strict: bool,
    settings: Learning,
    period: PeriodRequest,
) -> tuple[dict[str, Mapping[str, object]], tuple[str, ...]]:
    from foretell.spark.batch.gap_trainer import train_gaps

    job = _spark_job(program, sources, inputs, tables, strict, NO_OBSERVERS, period)
    return train_gaps(job, complete=settings.complete)


def _spark_job(
    program: Subscriptions,
    sources: Mapping[str, object],
    inputs: InputSettings,
    tables: Mapping[str, object] | None,
    strict: bool,
    observers: ObserverFactory,
    period: PeriodRequest,
) -> BatchJob:
    from foretell.spark.batch.job import BatchJob

    if period.split is not None:
        hint = "use until=... (--until), or engine='embedded' (--engine embedded)"
        raise InputError("not-on-spark", "split: Spark does not know the order of all events", hint=hint)
    check_input_names(program, sources, inputs)
    template_tables = read_tables(program.tables, as_tables(tables))
    declarations = {name: declaration_of(program, name, inputs) for name in program.sources}
    return BatchJob(program, sources, declarations, template_tables, None, strict, observers, period)


def backtest(
    subscriptions: SubscriptionsLike,
    inputs: Mapping[str, object],
    *,
    model: ModelLike | None = None,
    time: Mapping[str, str] | str | None = None,
    read: ReadOptions | Mapping[str, ReadOptions] | None = None,
    tables: Mapping[str, object] | None = None,
    horizons: Sequence[int] | None = None,
    thresholds: Sequence[float] | None = None,
    confidence: float = 0.8,
    learning: Learning | None = None,
    since: TimeLike | None = None,
    until: TimeLike | None = None,
    split: float | None = None,
    strict: bool = False,
) -> Report:
    """Evaluates forecasts on later data: compares the probability at each event with the outcome.

    The horizons are those of FORECAST; `horizons`, in events, replaces them for all subscriptions. Intervals in which
    the next match should fall with `confidence` are evaluated too; they reach up to four times the horizon. Only events
    from `since` on and before `until` are used; of these with `split` only those that `train` with the same `split`
    leaves out.

    >>> import random, foretell as ft
    >>> coins = [{"time": i, "side": side} for i, side in enumerate(random.Random(1).choices("ht", k=1000))]
    >>> twice = "SUBSCRIBE twice FROM coins MATCH a , b DEFINE a, b AS side = 'h' FORECAST WITHIN 2 EVENTS ABOVE 0.4"
    >>> data = {"inputs": {"coins": coins}, "time": {"coins": "time"}, "split": 0.8}
    >>> ft.backtest(twice, model=ft.train(twice, **data), **data)
    Backtest of 1 statement
      statement  within    points  base rate  AUC    Brier  skill  calibr. error
      twice      2 events  198     30.8%      0.626  0.201  0.059  0.047
    """
    levels, lengths = _thresholds(thresholds), _horizons(horizons)
    program, trained = as_subscriptions(subscriptions), as_model(model)
    notes = untrained_notes(trained, program, in_events=bool(lengths))
    observers = BacktestObserverFactory(
        ForecasterFactory(trained.subscriptions, as_learning(learning)),
        lengths,
        IntervalRequest(confidence),
    )
    checked, guesses, misfits = run_observed(
        program,
        inputs,
        observers,
        time=time,
        read=read,
        tables=tables,
        strict=strict,
        period=PeriodRequest(since, until, split),
        later=True,
    )
    if not observers.observers:
        hint = "add FORECAST WITHIN 5 EVENTS ABOVE 0.8 to a subscription"
        raise InputError("no-forecasts", "no subscription has a FORECAST clause", hint=hint)
    result = report(_in_program_order(observers.observers, checked), trained, levels)
    warnings = (*notes, *misfits, *result.warnings)
    return replace(result, warnings=warnings, notes=(*guesses, *result.notes))


def recalibrate(
    subscriptions: SubscriptionsLike,
    inputs: Mapping[str, object],
    *,
    model: ModelLike | None,
    time: Mapping[str, str] | str | None = None,
    read: ReadOptions | Mapping[str, ReadOptions] | None = None,
    tables: Mapping[str, object] | None = None,
    learning: Learning | None = None,
    since: TimeLike | None = None,
    until: TimeLike | None = None,
    split: float | None = None,
    strict: bool = False,
) -> Model:
    """The model with its probabilities recalibrated on their outcomes in these data (isotonic regression).

    `since`, `until` and `split` select the events as in `backtest`.

    >>> import random, foretell as ft
    >>> coins = [{"time": i, "side": side} for i, side in enumerate(random.Random(1).choices("ht", k=1000))]
    >>> twice = "SUBSCRIBE twice FROM coins MATCH a , b DEFINE a, b AS side = 'h' FORECAST WITHIN 2 EVENTS ABOVE 0.4"
    >>> data = {"inputs": {"coins": coins}, "time": {"coins": "time"}, "split": 0.8}
    >>> corrected = ft.recalibrate(twice, model=ft.train(twice, **data), **data)
    >>> corrected.subscriptions["twice"].calibration(0.49).round(2)
    np.float64(0.44)
    """
    program, trained = as_subscriptions(subscriptions), as_model(model)
    untrained_notes(trained, program)  # refuses a model of other statements
    if not trained.subscriptions:
        raise InputError("no-model", "there is no model to recalibrate", hint="pass one that train has made")
    observers = BacktestObserverFactory(ForecasterFactory(trained.subscriptions, as_learning(learning)))
    period = PeriodRequest(since, until, split)
    run_observed(
        program, inputs, observers, time=time, read=read, tables=tables, strict=strict, period=period, later=True
    )
    return recalibrated(observers.observers, trained)


def run_observed(
    program: Subscriptions,
    inputs: Mapping[str, object],
    observers: ObserverFactory,
    *,
    time: Mapping[str, str] | str | None = None,
    read: ReadOptions | Mapping[str, ReadOptions] | None = None,
    tables: Mapping[str, object] | None = None,
    strict: bool = False,
    period: PeriodRequest = ANY_TIME,
    later: bool = False,
) -> tuple[CheckedProgram, tuple[str, ...], tuple[str, ...]]:
    """Runs statements in this process for their observers; returns the program, and of the reading of events what was
    guessed, and what could not be read.

    `period` selects events, and `later` those after its split.
    """
    history = read_history(program, inputs, time, read, tables, strict, period, later=later)
    checked = history.checked(program)
    start_runtime(checked, history.tables, observers=observers).process(history.batches, ends=True)
    guesses = tuple(note for batch in history.batches.values() for note in reading_notes(batch))
    return checked, guesses, misfit_summary(history.batches.values())


@dataclass(frozen=True)
class History:
    """The events of a history by stream, and the FOR EACH tables."""

    batches: Mapping[str, EventBatch]
    tables: Mapping[str, TemplateTable]

    def checked(self, program: Subscriptions) -> CheckedProgram:
        """A program that reads these streams, with names and types resolved."""
        schemas = {name: observed_schema(batch) for name, batch in self.batches.items()}
        return program.checked(schemas, {name: table.types for name, table in self.tables.items()})

    @property
    def notes(self) -> tuple[str, ...]:
        guesses = tuple(note for batch in self.batches.values() for note in reading_notes(batch))
        return guesses + misfit_summary(self.batches.values())


def read_history(
    program: Subscriptions,
    inputs: Mapping[str, object],
    time: Mapping[str, str] | str | None,
    read: ReadOptions | Mapping[str, ReadOptions] | None,
    tables: Mapping[str, object] | None,
    strict: bool,
    period: PeriodRequest,
    *,
    later: bool = False,
) -> History:
    sources = as_mapping(inputs, "inputs", "inputs={'logins': 'logins.jsonl'}")
    template_tables: dict[str, TemplateTable] = read_tables(program.tables, as_tables(tables))
    batches: dict[str, EventBatch] = read_inputs(program, sources, as_input_settings(time, read), strict)
    return History(period.select(batches, later=later), template_tables)


def _unused_settings(statements: Sequence[ForecastingStatement], settings: Learning) -> tuple[str, ...]:
    """Notes on the statements that ignore some settings, because their horizon is a duration. Raises InputError where
    that is all of them."""
    unused = "features" if settings.features else "order" if settings.order else None
    ignoring = [s for s in statements if s.forecast is not None and s.forecast.duration is not None]
    if unused is None or not ignoring:
        return ()
    notes = tuple(f"'{s.name}' forecasts within a duration, which does not use {CONTEXTS}" for s in ignoring)
    if len(ignoring) == len(statements):
        hint = f"write FORECAST WITHIN n EVENTS, or leave {unused} out"
        raise InputError("unused-features", f"{unused}: {notes[0]}", hint=hint)
    return notes


def _horizons(events: Any) -> tuple[Horizon, ...]:
    if events is None:
        return ()
    values = list(events) if isinstance(events, Iterable) else [events]
    for value in values:
        if type(value) is not int or value < 1:
            raise bad_argument("horizons", "numbers of events, from 1 on", value)
    return tuple(Horizon(events=value) for value in values)


def _thresholds(thresholds: Any) -> Sequence[float] | None:
    if thresholds is None:
        return None
    values = list(thresholds) if isinstance(thresholds, Iterable) else []
    if not values or not all(isinstance(p, int | float) and not isinstance(p, bool) and 0 <= p <= 1 for p in values):
        raise bad_argument("thresholds", "probabilities", thresholds)
    return values


def _settings(learning: object) -> Learning:
    return as_learning(learning) or Learning()
