"""STRING values as formulas, in one of two ways.

`RankedTexts` knows texts by their order alone: a text is a number, and the literals of the conditions are known numbers
in the order of the texts. That is quick, and decides `=`, `<>`, `IN` and `<`; LIKE and functions of texts are unknown
functions of their arguments. `SequenceTexts` uses the sequences of z3, which know LIKE, contains, starts_with,
ends_with, length, substr, and most of regexp_like. In both, lower and upper are unknown functions, of which it is
certain that they leave no letter from A to Z, or from a to z.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from itertools import count
from string import ascii_lowercase, ascii_uppercase

import z3

from foretell.check.conditions.facts import Facts
from foretell.check.conditions.regular_expressions import found_anywhere
from foretell.check.conditions.values import Formula, Term

_ESCAPED = re.compile(r"\\u\{([0-9a-fA-F]+)\}")
#: Beyond it the sequences of z3 have no characters.
_LAST_CHARACTER = "\U0002ffff"


class TextTheory(ABC):
    """STRING values as terms of one sort."""

    sort: z3.SortRef

    def __init__(self, literals: Iterable[str], facts: Facts) -> None:
        self.literals = sorted(set(literals))
        self.facts = facts

    @abstractmethod
    def literal(self, text: str) -> Term:
        """The term of a literal."""

    @abstractmethod
    def less(self, left: Term, right: Term) -> Formula:
        """Whether a text comes before another in the order of code points."""

    @abstractmethod
    def like(self, text: Term, pattern: Term, constant: str | None) -> Formula:
        """LIKE; `constant` is the pattern where it is a literal."""

    @abstractmethod
    def test(self, function: str, text: Term, part: Term) -> Formula:
        """contains, starts_with or ends_with."""

    @abstractmethod
    def length(self, text: Term) -> Term:
        """The number of characters."""

    @abstractmethod
    def substring(self, text: Term, numbers: tuple[Term, ...]) -> Term:
        """substr(text, start) or substr(text, start, length)."""

    @abstractmethod
    def decoded(self, values: Iterable[Term]) -> Mapping[Term, str]:
        """The texts of values of a model."""

    def regular(self, text: Term, pattern: str) -> Formula:
        """regexp_like; the pattern is a constant."""
        return self.unknown(f"regexp_like(…, {pattern!r})", (text,), z3.BoolSort())

    def cased(self, function: str, text: Term) -> Term:
        """lower or upper. Most texts of a model may as well be in that case already."""
        result = z3.Function(function, self.sort, self.sort)(text)
        impossible = ascii_uppercase if function == "lower" else ascii_lowercase
        self.facts.certain += [
            result != self.literal(text) for text in self.literals if not set(impossible).isdisjoint(text)
        ]
        self.facts.hints.append(result == text)
        return result

    def unknown(self, function: str, arguments: tuple[Term, ...], sort: z3.SortRef) -> Term:
        """An unknown function of its arguments."""
        self.facts.approximate(function)
        return z3.Function(function, *(argument.sort() for argument in arguments), sort)(*arguments)


class RankedTexts(TextTheory):
    """Texts as numbers in their order."""

    sort = z3.RealSort()

    def literal(self, text: str) -> Term:
        place = bisect_left(self.literals, text)
        if self.literals[place : place + 1] == [text]:
            return z3.RealVal(place + 1)
        # A text that comes about by folding: its place among the others is known, its number is not.
        result = z3.Const(f"text {text!r}", self.sort)
        self.facts.certain += [result > place, result < place + 1]
        return result

    def less(self, left: Term, right: Term) -> Formula:
        return left < right

    def like(self, text: Term, pattern: Term, constant: str | None) -> Formula:
        return self.unknown("LIKE", (text, pattern), z3.BoolSort())

    def test(self, function: str, text: Term, part: Term) -> Formula:
        return self.unknown(function, (text, part), z3.BoolSort())

    def length(self, text: Term) -> Term:
        result = self.unknown("length", (text,), z3.IntSort())
        self.facts.certain.append(result >= 0)
        return result

    def substring(self, text: Term, numbers: tuple[Term, ...]) -> Term:
        return self.unknown("substr", (text, *numbers), self.sort)

    def decoded(self, values: Iterable[Term]) -> Mapping[Term, str]:
        """Texts in the order of their numbers, simple ones where the order does not matter."""
        ranks = sorted({value.as_fraction(): value for value in values}.items())
        texts: dict[Term, str] = {}
        names = (f"{letter}{turn or ''}" for turn in count() for letter in "xyzuvw")
        for rank, value in ranks:
            if rank.denominator == 1 and 1 <= rank <= len(self.literals):
                texts[value] = self.literals[int(rank) - 1]
                continue
            lower = [text for place, text in enumerate(self.literals, 1) if place < rank]
            low = max([*lower, *(texts[v] for r, v in ranks if r < rank and v in texts)], default="")
            high = next((text for place, text in enumerate(self.literals, 1) if place > rank), None)
            name = next(name for name in names if name not in self.literals)
            fits = name > low and (high is None or name < high)
            texts[value] = name if fits else f"{low}a" if high is None or f"{low}a" < high else f"{low}\x01"
        return texts


class SequenceTexts(TextTheory):
    """Texts as sequences of characters."""

    sort = z3.StringSort()

    def literal(self, text: str) -> Term:
        if max(text, default="") > _LAST_CHARACTER:
            self.facts.approximate("characters beyond U+2FFFF")
            return z3.Const(f"text {text!r}", self.sort)
        plain = (c if c.isascii() and c.isprintable() and c != "\\" else f"\\u{{{ord(c):x}}}" for c in text)
        return z3.StringVal("".join(plain))

    def less(self, left: Term, right: Term) -> Formula:
        return left < right

    def like(self, text: Term, pattern: Term, constant: str | None) -> Formula:
        if constant is None:
            return self.unknown("LIKE", (text, pattern), z3.BoolSort())
        anything = z3.AllChar(z3.ReSort(self.sort))
        parts = [
            z3.Star(anything) if part == "%" else anything if part == "_" else z3.Re(self.literal(part))
            for part in re.findall(r"[%_]|[^%_]+", constant)
        ]
        return z3.InRe(text, z3.Concat(parts) if len(parts) > 1 else parts[0] if parts else z3.Re(""))

    def regular(self, text: Term, pattern: str) -> Formula:
        language = found_anywhere(pattern)
        return super().regular(text, pattern) if language is None else z3.InRe(text, language)

    def test(self, function: str, text: Term, part: Term) -> Formula:
        match function:
            case "contains":
                return z3.Contains(text, part)
            case "starts_with":
                return z3.PrefixOf(part, text)
        return z3.SuffixOf(part, text)

    def length(self, text: Term) -> Term:
        return z3.Length(text)

    def substring(self, text: Term, numbers: tuple[Term, ...]) -> Term:
        """Numbers count from 1, from the end where negative; what lies before the first character is cut off."""
        start, *rest = numbers
        begin = z3.If(start > 0, start - 1, z3.If(start < 0, z3.Length(text) + start, 0))
        end = begin + rest[0] if rest else z3.Length(text)
        first = z3.If(begin > 0, begin, 0)
        return z3.SubString(text, first, z3.If(end > first, end - first, 0))

    def decoded(self, values: Iterable[Term]) -> Mapping[Term, str]:
        return {value: _ESCAPED.sub(lambda found: chr(int(found[1], 16)), value.as_string()) for value in values}
