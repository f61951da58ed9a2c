"""Name and type checks of a whole program: every error in a text is found here, before the first event."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import replace
from typing import NoReturn

from foretell.errors import Place, refuse, suggestion
from foretell.events.event import PROBABILITY, RESTS_ON
from foretell.events.types import Schema, Type
from foretell.garbage import collection_paused
from foretell.language import tree
from foretell.language.checked import CheckedCorrelator, CheckedProgram, CheckedStatement, CheckedSubscription
from foretell.language.definitions import definitions_of
from foretell.language.stream_schemas import declared_schema, merged_schema, scope_of
from foretell.language.subscription_check import Columns, check_subscription
from foretell.language.token_forecasts import check_token_forecast
from foretell.language.tree import defined_twice, place_of
from foretell.language.type_check import check_condition

#: The modes of one expression: what one of them starts is all guards of the others, and so the square of their number.
MOST_MODES = 500


def check(
    program: tree.Program,
    schemas: Mapping[str, Schema] | None = None,
    tables: Mapping[str, Columns] | None = None,
) -> CheckedProgram:
    """The program with names and types resolved.

    `schemas` and `tables` describe the data. Without them a stream that the text does not declare is open: its
    attributes are accepted as they are named and checked again when the data is there.
    """
    checker = Checker(schemas)
    statements = checker.add(program, tables)
    derived = {str(s.name): s.derived for s in program.statements if isinstance(s, tree.Stream)}
    return CheckedProgram(checker.streams, statements, checker.ranks, derived)


class Checker:
    """The checker of programs that are added one after the other; each may read the statements before it.

    `ranks` orders streams by their first mention, which decides between events of the same instant.
    """

    def __init__(self, schemas: Mapping[str, Schema] | None = None) -> None:
        self.complete = schemas is not None
        self.streams: dict[str, Schema] = dict(schemas or {})
        self.ranks: dict[str, int] = {}
        self._losses: dict[str, tuple[tree.Loss, ...]] = {}
        self._next_rank = 0

    def add(self, program: tree.Program, tables: Mapping[str, Columns] | None = None) -> tuple[CheckedStatement, ...]:
        """Checks one more program: its statements, each after those it reads. A refused program changes nothing."""
        _check_unique(program)
        derived = {s.name: s for s in program.statements if not isinstance(s, tree.Stream)}
        for name in derived:
            if name in self.streams:
                message = f"'{name}' names both a statement and an input stream"
                refuse("stream-and-statement", message, place_of(name), "give the statement another name")
        declared = [s for s in program.statements if isinstance(s, tree.Stream)]
        new = {s.name: declared_schema(s) for s in declared if s.name not in self.streams}
        streams, losses = ChainMap(new, self.streams), ChainMap({s.name: s.losses for s in declared}, self._losses)
        with collection_paused():
            checked = [self._checked(s, streams, losses, derived, tables or {}) for s in _in_reading_order(derived)]
        self.streams |= new
        self._losses |= losses.maps[0]
        self._rank_mentions(program)
        return tuple(checked)

    def remove(self, name: str) -> None:
        """Forgets a statement that no other one reads; it may be one that was refused."""
        self.streams.pop(name, None)
        self.ranks.pop(name, None)

    def recheck(self, statement: tree.Subscription) -> CheckedSubscription:
        """Checks a statement that was removed once more, without adding it again."""
        checked = self._checked(statement, ChainMap({}, self.streams), self._losses, {}, {})
        assert isinstance(checked, CheckedSubscription)
        return checked

    def rank_streams(self, names: Iterable[str]) -> None:
        """Ranks streams in this order, after those that have a rank already."""
        for name in names:
            if name not in self.ranks:
                self.ranks[name], self._next_rank = self._next_rank, self._next_rank + 1

    def _rank_mentions(self, program: tree.Program) -> None:
        for statement in program.statements:
            self.rank_streams((str(statement.name), *map(str, _sources(statement))))

    def _checked(
        self,
        statement: tree.Subscription | tree.Correlator,
        streams: MutableMapping[str, Schema],
        losses: Mapping[str, tuple[tree.Loss, ...]],
        derived: Mapping[str, tree.Statement],
        tables: Mapping[str, Columns],
    ) -> CheckedStatement:
        for name in statement.streams:
            if name not in streams:
                streams[name] = _undeclared_schema(name, [*streams, *derived], complete=self.complete)
        columns = tables.get(statement.table or "", {})
        if isinstance(statement, tree.Subscription):
            subscription = check_subscription(statement, streams, columns, losses)
            streams[statement.name] = _derived_schema(subscription, streams)
            return subscription
        correlator = _check_correlator(statement, streams, columns)
        first = streams[statement.streams[0]]
        streams[statement.name] = Schema(
            {"token": Type.STRING}, None, simultaneous=first.simultaneous, timing=first.time_type
        )
        return correlator


def _check_unique(program: tree.Program) -> None:
    seen: dict[str, Place] = {}
    for statement in program.statements:
        if statement.name in seen:
            defined_twice(f"'{statement.name}'", place_of(statement.name), seen[statement.name])
        seen[statement.name] = place_of(statement.name)


def _sources(statement: tree.Statement) -> tuple[str, ...]:
    return statement.streams if isinstance(statement, tree.Subscription | tree.Correlator) else ()


def _in_reading_order(derived: Mapping[str, tree.Statement]) -> Iterator[tree.Subscription | tree.Correlator]:
    """Each statement after those it reads; a cycle is an error."""
    done: set[str] = set()
    for first in derived:
        # The statements being visited, each with its sources still to look at; a source among them closes a cycle.
        path = {} if first in done else {first: iter(_sources(derived[first]))}
        while path:
            name, sources = next(reversed(path.items()))
            source = next(sources, None)
            if source is None:
                path.popitem()
                done.add(name)
                statement = derived[name]
                assert isinstance(statement, tree.Subscription | tree.Correlator)
                yield statement
            elif source in path:
                _refuse_cycle([*path], source)
            elif source in derived and source not in done:
                path[source] = iter(_sources(derived[source]))


def _refuse_cycle(path: list[str], source: str) -> NoReturn:
    cycle = [*path[path.index(source) :], source]
    shown = " reads ".join(cycle if len(cycle) <= 6 else [*cycle[:3], "…", *cycle[-2:]])
    hint = "give the statement a name other than that of the stream it reads"
    if len(cycle) > 2:
        hint = "let one of them read another stream"
    refuse("cycle", f"these statements form a cycle: {shown}", place_of(source), hint)


def _undeclared_schema(name: str, known: Iterable[str], *, complete: bool) -> Schema:
    if complete:
        hint = suggestion(name, known) or f"declare it with STREAM, or pass its events with --input {name}=PATH"
        refuse("unknown-stream", f"unknown stream '{name}'", place_of(name), hint)
    return Schema({}, None, open=True)


def _derived_schema(subscription: CheckedSubscription, streams: Mapping[str, Schema]) -> Schema:
    """The schema of the derived stream: the RETURN columns, without RETURN the variables."""
    first = streams[subscription.tree.streams[0]]
    attributes = dict(subscription.returns)
    if subscription.uncertain:
        attributes |= {PROBABILITY: Type.FLOAT, RESTS_ON: Type.STRING}
    return Schema(attributes, None, simultaneous=first.simultaneous, timing=subscription.time)


def _check_correlator(
    correlator: tree.Correlator, streams: Mapping[str, Schema], columns: Columns
) -> CheckedCorrelator:
    schema = merged_schema(streams, correlator)
    parameters = None if correlator.table is None else columns
    scope = replace(scope_of(schema, correlator), has_previous=False, has_match=False, parameters=parameters)
    used = dict.fromkeys(n.step for n in correlator.expression.walk() if isinstance(n, tree.On))
    used |= dict.fromkeys(n.guard for n in correlator.expression.walk() if isinstance(n, tree.Mode))
    for node in correlator.expression.walk():
        if isinstance(node, tree.Modes) and len(node.modes) > MOST_MODES:
            message = f"in ... do has {len(node.modes):,} modes, more than {MOST_MODES}"
            refuse("too-many-modes", message, place_of(node.modes[0].guard), "divide them into several correlators")
    conditions: dict[str, tuple[tree.Expression, ...]] = dict.fromkeys(used, ())
    for step, condition in definitions_of(correlator.definitions, used, "expression"):
        check_condition(condition, scope)
        conditions[step] = (condition,)
    horizon = check_token_forecast(correlator, schema.time_type)
    row_ids = Type.NULL if correlator.table is None else columns.get("id", Type.STRING)
    return CheckedCorrelator(correlator, conditions, schema.attributes, schema.time_type, horizon, row_ids)
