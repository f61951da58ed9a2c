"""Errors of Foretell: a stable code, a message, a place in the text where there is one, a hint.

The message says what failed, the caret shows where, the hint says what to do:

>>> text = "SUBSCRIBE s FROM logins MATCH a ; ;"
>>> print(LanguageError("unexpected", "expected a step", place=Place(1, 35, 36), hint="name a step").within(text))
1:35: expected a step
  1 | SUBSCRIBE s FROM logins MATCH a ; ;
    |                                   ^
  hint: name a step
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn

_WIDEST = 200  # characters of a line that are shown: generated programs do not break their lines
_VALUE = re.compile(r"[+-]?[0-9][0-9.,:/T+ -]*Z?")  # a number, a date, a time
_MARK = "\ufeff"  # the byte order mark that some editors write; it is no part of the text


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a text: line and columns counted from 1, the end exclusive.

    `end_line` is 0 where the place is on one line.
    """

    line: int
    column: int
    end_column: int
    end_line: int = 0

    def through(self, other: Place) -> Place:
        """The place from the start of this one to the end of `other`."""
        end_line = other.end_line or other.line
        if end_line > (self.end_line or self.line):
            return Place(self.line, self.column, other.end_column, end_line)
        if end_line < (self.end_line or self.line):
            return self
        return Place(self.line, self.column, max(self.end_column, other.end_column), self.end_line)


NOWHERE = Place(0, 0, 0)


class ForetellError(Exception):
    """The base class of all errors that Foretell raises: a code, a message, a place and a hint."""

    def __init__(self, code: str, message: str, *, place: Place = NOWHERE, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.place = place
        self.hint = hint
        self._text = ""
        self._file = ""

    def within(self, text: str, file: str = "") -> ForetellError:
        """The same error with the text it is about, so that it can show the line."""
        self._text, self._file = self._text or text, self._file or file
        return self

    def __str__(self) -> str:
        return self.text()

    def text(self, widest: int = _WIDEST) -> str:
        """The error for a person, with at most so many characters of the line that it is about."""
        lines = [self.message]
        if self.place != NOWHERE:
            where = f"{self._file}:" if self._file else ""
            lines[0] = f"{where}{self.place.line}:{self.place.column}: {self.message}"
            lines += excerpt(lines_of(self._text), self.place, widest)
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross process boundaries in Spark; the keyword-only arguments must survive pickling.
        return _rebuild, (type(self), self.code, self.message, self.place, self.hint, self._text, self._file)


class LanguageError(ForetellError):
    """A text that is not a valid program: wrong grammar, unknown names, types that do not fit."""

    def within(self, text: str, file: str = "") -> ForetellError:
        self.place = whole_place(lines_of(text), self.place)
        return super().within(text, file)


def refuse(code: str, message: str, place: Place, hint: str = "") -> NoReturn:
    """Raises a LanguageError at a place in the text."""
    raise LanguageError(code, message, place=place, hint=hint)


class InputError(ForetellError):
    """Events, files or options that cannot be used as they are."""


class ForetellWarning(UserWarning):
    """The category of all warnings that Foretell issues."""


def _rebuild(
    kind: type[ForetellError], code: str, message: str, place: Place, hint: str, text: str, file: str
) -> ForetellError:
    return kind(code, message, place=place, hint=hint).within(text, file)


def lines_of(text: str) -> list[str]:
    """The lines of a text as places count them: only a line feed ends a line, with or without a carriage return."""
    return [line.removesuffix("\r") for line in text.removeprefix(_MARK).split("\n")]


def place_at(text: str, start: int, end: int) -> Place:
    """The place of a part of a text, cut off at the end of its first line."""
    line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    length = len(text[start:end].split("\n", 1)[0])
    return Place(line, column, column + length)


def offset_of(text: str, place: Place) -> int:
    """The number of characters before a place."""
    before = text.split("\n", place.line - 1)[: place.line - 1]
    return sum(len(line) + 1 for line in before) + place.column - 1


def _with_signs(line: str, start: int, end: int) -> tuple[int, int]:
    """A part of a line, extended by the brackets and the `!` that belong to it.

    The tree of a program does not keep them, but a reader of `sum(b.price)` wants all of it marked.
    """
    if end - start > 1:
        opened, closed = _unpaired(line[start:end])
        while closed and (before := line[:start].rstrip()).endswith(closed[0]):
            start, closed = len(before) - 1, closed[1:]
        while opened and (after := line[end:].lstrip()).startswith(opened[-1]):
            end, opened = len(line) - len(after) + 1, opened[:-1]
    named = line[start : start + 1].isidentifier() or line.startswith('"', start)
    if named and (before := line[:start].rstrip()).endswith("!"):
        start = len(before) - 1
    return start, end


def _unpaired(part: str) -> tuple[list[str], list[str]]:
    """The brackets missing in a part of a line: those that would close it, and those that would open it."""
    closing = {"(": ")", "{": "}"}
    opening = {")": "(", "}": "{"}
    after: list[str] = []
    before: list[str] = []
    quote = ""
    for character in part:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in closing:
            after.append(closing[character])
        elif character in opening and after:
            after.pop()
        elif character in opening:
            before.append(opening[character])
    return after, before


def whole_place(lines: Sequence[str], place: Place) -> Place:
    """The place of a node in the lines of a text, with the brackets and the `!` that belong to it."""
    if not 1 <= place.line <= len(lines) or place.end_line:
        return place
    start, end = _with_signs(lines[place.line - 1], place.column - 1, place.end_column - 1)
    return Place(place.line, start + 1, end + 1)


def excerpt(lines: Sequence[str], place: Place, widest: int = _WIDEST) -> list[str]:
    """The line of a place with carets below it, at most so many characters of it; nothing where there is no text."""
    if lines == [""] or not 1 <= place.line <= len(lines):
        return []
    number = str(place.line)
    line = lines[place.line - 1]
    start, end = place.column - 1, place.end_column - 1
    if place.end_line > place.line or end > len(line):
        end = max(len(line.rstrip()), start + 1)
    line, start, end = _cropped(line, start, end, widest)
    # Tabs keep their width in the caret line, whatever the terminal makes of them.
    lead = "".join("\t" if c == "\t" else " " * _width(c) for c in line[:start])
    carets = "^" * max(1, sum(map(_width, line[start:end])))
    shown = "".join(map(_visible, line)).rstrip()
    return [f"  {number} | {shown}", f"  {' ' * len(number)} | {lead}{carets}"]


def _cropped(line: str, start: int, end: int, widest: int) -> tuple[str, int, int]:
    """A long line, cropped around the marked part."""
    if len(line) <= widest:
        return line, start, end
    left = max(0, start - widest // 3)
    part = line[left : left + widest]
    before, after = "…" if left else "", "…" if left + widest < len(line) else ""
    start += len(before) - left
    return f"{before}{part}{after}", start, min(end + len(before) - left, len(before) + len(part))


def _width(character: str) -> int:
    """The columns of a terminal that a character takes: two for 語, none for an accent that goes on top."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _visible(character: str) -> str:
    """The character, or a replacement where a terminal would not show it."""
    hidden = character != "\t" and unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
    return "\N{REPLACEMENT CHARACTER}" if hidden else character


def closest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """The known name that is closest to `name`, or an empty text; case does not count."""
    by_folded = {k.casefold(): k for k in sorted(set(known))}
    folded = name.casefold()
    for other in by_folded:
        # Two letters exchanged is the most common typing error, and the one that difflib rates worst.
        if len(other) > 2 and sorted(other) == sorted(folded):
            return by_folded[other]
    import difflib  # most processes suggest nothing

    close = difflib.get_close_matches(folded, by_folded, n=1, cutoff=cutoff)
    return by_folded[close[0]] if close else ""


def suggestion(name: str, known: Iterable[str]) -> str:
    """A hint for an unknown name: the closest known one, or the list of known names."""
    names = sorted(set(known))
    meant = closest(name, names)
    if meant:
        return f"did you mean '{meant}'?"
    if not names:
        return ""
    shown = ", ".join(f"'{k}'" for k in names[:8])
    return f"known here: {shown}{', …' if len(names) > 8 else ''}"


def column_suggestion(name: str, columns: Iterable[str]) -> str:
    """A hint for an unknown column.

    >>> column_suggestion("temp", ["2024-07-01", "Rome", "35"])
    "known here: '2024-07-01', '35', 'Rome'; if the file has no header, name its columns: --columns NAME,NAME,..."
    """
    names = list(columns)
    hint = suggestion(name, names)
    return hint if closest(name, names) else f"{hint}{header_hint(names)}"


def header_hint(columns: Iterable[str]) -> str:
    """A continuation of a hint where a name of a column is a number or a date, so that it may be the first event's."""
    if any(map(_VALUE.fullmatch, columns)):
        return "; if the file has no header, name its columns: --columns NAME,NAME,..."
    return ""
