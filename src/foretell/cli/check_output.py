"""The work and the output of `foretell check`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import typer

from foretell.api.statement_check import check
from foretell.arguments.statements import load
from foretell.check.annotations import annotation_lines, error_annotation
from foretell.check.dependencies import dependencies_of
from foretell.check.report import CheckReport, undecided_text
from foretell.check.report_text import report_text
from foretell.cli.input_options import InputArguments
from foretell.cli.output import is_terminal, say, say_error, terminal_width
from foretell.cli.progress_display import progress
from foretell.display import counted, duration_text, wrapped
from foretell.errors import ForetellError, InputError, LanguageError
from foretell.language.subscriptions import Subscriptions
from foretell.notify.files import standard_output, writing_to
from foretell.records import record

#: Signs before the part of a statement that a finding shows.
_EXCERPT_MARGIN = 10


@record
class CheckRequest:
    """The options of the command, but for those of its inputs."""

    files: tuple[Path, ...]
    against: Path | None
    costs: bool
    graph: bool
    seconds: float
    statement_seconds: float
    form: str
    quiet: bool


def check_files(request: CheckRequest, given: InputArguments) -> None:
    """Checks all files; leaves with exit status 1 where there are findings, or a file that is no program."""
    _check_options(request, given)
    since, reports, failed = monotonic(), list[CheckReport](), 0
    other = None if request.against is None else load(request.against)
    for file in request.files:
        program = _program(file, request.form)
        if program is None:
            failed += 1
            continue
        try:
            if request.graph:
                _write(_graph(program, request.form))
                continue
            report = _report(request, program, other, given)
        except LanguageError as error:
            _refuse(error, file, request.form)
            failed += 1
            continue
        reports.append(report)
        _write(_shown(report, request.form))
    if not request.graph and not request.quiet:
        _summarize(reports, failed, monotonic() - since)
    if failed or not all(report.passes for report in reports):
        raise typer.Exit(1)


def _program(file: Path, form: str) -> Subscriptions | None:
    """The statements of a file; None where it has none that can be read, which is said."""
    try:
        return load(file)
    except (LanguageError, InputError) as error:
        _refuse(error, file, form)
    return None


def _refuse(error: ForetellError, file: Path, form: str) -> None:
    if form in ("github", "json"):
        _write(_error(error, file, form))
    else:
        say_error(error)


def _check_options(request: CheckRequest, given: InputArguments) -> None:
    if len(request.files) > 1 and (request.against is not None or given.inputs):
        option = "--input" if given.inputs else "--against"
        raise typer.BadParameter("name one file of statements with it", param_hint=option)
    if request.graph:
        checking = {"--against": request.against, "--costs": request.costs, "--format github": request.form == "github"}
        for option, is_given in checking.items():
            if is_given:
                raise typer.BadParameter(f"leave out {option}: a graph checks nothing", param_hint="--graph")
    for option, seconds in {"--seconds": request.seconds, "--statement-seconds": request.statement_seconds}.items():
        if not 0 < seconds < float("inf"):
            raise typer.BadParameter(f"{seconds:g} is no time above 0", param_hint=option)


def _report(
    request: CheckRequest, program: Subscriptions, other: Subscriptions | None, given: InputArguments
) -> CheckReport:
    given = given.with_names(program.sources)
    sources: dict[str, str] | None = given.sources() or None
    with progress("checking the statements"):
        return check(
            program,
            against=other,
            inputs=sources,
            time=given.time_columns(),
            read=given.read_options(),
            tables=given.template_tables(),
            costs=request.costs,
            seconds=request.seconds,
            statement_seconds=request.statement_seconds,
        )


def _graph(program: Subscriptions, form: str) -> str:
    dependencies = dependencies_of(program.program, program.checked())
    match form:
        case "json":
            return json.dumps({"file": program.file, **dependencies.as_dict()})
        case "mermaid":
            return dependencies.as_mermaid()
    return dependencies.as_text()


def _shown(report: CheckReport, form: str) -> str:
    match form:
        case "json":
            return json.dumps(report.as_dict())
        case "github":
            return "\n".join(annotation_lines(report))
    if not is_terminal(sys.stdout):
        return report_text(report)
    width = terminal_width(sys.stdout)
    return wrapped(report_text(report, max(width - _EXCERPT_MARGIN, 20)), width)


def _error(error: ForetellError, file: Path, form: str) -> str:
    if form == "github":
        return error_annotation(error, str(file))
    place: dict[str, Any] = {"line": error.place.line or None, "column": error.place.column or None}
    return json.dumps(
        {
            "file": str(file),
            "error": {"code": error.code, "message": error.message, "hint": error.hint or None, **place},
        }
    )


def _write(text: str) -> None:
    output = standard_output()
    with writing_to(output):
        output.write(f"{text}\n".encode() if text else b"")


def _summarize(reports: list[CheckReport], failed: int, seconds: float) -> None:
    """How much was found, on standard error."""
    if not reports:
        return
    for line in _summary(reports):
        say(line)
    found = sum(len(report.findings) for report in reports)
    statements = sum(len(report.statements) for report in reports)
    silenced = sum(report.silenced for report in reports)
    allowed = f", {silenced:,} allowed" if silenced else ""
    compared = [comparison.is_equivalent for report in reports for comparison in report.comparisons]
    equivalent = f", {sum(compared):,} of {len(compared):,} equivalent" if compared else ""
    unread = f", {counted(failed, 'file')} not checked" if failed else ""
    summary = f"{counted(found, 'finding')} in {counted(statements, 'statement')}{allowed}{equivalent}{unread}"
    say(f"{summary}, {duration_text(seconds)}")


def _summary(reports: list[CheckReport]) -> Iterator[str]:
    for report in reports:
        if report.undecided or report.unasked:
            yield f"note: {undecided_text(report.undecided, report.unasked)}"
