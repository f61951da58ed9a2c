"""Subscriptions: a parsed program with its text, as users hold it; `ft.parse` returns one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from foretell.display import View, Viewed, counted, listed
from foretell.errors import ForetellError, InputError, suggestion
from foretell.events.types import Schema
from foretell.language import tree
from foretell.language.check import check
from foretell.language.checked import CheckedProgram
from foretell.language.parser import parse as parse_text
from foretell.language.pattern_shape import step_shapes
from foretell.language.plain_durations import has_plain_durations
from foretell.language.printer import correlation_text, pattern_text, program_text
from foretell.language.subscription_check import Columns


@dataclass(frozen=True, repr=False)
class Subscriptions(Viewed):
    """Parsed statements with their text. Two are equal when their trees are, whatever the layout.

    >>> subs = parse("SUBSCRIBE rise FROM ticks MATCH a , b DEFINE b AS price > a.price;"
    ...              "SUBSCRIBE twice FROM rise MATCH x ; y;")
    >>> subs
    2 statements on ticks
      statement  from   match
      rise       ticks  a , b
      twice      rise   x ; y
    >>> subs.streams, subs.statements, subs.steps("twice")
    (('ticks',), ('rise', 'twice'), ('x', 'y'))

    `subs["rise"]` has one statement, with what it reads; `print(subs)` prints the text.
    """

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

    def __getitem__(self, name: str) -> Subscriptions:
        """One statement, with the STREAM statements and the statements that it reads."""
        self._require(name)
        wanted = {name}
        for statement in reversed(self._reading):
            if statement.name in wanted:
                wanted.update(map(str, statement.streams))
        kept = [s for s in self.program.statements if s.name in wanted]
        return of_program(tree.Program(tuple(kept)))

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.statements)

    @cached_property
    def plain_durations(self) -> bool:
        """Whether durations are numbers without units; undeclared times are then numbers, too."""
        return has_plain_durations(self.program)

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams that need an input."""
        return tuple(self.sources)

    @property
    def statements(self) -> tuple[str, ...]:
        """The names of the statements that make notifications."""
        return tuple(str(s.name) for s in self._reading)

    def steps(self, name: str) -> tuple[str, ...]:
        """The steps of a statement, in the order of its pattern."""
        statement = self._require(name)
        if isinstance(statement, tree.Subscription):
            return tuple(str(shape.name) for shape in step_shapes(statement.pattern))
        return tuple(str(step) for definition in statement.definitions for step in definition.steps)

    def _require(self, name: str) -> tree.Subscription | tree.Correlator:
        for statement in self._reading:
            if statement.name == name:
                return statement
        hint = suggestion(str(name), self.statements)
        raise InputError("unknown-subscription", f"there is no statement '{name}'", hint=hint)

    @property
    def _reading(self) -> list[tree.Subscription | tree.Correlator]:
        return [s for s in self.program.statements if isinstance(s, tree.Subscription | tree.Correlator)]

    def _view(self, rows: int) -> View:
        reading = self._reading
        title = f"{counted(len(reading), 'statement')}{' on ' if self.sources else ''}{listed(self.streams)}"
        shown = [(str(s.name), ", ".join(s.streams), ", ".join(s.per), _pattern(s)) for s in reading[:rows]]
        return View(title, ("statement", "from", "per", "match"), shown, more=len(reading) - len(shown))

    @property
    def declared(self) -> dict[str, tree.Stream]:
        return {s.name: s for s in self.program.statements if isinstance(s, tree.Stream)}

    @property
    def sources(self) -> dict[str, None]:
        """The input streams: read by a statement and derived by none, in the order of their first mention."""
        made = {s.name for s in self.program.statements if not isinstance(s, tree.Stream)}
        return {str(name): None for s in self._reading for name in s.streams if name not in made}

    @property
    def tables(self) -> dict[str, None]:
        """The names of the FOR EACH tables."""
        return {str(s.table): None for s in self._reading if s.table}


def _pattern(statement: tree.Subscription | tree.Correlator) -> str:
    if isinstance(statement, tree.Subscription):
        return pattern_text(statement.pattern)
    return correlation_text(statement.expression)


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
