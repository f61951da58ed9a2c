"""`foretell run --follow`: statements or a pipeline file as a stream on Spark, until stopped."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from foretell.arguments.statements import load
from foretell.cli.input_options import InputArguments
from foretell.cli.limit_options import limits_of
from foretell.cli.notification_line import notification_line
from foretell.cli.output import is_terminal, say, terminal_width
from foretell.cli.status_line import StatusLine
from foretell.notify.files import standard_output, writing_to

if TYPE_CHECKING:
    from foretell.arguments.pipeline import Pipeline


@dataclass(frozen=True)
class FollowArguments:
    """The options of `foretell run --follow` beside those of its inputs."""

    file: Path
    output: Path | None
    checkpoint: Path | None
    quarantine: Path | None
    late: Path | None
    model: Path | None
    limits: Sequence[str]
    json: bool
    once: bool
    quiet: bool


def follow_inputs(arguments: FollowArguments, given: InputArguments) -> None:
    from foretell.spark.streaming.pipeline import run  # imports Spark

    pipeline = _pipeline(arguments, given)
    stream = standard_output()
    line = StatusLine()

    def write(text: bytes) -> None:
        shown = notification_line(text, terminal_width(sys.stdout) - 1) if is_terminal(sys.stdout) else text
        with line.removed():
            stream.write(shown)
            stream.flush()

    def log(text: str) -> None:
        if not arguments.quiet:
            with line.removed():
                say(text)

    try:
        with writing_to(stream):
            run(pipeline, once=arguments.once, write=write, log=log, status=line.show)
    finally:
        line.end()


def _pipeline(arguments: FollowArguments, given: InputArguments) -> Pipeline:
    from foretell.cli.pipeline_file import pipeline_of, read_pipeline

    place = None if arguments.checkpoint is None else str(arguments.checkpoint)
    if arguments.file.suffix == ".toml":
        options = {
            "--input": given.inputs,
            "--time": given.time,
            "--table": given.tables,
            "--output": arguments.output,
            "--quarantine": arguments.quarantine,
            "--late": arguments.late,
            "--model": arguments.model,
            "--limit": arguments.limits,
            "--json": arguments.json,
        }
        for option in [name for name, value in options.items() if value] + given.form_words()[:1]:
            raise typer.BadParameter("leave it out: the pipeline file says it", param_hint=option)
        return read_pipeline(arguments.file, place)
    statements = load(arguments.file)
    given = given.with_names(statements.sources)
    return pipeline_of(
        statements,
        given.sources(),
        given.time_columns(),
        given.template_tables(),
        arguments.output,
        place,
        read=given.read_options(),
        quarantine=arguments.quarantine,
        late=arguments.late,
        model=arguments.model,
        limits=limits_of(arguments.limits),
        json=arguments.json,
    )
