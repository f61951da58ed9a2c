"""The streams whose events an engine is given: how they are read, and what is known of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from foretell.arguments.streams import observed_schema, stream_declaration
from foretell.errors import InputError, LanguageError, suggestion
from foretell.events.ingest.reader import EventBatch, StreamDeclaration
from foretell.events.types import Schema, Type
from foretell.language.statement_registry import StatementRegistry
from foretell.language.stream_schemas import length_of


class InputRegistry:
    """`schemas` are those of the streams that have come, or that somebody reads since events come; `time` is what the
    caller says of the time of streams that no statement declares."""

    def __init__(self, statements: StatementRegistry, time: Mapping[str, str]) -> None:
        self.statements, self.time = statements, dict(time)
        self.schemas: dict[str, Schema] = {}

    def __contains__(self, name: object) -> bool:
        """Whether events of a stream may come: it is declared, or somebody reads it, or has read it."""
        if name in self.statements:
            return self.statements.declared(str(name)) is not None
        return name in self.statements.readers or name in self.schemas

    def expected(self, name: str) -> str:
        """The name of a stream whose events may come."""
        if name not in self:
            hint = suggestion(str(name), self.statements.sources)
            raise InputError("unread-input", f"no statement reads a stream '{name}'", hint=hint)
        return name

    def declaration(self, name: str) -> StreamDeclaration:
        """How a stream's batches are read: after the first, with the types that one had."""
        declaration = self._declared(name)
        if name not in self.schemas:
            return declaration
        return replace(declaration, attributes=self.schemas[name].attributes, open=False)

    def begin(self, loaded: EventBatch) -> None:
        """The first events show what the text leaves open."""
        like = observed_schema(loaded)
        names = dict.fromkeys([*self.statements.sources, loaded.stream])
        self.schemas = {name: like if name == loaded.stream else self._schema(name, like) for name in names}

    def learn(self, name: str) -> Schema:
        """A stream that somebody begins to read while events come."""
        self.schemas[name] = self._schema(name, next(iter(self.schemas.values())))
        return self.schemas[name]

    def lateness(self, name: str) -> int | float | None:
        """A stream's LATE BY in the unit of its time, which the text need not have told."""
        stream = self.statements.declared(name)
        try:
            return None if stream is None else length_of(stream.lateness, self.schemas[name].time_type, "LATE BY")
        except LanguageError as error:
            raise error.within(*self.statements.text_of(name)) from None

    def _declared(self, name: str) -> StreamDeclaration:
        try:
            return stream_declaration(self.statements.declared(name), name, self.time)
        except LanguageError as error:
            raise error.within(*self.statements.text_of(name)) from None

    def _schema(self, name: str, like: Schema) -> Schema:
        """A stream that has not come yet: what the text leaves open is taken to be as in one that has."""
        declaration = self._declared(name)
        if declaration.open:
            hint = f"declare it: STREAM {name} (attribute TYPE, ...) TIME column"
            raise InputError("undeclared-stream", f"nothing is known of stream '{name}' yet", hint=hint)
        attributes = {
            n: like.time_type if n == declaration.time and kind is Type.UNKNOWN else kind
            for n, kind in declaration.attributes.items()
        }
        roles = declaration.time, declaration.id, declaration.order
        return Schema(attributes, *roles, declaration.simultaneous, declaration.lateness)

    # ── to be written down ──

    def state(self) -> dict[str, Any]:
        # (A name that comes from a text knows its place there: `str` forgets it.)
        schemas = {str(n): msgspec.to_builtins(schema, enc_hook=str) for n, schema in self.schemas.items()}
        return {"time": dict(self.time), "schemas": schemas}

    @classmethod
    def restore(cls, statements: StatementRegistry, state: Mapping[str, Any]) -> InputRegistry:
        inputs = cls(statements, state["time"])
        inputs.schemas = {name: msgspec.convert(schema, Schema) for name, schema in state["schemas"].items()}
        return inputs
