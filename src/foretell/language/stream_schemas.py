"""What is known of streams: the schema a STREAM statement declares, and that of all streams of a FROM together."""

from __future__ import annotations

from collections.abc import Mapping

from foretell.errors import Place, refuse, suggestion
from foretell.events.types import Schema, Type
from foretell.language import tree
from foretell.language.tree import defined_twice, place_of
from foretell.language.type_check import Scope, check_condition

TIME_TYPES = (Type.TIMESTAMP, Type.INT, Type.FLOAT, Type.UNKNOWN)


def declared_schema(stream: tree.Stream) -> Schema:
    """The schema a STREAM statement declares; columns it names without a type are UNKNOWN until the data is seen."""
    attributes: dict[str, Type] = {}
    places: dict[str, Place] = {}
    for declared in stream.attributes:
        if declared.name in attributes:
            defined_twice(f"the attribute '{declared.name}'", declared.place, places[declared.name])
        attributes[declared.name], places[declared.name] = declared.type, declared.place
    for column in (stream.time, stream.id, stream.order):
        if column is not None:
            attributes.setdefault(column, Type.UNKNOWN)
    time = attributes[stream.time]
    if time not in TIME_TYPES:
        refuse("not-a-time", f"time is a TIMESTAMP or a number, '{stream.time}' is {time.value}", place_of(stream.time))
    scope = Scope(attributes, (stream.name,), time, has_previous=False, has_match=False, open=not stream.attributes)
    for loss in stream.losses:
        if loss.condition is not None:
            check_condition(loss.condition, scope)
    lateness = length_of(stream.lateness, time, "LATE BY") or 0
    return Schema(
        attributes,
        stream.time,
        stream.id,
        stream.order,
        stream.simultaneous,
        lateness,
        open=not stream.attributes,
    )


def length_of(length: tree.Span | tree.Literal | None, time: Type, where: str) -> int | float | None:
    """A length of time in the unit of the stream's time."""
    if length is None:
        return None
    if isinstance(length, tree.Span):
        if time.numeric:
            hint = "write a plain number, in the unit of the times"
            refuse("number-wanted", f"{where} has a unit, but time is a number here", length.place, hint)
        return length.micros
    assert isinstance(length.value, int | float)
    if time is Type.TIMESTAMP:
        refuse("unit-wanted", f"{where} needs a unit", length.place, f"write {length.value} s, {length.value} min, ...")
    return length.value


def merged(streams: Mapping[str, Schema], statement: tree.Subscription | tree.Correlator) -> Schema:
    """The attributes of all streams of a FROM; they must agree on types, on time and on ties."""
    for names, clause in ((statement.streams, "FROM"), (statement.per, "PER")):
        for i, name in enumerate(names):
            if name in names[:i]:
                refuse("twice", f"{clause} names '{name}' twice", place_of(name))
    first = streams[statement.streams[0]]
    attributes: dict[str, Type] = {}
    for name in statement.streams:
        schema = streams[name]
        if {schema.time_type.numeric, first.time_type.numeric} == {True, False} and Type.UNKNOWN not in (
            schema.time_type,
            first.time_type,
        ):
            message = f"the time of '{name}' is {schema.time_type.value}, that of '{statement.streams[0]}' is not"
            refuse("mixed-time", message, place_of(name), "streams of one FROM must agree on their time")
        if schema.simultaneous != first.simultaneous:
            hint = "say TIES SIMULTANEOUS of all streams of one FROM, or of none"
            refuse("mixed-ties", f"'{name}' and '{statement.streams[0]}' differ in TIES", place_of(name), hint)
        for attribute, kind in schema.attributes.items():
            attributes[attribute] = _agreed(attribute, attributes.get(attribute, kind), kind, name)
    times = [streams[n].time_type for n in statement.streams]
    time = next((t for t in times if t is not Type.UNKNOWN), Type.UNKNOWN)
    if Type.FLOAT in times:
        time = Type.FLOAT
    for attribute in statement.per:
        if attribute == "stream" and attribute not in attributes:
            attributes[attribute] = Type.STRING
            continue
        for name in statement.streams:
            if attribute not in streams[name].attributes and not streams[name].open:
                hint = suggestion(attribute, streams[name].attributes)
                place = place_of(attribute)
                refuse("unknown-attribute", f"unknown attribute '{attribute}' of stream '{name}'", place, hint)
    return Schema(
        attributes,
        None,
        simultaneous=first.simultaneous,
        open=any(streams[n].open for n in statement.streams),
        timing=time,
    )


def _agreed(attribute: str, one: Type, other: Type, stream: str) -> Type:
    if one is other or other is Type.UNKNOWN:
        return one
    if one is Type.UNKNOWN:
        return other
    if one.numeric and other.numeric:
        return Type.FLOAT
    message = f"'{attribute}' is {other.value} in '{stream}' and {one.value} in a stream before it"
    refuse("mixed-types", message, place_of(stream), "streams of one FROM must agree on the attributes they share")


def scope_of(schema: Schema, statement: tree.Subscription | tree.Correlator) -> Scope:
    return Scope(schema.attributes, statement.streams, schema.time_type, schema.open)
