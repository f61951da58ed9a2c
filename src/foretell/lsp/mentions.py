"""Mentions: where a program names steps, streams, attributes and the like."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from foretell.errors import NOWHERE, Place
from foretell.language import tree
from foretell.language.tree import Name


class MentionRole(Enum):
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

    role: MentionRole
    name: str
    place: Place
    statement: str
    defines: bool = False
    step: str = ""


#: The fields of nodes that are names, with their roles.
_FIELDS: dict[tuple[type[tree.Node], str], tuple[MentionRole, bool]] = {
    (tree.Stream, "name"): (MentionRole.STREAM, True),
    (tree.Stream, "time"): (MentionRole.ATTRIBUTE, False),
    (tree.Stream, "id"): (MentionRole.ATTRIBUTE, False),
    (tree.Stream, "order"): (MentionRole.ATTRIBUTE, False),
    (tree.Declared, "name"): (MentionRole.ATTRIBUTE, True),
    (tree.Derived, "name"): (MentionRole.ATTRIBUTE, True),
    (tree.Subscription, "name"): (MentionRole.STREAM, True),
    (tree.Subscription, "streams"): (MentionRole.STREAM, False),
    (tree.Subscription, "table"): (MentionRole.TABLE, False),
    (tree.Subscription, "per"): (MentionRole.ATTRIBUTE, False),
    (tree.Correlator, "name"): (MentionRole.STREAM, True),
    (tree.Correlator, "streams"): (MentionRole.STREAM, False),
    (tree.Correlator, "table"): (MentionRole.TABLE, False),
    (tree.Correlator, "per"): (MentionRole.ATTRIBUTE, False),
    (tree.Definition, "steps"): (MentionRole.STEP, True),
    (tree.Step, "name"): (MentionRole.STEP, False),
    (tree.On, "step"): (MentionRole.STEP, False),
    (tree.Mode, "guard"): (MentionRole.STEP, False),
    (tree.BoundEvent, "step"): (MentionRole.STEP, False),
    (tree.FirstOf, "step"): (MentionRole.STEP, False),
    (tree.LastOf, "step"): (MentionRole.STEP, False),
    (tree.Aggregate, "step"): (MentionRole.STEP, False),
    (tree.Aggregate, "attribute"): (MentionRole.ATTRIBUTE, False),
    (tree.Attribute, "name"): (MentionRole.ATTRIBUTE, False),
    (tree.AfterMatch, "step"): (MentionRole.STEP, False),
    (tree.LosingItem, "steps"): (MentionRole.STEP, False),
    (tree.Returned, "name"): (MentionRole.COLUMN, True),
    (tree.Forecast, "tokens"): (MentionRole.TOKEN, False),
    (tree.Push, "token"): (MentionRole.TOKEN, True),
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
            role = MentionRole.VARIABLE if isinstance(node, tree.Variable) else MentionRole.PARAMETER
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
