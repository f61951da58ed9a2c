"""Subscriptions: a parsed program with its text, as users hold it; `ft.parse` returns one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from foretell.errors import ForetellError
from foretell.events.types import Schema
from foretell.language import tree
from foretell.language.check import check
from foretell.language.checked import CheckedProgram
from foretell.language.parser import parse as parse_text
from foretell.language.printer import program_text
from foretell.language.subscription_check import Columns


@dataclass(frozen=True)
class Subscriptions:
    """Parsed statements with their text. Two are equal when their trees are, whatever the layout."""

    program: tree.Program
    text: str
    file: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Subscriptions) and self.program == other.program

    def __hash__(self) -> int:
        return hash(self.program)

    def __str__(self) -> str:
        return program_text(self.program)

    def checked(
        self, schemas: Mapping[str, Schema] | None = None, tables: Mapping[str, Columns] | None = None
    ) -> CheckedProgram:
        """The checked program: names and types resolved against the schemas of the data."""
        try:
            return check(self.program, schemas, tables)
        except ForetellError as error:
            raise error.within(self.text, self.file) from None

    @property
    def declared(self) -> dict[str, tree.Stream]:
        return {s.name: s for s in self.program.statements if isinstance(s, tree.Stream)}

    @property
    def sources(self) -> dict[str, None]:
        """The input streams: read by a statement and derived by none, in the order of their first mention."""
        made = {s.name for s in self.program.statements if not isinstance(s, tree.Stream)}
        reading = (s for s in self.program.statements if isinstance(s, tree.Subscription | tree.Correlator))
        return {str(name): None for s in reading for name in s.streams if name not in made}

    @property
    def tables(self) -> dict[str, None]:
        """The names of the FOR EACH tables."""
        return {str(s.table): None for s in self.program.statements if isinstance(s, tree.Subscription) and s.table}


def parse(text: str, file: str = "") -> Subscriptions:
    """Parses statements, and checks all that can be checked without data.

    >>> print(parse("subscribe rise from ticks match a, b define b as price > a.price"))
    SUBSCRIBE rise
    FROM ticks
    MATCH a , b
    DEFINE b AS price > a.price;
    """
    subscriptions = Subscriptions(parse_text(text, file), text, file)
    subscriptions.checked()
    return subscriptions


def of_program(program: tree.Program) -> Subscriptions:
    """Statements from a tree, as the builder makes them; errors point into their printed text."""
    return parse(program_text(program))
