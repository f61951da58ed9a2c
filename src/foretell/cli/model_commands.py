"""The commands that learn from past events, and evaluate what was learned."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foretell.cli.application import OUTPUT, Before, File, Quiet, Since, Strict, app, one_of
from foretell.cli.help_format import GroupedCommand
from foretell.cli.input_options import InputArguments, takes_inputs


@app.command(
    "train",
    cls=GroupedCommand,
    epilog="""
foretell train watch.ftl --input logins=past.csv --output model.json
foretell train watch.ftl --input logins=all.csv --split 0.7 --output m.json
foretell backtest watch.ftl --input logins=all.csv --split 0.7 --model m.json
""",
)
@takes_inputs
def train_command(
    file: File,
    given: InputArguments,
    output: Annotated[
        Path, typer.Option(metavar="FILE", help="Write the model to this JSON file.", show_default=False)
    ],
    half_life: Annotated[
        float | None,
        typer.Option(metavar="EVENTS", help="Halve the weight of an observation after this many events; 0: never."),
    ] = None,
    order: Annotated[
        str | None, typer.Option(metavar="N|auto", help="Use up to N preceding events as the context of a forecast.")
    ] = None,
    features: Annotated[
        list[str],
        typer.Option(
            "--feature", metavar="CONDITION", help="Distinguish events in contexts by a condition, such as 'temp > 20'."
        ),
    ] = [],
    complete: Annotated[
        bool,
        typer.Option("--complete", help="Take the events for complete: they have no losses to make up for (LOSING)."),
    ] = False,
    since: Since = None,
    until: Before = None,
    split: Annotated[
        str | None,
        typer.Option(
            metavar="TIME|SHARE",
            help="Train on the events before this time, or on this share of them, such as 0.7; `backtest` with the "
            "same --split uses the others.",
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            callback=one_of,
            help="embedded or spark. Default: embedded, or spark for millions of events.",
        ),
    ] = None,
    strict: Strict = False,
    quiet: Quiet = False,
) -> None:
    """Train a model for forecasts and lost events from past events."""
    from foretell.cli import forecast_commands

    learning = forecast_commands.learning_of(half_life, order, features, complete=complete)
    period = forecast_commands.PeriodOptions(since, until, split)
    forecast_commands.train(file, given, output, learning, engine, period, strict=strict, quiet=quiet)


@app.command(
    "backtest",
    cls=GroupedCommand,
    epilog="""
foretell backtest watch.ftl --input logins=later.csv --model model.json
foretell backtest watch.ftl --input logins=all.csv --split 0.7 --model m.json
foretell backtest watch.ftl --input logins=later.csv --html report.html
""",
)
@takes_inputs
def backtest_command(
    file: File,
    given: InputArguments,
    *,
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Use this model. Default: learn while running.")
    ] = None,
    horizons: Annotated[
        list[int],
        typer.Option(
            "--horizon", metavar="EVENTS", help="Forecast this far ahead, instead of the statements' own horizons."
        ),
    ] = [],
    confidence: Annotated[
        float, typer.Option(metavar="P", help="Confidence level of the intervals for the time of the next match.")
    ] = 0.8,
    since: Since = None,
    until: Before = None,
    split: Annotated[
        str | None,
        typer.Option(
            metavar="TIME|SHARE",
            help="Evaluate on the events from this time on, or on those after this share, such as 0.7.",
        ),
    ] = None,
    corrected: Annotated[
        Path | None, typer.Option("--recalibrate", metavar="FILE", help="Write the recalibrated model to this file.")
    ] = None,
    learn: Annotated[bool, typer.Option("--learn/--no-learn", help="Go on learning while running.")] = True,
    strict: Strict = False,
    page: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write a page with charts to this file.", rich_help_panel=OUTPUT),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.", rich_help_panel=OUTPUT)] = False,
    quiet: Quiet = False,
) -> None:
    """Evaluate forecasts on later events: accuracy, calibration, and false alarms."""
    from foretell.cli import forecast_commands

    forecast_commands.backtest(
        file,
        given,
        model,
        forecast_commands.PeriodOptions(since, until, split),
        horizons=horizons,
        confidence=confidence,
        page=page,
        corrected=corrected,
        as_json=as_json,
        learn=learn,
        strict=strict,
        quiet=quiet,
    )


@app.command(
    "loss",
    cls=GroupedCommand,
    epilog="""
foretell loss --input gate=gate.csv --input door=door.csv --passage tag
foretell loss --input gate=gate.csv --passage tag --pause 60
foretell loss --input gate=g.csv --input log=l.csv --complete log --passage id
""",
)
@takes_inputs
def loss_command(
    given: InputArguments,
    *,
    passage: Annotated[
        list[str],
        typer.Option(
            metavar="A,B", help="Events with equal values of these attributes are of one passage.", show_default=False
        ),
    ] = [],
    complete: Annotated[
        str | None, typer.Option(metavar="NAME", help="This input has lost nothing: compare the others with it.")
    ] = None,
    pause: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="After so long without an event, another passage begins."),
    ] = None,
    attempts: Annotated[
        int | None, typer.Option(metavar="N", help="One input: the reader tries so often to read a passage.")
    ] = None,
    confidence: Annotated[float, typer.Option(metavar="P", help="Confidence level of the intervals.")] = 0.95,
    strict: Strict = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.", rich_help_panel=OUTPUT)] = False,
    quiet: Quiet = False,
) -> None:
    """Estimate how many events readers lose (LOSING): from several of them, or from repeated reads."""
    from foretell.cli import loss_command

    loss_command.estimate(
        given,
        passage,
        complete=complete,
        pause=pause,
        attempts=attempts,
        confidence=confidence,
        strict=strict,
        as_json=as_json,
        quiet=quiet,
    )
