"""Schemas of streams: the one a STREAM statement declares, and the merged one of all streams of a FROM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from foretell.errors import Place, refuse, suggestion
from foretell.events.types import Schema, Type
from foretell.language import tree
from foretell.language.tree import defined_twice, place_of
from foretell.language.type_check import Scope, check_condition, type_of

TIME_TYPES = (Type.TIMESTAMP, Type.INT, Type.FLOAT, Type.UNKNOWN)


def declared_schema(stream: tree.Stream) -> Schema:
    """The schema a STREAM statement declares. A column named without a type is UNKNOWN until data is read."""
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
        message = f"the time attribute '{stream.time}' is {time.value}, not a TIMESTAMP or a number"
        refuse("not-a-time", message, place_of(stream.time), f"declare '{stream.time}' as TIMESTAMP, INT or FLOAT")
    scope = _event_scope(stream, attributes | derived_types(stream, attributes))
    for loss in stream.losses:
        if loss.condition is not None:
            check_condition(loss.condition, scope)
    lateness = duration_of(stream.lateness, time, "LATE BY") or 0
    return Schema(
        attributes | derived_types(stream, attributes),
        stream.time,
        stream.id,
        stream.order,
        stream.simultaneous,
        lateness,
        open=not stream.attributes,
    )


def null_markers(stream: tree.Stream) -> tuple[str | int | float, ...]:
    """The values that stand for a missing one."""
    return tuple(marker.value for marker in stream.nulls if isinstance(marker.value, str | int | float))


def derived_types(stream: tree.Stream, attributes: Mapping[str, Type]) -> dict[str, Type]:
    """The types of the LET attributes, where those that the events have are of these types."""
    types: dict[str, Type] = {}
    for number, derived in enumerate(stream.derived):
        if derived.name in attributes or derived.name in types:
            message = f"LET defines '{derived.name}', which is an attribute already"
            refuse("defined-twice", message, derived.place, "give the new attribute another name")
        _check_order(derived, stream.derived[number + 1 :])
        kind = type_of(derived.expression, _event_scope(stream, {**attributes, **types}))
        # As in RETURN, a duration is in seconds; as in a column of NULLs alone, NULL is a STRING.
        types[str(derived.name)] = {Type.DURATION: Type.FLOAT, Type.NULL: Type.STRING}.get(kind, kind)
    return types


def _check_order(derived: tree.Derived, later: Sequence[tree.Derived]) -> None:
    """Refuses a LET attribute that refers to itself, or to one that LET defines after it."""
    names = {item.name for item in later}
    for node in derived.expression.walk():
        if not isinstance(node, tree.Attribute) or not isinstance(node.event, tree.This):
            continue
        if node.name == derived.name:
            message = f"'{derived.name}' refers to itself"
            refuse("let-order", message, node.place, "name only attributes of the event and earlier ones of LET")
        if node.name in names:
            message = f"'{node.name}' is defined after '{derived.name}'"
            refuse("let-order", message, node.place, f"put '{node.name}' before '{derived.name}'")


def _event_scope(stream: tree.Stream, attributes: Mapping[str, Type]) -> Scope:
    """The scope of an expression about one event of a stream."""
    open_ended, time = not stream.attributes, attributes[stream.time]
    return Scope(attributes, (stream.name,), time, has_previous=False, has_match=False, open=open_ended)


def duration_of(length: tree.Span | tree.Literal | None, time: Type, where: str) -> int | float | None:
    """A duration in the unit of the stream's time: microseconds for TIMESTAMP, else a plain number."""
    if length is None:
        return None
    if isinstance(length, tree.Span):
        if time.numeric:
            hint = "write a plain number, in the unit of the time column"
            refuse("number-wanted", f"{where} has a unit, but time is a number here", length.place, hint)
        return length.micros
    assert isinstance(length.value, int | float)
    if time is Type.TIMESTAMP:
        refuse(
            "unit-wanted",
            f"{where} {length.value} has no unit",
            length.place,
            f"write {length.value} s, {length.value} min, ...",
        )
    return length.value


def positive_duration(length: tree.Span | tree.Literal | None, time: Type, where: str) -> int | float | None:
    """A duration, which must be greater than 0."""
    found = duration_of(length, time, where)
    if length is not None and found is not None and found <= 0:
        amount = f"{length.amount} {length.unit}" if isinstance(length, tree.Span) else length.value
        refuse("not-positive", f"{where} must be greater than 0, not {amount}", length.place)
    return found


def merged_schema(streams: Mapping[str, Schema], statement: tree.Subscription | tree.Correlator) -> Schema:
    """The schema of the merged stream of a FROM; its streams must agree on types, time and ties."""
    for names, clause in ((statement.streams, "FROM"), (statement.per, "PER")):
        for i, name in enumerate(names):
            if name in names[:i]:
                refuse("twice", f"{clause} names '{name}' twice", place_of(name), "delete one of them")
    first = streams[statement.streams[0]]
    attributes: dict[str, Type] = {}
    for name in statement.streams:
        schema = streams[name]
        if {schema.time_type.numeric, first.time_type.numeric} == {True, False} and Type.UNKNOWN not in (
            schema.time_type,
            first.time_type,
        ):
            other, kind = statement.streams[0], first.time_type
            message = f"the time of '{name}' is {schema.time_type.value}, the time of '{other}' is {kind.value}"
            refuse("mixed-time", message, place_of(name), "read only streams with the same kind of time in one FROM")
        if schema.simultaneous != first.simultaneous:
            hint = "declare TIES SIMULTANEOUS for all streams of one FROM, or for none"
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
        remarks={name: remark for stream in statement.streams for name, remark in streams[stream].remarks.items()},
    )


def _agreed(attribute: str, before: Type, later: Type, stream: str) -> Type:
    if before is later or later is Type.UNKNOWN:
        return before
    if before is Type.UNKNOWN:
        return later
    if before.numeric and later.numeric:
        return Type.FLOAT
    message = f"'{attribute}' is {later.value} in '{stream}' and {before.value} in a stream before it"
    refuse(
        "mixed-types", message, place_of(stream), f"declare '{attribute}' with the same type in all streams of one FROM"
    )


def scope_of(schema: Schema, statement: tree.Subscription | tree.Correlator) -> Scope:
    return Scope(schema.attributes, statement.streams, schema.time_type, schema.open, remarks=schema.remarks)
