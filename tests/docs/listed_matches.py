"""Tables of patterns with all their matches, as docs/semantics.md shows them.

A line `Stream: ...` names the events that the table below it is about: a letter, or a number, and its time as a
subscript. A step that is a letter accepts the events with this letter, unless the row has a DEFINE of its own. A match
is its events; `to 7` follows where it ends later than its last event, and `3 to 7` is a match without events. A row
that begins with DO is a correlator; its tokens are written as `p at 4`.
`python -m tests.docs.listed_matches PAGE...` writes the matches anew.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import foretell as ft

SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
STREAM_LINE = re.compile(r"^Stream(?: with `([A-Z ]+)`)?: `(.+)`$", re.MULTILINE)
TABLE = re.compile(r"\n\n\|.*\n\|[ -:|]+\n(?P<rows>(?:\|.*\n?)+)")
ROW = re.compile(r"^\| `(.+?)` \| (.*?) \|", re.MULTILINE)
EVENT = re.compile(r"([a-z]|\d+)([₀-₉]+)")


class ListedRow(NamedTuple):
    """A row of a table: the place of its matches in the page, and what it takes to find them."""

    start: int
    end: int
    pattern: str
    shown: str
    events: tuple[str, ...]
    ties: str


def listed_rows(text: str) -> Iterator[ListedRow]:
    streams = [(line.end(), line[1] or "", tuple(line[2].split())) for line in STREAM_LINE.finditer(text)]
    for after, ties, events in streams:
        table = TABLE.match(text, after)
        assert table is not None, f"no table follows the stream {events}"
        for row in ROW.finditer(text, table.start("rows"), table.end("rows")):
            pattern = row[1].replace("\\|", "|")
            yield ListedRow(row.start(2), row.end(2), pattern, row[2], events, ties)


def matches(row: ListedRow, engine: str = "embedded") -> str:
    """All matches of a row, in the order in which they are notified."""
    pairs = [EVENT.fullmatch(event) for event in row.events]
    parsed = [(pair[1], int(pair[2].translate(SUBSCRIPTS))) for pair in pairs if pair is not None]
    assert len(parsed) == len(row.events), row.events
    numbers = parsed[0][0].isdigit()
    column = "x INT" if numbers else "letter STRING"
    data = [{"time": time, column.split()[0]: int(value) if numbers else value} for value, time in parsed]
    stream = f"STREAM s ({column}) TIME time {row.ties};"
    kind = "CORRELATE m FROM s" if row.pattern.startswith("DO ") else "SUBSCRIBE m FROM s MATCH"
    statement = f"{stream} {kind} {row.pattern}{_definitions(row.pattern, column)};"
    found = ft.run(statement, {"s": data}, engine=engine)
    return ", ".join(_written(match, row.events, parsed) for match in found) or "none"


def _definitions(pattern: str, column: str) -> str:
    if column != "letter STRING" or "DEFINE" in pattern:
        return ""
    steps = sorted(set(re.findall(r"\b[a-e]\b", re.sub(r"'.*?'", "", pattern))))
    return " DEFINE " + ", ".join(f"{step} AS letter = '{step}'" for step in steps)


def _written(match: ft.Notification, events: tuple[str, ...], parsed: list[tuple[str, int]]) -> str:
    if match.kind == "token":
        return f"{match.bindings['token']} at {match.end}"
    names = [name if isinstance(name, list) else [name] for name in match.events.values() if name is not None]
    numbers = sorted(int(str(number)) for group in names for number in group)
    if not numbers:
        return f"{match.start} to {match.end}"
    known_later = f" to {match.end}" if match.end != parsed[numbers[-1]][1] else ""
    return "".join(events[number] for number in numbers) + known_later


def main(pages: list[str]) -> None:
    for page in pages:
        text = Path(page).read_text(encoding="utf-8")
        for row in sorted(listed_rows(text), reverse=True):
            text = text[: row.start] + matches(row) + text[row.end :]
        Path(page).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
