"""`foretell train` and `foretell backtest`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from foretell.arguments.statements import load
from foretell.cli.output import say
from foretell.events.atomic_files import atomic_write
from foretell.learn.settings import Learning
from foretell.notify.files import standard_output


def learning_of(half_life: float | None, order: str | None, features: Sequence[str]) -> Learning:
    """Settings for learning from the options of the command line."""
    settings: dict[str, Any] = {"features": tuple(features)}
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


def train(
    file: Path, inputs: Mapping[str, str], time: Mapping[str, str], tables: Mapping[str, str], output: Path,
    learning: Learning, engine: str | None, *, strict: bool,
) -> None:  # fmt: skip
    from foretell.api.forecasting import train as train_  # imports the engine, which other commands do not need

    model = train_(load(file), inputs, time=time, tables=tables, learning=learning, engine=engine, strict=strict)
    model.save(output)
    for note in model.notes:
        say(f"note: {note}")
    for name, trained in model.subscriptions.items():
        statistics = trained.statistics
        contexts = f", {len(trained.contexts)} contexts" if len(trained.contexts) > 1 else ""
        parts = f", forecast from its {len(trained.parts)} parts" if trained.parts else ""
        data = f"trained on {statistics.events:,} events, {statistics.matches:,} of which completed a match"
        say(f"{name}: {data}; {len(statistics.states)} states{contexts}{parts}")


def backtest(
    file: Path, inputs: Mapping[str, str], time: Mapping[str, str], tables: Mapping[str, str], model: Path | None,
    *, horizons: Sequence[int], confidence: float, page: Path | None, corrected: Path | None, as_json: bool,
    learn: bool, strict: bool,
) -> None:  # fmt: skip
    from foretell.api.forecasting import backtest as backtest_
    from foretell.api.forecasting import recalibrate

    statements = load(file)
    learning = None if learn else Learning(online=False)
    report = backtest_(
        statements, inputs, model=model, time=time, tables=tables, horizons=horizons or None,
        confidence=confidence, learning=learning, strict=strict,
    )  # fmt: skip
    if as_json:
        standard_output().write((json.dumps(report.as_dict()) + "\n").encode())
    else:
        standard_output().write(report.tables().encode())
    for note in report.notes:
        say(f"note: {note}")
    for warning in report.warnings:
        say(f"warning: {warning}")
    if page is not None:
        from foretell.charts.forecasts import forecast_page

        with atomic_write(page) as out:
            out.write(forecast_page(report).encode())
    if corrected is not None:
        recalibrate(
            statements, inputs, model=model, time=time, tables=tables, learning=learning, strict=strict
        ).save(corrected)  # fmt: skip
