"""One family of errors: a stable code, a place in the text where there is one, a hint.

A message says what is wrong, the caret shows where, the hint says what to do about it:

>>> text = "SUBSCRIBE s FROM logins MATCH a ; ;"
>>> print(LanguageError("unexpected", "expected a step", place=Place(1, 35, 36), hint="name a step").within(text))
1:35: expected a step
  1 | SUBSCRIBE s FROM logins MATCH a ; ;
    |                                   ^
  hint: name a step
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands in a text: line and columns counted from 1, the end exclusive."""

    line: int
    column: int
    end_column: int

    def through(self, other: Place) -> Place:
        """From here to the end of `other`, or to the end of our own part where that is another line."""
        if other.line != self.line:
            return self
        return Place(self.line, self.column, max(self.end_column, other.end_column))


NOWHERE = Place(0, 0, 0)


class ForetellError(Exception):
    """What Foretell refuses, said so that a person can act on it."""

    def __init__(self, code: str, message: str, *, place: Place = NOWHERE, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.place = place
        self.hint = hint
        self._text = ""
        self._file = ""

    def within(self, text: str, file: str = "") -> ForetellError:
        """The same error, knowing the text it speaks of, so that it can show the line."""
        self._text, self._file = self._text or text, self._file or file
        return self

    def __str__(self) -> str:
        lines = [self.message]
        if self.place != NOWHERE:
            where = f"{self._file}:" if self._file else ""
            lines[0] = f"{where}{self.place.line}:{self.place.column}: {self.message}"
            lines += _excerpt(self._text, self.place)
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross process boundaries in Spark; the keyword-only parts must survive that.
        return _rebuild, (type(self), self.code, self.message, self.place, self.hint, self._text, self._file)


class LanguageError(ForetellError):
    """A text that is not a program: wrong grammar, unknown names, types that do not fit."""


class InputError(ForetellError):
    """Events, files or options that cannot be used as they are."""


def _rebuild(
    kind: type[ForetellError], code: str, message: str, place: Place, hint: str, text: str, file: str
) -> ForetellError:
    return kind(code, message, place=place, hint=hint).within(text, file)


def _excerpt(text: str, place: Place) -> list[str]:
    lines = text.splitlines()
    if not 1 <= place.line <= len(lines):
        return []
    number = str(place.line)
    line = lines[place.line - 1]
    # Tabs keep their width in the caret line, whatever the terminal makes of them.
    lead = "".join("\t" if c == "\t" else " " for c in line[: place.column - 1])
    carets = "^" * max(1, min(place.end_column, len(line) + 1) - place.column)
    return [f"  {number} | {line}".rstrip(), f"  {' ' * len(number)} | {lead}{carets}"]


def suggestion(name: str, known: Iterable[str]) -> str:
    """What `name` might have meant, as a hint; failing that, what there is to choose from."""
    names = sorted(set(known))
    by_folded = {k.casefold(): k for k in names}
    close = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    if close:
        return f"did you mean '{by_folded[close[0]]}'?"
    if not names:
        return ""
    shown = ", ".join(f"'{k}'" for k in names[:8])
    return f"known here: {shown}{', …' if len(names) > 8 else ''}"
