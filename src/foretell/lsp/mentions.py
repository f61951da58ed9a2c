"""Mentions: where a program names steps, streams, attributes and the like."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from foretell.errors import NOWHERE, Place
from foretell.language import tree
from foretell.language.tree import Name


class Role(Enum):
    STREAM = "stream"  # also a statement, whose results are a stream
    TABLE = "table"
    STEP = "step"
    ATTRIBUTE = "attribute"
    VARIABLE = "variable"
    PARAMETER = "column of the table"
    TOKEN = "token"
    COLUMN = "column of the result"


@dataclass(frozen=True)
class Mention:
    """A name with its role. `step` is the step whose attribute it is, `prev` for that of the event before; `defines`
    says whether it is where the name is defined."""

    role: Role
    name: str
    place: Place
    statement: str
    defines: bool = False
    step: str = ""


#: The fields of nodes that are names, with their roles.
_FIELDS: dict[tuple[type[tree.Node], str], tuple[Role, bool]] = {
    (tree.Stream, "name"): (Role.STREAM, True),
    (tree.Stream, "time"): (Role.ATTRIBUTE, False),
    (tree.Stream, "id"): (Role.ATTRIBUTE, False),
    (tree.Stream, "order"): (Role.ATTRIBUTE, False),
    (tree.Declared, "name"): (Role.ATTRIBUTE, True),
    (tree.Derived, "name"): (Role.ATTRIBUTE, True),
    (tree.Subscription, "name"): (Role.STREAM, True),
    (tree.Subscription, "streams"): (Role.STREAM, False),
    (tree.Subscription, "table"): (Role.TABLE, False),
    (tree.Subscription, "per"): (Role.ATTRIBUTE, False),
    (tree.Correlator, "name"): (Role.STREAM, True),
    (tree.Correlator, "streams"): (Role.STREAM, False),
    (tree.Correlator, "table"): (Role.TABLE, False),
    (tree.Correlator, "per"): (Role.ATTRIBUTE, False),
    (tree.Definition, "steps"): (Role.STEP, True),
    (tree.Step, "name"): (Role.STEP, False),
    (tree.On, "step"): (Role.STEP, False),
    (tree.Mode, "guard"): (Role.STEP, False),
    (tree.BoundEvent, "step"): (Role.STEP, False),
    (tree.FirstOf, "step"): (Role.STEP, False),
    (tree.LastOf, "step"): (Role.STEP, False),
    (tree.Aggregate, "step"): (Role.STEP, False),
    (tree.Aggregate, "attribute"): (Role.ATTRIBUTE, False),
    (tree.Attribute, "name"): (Role.ATTRIBUTE, False),
    (tree.AfterMatch, "step"): (Role.STEP, False),
    (tree.LosingItem, "steps"): (Role.STEP, False),
    (tree.Returned, "name"): (Role.COLUMN, True),
    (tree.Forecast, "tokens"): (Role.TOKEN, False),
    (tree.Push, "token"): (Role.TOKEN, True),
}


def mentions_of(statements: Sequence[tree.Statement]) -> list[Mention]:
    """All mentions in some statements, in the order of the text."""
    found = [mention for statement in statements for mention in _of_statement(statement)]
    return sorted(found, key=lambda mention: (mention.place.line, mention.place.column))


def _of_statement(statement: tree.Statement) -> Iterator[Mention]:
    own = str(statement.name)
    fields: dict[type[tree.Node], list[str]] = {}
    for kind, name in _FIELDS:
        fields.setdefault(kind, []).append(name)
    for node in statement.walk():
        step = _step_of(node)
        for name in fields.get(type(node), ()):
            role, defines = _FIELDS[type(node), name]
            value = getattr(node, name)
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(item, Name) and item.place != NOWHERE:
                    yield Mention(role, str(item), item.place, own, defines, step)
        if isinstance(node, tree.Variable | tree.Parameter):
            role = Role.VARIABLE if isinstance(node, tree.Variable) else Role.PARAMETER
            yield Mention(role, node.name, node.place, own)


def _step_of(node: tree.Node) -> str:
    match node:
        case tree.Aggregate(step=step):
            return str(step)
        case tree.Attribute(event=tree.BoundEvent(step=step) | tree.FirstOf(step=step) | tree.LastOf(step=step)):
            return str(step)
        case tree.Attribute(event=tree.Previous()):
            return "prev"
    return ""
