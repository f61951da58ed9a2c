"""Checks of statements typed on the page, among those that run: errors at once, findings by another process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foretell.errors import NOWHERE, ForetellError, LanguageError, Place, excerpt, lines_of, suggestion
from foretell.language import tree
from foretell.language.check import check
from foretell.language.parser import parse as parse_text
from foretell.language.tree import place_of
from foretell.serve.records import StatementSource, StreamSource

_MOST_ERRORS = 20
#: Longer texts are refused.
MOST_TEXT = 100_000


@dataclass(frozen=True)
class TypedText:
    """A text among the statements that run; `changed` is the name of the one that it takes the place of."""

    text: str
    statements: Mapping[str, StatementSource]
    streams: Mapping[str, StreamSource]
    changed: str | None = None

    def errors(self) -> list[dict[str, Any]]:
        """All errors that are found; none where the statements can run."""
        if len(self.text) > MOST_TEXT:
            return [
                error_view(LanguageError("too-long", f"the text has more than {MOST_TEXT:,} characters"), self.text)
            ]
        try:
            own = parse_text(self.text).statements
        except LanguageError as error:
            return [error_view(error, self.text)]
        except RecursionError:
            return [error_view(LanguageError("too-deep", "the statements are nested too deeply"), self.text)]
        streams = [s for s in own if isinstance(s, tree.Stream)]
        if streams:
            hint = f"leave it out; there are {', '.join(self.streams)}"
            message = f"'{streams[0].name}' is a stream: the streams are those of the pipeline file"
            place = place_of(streams[0].name)
            return [error_view(LanguageError("new-stream", message, place=place, hint=hint), self.text)]
        if not own:
            hint = "write SUBSCRIBE name FROM stream MATCH a , b"
            return [error_view(LanguageError("no-statements", "there is no statement", hint=hint), self.text)]
        return self._taken_names(own) or self._unknown_streams(own) or self._checked()

    def _taken_names(self, own: Sequence[tree.Statement]) -> list[dict[str, Any]]:
        """An error for each statement whose name another one has that runs."""
        errors = []
        for name in (s.name for s in own if str(s.name) != self.changed):
            if str(name) in self.statements or str(name) in self.streams:
                hint = "give it another name, or change the one that runs"
                error = LanguageError("defined-twice", f"there is '{name}' already", place=place_of(name), hint=hint)
                errors.append(error_view(error, self.text))
        return errors

    def _unknown_streams(self, own: Sequence[tree.Statement]) -> list[dict[str, Any]]:
        """An error for each stream that nobody has: nothing would feed it."""
        known = [*self.streams, *self.statements, *(str(s.name) for s in own)]
        reading = [s for s in own if isinstance(s, tree.Subscription | tree.Correlator)]
        errors = []
        for stream in dict.fromkeys(stream for s in reading for stream in s.streams if str(stream) not in known):
            hint = suggestion(str(stream), known) or f"there are {', '.join(self.streams)}"
            place = place_of(stream)
            error = LanguageError("unknown-stream", f"unknown stream '{stream}'", place=place, hint=hint)
            errors.append(error_view(error, self.text))
        return errors

    def _checked(self) -> list[dict[str, Any]]:
        """Check the statements, and again without the one that is refused, until no more are."""
        before = self._before(self._independent_names())
        whole, shift = before + self.text, before.count("\n")
        statements, errors = list(parse_text(whole).statements), list[dict[str, Any]]()
        while len(errors) < _MOST_ERRORS:
            try:
                check(tree.Program(tuple(statements)))
            except LanguageError as error:
                error.within(whole)
                errors.append(error_view(_moved(error, shift), self.text))
                refused = _statement_at(error.place, statements)
                if refused is None or place_of(refused.name).line <= shift:
                    return errors
                statements.remove(refused)
            else:
                return errors
        return errors

    def program(self) -> str:
        """The text with the streams and statements that it reads, directly or through others."""
        return self._before(self._read_names()) + self.text

    @property
    def names(self) -> list[str]:
        """The names of its statements."""
        return [str(statement.name) for statement in parse_text(self.text).statements]

    @property
    def read_streams(self) -> list[str]:
        """The input streams that it reads, directly or through others."""
        found = dict.fromkeys(stream for name in self._read_names() for stream in self.statements[name].reads)
        found |= dict.fromkeys(self._own_reads())
        return [name for name in found if name in self.streams]

    def _own_reads(self) -> list[str]:
        program = parse_text(self.text).statements
        reading = [s for s in program if isinstance(s, tree.Subscription | tree.Correlator)]
        return [str(stream) for statement in reading for stream in statement.streams]

    def _read_names(self) -> list[str]:
        """The running statements that the text reads, directly or through others, in their order."""
        todo, wanted = self._own_reads(), set[str]()
        while todo:
            name = todo.pop()
            if name in self.statements and name not in wanted and name != self.changed:
                wanted.add(name)
                todo += self.statements[name].reads
        return [name for name in self.statements if name in wanted]

    def _independent_names(self) -> list[str]:
        """The running statements that do not read the one that is changed, directly or through others."""
        dependent = set() if self.changed is None else {self.changed}
        while more := {n for n, s in self.statements.items() if n not in dependent and dependent & set(s.reads)}:
            dependent |= more
        return [name for name in self.statements if name not in dependent]

    def _before(self, names: Iterable[str]) -> str:
        texts = [stream.text for stream in self.streams.values() if stream.text]
        texts += [self.statements[name].text for name in names if name != self.changed]
        return "".join(f"{text}\n\n" for text in texts)

    def findings(self, found: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The findings of a check of `program` that are about the text."""
        shift = self._before(self._read_names()).count("\n")
        return [
            {
                "code": each["code"],
                "line": each["line"] - shift,
                "column": each["column"],
                "end_column": each["end_column"],
                "message": each["message"],
                "hint": each["hint"],
                "certain": each["kind"] == "finding",
                "witness": each["shown_witness"],
            }
            for each in found
            if each["line"] > shift
        ]


def _statement_at(place: Place, statements: Iterable[tree.Statement]) -> tree.Statement | None:
    """The statement that a place is in: the last whose name is not behind it."""
    before = [s for s in statements if _order(place_of(s.name)) <= _order(place)]
    return max(before, key=lambda statement: _order(place_of(statement.name)), default=None)


def _order(place: Place) -> tuple[int, int]:
    return place.line, place.column


def _moved(error: LanguageError, shift: int) -> LanguageError:
    """The error with its place in the text; one that is about a running statement has none."""
    place = error.place
    if place.line <= shift:
        return LanguageError(error.code, error.message, hint=error.hint)
    end_line = place.end_line and place.end_line - shift
    moved = Place(place.line - shift, place.column, place.end_column, end_line)
    return LanguageError(error.code, error.message, place=moved, hint=error.hint)


def error_view(error: ForetellError, text: str) -> dict[str, Any]:
    """An error for the page, with the line that it is about."""
    place = error.place
    shown = [] if place == NOWHERE else excerpt(lines_of(text), place)
    return {
        "line": place.line,
        "column": place.column,
        "end_column": place.end_column,
        "message": error.message,
        "hint": error.hint,
        "excerpt": "\n".join(shown),
        "code": error.code,
    }
