"""What is given of streams and tables: how each is to be read, and what is known of it before and after."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from foretell.errors import InputError, LanguageError, suggestion
from foretell.events.ingest.reader import EventBatch, StreamDeclaration
from foretell.events.ingest.template_tables import TemplateTable, read_table
from foretell.events.types import Schema, Type
from foretell.language import tree
from foretell.language.stream_schemas import declared_schema
from foretell.language.subscriptions import Subscriptions


def observed_schema(loaded: EventBatch) -> Schema:
    """A stream without events does not show what is not declared; that is no reason to refuse a name or a unit."""
    schema = replace(loaded.schema, open=loaded.open and loaded.total == 0)
    if loaded.time_known or schema.time is None:
        return schema
    return replace(schema, attributes={**schema.attributes, schema.time: Type.UNKNOWN})


def declaration_of(program: Subscriptions, name: str, time: Mapping[str, str]) -> StreamDeclaration:
    try:
        return stream_declaration(program.declared.get(name), name, time)
    except LanguageError as error:
        raise error.within(program.text, program.file) from None


def stream_declaration(stream: tree.Stream | None, name: str, time: Mapping[str, str]) -> StreamDeclaration:
    """What is said of a stream by its STREAM statement, if it has one, and by the caller."""
    if stream is None:
        if name not in time:
            hint = f"--time {name}=COLUMN, or a statement STREAM {name} (...) TIME column"
            raise InputError("no-time-column", f"which column of stream '{name}' is its time?", hint=hint)
        return StreamDeclaration(name, {}, time[name], open=True)
    if time.get(name, stream.time) != stream.time:
        raise InputError("time-twice", f"the time of stream '{name}' is '{stream.time}', as its STREAM statement says")
    schema = declared_schema(stream)
    return StreamDeclaration(
        name,
        schema.attributes,
        stream.time,
        stream.id,
        stream.order,
        stream.simultaneous,
        schema.lateness,
        open=schema.open,
    )


def tables_of(program: Subscriptions, tables: Mapping[str, object]) -> dict[str, TemplateTable]:
    return read_tables(program.tables, tables)


def read_tables(wanted: Iterable[str], tables: Mapping[str, object]) -> dict[str, TemplateTable]:
    """The tables that statements are FOR EACH row of: all of them must be given, and no others."""
    names = list(wanted)
    for name in tables:
        if name not in names:
            raise InputError("unread-table", f"no statement is FOR EACH '{name}'", hint=suggestion(name, names))
    missing = [name for name in names if name not in tables]
    if missing:
        raise InputError("missing-table", f"no table '{missing[0]}' is given", hint=f"--table {missing[0]}=PATH")
    return {name: read_table(source, name) for name, source in tables.items()}
