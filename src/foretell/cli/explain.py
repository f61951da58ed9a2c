"""`foretell explain`: the plan of each statement, what they share, and how Spark divides them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from foretell.arguments.input_settings import InputSettings
from foretell.arguments.model import as_model, delay_models
from foretell.arguments.statements import load
from foretell.arguments.streams import declaration_of, read_tables
from foretell.cli.output import is_terminal, say, terminal_width
from foretell.display import wrapped
from foretell.errors import InputError, suggestion
from foretell.events.delays.delay_model import DelayModel
from foretell.events.ingest.reader import EventBatch, read
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedCorrelator, CheckedProgram, CheckedSubscription
from foretell.language.derived_windows import derived_window_notes
from foretell.language.subscriptions import Subscriptions
from foretell.machine.exec.limits import Limits
from foretell.machine.exec.memory_size import format_bytes
from foretell.notify.collected_notifications import results_budget
from foretell.notify.files import standard_output, writing_to
from foretell.plan.explain import Codes, Explained, as_mermaid, as_text, explain_all
from foretell.plan.sharing_report import sharing_report
from foretell.spark.batch.explain import explain_on_spark

FORMATS = ("text", "mermaid", "html", "json")


def show(
    file: Path,
    form: str,
    tables: Mapping[str, str],
    limits: Limits | None = None,
    model: Path | None = None,
    inputs: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Print the plans of the statements of a file. Its streams must be declared; `tables` may give FOR EACH tables, the
    model has the delays of statements with LOSING, and `inputs` have events on which to count what Spark drops."""
    if form not in FORMATS:
        raise InputError("unknown-format", f"unknown format '{form}'", hint=suggestion(form, FORMATS))
    program = load(file)
    if form == "html":
        _show_page(program, tables, limits, model)
        return
    rows = {} if not tables else read_tables(program.tables, tables)
    types = {name: table.types for name, table in rows.items()}
    checked = program.checked(tables=types)
    for name, schema in checked.streams.items():
        if schema.open:
            raise InputError(
                "undeclared-stream",
                f"stream '{name}' is not declared: the plan depends on its attributes",
                hint=f"declare it: STREAM {name} (attribute TYPE, ...) TIME column",
            )
    names = [subscription.name for subscription in _subscriptions(checked)]
    delays = None if model is None else delay_models(as_model(model), names)
    output = standard_output()
    width = terminal_width(sys.stdout) if form == "text" and is_terminal(sys.stdout) else None
    for note in derived_window_notes(program.program):
        say(f"note: {note}")
    with writing_to(output):
        for text in _explained(program, checked, rows, form, limits or Limits(), delays, _events(program, inputs)):
            output.write(f"{text if width is None else _for_a_terminal(text, width)}\n".encode())


def _show_page(program: Subscriptions, tables: Mapping[str, str], limits: Limits | None, model: Path | None) -> None:
    from foretell.charts.automaton_page import automaton_page  # loads kernels

    text = automaton_page(program, model=model, tables=tables, limits=limits).html()
    for note in derived_window_notes(program.program):
        say(f"note: {note}")
    output = standard_output()
    with writing_to(output):
        output.write(text.encode())


def _events(program: Subscriptions, inputs: Mapping[str, str]) -> dict[str, EventBatch]:
    for name in inputs:
        if name not in program.sources:
            hint = suggestion(name, program.sources)
            raise InputError("unread-input", f"no statement reads a stream '{name}'", hint=hint)
    return {name: read(path, declaration_of(program, name, InputSettings())) for name, path in inputs.items()}


def _for_a_terminal(text: str, width: int) -> str:
    """The text with lines that fit, and its first line, which names a statement, in bold."""
    name, _, rest = wrapped(text, width).partition("\n")
    return f"{name}\n{rest}" if os.environ.get("NO_COLOR") else f"\x1b[1m{name}\x1b[0m\n{rest}"


def _subscriptions(checked: CheckedProgram) -> list[CheckedSubscription]:
    return [statement for statement in checked.statements if isinstance(statement, CheckedSubscription)]


def _explained(
    program: Subscriptions,
    checked: CheckedProgram,
    tables: Mapping[str, TemplateTable],
    form: str,
    limits: Limits,
    delays: Mapping[str, DelayModel] | None,
    events: Mapping[str, EventBatch],
) -> Iterator[str]:
    """The text of each statement, of what they share, and of a run on Spark."""
    subscriptions = _subscriptions(checked)
    types = {name: table.types for name, table in tables.items()}
    explained = {e.name: e for e in explain_all(subscriptions, types, limits.edges)}
    for statement in checked.statements:
        if statement.name in explained:
            assert isinstance(statement, CheckedSubscription)
            text = _subscription(explained[statement.name], form)
            if statement.tree.table in tables and form != "mermaid":
                text = _with_rows(text, statement, tables[str(statement.tree.table)], form, limits)
            yield text if statement.tree.losing is None else _with_losses(text, statement, form, delays, limits)
        else:
            assert isinstance(statement, CheckedCorrelator)
            yield _correlator(statement, types.get(str(statement.tree.table)), form)
    if form == "mermaid":
        return
    shared = sharing_report(subscriptions, Codes(), limits.edges)
    if shared.subscriptions > 1:
        yield json.dumps(shared.as_dict()) if form == "json" else shared.as_text()
    if form == "text":
        yield _limits_text(limits)
    if checked.statements:
        divided = explain_on_spark(program, checked, tables, events)
        yield json.dumps(divided.as_dict()) if form == "json" else divided.as_text()


def _limits_text(limits: Limits) -> str:
    """The limits of a run: those that --limit sets, and the others as they are on this computer."""
    return "\n".join(
        (
            "limits of an engine, unless others are set",
            f"  partial matches: {limits.lane:,} of a statement in a lane (Limits.lane), {limits.engine:,} in all "
            "(Limits.engine)",
            f"  memory: {format_bytes(limits.budget)} here (Limits.memory), notifications of a call: "
            f"{format_bytes(results_budget(limits))} (Limits.results)",
            "  beyond them a statement stops in the lane; with then=drop it loses its oldest partial matches "
            "(Limits.then)",
            f"  a pattern: {limits.edges:,} edges, and two for each of its steps (Limits.edges)",
            f"  a statement with LOSING: {limits.patterns:,} patterns (Limits.patterns), "
            f"{limits.tables:,} tables of delays (Limits.tables)",
        )
    )


def _subscription(explained: Explained, form: str) -> str:
    match form:
        case "json":
            return json.dumps(explained.as_dict())
        case "mermaid":
            return as_mermaid(explained)
    return as_text(explained)


def _with_rows(text: str, statement: CheckedSubscription, table: TemplateTable, form: str, limits: Limits) -> str:
    """The plan of a template with the figures of the index that finds the rows of its table."""
    from foretell.cli.table_figures import table_figures  # loads kernels

    figures = table_figures(statement, table, limits.edges)
    if form == "json":
        return json.dumps({**json.loads(text), "rows": figures})
    return "\n".join([text, *(f"  rows {figure}" for figure in figures)])


def _correlator(statement: CheckedCorrelator, parameters: Mapping[str, Type] | None, form: str) -> str:
    from foretell.correlate.explanation import explain_correlator  # loads kernels

    explained = explain_correlator(statement, parameters)
    match form:
        case "json":
            return json.dumps(explained.as_dict())
        case "mermaid":
            return explained.as_mermaid()
    return explained.as_text()


def _with_losses(
    text: str, statement: CheckedSubscription, form: str, delays: Mapping[str, DelayModel] | None, limits: Limits
) -> str:
    """The plan of a statement with LOSING, with its automaton."""
    from foretell.recover.loss_automaton import automaton_mermaid, automaton_text, loss_automaton  # loads SciPy

    model = None if delays is None else delays.get(statement.name) or DelayModel()
    if isinstance(statement.tree.within, tree.Span):  # a window with a unit is one of TIMESTAMPs, declared or not
        statement = replace(statement, time=Type.TIMESTAMP)
    automaton = loss_automaton(statement, model, limits.losing)
    match form:
        case "json":
            return json.dumps({**json.loads(text), "losing": automaton.as_dict()})
        case "mermaid":
            return automaton_mermaid(automaton)
    return f"{text}\n{automaton_text(automaton)}"
