"""Small patterns whose matches are a question of the order of events, and where they end on all short streams."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import foretell as ft
from foretell.language.check import check
from foretell.language.checked import CheckedProgram, CheckedSubscription
from foretell.language.parser import parse
from tests.exhaustive.meaning import BITS, Streams, meaning
from tests.exhaustive.small import LONGEST, WHERE, Small, patterns, statement

STREAM = "STREAM s (kind STRING, lane INT, time INT) TIME time;"

#: Every event is like one of these for all patterns: `x` is neither kind.
LETTERS = "abx"


@dataclass(frozen=True)
class Sample:
    """A statement in text, and its pattern where it is one of `tests.exhaustive.small`."""

    text: str
    pattern: Small | None = None

    def checked(self) -> tuple[CheckedSubscription, CheckedProgram]:
        program = check(parse(STREAM + self.text))
        (found,) = program.statements
        assert isinstance(found, CheckedSubscription)
        return found, program


def small_samples(operators: int) -> Iterator[Sample]:
    """All patterns with so many operators over two kinds, without negations at their edges."""
    for pattern in patterns(operators):
        if not pattern.needs_window and set(pattern.kinds()) <= {"a", "b"}:
            yield Sample(statement(pattern, "m", flat=True).replace(WHERE, ";{kind IN ('a', 'b')}"), pattern)


#: Patterns with selection: counts, FIRST and LAST. `a`, `b` and `c` are defined as the kinds a, b and a.
SELECTIONS = [
    "a ; b[2]", "a , b[2]", "a , b[1]", "a ; b[2] , c", "a ; b[2] ; c", "a ; !b ; c[2]", "(a | b) ; c[2]",
    "a ; (b | c[2])", "a ; (b? , c[3])", "a ; {kind IN ('a', 'b')} b[2]", "a+ ; b[2]", "a ; FIRST b ; c", "FIRST a ; b",
    "FIRST a , b", "LAST a ; b", "a ; LAST b ; c", "a ; (FIRST b | c)", "(FIRST a & b) ; c", "a ; FIRST b",
    "FIRST a & b", "a ; b ; FIRST c", "a ; FIRST b ; LAST c ; d", "(LAST a ; b) & c",
]  # fmt: skip


def selection_samples() -> Iterator[Sample]:
    for pattern in SELECTIONS:
        pattern = pattern.replace("; {", ";{")
        kinds = {"a": "a", "b": "b", "c": "a", "d": "b"}
        names = [name for name in kinds if re.search(rf"\b{name}\b", pattern)]
        defined = ", ".join(f"{name} AS kind = '{kinds[name]}'" for name in names)
        yield Sample(f"SUBSCRIBE m FROM s PER lane MATCH {pattern} DEFINE {defined};")


def streams(length: int) -> list[str]:
    return ["".join(letters) for letters in product(LETTERS, repeat=length)]


def ends(sample: Sample, given: Sequence[str]) -> frozenset[tuple[int, int]]:
    """Where the reference evaluator notifies: the number of the stream and the place in it."""
    rows: list[dict[str, Any]] = [
        {"time": place, "kind": stream[place], "lane": lane}
        for place in range(max(map(len, given)))
        for lane, stream in enumerate(given)
        if place < len(stream)
    ]
    found = ft.run(STREAM + sample.text, {"s": rows}, engine="reference")
    return frozenset((int(str((n.key or {})["lane"])), int(n.end)) for n in found)


def windowed(sample: Sample, window: int) -> Sample:
    return Sample(f"{sample.text[:-1]} WITHIN {window};")


def quick_ends(sample: Sample, given: Streams) -> frozenset[tuple[int, int]]:
    """The same by the oracle of small patterns, which is compared with the reference evaluator in tests/exhaustive."""
    assert sample.pattern is not None
    mask = (1 << BITS * LONGEST) - 1
    codes = meaning(sample.pattern, given, window=False).tolist()
    return frozenset((code >> BITS * LONGEST, _end(code & mask)) for code in codes)


def _end(code: int) -> int:
    """The last place to which a step is bound."""
    return (code.bit_length() - 1) // BITS
