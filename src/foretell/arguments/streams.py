"""Streams and FOR EACH tables as a caller hands them in: their names, declarations and data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from foretell.arguments.input_settings import InputSettings
from foretell.errors import InputError, LanguageError, suggestion
from foretell.events.ingest.derived_attributes import NOTHING_DERIVED
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, read
from foretell.events.ingest.template_tables import TemplateTable, read_table
from foretell.events.types import Schema, Type
from foretell.filter.derived_columns import DerivedColumns
from foretell.language import tree
from foretell.language.stream_schemas import declared_schema, null_markers
from foretell.language.subscriptions import Subscriptions
from foretell.progress import begin_stage

if TYPE_CHECKING:
    from foretell.machine.exec.limits import Limits


def read_inputs(
    program: Subscriptions, inputs: Mapping[str, object], settings: InputSettings, strict: bool
) -> dict[str, EventBatch]:
    """Read the events of all streams that the statements read."""
    check_input_names(program, inputs, settings)
    declarations = {name: declaration_of(program, name, settings) for name in program.sources}
    batches: dict[str, EventBatch] = {}
    for name, declaration in declarations.items():
        begin_stage(f"reading {name}")
        batches[name] = read(inputs[name], declaration, strict=strict)
    return batches


def check_input_names(program: Subscriptions, inputs: Mapping[str, object], settings: InputSettings) -> None:
    """Raise unless there is an input for every stream that the statements read, and for no other."""
    sources = program.sources
    for name in (*inputs, *settings.streams):
        if name not in sources:
            hint = suggestion(name, sources)
            raise InputError("unread-input", f"no statement reads a stream '{name}'", hint=hint)
    piped = [name for name, source in inputs.items() if isinstance(source, str) and source == "-"]
    if len(piped) > 1:
        message = f"'{piped[0]}' and '{piped[1]}' both read standard input"
        raise InputError("read-twice", message, hint="give one of them a file")
    missing = [name for name in sources if name not in inputs]
    if missing:
        hint = f"add --input {missing[0]}=PATH, or inputs={{'{missing[0]}': ...}}"
        raise InputError("missing-input", f"stream '{missing[0]}' has no input", hint=hint)


def observed_schema(batch: EventBatch) -> Schema:
    """The schema that a batch shows. One without events shows neither undeclared attributes nor the type of an
    undeclared time, so statements may still use any. The columns of a file that has only its header have no type."""
    schema = replace(batch.schema, open=batch.open and batch.total == 0)
    unknown = [] if batch.time_known or schema.time is None else [schema.time]
    if batch.total == 0:
        unknown += schema.remarks  # those that are STRING for want of values
    return replace(schema, attributes={**schema.attributes, **dict.fromkeys(unknown, Type.UNKNOWN)})


def declaration_of(program: Subscriptions, name: str, settings: InputSettings) -> StreamDeclaration:
    """The declaration of a stream; an error in its STREAM statement points into the program's text."""
    try:
        declaration = stream_declaration(program.declared.get(name), name, settings, (program.text, program.file))
    except LanguageError as error:
        raise error.within(program.text, program.file) from None
    declaration = replace(declaration, keys=keys_of(program.program.statements, name))
    plain = declaration.guesses_epochs and program.plain_durations
    return declaration.with_plain_times() if plain else declaration


def keys_of(statements: Iterable[tree.Statement], stream: str) -> frozenset[str]:
    """The PER attributes of the statements that read a stream."""
    readers = (s for s in statements if isinstance(s, tree.Subscription | tree.Correlator) and stream in s.streams)
    return frozenset(str(name) for reader in readers for name in reader.per)


def stream_declaration(
    stream: tree.Stream | None, name: str, settings: InputSettings, source: tuple[str, str] = ("", "")
) -> StreamDeclaration:
    """A stream's declaration by its STREAM statement, if it has one, and by the caller's settings.

    `source` is the text of the statement and its file.
    """
    time, options = settings.time_column(name), settings.options(name)
    if stream is None:
        return StreamDeclaration(name, {}, time or "", open=True, read=options)
    if time is not None and time != stream.time:
        message = f"the time column of stream '{name}' is '{stream.time}' by its STREAM statement, not '{time}'"
        raise InputError("time-twice", message)
    options = replace(options, nulls=tuple(dict.fromkeys((*options.nulls, *null_markers(stream)))))
    schema = declared_schema(stream)
    derived = DerivedColumns(stream, *source) if stream.derived else NOTHING_DERIVED
    return StreamDeclaration(
        name,
        {attribute: kind for attribute, kind in schema.attributes.items() if attribute not in derived.names},
        stream.time,
        stream.id,
        stream.order,
        stream.simultaneous,
        schema.lateness,
        open=schema.open,
        read=options,
        derived=derived,
    )


def read_tables(
    names: Iterable[str], tables: Mapping[str, object], limits: Limits | None = None
) -> dict[str, TemplateTable]:
    """Read the tables that statements are FOR EACH row of: each needs a source, and no other is allowed. Together they
    take no more memory than the limits allow."""
    wanted = list(names)
    for name in tables:
        if name not in wanted:
            raise InputError("unread-table", f"no statement is FOR EACH '{name}'", hint=suggestion(name, wanted))
    missing = [name for name in wanted if name not in tables]
    if missing:
        hint = f"add --table {missing[0]}=PATH, or tables={{'{missing[0]}': ...}}"
        raise InputError("missing-table", f"the FOR EACH table '{missing[0]}' has no source", hint=hint)
    if not tables:
        return {}
    from foretell.arguments.table_budget import TableBudget  # loads Numba, which takes a while
    from foretell.machine.exec.limits import Limits

    budget, found = TableBudget((limits or Limits()).budget), dict[str, TemplateTable]()
    for name, source in tables.items():
        found[name] = read_table(budget.limited(source, name), name)
        budget.require(found[name], name)
        budget = replace(budget, held=budget.held + found[name].nbytes)
    return found
