"""Allowances: comments `-- check: allow CODE[, CODE]`, which silence findings.

At the end of a line an allowance is about that line. On a line of its own it is about the next line that has more than
a comment; where a statement begins there, about the whole statement. Text after a second `--` is the reason.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence

from foretell.check.codes import CODES
from foretell.check.finding import Finding
from foretell.errors import Place, suggestion
from foretell.language import tree
from foretell.language.rules.tokens import QUOTED_OR_COMMENT
from foretell.language.tree import place_of
from foretell.records import record

_ALLOW = re.compile(r"--\s*check\s*:\s*allow\b", re.IGNORECASE)
_CODE = re.compile(r"[^\s,]+")
#: The keyword is rarely farther from the name.
_NEAR = 50
_STATEMENT = re.compile(r"(SUBSCRIBE|STREAM|CORRELATE)\s+$", re.IGNORECASE)


@record
class AllowedCode:
    """A code of an allowance, with its place. It is about a line, and about the statements that begin there where the
    allowance has a line of its own; `line` is 0 where nothing follows."""

    code: str
    place: Place
    line: int
    statements: frozenset[str] = frozenset()

    def silences(self, finding: Finding) -> bool:
        if finding.code != self.code:
            return False
        last = finding.place.end_line or finding.place.line
        return finding.statement in self.statements or finding.place.line <= self.line <= last


@record
class Allowances:
    """All allowances of a text, and the findings about those that are wrong."""

    codes: tuple[AllowedCode, ...]
    mistakes: tuple[Finding, ...]

    def silence(self, findings: Iterable[Finding]) -> Silenced:
        """Sorts findings into those that remain and those that an allowance silences."""
        by_code: dict[str, list[AllowedCode]] = {}
        for allowed in self.codes:
            by_code.setdefault(allowed.code, []).append(allowed)
        remaining, silenced, used = list[Finding](), list[Finding](), set[AllowedCode]()
        for finding in findings:
            matching = [allowed for allowed in by_code.get(finding.code, ()) if allowed.silences(finding)]
            (silenced if matching else remaining).append(finding)
            used.update(matching)
        return Silenced(tuple(remaining), tuple(silenced), frozenset(used))

    def unused(self, used: frozenset[AllowedCode], looked_for: Callable[[AllowedCode], bool]) -> Iterator[Finding]:
        """A finding for each code that silences nothing, of those that were looked for everywhere."""
        for allowed in self.codes:
            if allowed not in used and looked_for(allowed):
                yield Finding(
                    "unused-allowance",
                    _only(allowed.statements),
                    f"this allows '{allowed.code}', which is not found here",
                    allowed.place,
                    "delete it, or put it at the line or before the statement that it is about",
                )


@record
class Silenced:
    """The findings that remain, those that were silenced, and the allowances that silenced them."""

    remaining: tuple[Finding, ...]
    silenced: tuple[Finding, ...]
    used: frozenset[AllowedCode]


def allowances_of(text: str, statements: Sequence[tree.Statement]) -> Allowances:
    """The allowances in the text of some statements."""
    text = text.removeprefix("\ufeff")
    comments = [found for found in QUOTED_OR_COMMENT.finditer(text) if found[1] is None]
    allowing = [found for found in comments if _ALLOW.match(found[0])]
    if not allowing:
        return Allowances((), ())
    lines = _LineContents(text, statements)
    codes, mistakes = list[AllowedCode](), list[Finding]()
    for comment in allowing:
        line = lines.number_of(comment.start())
        alone = not lines.has_code(line)
        target = lines.next_with_code(line) if alone else line
        begun = lines.begun_at(target) if alone else frozenset()
        named = list(_codes(comment[0], line, comment.start() - lines.start_of(line)))
        for name, place in named:
            mistake = _mistake(name, place)
            if mistake is None:
                codes.append(AllowedCode(name, place, target, begun))
            else:
                mistakes.append(mistake)
        if not named:
            column = comment.start() - lines.start_of(line) + 1
            place = Place(line, column, column + len(comment[0].rstrip()))
            hint = "name the codes to silence: -- check: allow CODE, CODE"
            mistakes.append(Finding("unknown-code", "", "this allows nothing: it names no code", place, hint))
    return Allowances(tuple(codes), tuple(mistakes))


def _codes(comment: str, line: int, before: int) -> Iterator[tuple[str, Place]]:
    """The codes of a comment with their places; `before` is the number of characters of the line before it."""
    begin = _ALLOW.match(comment)
    assert begin is not None
    listed = comment[begin.end() :].partition("--")[0]
    for found in _CODE.finditer(listed):
        column = before + begin.end() + found.start() + 1
        yield found[0], Place(line, column, column + len(found[0]))


def _mistake(name: str, place: Place) -> Finding | None:
    known = CODES.get(name)
    if known is None:
        hint = suggestion(name, (code.name for code in CODES.values() if code.can_be_allowed))
        return Finding("unknown-code", "", f"there is no code '{name}' to allow", place, hint)
    if not known.can_be_allowed:
        return Finding("unknown-code", "", f"'{name}' cannot be allowed", place, "delete it, and repair the allowance")
    return None


class _LineContents:
    """The lines of a text: which have more than comments, and which statements begin there."""

    def __init__(self, text: str, statements: Sequence[tree.Statement]) -> None:
        masked = QUOTED_OR_COMMENT.sub(_mask, text)
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self._has_code = [bool(line.strip()) for line in masked.split("\n")]
        self._begun: dict[int, set[str]] = {}
        for statement in statements:
            self._begun.setdefault(self._first_line(masked, place_of(statement.name)), set()).add(str(statement.name))

    def _first_line(self, masked: str, name: Place) -> int:
        """The line of a statement's keyword, which stands before its name."""
        end = self._starts[name.line - 1] + name.column - 1
        keyword = _STATEMENT.search(masked, max(0, end - _NEAR), end) or _STATEMENT.search(masked, 0, end)
        return name.line if keyword is None else self.number_of(keyword.start())

    def number_of(self, offset: int) -> int:
        return bisect_right(self._starts, offset)

    def start_of(self, line: int) -> int:
        return self._starts[line - 1]

    def has_code(self, line: int) -> bool:
        return self._has_code[line - 1]

    def next_with_code(self, line: int) -> int:
        """The next line that has more than a comment; 0 where there is none."""
        return next((n for n in range(line + 1, len(self._has_code) + 1) if self._has_code[n - 1]), 0)

    def begun_at(self, line: int) -> frozenset[str]:
        return frozenset(self._begun.get(line, ()))


def _mask(found: re.Match[str]) -> str:
    """Blanks for a comment, and letters for what is quoted; lines stay as they are."""
    return re.sub(r"[^\n]", " " if found[1] is None else "x", found[0])


def _only(names: frozenset[str]) -> str:
    return next(iter(names)) if len(names) == 1 else ""
