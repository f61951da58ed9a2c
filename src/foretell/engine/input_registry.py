"""The input streams of an engine: their declarations, schemas and lateness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from foretell.arguments.input_settings import InputSettings
from foretell.arguments.streams import keys_of, observed_schema, stream_declaration
from foretell.errors import InputError, LanguageError, suggestion
from foretell.events.ingest.direct_arrow import DirectReader, kept_schema
from foretell.events.ingest.direct_rows import DirectRowReader
from foretell.events.ingest.read_options import ReadOptions
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, read
from foretell.events.types import ATTRIBUTE_TYPES, Schema, Type
from foretell.language.statement_registry import RegisteredStatement, StatementRegistry
from foretell.language.stream_schemas import duration_of
from foretell.storage.recorded_values import require


class _KnownDeclaration(NamedTuple):
    """A declaration, and what it was made of: the statement, None where there is none, and the schema."""

    statement: RegisteredStatement | None
    schema: Schema
    declaration: StreamDeclaration


_ARROW = (pa.Table, pa.RecordBatch)


class InputRegistry:
    """The schemas of streams that have had events or that a running statement reads.

    `settings` has the time columns that the caller named, for streams without a STREAM statement, and the read options.
    """

    def __init__(self, registry: StatementRegistry, settings: InputSettings) -> None:
        self.registry, self.settings = registry, settings
        self.schemas: dict[str, Schema] = {}
        self._declarations: dict[str, _KnownDeclaration] = {}
        self._direct: dict[str, tuple[StreamDeclaration, pa.Schema, DirectReader | None]] = {}
        self._direct_rows: dict[str, tuple[StreamDeclaration, DirectRowReader | None]] = {}

    @property
    def time(self) -> Mapping[str, str]:
        return self.settings.time

    def __contains__(self, name: object) -> bool:
        """Whether the engine accepts events of a stream: it is declared, or a statement reads it or has read it."""
        if name in self.registry:
            return self.registry.declared(str(name)) is not None
        return name in self.registry.readers or name in self.schemas

    def require(self, name: str) -> str:
        """The name of a stream that the engine accepts, else an error."""
        if name not in self:
            hint = suggestion(str(name), self.registry.sources)
            raise InputError("unread-input", f"no statement reads a stream '{name}'", hint=hint)
        return name

    def read(self, name: str, batch: object, *, strict: bool = False) -> EventBatch:
        """Read a batch of a stream."""
        declaration = self.declaration(name)
        events = None
        if isinstance(batch, _ARROW):
            direct = self._direct_reader(declaration, batch.schema)
            events = None if direct is None else direct.read(batch)
        elif type(batch) is list:
            rows = self._direct_row_reader(declaration)
            events = None if rows is None else rows.read(batch)
        if events is not None:
            return events
        events, known = read(batch, declaration, strict=strict, whole=False), self.schemas.get(name)
        if known is None or known.remarks != events.schema.remarks:
            return events
        return replace(events, schema=kept_schema(events.schema, known))

    def _direct_reader(self, declaration: StreamDeclaration, arrow: pa.Schema) -> DirectReader | None:
        known = self._direct.get(declaration.stream)
        if known is None or known[0] is not declaration or not known[1].equals(arrow):
            schema = self.schemas.get(declaration.stream)
            known = self._direct[declaration.stream] = declaration, arrow, DirectReader.of(declaration, arrow, schema)
        return known[2]

    def _direct_row_reader(self, declaration: StreamDeclaration) -> DirectRowReader | None:
        known = self._direct_rows.get(declaration.stream)
        if known is None or known[0] is not declaration:
            reader = DirectRowReader.of(declaration, self.schemas.get(declaration.stream))
            known = self._direct_rows[declaration.stream] = declaration, reader
        return known[1]

    def declaration(self, name: str) -> StreamDeclaration:
        """How to read a stream's batches: after the first, with the types of the first. An error where the engine does
        not accept the stream."""
        statement, schema, known = self.registry.by_name.get(name), self.schemas.get(name), self._declarations.get(name)
        if known is not None and known.statement is statement and known.schema is schema:
            return known.declaration
        declaration = self._declared(self.require(name))
        if schema is None:
            plain = declaration.guesses_epochs and self.registry.subscriptions().plain_durations
            return declaration.with_plain_times() if plain else declaration
        settled = declaration.settled(schema)
        self._declarations[name] = _KnownDeclaration(statement, schema, settled)
        return settled

    def infer_schemas(self, first: EventBatch) -> None:
        """Set the schemas of all streams, with the types that the first events show where the statements have none."""
        observed = observed_schema(first)
        names = dict.fromkeys([*self.registry.sources, first.stream])
        self.schemas = {name: observed if name == first.stream else self._schema(name, observed) for name in names}

    def add(self, name: str) -> Schema:
        """Add a stream while events are processed."""
        self.schemas[name] = self._schema(name, next(iter(self.schemas.values())))
        return self.schemas[name]

    def lateness(self, name: str) -> int | float | None:
        """A stream's LATE BY in the unit of its time, which may be known only from its events."""
        stream = self.registry.declared(name)
        try:
            return None if stream is None else duration_of(stream.lateness, self.schemas[name].time_type, "LATE BY")
        except LanguageError as error:
            raise error.within(*self.registry.text_of(name)) from None

    def _declared(self, name: str) -> StreamDeclaration:
        stream = self.registry.declared(name)
        source = ("", "") if stream is None else self.registry.text_of(name)
        try:
            declaration = stream_declaration(stream, name, self.settings, source)
        except LanguageError as error:
            raise error.within(*source) from None
        readers = [self.registry.by_name[reader].tree for reader in self.registry.readers.get(name, ())]
        return replace(declaration, keys=keys_of(readers, name))

    def _schema(self, name: str, observed: Schema) -> Schema:
        """The schema of a stream that has had no events: where its time has no type, that of an observed stream."""
        declaration = self._declared(name)
        if declaration.open:
            hint = f"declare it: STREAM {name} (attribute TYPE, ...) TIME column"
            raise InputError("undeclared-stream", f"the attributes of stream '{name}' are not known yet", hint=hint)
        attributes = {
            n: observed.time_type if n == declaration.time and kind is Type.UNKNOWN else kind
            for n, kind in declaration.attributes.items()
        }
        return declaration.schema(attributes)

    # ── snapshots ──

    def state(self) -> dict[str, Any]:
        # A name that comes from a text carries its place there; `str` drops it.
        plain = {str(n): replace(schema, remarks={}) for n, schema in self.schemas.items()}
        schemas = {name: msgspec.to_builtins(schema, enc_hook=str) for name, schema in plain.items()}
        return {"time": dict(self.time), "schemas": schemas}

    @classmethod
    def restore(
        cls, registry: StatementRegistry, state: Mapping[str, Any], options: Mapping[str, ReadOptions]
    ) -> InputRegistry:
        """The streams as they were. A snapshot has no read options, which belong to the data that come."""
        inputs = cls(registry, InputSettings(dict(state["time"]), options))
        inputs.schemas = {name: _recorded_schema(schema) for name, schema in state["schemas"].items()}
        return inputs


def _recorded_schema(recorded: object) -> Schema:
    """A schema of a snapshot: its columns for time, id and order are among its attributes."""
    schema = msgspec.convert(recorded, Schema)
    named = [name for name in (schema.time, schema.id, schema.order) if name is not None]
    require(all(name in schema.attributes for name in named), "the columns of a stream")
    require(all(kind in ATTRIBUTE_TYPES for kind in schema.attributes.values()), "the types of a stream")
    require(schema.time is None or schema.time_type in (Type.INT, Type.FLOAT, Type.TIMESTAMP), "the time of a stream")
    return schema
