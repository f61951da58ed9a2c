"""The base class of tree nodes, and names with their places in the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field, fields
from typing import NoReturn

from foretell.errors import NOWHERE, Place, refuse
from foretell.records import record


class Name(str):
    """A name with its place in the text. It equals the plain string."""

    place: Place

    def __new__(cls, text: str, place: Place = NOWHERE) -> Name:
        name = super().__new__(cls, text)
        name.place = place
        return name


def place_of(name: str) -> Place:
    return name.place if isinstance(name, Name) else NOWHERE


def defined_twice(subject: str, place: Place, first: Place) -> NoReturn:
    refuse(
        "defined-twice",
        f"{subject} is defined twice",
        place,
        f"rename one of them; the first is at {first.line}:{first.column}",
    )


@record
class Node:
    """A node of the tree; its place does not count when nodes are compared."""

    place: Place = field(default=NOWHERE, compare=False, repr=False, kw_only=True)

    def children(self) -> Iterator[Node]:
        """The nodes directly below this one, in the order of the text."""
        for name in node_fields(type(self)):
            value = getattr(self, name)
            if isinstance(value, Node):
                yield value
            elif isinstance(value, tuple):
                yield from (v for v in value if isinstance(v, Node))

    def walk(self) -> Iterator[Node]:
        """This node and all below it, in the order of the text."""
        todo: list[Node] = [self]
        while todo:
            node = todo.pop()
            yield node
            if node_fields(type(node)):
                todo += reversed(list(node.children()))


def node_fields(kind: type[Node]) -> tuple[str, ...]:
    """The fields of a node that may hold nodes, by their types. Planning walks over every node many times."""
    if kind not in _node_fields:
        own = (f for f in fields(kind) if not set(re.findall(r"\w+", str(f.type))) <= _PLAIN)
        _node_fields[kind] = tuple(f.name for f in own)
    return _node_fields[kind]


_PLAIN = {"Place", "None", "bool", "float", "int", "str", "tuple"}
_node_fields: dict[type[Node], tuple[str, ...]] = {}
