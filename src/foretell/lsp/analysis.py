"""The analysis of a text: all that the parser and the type check say of it, statement by statement."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from foretell.errors import LanguageError, Place
from foretell.events.types import Schema
from foretell.language import tree
from foretell.language.check import check
from foretell.language.checked import CheckedStatement
from foretell.language.parser import parse
from foretell.language.stream_schemas import declared_schema
from foretell.language.tree import place_of
from foretell.lsp.mentions import Mention, mentions_of
from foretell.lsp.positions import TextPositions
from foretell.lsp.words import StatementWords, statements_of, words_of

#: So many errors are shown, and so long it may take to find more than one.
MOST_ERRORS = 50
MOST_SECONDS = 1.0


@dataclass(frozen=True)
class Analysis:
    """The errors of a text, and what is known of its statements that have none.

    `program` has all statements that parse, `checked` those whose names and types are right. `streams` are the
    attributes of streams and statements; of an open stream, those that statements name.
    """

    errors: tuple[LanguageError, ...] = ()
    program: tree.Program = field(default_factory=lambda: tree.Program(()))
    checked: Mapping[str, CheckedStatement] = field(default_factory=dict)
    streams: Mapping[str, Schema] = field(default_factory=dict)

    @cached_property
    def mentions(self) -> list[Mention]:
        """The mentions in the statements that parse."""
        return mentions_of(self.program.statements)


def analyse(text: str) -> Analysis:
    deadline = time.monotonic() + MOST_SECONDS
    positions = TextPositions(text)
    parts = statements_of(words_of(text))
    try:
        program, errors = parse(text), list[LanguageError]()
    except LanguageError as error:
        program, errors = _parsed_apart(text, parts, positions, deadline)
        if not errors:  # which is then about more than one statement
            errors = [error]
    return _checked(text, program, errors, deadline)


def _parsed_apart(
    text: str, parts: Sequence[StatementWords], positions: TextPositions, deadline: float
) -> tuple[tree.Program, list[LanguageError]]:
    """The statements that parse, and an error for each of the others. Blank lines before a part keep its places."""
    statements: list[tree.Statement] = []
    errors: list[LanguageError] = []
    for part in parts:
        if len(errors) >= MOST_ERRORS or time.monotonic() > deadline:
            break
        before = text[: part.start].removeprefix("\ufeff")
        column = len(before) - before.rfind("\n") - 1
        padded = "\n" * before.count("\n") + " " * column + text[part.start : part.end]
        try:
            statements += parse(padded).statements
        except LanguageError as error:
            errors.append(error)
    return tree.Program(tuple(statements)), errors


def _checked(text: str, program: tree.Program, errors: list[LanguageError], deadline: float) -> Analysis:
    """Checks statements, and again without the one that is refused, until no more are."""
    statements = list(program.statements)
    while True:
        try:
            found = check(tree.Program(tuple(statements)))
        except LanguageError as error:
            errors.append(error)
            refused = _statement_at(error.within(text).place, statements)
            if refused is None or len(errors) >= MOST_ERRORS or time.monotonic() > deadline:
                return Analysis(tuple(errors), program, {}, _declared(program))
            statements.remove(refused)
        else:
            checked = {statement.name: statement for statement in found.statements}
            return Analysis(tuple(errors), program, checked, found.streams)


def _statement_at(place: Place, statements: Sequence[tree.Statement]) -> tree.Statement | None:
    """The statement that a place is in: the last whose name is not behind it."""
    before = [s for s in statements if _key(place_of(s.name)) <= _key(place)]
    return max(before, key=lambda statement: _key(place_of(statement.name)), default=None)


def _key(place: Place) -> tuple[int, int]:
    return place.line, place.column


def _declared(program: tree.Program) -> dict[str, Schema]:
    schemas: dict[str, Schema] = {}
    for statement in program.statements:
        if isinstance(statement, tree.Stream):
            try:
                schemas[str(statement.name)] = declared_schema(statement)
            except LanguageError:
                continue
    return schemas
