"""The events that a statement reads: their streams, the attributes of each, and which of them are the time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from foretell.check.conditions.assumed_types import expressions_of, with_assumed_types
from foretell.events.types import Schema, Type
from foretell.language import tree
from foretell.language.checked import CheckedProgram, CheckedStatement
from foretell.records import record

AnyStatement = TypeVar("AnyStatement", bound=CheckedStatement)


@record
class SourceStream:
    """`derived` are the attributes that LET works out of others. `produced`: a statement makes the events."""

    name: str
    schema: Schema
    derived: frozenset[str]
    produced: bool

    def has(self, attribute: str) -> bool:
        return self.schema.open or attribute in self.schema.attributes


@record
class EventScope:
    """`types` are those of the attributes in the merged stream."""

    sources: tuple[SourceStream, ...]
    types: Mapping[str, Type]
    time: Type
    per: frozenset[str]

    @property
    def is_produced(self) -> bool:
        """Whether a statement makes events that are read: not every sequence of them can come."""
        return any(source.produced for source in self.sources)

    @property
    def bound_together(self) -> frozenset[str]:
        """The attributes that no event has for itself: the time, the keys of the lane and what LET works out."""
        times = {source.schema.time for source in self.sources if source.schema.time is not None}
        return self.per | times | {name for source in self.sources for name in source.derived}


_OPEN = Type.UNKNOWN, Type.NULL


def typed(statement: AnyStatement, program: CheckedProgram) -> AnyStatement:
    """The statement with assumed types for what the schemas of its streams leave open."""
    schemas = [program.streams.get(str(name)) for name in statement.tree.streams]
    declared = all(schema is not None and not schema.open for schema in schemas)
    if declared and statement.time not in _OPEN and not any(kind in _OPEN for kind in statement.attributes.values()):
        return statement
    assumed = with_assumed_types(statement)
    if statement.time in _OPEN and any(isinstance(n, tree.Span) for e in expressions_of(statement) for n in e.walk()):
        return replace(assumed, time=Type.TIMESTAMP)
    return assumed


def event_scope(statement: CheckedStatement, program: CheckedProgram) -> EventScope:
    sources = tuple(_source(str(name), program) for name in sorted(map(str, statement.tree.streams)))
    per = frozenset(map(str, statement.tree.per))
    return EventScope(sources, statement.attributes, statement.time, per)


def _source(name: str, program: CheckedProgram) -> SourceStream:
    schema = program.streams.get(name, Schema({}, None, open=True))
    derived = frozenset(str(item.name) for item in program.derived.get(name, ()))
    # A stream that a statement makes has a time, and no column that holds it.
    return SourceStream(name, schema, derived, produced=schema.time is None and not schema.open)


def merged_scope(left: EventScope, right: EventScope) -> EventScope:
    """The scope of two statements that read the same streams."""
    return EventScope(left.sources, {**right.types, **left.types}, left.time, left.per | right.per)


def types_differ(left: EventScope, right: EventScope) -> bool:
    """Whether two statements assume different types for an attribute, or for time."""
    pairs = [(kind, right.types[name]) for name, kind in left.types.items() if name in right.types]
    return any(a is not b and not (a.numeric and b.numeric) for a, b in (*pairs, (left.time, right.time)))


def source_names(scope: EventScope) -> frozenset[str]:
    return frozenset(source.name for source in scope.sources)
