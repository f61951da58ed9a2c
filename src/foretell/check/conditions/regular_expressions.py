"""Regular expressions of RE2 as those of z3.

Known are characters, `.`, classes, groups, alternatives, repetitions up to 50, and anchors at the ends of a whole
alternative. Everything else (flags, word boundaries, Unicode classes, patterns that are long or deep) is left out: then
`regexp_like` is an unknown function.
"""

from __future__ import annotations

import z3

from foretell.check.conditions.values import Term

MOST_CHARACTERS, MOST_GROUPS, MOST_ROUNDS = 300, 30, 50

_SORT = z3.ReSort(z3.StringSort())
_CLASSES = {
    "d": (("0", "9"),),
    "w": (("0", "9"), ("A", "Z"), ("_", "_"), ("a", "z")),
    "s": (("\t", "\n"), ("\f", "\r"), (" ", " ")),
}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
_LAST = "\U0002ffff"


class UnknownSyntaxError(ValueError):
    """A pattern that z3 is not asked about."""


def found_anywhere(pattern: str) -> Term | None:
    """The texts in which a pattern is found; None where the pattern has forms that are not known here."""
    if len(pattern) > MOST_CHARACTERS or pattern.count("(") > MOST_GROUPS:
        return None
    try:
        return _RegularExpression(pattern).whole()
    except UnknownSyntaxError:
        return None


def character(text: str) -> Term:
    """The language of one character."""
    return z3.Re(z3.StringVal(f"\\u{{{ord(text):x}}}"))


class _RegularExpression:
    """A parser by recursive descent."""

    def __init__(self, pattern: str) -> None:
        self._rest = pattern

    def whole(self) -> Term:
        branches = [self._anchored_branch()]
        while self._take("|"):
            branches.append(self._anchored_branch())
        if self._rest:
            raise UnknownSyntaxError(self._rest)
        return _union(branches)

    def _anchored_branch(self) -> Term:
        begins = self._take("^")
        parts = self._sequence()
        ends = self._take("$")
        anything = z3.Full(_SORT)
        return _concatenation([*([] if begins else [anything]), *parts, *([] if ends else [anything])])

    def _sequence(self) -> list[Term]:
        parts = []
        while self._rest and self._rest[0] not in "|)$":
            parts.append(self._repeated(self._atom()))
        return parts

    def _atom(self) -> Term:
        first = self._next()
        match first:
            case "(":
                return self._group()
            case "[":
                return self._class()
            case ".":
                return z3.Diff(z3.AllChar(_SORT), character("\n"))
            case "\\":
                return self._escaped()
            case "^" | "*" | "+" | "?" | "{":
                raise UnknownSyntaxError(first)
        return character(first)

    def _group(self) -> Term:
        if self._take("?") and not self._take(":"):
            raise UnknownSyntaxError("(?")
        branches = [_concatenation(self._sequence())]
        while self._take("|"):
            branches.append(_concatenation(self._sequence()))
        if not self._take(")"):
            raise UnknownSyntaxError(self._rest)
        return _union(branches)

    def _escaped(self) -> Term:
        letter = self._next()
        if letter.lower() in _CLASSES:
            inside = _union([_range(low, high) for low, high in _CLASSES[letter.lower()]])
            return inside if letter.islower() else z3.Diff(z3.AllChar(_SORT), inside)
        return character(self._plain(letter))

    def _plain(self, letter: str) -> str:
        if letter.isalnum() and letter not in _CONTROLS:
            raise UnknownSyntaxError(letter)
        return _CONTROLS.get(letter, letter)

    def _class(self) -> Term:
        negated = self._take("^")
        parts: list[Term] = []
        while not parts or not self._take("]"):
            parts.append(self._class_item())
        inside = _union(parts)
        return z3.Diff(z3.AllChar(_SORT), inside) if negated else inside

    def _class_item(self) -> Term:
        low = self._next()
        if low == "[":
            raise UnknownSyntaxError(low)
        if low == "\\":
            if self._rest[:1].lower() in _CLASSES:
                return self._escaped()
            low = self._plain(self._next())
        if not (self._rest.startswith("-") and self._rest[1:2] not in ("]", "")):
            return character(low)
        self._next()
        high = self._next()
        if high == "\\":
            high = self._plain(self._next())
        return _range(low, high)

    def _repeated(self, atom: Term) -> Term:
        if self._take("*"):
            atom = z3.Star(atom)
        elif self._take("+"):
            atom = z3.Plus(atom)
        elif self._take("?"):
            atom = z3.Option(atom)
        elif self._take("{"):
            bounds, closed, self._rest = self._rest.partition("}")
            low, comma, high = bounds.partition(",")
            numbers = [int(number) for number in (low, high) if number.isascii() and number.isdigit()]
            if not closed or not low.isdigit() or (high and not high.isdigit()) or max(numbers) > MOST_ROUNDS:
                raise UnknownSyntaxError(bounds)
            first, last = numbers[0], numbers[-1]
            open_ended = comma and not high
            atom = z3.Concat(z3.Loop(atom, first, first), z3.Star(atom)) if open_ended else z3.Loop(atom, first, last)
        else:
            return atom
        self._take("?")  # a lazy repetition finds the same texts
        if self._rest[:1] in ("*", "+", "?", "{"):
            raise UnknownSyntaxError(self._rest)
        return atom

    def _next(self) -> str:
        if not self._rest or self._rest[0] > _LAST:
            raise UnknownSyntaxError("the end")
        first, self._rest = self._rest[0], self._rest[1:]
        return first

    def _take(self, wanted: str) -> bool:
        if not self._rest.startswith(wanted):
            return False
        self._rest = self._rest[len(wanted) :]
        return True


def _range(low: str, high: str) -> Term:
    ends = (z3.StringVal(f"\\u{{{ord(end):x}}}") for end in (low, high))
    return z3.Range(*ends)


def _union(branches: list[Term]) -> Term:
    return branches[0] if len(branches) == 1 else z3.Union(branches)


def _concatenation(parts: list[Term]) -> Term:
    return z3.Re("") if not parts else parts[0] if len(parts) == 1 else z3.Concat(parts)
