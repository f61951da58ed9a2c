"""Names and types of a whole program: everything that can be wrong is found here, before the first event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NoReturn

from foretell.errors import Place, refuse, suggestion
from foretell.events.types import Schema, Type
from foretell.language import tree
from foretell.language.checked import Checked, CheckedCorrelator, CheckedStatement, CheckedSubscription
from foretell.language.definitions import definitions_of
from foretell.language.streams import declared_schema, merged, scope_of
from foretell.language.subscription import Columns, check_subscription
from foretell.language.tree import defined_twice, place_of
from foretell.language.typing import check_condition


def check(
    program: tree.Program,
    schemas: Mapping[str, Schema] | None = None,
    tables: Mapping[str, Columns] | None = None,
) -> Checked:
    """The program with names and types resolved.

    `schemas` and `tables` are what is known of the data. Without them a stream that the text does not declare is
    open: its attributes are taken on trust and checked again when the data is there.
    """
    _check_unique(program)
    declared = {s.name: declared_schema(s) for s in program.statements if isinstance(s, tree.Stream)}
    streams = {**declared, **(schemas or {})}
    made = {s.name: s for s in program.statements if not isinstance(s, tree.Stream)}
    for name in made:
        if name in (schemas or {}):
            message = f"'{name}' is the name of a statement and of an input"
            refuse("stream-and-statement", message, place_of(name), "give the statement another name")
    ranks = _ranks(program)
    losses = {s.name: s.losses for s in program.statements if isinstance(s, tree.Stream)}
    checked: list[CheckedStatement] = []
    for statement in _in_order(made):
        for name in statement.streams:
            if name not in streams:
                streams[name] = _unknown_stream(name, [*streams, *made], complete=schemas is not None)
        if isinstance(statement, tree.Subscription):
            columns = (tables or {}).get(statement.table or "", {})
            subscription = check_subscription(statement, streams, columns, losses)
            checked.append(subscription)
            streams[statement.name] = _result(subscription, streams)
        elif isinstance(statement, tree.Correlator):
            checked.append(_check_correlator(statement, streams))
            first = streams[statement.streams[0]]
            streams[statement.name] = Schema(
                {"token": Type.STRING}, None, simultaneous=first.simultaneous, timing=first.time_type
            )
    return Checked(streams, tuple(checked), ranks)


def _check_unique(program: tree.Program) -> None:
    seen: dict[str, Place] = {}
    for statement in program.statements:
        if statement.name in seen:
            defined_twice(f"'{statement.name}'", place_of(statement.name), seen[statement.name])
        seen[statement.name] = place_of(statement.name)


def _ranks(program: tree.Program) -> dict[str, int]:
    """Streams by their first mention in the text: what decides between streams at the same instant."""
    names: dict[str, int] = {}
    for statement in program.statements:
        for name in (statement.name, *_sources(statement)):
            names.setdefault(name, len(names))
    return names


def _sources(statement: tree.Statement) -> tuple[str, ...]:
    return statement.streams if isinstance(statement, tree.Subscription | tree.Correlator) else ()


def _in_order(made: Mapping[str, tree.Statement]) -> Iterator[tree.Subscription | tree.Correlator]:
    """Each statement after those it reads; a cycle is an error."""
    done: set[str] = set()
    for first in made:
        # The statements being visited, each with the sources still to look at; one that comes up again closes a ring.
        path = {} if first in done else {first: iter(_sources(made[first]))}
        while path:
            name, sources = next(reversed(path.items()))
            source = next(sources, None)
            if source is None:
                path.popitem()
                done.add(name)
                statement = made[name]
                assert isinstance(statement, tree.Subscription | tree.Correlator)
                yield statement
            elif source in path:
                _cycle([*path], source)
            elif source in made and source not in done:
                path[source] = iter(_sources(made[source]))


def _cycle(path: list[str], source: str) -> NoReturn:
    ring = [*path[path.index(source) :], source]
    shown = " reads ".join(ring if len(ring) <= 6 else [*ring[:3], "…", *ring[-2:]])
    hint = "give the statement another name than the stream it reads" if len(ring) == 2 else ""
    refuse("cycle", f"streams in a circle: {shown}", place_of(source), hint)


def _unknown_stream(name: str, known: Iterable[str], *, complete: bool) -> Schema:
    if complete:
        hint = suggestion(name, known) or f"declare it with STREAM, or give its events with --input {name}=PATH"
        refuse("unknown-stream", f"unknown stream '{name}'", place_of(name), hint)
    return Schema({}, None, open=True)


def _result(subscription: CheckedSubscription, streams: Mapping[str, Schema]) -> Schema:
    """What another statement sees of this one: the RETURN columns, without RETURN the variables."""
    first = streams[subscription.tree.streams[0]]
    return Schema(subscription.returns, None, simultaneous=first.simultaneous, timing=subscription.time)


def _check_correlator(correlator: tree.Correlator, streams: Mapping[str, Schema]) -> CheckedCorrelator:
    schema = merged(streams, correlator)
    scope = replace(scope_of(schema, correlator), has_previous=False, has_match=False)
    used = {n.step for n in correlator.expression.walk() if isinstance(n, tree.On)}
    used |= {n.guard for n in correlator.expression.walk() if isinstance(n, tree.Mode)}
    conditions: dict[str, tuple[tree.Expression, ...]] = dict.fromkeys(used, ())
    for step, condition in definitions_of(correlator.definitions, used, "expression"):
        check_condition(condition, scope)
        conditions[step] = (condition,)
    return CheckedCorrelator(correlator, conditions, schema.attributes, schema.time_type)
