"""`foretell serve`: a pipeline file, or the demonstration, with a live page."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from foretell.arguments.pipeline import Pipeline
from foretell.cli.output import say
from foretell.cli.pipeline_file import read_pipeline
from foretell.errors import InputError
from foretell.extras import has_extra, require_extra
from foretell.serve.access import LEAST_TOKEN, AccessPolicy, is_loopback
from foretell.serve.batch_output import EMBEDDED_OUTPUTS
from foretell.serve.embedded_pipeline import MESSAGES, EmbeddedPipeline
from foretell.serve.recorder import PipelineRecorder
from foretell.serve.runner import PipelineRunner, ServedPipeline
from foretell.serve.server import address_of, bound_socket, serve_until_signal
from foretell.serve.service import PipelineService, page_title

TOKEN_VARIABLE = "FORETELL_TOKEN"


@dataclass(frozen=True)
class ServeArguments:
    """The options of `foretell serve`."""

    file: Path | None
    demo: bool
    engine: str | None
    host: str
    port: int
    names: tuple[str, ...]
    token_file: Path | None
    read_only: bool
    checkpoint: Path | None
    lines: bool
    quiet: bool


def serve(arguments: ServeArguments) -> None:
    policy = AccessPolicy(arguments.host, _token(arguments), tuple(name.lower() for name in arguments.names))
    pipeline = None if arguments.demo else _pipeline(arguments)
    listener = bound_socket(arguments.host, arguments.port)
    try:
        service = _service(arguments, pipeline, policy)
        service.pipeline.prepare()
        texts = [f"{service.recorder.title} is at {address_of(listener)}  (Ctrl-C ends it)"]
        if not arguments.quiet:
            texts += [f"note: {note}" for note in (service.recorder.engine_note, *service.recorder.state(0)["notes"])]
        number = serve_until_signal(service, listener, texts, say)
    finally:
        listener.close()
    if not arguments.quiet:
        say(_summary(service.recorder))
    if service.recorder.error is not None:
        raise InputError("pipeline-failed", service.recorder.error["error"], hint=service.recorder.error["hint"])
    if number == signal.SIGINT:
        raise KeyboardInterrupt


def _token(arguments: ServeArguments) -> str | None:
    """The token: of a file or of the environment, never of the command line, which other users can see."""
    token = os.environ.get(TOKEN_VARIABLE)
    if arguments.token_file is not None:
        try:
            token = arguments.token_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is not a text"
            raise InputError("no-token", f"cannot read the token in '{arguments.token_file}': {why}") from None
    if token is not None and len(token) < LEAST_TOKEN:
        message = f"the token has {len(token)} characters, and needs {LEAST_TOKEN}"
        raise InputError("short-token", message, hint=_TOKEN_HINT)
    if token is None and not is_loopback(arguments.host):
        message = f"on {arguments.host} others can reach the page: it needs a token"
        raise InputError("no-token", message, hint=_TOKEN_HINT)
    return token


_TOKEN_HINT = (
    "make one: python -c 'import secrets; print(secrets.token_urlsafe())' > token; then add --token-file token, or set "
    f"{TOKEN_VARIABLE}"
)


def _pipeline(arguments: ServeArguments) -> Pipeline:
    assert arguments.file is not None
    place = None if arguments.checkpoint is None else str(arguments.checkpoint)
    return read_pipeline(arguments.file, place)


def _service(arguments: ServeArguments, pipeline: Pipeline | None, policy: AccessPolicy) -> PipelineService:
    if pipeline is None:
        from foretell.serve.demo_pipeline import DemoPipeline  # its package is an extra

        note = "the demonstration runs in this process: flights of 2013, a thousand times faster"
        recorder = PipelineRecorder("Demonstration", "embedded", note, read_only=arguments.read_only)
        demo = DemoPipeline(recorder)
        return PipelineService(recorder, demo, PipelineRunner(demo, recorder), policy, recent=demo.recent)
    assert arguments.file is not None
    engine, note = _engine(arguments.engine, pipeline)
    recorder = PipelineRecorder(page_title(arguments.file), engine, note, read_only=arguments.read_only)
    served = _served(arguments, engine, pipeline, recorder)
    runner, recent = PipelineRunner(served, recorder), getattr(served, "recent", None)
    return PipelineService(recorder, served, runner, policy, recent, tables=pipeline.tables, model=pipeline.model)


def _served(arguments: ServeArguments, engine: str, pipeline: Pipeline, recorder: PipelineRecorder) -> ServedPipeline:
    write = sys.stdout.buffer.write if arguments.lines else None
    if engine == "embedded":
        return EmbeddedPipeline(pipeline, recorder, write)
    require_extra("spark", "--engine spark")
    from foretell.serve.spark_pipeline import SparkPipeline  # imports Spark

    return SparkPipeline(pipeline, recorder, write)


def _engine(wanted: str | None, pipeline: Pipeline) -> tuple[str, str]:
    """The engine, and why."""
    needs = _spark_needs(pipeline)
    if wanted is not None:
        return wanted, f"runs on the {wanted} engine, as --engine says"
    if not needs:
        return "embedded", "runs in this process: its streams are files or messages of MQTT"
    if not has_extra("spark"):
        message = f"this pipeline needs Spark: {needs}"
        raise InputError("missing-extra", message, hint="pip install 'foretell[spark]'")
    return "spark", f"runs on Spark: {needs}"


def _spark_needs(pipeline: Pipeline) -> str:
    """The part of a pipeline that only Spark runs."""
    for name, source in pipeline.streams.items():
        if not source.whole_files and source.format != MESSAGES:
            return f"stream '{name}' has the format {source.format}" + (" with a schema" if source.schema else "")
        if source.path is not None and "://" in source.path and not source.path.startswith("file:"):
            return f"stream '{name}' is not on this machine"
    if pipeline.control is not None:
        return "it has a control stream"
    if pipeline.output is not None and pipeline.output.format not in EMBEDDED_OUTPUTS:
        return f"its output has the format {pipeline.output.format}"
    return ""


def _summary(recorder: PipelineRecorder) -> str:
    state = recorder.state(0)
    events = state["events"]
    notifications = sum(sum(statement["counts"].values()) for statement in state["statements"])
    late, bad = recorder.side_totals["late"], recorder.side_totals["quarantined"]
    return f"{events:,} events, {notifications:,} notifications, {late:,} late, {bad:,} set aside"
