"""`foretell train` and `foretell backtest`."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from foretell.api.engine_choice import choose_engine
from foretell.arguments.input_settings import as_input_settings
from foretell.arguments.statements import load
from foretell.cli.input_options import InputArguments
from foretell.cli.output import say
from foretell.cli.progress_display import progress
from foretell.extras import require_extra
from foretell.language import tree
from foretell.learn.settings import Learning
from foretell.notify.files import standard_output


def learning_of(
    half_life: float | None, order: str | None, features: Sequence[str], *, complete: bool = False
) -> Learning:
    """Settings for learning from the options of the command line."""
    settings: dict[str, Any] = {"features": tuple(features), "complete": complete}
    if half_life is not None:
        if not half_life >= 0:
            message = f"expected a number of events, or 0 for never, found {half_life:g}"
            raise typer.BadParameter(message, param_hint="--half-life")
        settings["half_life"] = half_life or math.inf
    if order is not None:
        settings["order"] = None if order == "auto" else _whole(order)
    elif features:
        settings["order"] = None
    return Learning(**settings)


def _whole(order: str) -> int:
    if not order.isdecimal():
        raise typer.BadParameter(f"expected a number of symbols or auto, found '{order}'", param_hint="--order")
    return int(order)


@dataclass(frozen=True)
class PeriodOptions:
    """The part of the events that a command uses, as --since, --until and --split say it."""

    since: str | None
    until: str | None
    split: str | None

    def arguments(self, side: str) -> dict[str, Any]:
        """The arguments of a call. A split is a share of the events, or a time, which is the `side` of the period."""
        period: dict[str, Any] = {"since": self.since, "until": self.until}
        if self.split is None:
            return period
        if (share := _share(self.split)) is not None:
            return period | {"split": share}
        if period[side] is not None:
            raise typer.BadParameter(f"give --{side} or --split, not both", param_hint="--split")
        return period | {side: self.split}


def _share(split: str) -> float | None:
    try:
        share = float(split)
    except ValueError:
        return None
    return share if 0 < share < 1 else None


def _call_arguments(given: InputArguments) -> dict[str, Any]:
    return {"time": given.time_columns(), "read": given.read_options(), "tables": given.template_tables()}


def train(
    file: Path, given: InputArguments, output: Path, learning: Learning, engine: str | None, period: PeriodOptions,
    *, strict: bool, quiet: bool,
) -> None:  # fmt: skip
    from foretell.api.forecasting import train as train_  # imports the engine, which other commands do not need

    program = load(file)
    given = given.with_names(program.sources)
    call = _call_arguments(given)
    part = period.arguments("until")
    wanted = engine or ("embedded" if "split" in part else None)  # Spark does not know the order of all events
    choice = choose_engine(program, given.sources(), as_input_settings(call["time"], call["read"]), wanted)
    if choice.engine == "spark" and not quiet:
        for note in choice.notes:
            say(f"note: {note}")
    with progress("reading the events", on_spark=choice.engine == "spark"):
        call |= part | {"learning": learning, "strict": strict}
        model = train_(program, given.sources(), **call, engine=wanted or choice.engine)
    model.save(output)
    for note in () if quiet else model.notes:
        say(f"note: {note}")
    correlators = {s.name for s in program.program.statements if isinstance(s, tree.Correlator)}
    for name, trained in () if quiet else model.subscriptions.items():
        statistics = trained.statistics
        contexts = f", {len(trained.contexts)} contexts" if len(trained.contexts) > 1 else ""
        parts = f", forecast from its {len(trained.parts)} parts" if trained.parts else ""
        came = "emitted a forecast token" if name in correlators else "completed a match"
        data = f"trained on {statistics.events:,} events, {statistics.matches:,} of which {came}"
        states = f"{len(statistics.states)} state{'s' if len(statistics.states) != 1 else ''}"
        say(f"{name}: {data}; {states}{contexts}{parts}")
    if not quiet:
        say(f"wrote {output}")


def backtest(
    file: Path, given: InputArguments, model: Path | None, period: PeriodOptions, *, horizons: Sequence[int],
    confidence: float, page: Path | None, corrected: Path | None, as_json: bool, learn: bool, strict: bool, quiet: bool,
) -> None:  # fmt: skip
    from foretell.api.forecasting import backtest as backtest_
    from foretell.api.forecasting import recalibrate

    if page is not None:
        require_extra("charts", "a page with charts")
    statements = load(file)
    given = given.with_names(statements.sources)
    inputs = given.sources()
    with progress("reading the events"):
        call = _call_arguments(given) | period.arguments("since")
        call |= {"model": model, "learning": None if learn else Learning(online=False), "strict": strict}
        report = backtest_(statements, inputs, **call, horizons=horizons or None, confidence=confidence)
    text = json.dumps(report.as_dict()) + "\n" if as_json else report.tables()
    standard_output().write(text.encode())
    for note in () if quiet else report.notes:
        say(f"note: {note}")
    for warning in report.warnings:
        say(f"warning: {warning}")
    if page is not None:
        from foretell.charts.forecasts import forecast_page

        forecast_page(report).save(page)
    if corrected is not None:
        with progress("recalibrating the model"):
            recalibrate(statements, inputs, **call).save(corrected)
