"""The events that a statement reads, as symbols: which attributes they have, in which streams, and of which types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

import z3

from foretell.check.conditions.arithmetic import FIRST_MOMENT, LAST_MOMENT, size
from foretell.check.conditions.facts import LEAST_INT, MOST_INT, Facts, sort_of
from foretell.check.conditions.values import SqlValue, Term
from foretell.events.types import LAST_TIME, Type
from foretell.language import tree
from foretell.language.checked import CheckedProgram, CheckedStatement
from foretell.records import record

#: The latest FLOAT time: beyond it a FLOAT does not have quarters. (Microseconds since 1970 reach it in the year 2041.)
MOST_TIME = 2**51


@record
class SourceModel:
    """A stream of a FROM. `attributes` is None where the text does not declare them; `lets` are its LET attributes."""

    name: str
    attributes: frozenset[str] | None = None
    time: str | None = None
    lets: Mapping[str, tree.Expression] = field(default_factory=dict)
    is_derived: bool = False


@record
class EventModel:
    """The merged stream of a FROM: the types of its attributes and of time, and its streams."""

    types: Mapping[str, Type]
    time: Type
    sources: tuple[SourceModel, ...]
    per: tuple[str, ...] = ()

    @classmethod
    def of(cls, statement: CheckedStatement, program: CheckedProgram) -> EventModel:
        """The events of a checked statement whose types are known (see `assumed_types`)."""
        sources = tuple(_source(str(name), program) for name in statement.tree.streams)
        return cls(statement.attributes, statement.time, sources, tuple(map(str, statement.tree.per)))

    @property
    def length(self) -> Type:
        """The type of a difference of two times."""
        return Type.DURATION if self.time is Type.TIMESTAMP else self.time


def _source(name: str, program: CheckedProgram) -> SourceModel:
    schema = program.streams.get(name)
    if schema is None:
        return SourceModel(name)
    lets = {str(item.name): item.expression for item in program.derived.get(name, ())}
    attributes = None if schema.open else frozenset(map(str, schema.attributes))
    return SourceModel(name, attributes, schema.time, lets, is_result_stream(name, program))


def is_result_stream(name: str, program: CheckedProgram) -> bool:
    """Whether a stream has the results of a statement: it has a time, but no column for it."""
    schema = program.streams.get(name)
    return schema is not None and schema.time is None and not schema.open


class SymbolicEvent:
    """The symbols of one event. Attributes come about as conditions name them.

    `lane` has the PER attributes, which all events of a lane share. An event that is `free` stands for any number of
    events in its place: nothing is known of it.
    """

    def __init__(
        self, name: str, model: EventModel, facts: Facts, lane: dict[str, SqlValue] | None = None, *, free: bool = False
    ) -> None:
        self.name = name
        self.model = model
        self.free = free
        self.attributes: dict[str, SqlValue] = {}
        self.lane = lane if lane is not None else {}
        self.stream = z3.IntVal(0)
        self.end = z3.Const(f"{name} end", sort_of(model.time, z3.RealSort()))
        self.start = self.end
        facts.certain += _time_range(self.end, model.time)
        if len(model.sources) > 1:
            self.stream = z3.Int(f"{name} stream")
            facts.certain += [self.stream >= 0, self.stream < len(model.sources)]
        if any(source.is_derived for source in model.sources):
            self.start = z3.Const(f"{name} start", self.end.sort())
            facts.certain += [self.start <= self.end, *_time_range(self.start, model.time)]
            facts.certain += [
                z3.Implies(self.stream == number, self.start == self.end)
                for number, source in enumerate(model.sources)
                if not source.is_derived
            ]
        facts.numbers.append((self.end, model.time))

    def symbol(self, attribute: str, sort: z3.SortRef, facts: Facts) -> SqlValue:
        """The value of an attribute of the input, of any stream."""
        known = self.lane if attribute in self.model.per and not self.free else self.attributes
        if attribute not in known:
            kind = self.model.types.get(attribute, Type.FLOAT)
            prefix = "lane" if known is self.lane else self.name
            value = z3.Const(f"{prefix}.{attribute}", sort)
            known[attribute] = SqlValue(kind, value, z3.Bool(f"{prefix}.{attribute} is null"))
            facts.certain += _range(value, kind)
            facts.numbers.append((value, kind))
        return known[attribute]


def _range(value: Term, kind: Type) -> list[z3.BoolRef]:
    match kind:
        case Type.INT:
            return [value >= LEAST_INT, value <= MOST_INT]
        case Type.TIMESTAMP:
            return [value >= FIRST_MOMENT, value <= LAST_MOMENT]
    return []


def _time_range(time: Term, kind: Type) -> list[z3.BoolRef]:
    match kind:
        case Type.TIMESTAMP:
            return [time >= FIRST_MOMENT, time <= LAST_MOMENT]
        case Type.INT:
            return [time >= -LAST_TIME, time <= LAST_TIME]
    return [size(time) <= MOST_TIME]
