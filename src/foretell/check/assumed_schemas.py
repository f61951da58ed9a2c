"""Schemas for streams that the text leaves open, so that every check sees the same types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from foretell.check.conditions.assumed_types import Subject, assumed_kinds
from foretell.errors import LanguageError
from foretell.events.types import Schema, Type
from foretell.language import tree
from foretell.language.check import check
from foretell.language.checked import CheckedProgram, CheckedStatement
from foretell.language.subscription_check import Columns
from foretell.language.tree import Program
from foretell.records import record

#: The time of a stream that nobody declares, unless an attribute has this name.
_TIME = "time"
_TIME_KIND: Subject = ("time", "")


@record
class ClosedProgram:
    """A program whose types are known but for those of the statements in `untyped`; `reason` says why."""

    program: CheckedProgram
    untyped: frozenset[str] = frozenset()
    reason: str = ""


def with_assumed_schemas(program: Program, checked: CheckedProgram, tables: Mapping[str, Columns]) -> ClosedProgram:
    """The program with a schema for each stream that is open: with the attributes that statements name, and types that
    follow from their use."""
    opened = {name: schema for name, schema in checked.streams.items() if _is_open(schema)}
    if not opened:
        return ClosedProgram(checked)
    attributes: dict[str, dict[str, Type]] = {name: dict(schema.attributes) for name, schema in opened.items()}
    times: dict[str, Type] = {}
    for statement in reversed(checked.statements):  # what reads a derived stream shows the time of its sources, too
        read = list(map(str, statement.tree.streams))
        kinds = _kinds(statement, [checked.streams[name] for name in read])
        time = _time(times.get(statement.name), kinds)
        for stream in read:
            times[stream] = _time(times.get(stream), {_TIME_KIND: time})
            if stream in opened:
                _assume(attributes[stream], statement, kinds)
    reason = ""
    for number in (Type.FLOAT, Type.INT):  # functions such as `substr` take INT alone
        schemas = {
            name: _closed(opened[name], _with_numbers(own, opened[name], number), times.get(name, Type.INT))
            for name, own in attributes.items()
        }
        try:
            return ClosedProgram(check(program, schemas, tables))
        except LanguageError as error:
            reason = reason or error.message
    return ClosedProgram(checked, _readers(checked, frozenset(opened)), reason)


def _with_numbers(attributes: Mapping[str, Type], schema: Schema, number: Type) -> dict[str, Type]:
    """The attributes with this type for numbers that are assumed."""
    return {
        name: number if kind is Type.FLOAT and schema.attributes.get(name) is not Type.FLOAT else kind
        for name, kind in attributes.items()
    }


def _readers(checked: CheckedProgram, streams: frozenset[str]) -> frozenset[str]:
    """The statements that read streams, directly or through others."""
    reached = set(streams)
    for statement in checked.statements:
        if reached.intersection(map(str, statement.tree.streams)):
            reached.add(statement.name)
    return frozenset(reached) - streams


def _is_open(schema: Schema) -> bool:
    """Whether data would complete a schema: a derived stream has none, and times without a type."""
    return schema.open or (schema.time is not None and Type.UNKNOWN in schema.attributes.values())


def _kinds(statement: CheckedStatement, schemas: Sequence[Schema]) -> Mapping[Subject, Type]:
    """The types that a statement shows. Where it names nothing whose type is open, only its window does."""
    known = {name for schema in schemas for name, kind in schema.attributes.items() if kind is not Type.UNKNOWN}
    for node in statement.tree.walk():
        match node:
            case tree.TimeOf() | tree.Elapsed():
                return assumed_kinds(statement)
            case tree.Attribute(name=name) | tree.Aggregate(attribute=str(name)) if name not in known:
                return assumed_kinds(statement)
    window = statement.tree.within if isinstance(statement.tree, tree.Subscription) else None
    return {_TIME_KIND: Type.TIMESTAMP} if isinstance(window, tree.Span) else {}


def _assume(attributes: dict[str, Type], statement: CheckedStatement, kinds: Mapping[Subject, Type]) -> None:
    """Adds the attributes that a statement names to those of a stream."""
    for (form, name), kind in kinds.items():
        if form == "attribute" and attributes.get(name, Type.UNKNOWN) is Type.UNKNOWN:
            attributes[name] = kind
    for name in map(str, statement.tree.per):
        attributes.setdefault(name, Type.STRING)


def _time(known: Type | None, kinds: Mapping[Subject, Type]) -> Type:
    """A time is a TIMESTAMP where one of the statements shows it, and a fraction where one of them does."""
    order = (Type.INT, Type.FLOAT, Type.TIMESTAMP)
    return max(known or Type.INT, kinds.get(_TIME_KIND, Type.INT), key=order.index)


def _closed(schema: Schema, attributes: Mapping[str, Type], time: Type) -> Schema:
    """The schema with these attributes, of which those that nothing shows the type of are INT."""
    known: dict[str, Type] = {n: Type.INT if kind is Type.UNKNOWN else kind for n, kind in attributes.items()}
    if schema.time is not None:
        known[schema.time] = time if schema.time_type is Type.UNKNOWN else schema.time_type
        return Schema(known, schema.time, schema.id, schema.order, schema.simultaneous, schema.lateness)
    column = _TIME
    while column in known:
        column = f"{column} "
    return Schema({**known, column: time}, column)
