"""Small patterns and small streams, all of them: patterns of up to three operators over three kinds of steps, streams
of up to six events over four kinds.

Kinds may be renamed: what holds of a pattern over all streams holds of it with `a` and `b` exchanged, so only patterns
whose kinds come in alphabetical order of their first mention are listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

KINDS = "abc"
ALPHABET = "abcx"
LONGEST = 6
WINDOW = 3
WHERE = ";{kind <> 'x'}"
QUANTIFIERS = ("?", "*", "+", "{2}")
SEQUENCES = (",", ";", WHERE)


@dataclass(frozen=True)
class Small:
    """A pattern. `form` is its operator; `negated` the kind of a negation; a leaf has a kind and may be `chosen`
    by FIRST or LAST."""

    form: str
    parts: tuple[Small, ...] = ()
    kind: str = ""
    negated: str = ""
    chosen: str = ""

    def leaves(self) -> Iterator[Small]:
        if self.kind:
            yield self
        for part in self.parts:
            yield from part.leaves()

    def kinds(self) -> Iterator[str]:
        """Of its leaves and negations, in the order of the text."""
        if self.form == "!;":
            yield self.negated
        if self.kind:
            yield self.kind
        for i, part in enumerate(self.parts):
            yield from part.kinds()
            if self.negated and len(self.parts) == 2 and i == 0:
                yield self.negated
        if self.form == ";!":
            yield self.negated

    @property
    def needs_window(self) -> bool:
        return self.form in ("!;", ";!") or any(p.needs_window for p in self.parts)

    def text(self, names: Iterator[int], *, flat: bool) -> str:
        """With every step named by its kind and a number; `flat` leaves parentheses out where they change nothing."""
        match self.form:
            case "":
                return f"{self.chosen} {self.kind}{next(names)}".lstrip()
            case "?" | "*" | "+" | "{2}":
                inner = self.parts[0].text(names, flat=flat)
                bare = self.parts[0].kind and not self.parts[0].chosen
                return f"{inner}{self.form}" if bare else f"({inner}){self.form}"
            case "!;":
                name = next(names)
                return f"!{self.negated}{name} ; {self._inner(0, names, flat=flat)}"
            case ";!":
                return f"{self._inner(0, names, flat=flat)} ; !{self.negated}{next(names)}"
        left = self._inner(0, names, flat=flat)
        between = f" ; !{self.negated}{next(names)}" if self.negated else ""
        return f"{left}{between} {self.form} {self._inner(1, names, flat=flat)}"

    def _inner(self, index: int, names: Iterator[int], *, flat: bool) -> str:
        part = self.parts[index]
        text = part.text(names, flat=flat)
        if part.kind or part.form in QUANTIFIERS:
            return text
        bare = flat and index == 0 and part.form in (*SEQUENCES, ";!", "!;") and self.form in (*SEQUENCES, "!;", ";!")
        bare = bare or (self.form == "|" and part.form in ("!;", ";!"))
        return text if bare else f"({text})"


def _counted() -> Iterator[int]:
    number = 0
    while True:
        number += 1
        yield number


@cache
def _inner(operators: int) -> tuple[Small, ...]:
    """All patterns with so many operators, without negations at their edges."""
    if operators == 0:
        return tuple(Small("", kind=k) for k in KINDS)
    found = [Small(q, (inner,)) for q in QUANTIFIERS for inner in _inner(operators - 1)]
    for left in range(operators):
        for parts in product(_inner(left), _inner(operators - 1 - left)):
            found += [Small(form, parts) for form in (*SEQUENCES, "&", "|")]
            found += [Small(form, parts, negated=k) for form in (";", WHERE) for k in KINDS]
    return tuple(found)


@cache
def _edged(operators: int) -> tuple[Small, ...]:
    """Those with negations at their edges: around the whole, or around a branch."""
    if operators == 0:
        return ()
    whole = (*_inner(operators - 1), *_edged(operators - 1))
    found = [
        Small(form, (inner,), negated=k) for form in ("!;", ";!") for inner in whole for k in KINDS if _may(form, inner)
    ]
    for left in range(operators):
        right = operators - 1 - left
        found += [Small("|", parts) for parts in product(_edged(left), (*_inner(right), *_edged(right)))]
        found += [Small("|", parts) for parts in product(_inner(left), _edged(right))]
    return tuple(found)


def _may(form: str, inner: Small) -> bool:
    """A negation has one place at each edge; an alternation's branches have their own."""
    if inner.form == "|":
        return False
    other = inner.form in ("!;", ";!") and inner.form != form and not inner.parts[0].needs_window
    return other or not inner.needs_window


@cache
def patterns(operators: int) -> tuple[Small, ...]:
    return tuple(p for p in (*_inner(operators), *_edged(operators)) if _is_first(p))


def _is_first(pattern: Small) -> bool:
    """Whether its kinds come in alphabetical order of their first mention."""
    seen = "".join(dict.fromkeys(pattern.kinds()))
    return KINDS.startswith(seen)


def statement(pattern: Small, name: str, *, flat: bool, after: str = "") -> str:
    match = pattern.text(_counted(), flat=flat)
    steps = [f"{kind}{i}" for i, kind in enumerate(pattern.kinds(), 1)]
    defined = ", ".join(f"{step} AS kind = '{step[0]}'" for step in steps)
    within = f" WITHIN {WINDOW}" if pattern.needs_window or not flat else ""
    return f"SUBSCRIBE {name} FROM s PER lane MATCH {match} DEFINE {defined}{within}{after};"


def streams() -> list[str]:
    return ["".join(letters) for n in range(LONGEST + 1) for letters in product(ALPHABET, repeat=n)]


def as_lanes(streams_given: list[str]) -> list[dict[str, str | int | float | bool | None]]:
    """The streams as lanes of one input, all in step."""
    return [
        {"time": i, "kind": item[i], "lane": lane}
        for i in range(max(map(len, streams_given)))
        for lane, item in enumerate(streams_given)
        if i < len(item)
    ]
