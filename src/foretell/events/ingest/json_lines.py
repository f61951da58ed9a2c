"""JSON lines, and iterables of dicts: rows of named values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import msgspec

from foretell.errors import InputError
from foretell.events.ingest.python_columns import Values
from foretell.events.ingest.raw_columns import Gathered, Part, Rejected, encodable, usable_names
from foretell.events.ingest.scalar_parsing import shown

NOT_JSON = "not JSON"
NOT_OBJECT = "not a JSON object"
NOT_MAPPING = "not a mapping"

Row = Mapping[str, object]


@dataclass(frozen=True)
class _Lines:
    """One file's rows, the numbers of their lines, and the lines that are no rows with their reasons."""

    rows: list[Row]
    numbers: Sequence[int]
    reasons: Mapping[int, str]
    lines: Sequence[bytes]

    def text(self, number: int) -> str:
        return self.lines[number - 1].decode("utf-8", "replace").strip()


def gather_json_lines(
    files: Iterable[tuple[str, bytes]], wanted: frozenset[str] | None, *, whole: bool = True
) -> Gathered:
    """The rows of all files (each its name and content); of `wanted` columns only, where they are known.

    A file of which no line is a row is of another format; of one that is not `whole` that cannot be said."""
    rows: list[Row] = []
    parts: list[Part] = []
    rejected: list[Rejected] = []
    for source, content in files:
        lines = _decode(content)
        if whole and lines.reasons and not lines.rows:
            raise wrong_format(source)
        before = _positions_before(lines.numbers, lines.reasons, len(rows))
        for number, reason in lines.reasons.items():
            rejected.append(Rejected(before[number], source, number, reason, lines.text(number)))
        parts.append(Part(source, lines.numbers, lambda i, lines=lines: lines.text(lines.numbers[i])))  # type: ignore[misc]
        rows += lines.rows
    return _gathered(rows, parts, rejected, wanted)


def gather_rows(source: Iterable[object], label: str, wanted: frozenset[str] | None) -> Gathered:
    """The dicts of an iterable; `label` stands for the file that there is none of."""
    rows: list[Row] = []
    numbers: list[int] = []
    rejected: list[Rejected] = []
    for number, row in enumerate(source, start=1):
        if isinstance(row, Mapping):
            rows.append(row)
            numbers.append(number)
        else:
            rejected.append(Rejected(len(rows), label, number, NOT_MAPPING, shown(row)))
    return _gathered(rows, [Part(label, numbers, lambda i: row_text(rows[i]))], rejected, wanted)


def row_text(row: Row) -> str:
    """A row as one line of JSON, whatever its values are."""
    try:
        return json.dumps(row, default=str, ensure_ascii=False, skipkeys=True)
    except (ValueError, RecursionError):  # numbers without end, dicts within themselves
        return json.dumps({str(name): shown(value) for name, value in row.items()})


def _gathered(rows: list[Row], parts: list[Part], rejected: list[Rejected], wanted: frozenset[str] | None) -> Gathered:
    names = usable_names(chain.from_iterable(rows))
    taken = [name for name in names if wanted is None or name in wanted]
    columns = {name: Values(name, [row.get(name) for row in rows]) for name in taken}
    return Gathered(columns, names, parts, rejected, absent_is_null=True)


def _decode(content: bytes) -> _Lines:
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    rows: list[Row] = []
    numbers: list[int] = []
    reasons: dict[int, str] = {}
    decode = msgspec.json.Decoder().decode
    for number, line in enumerate(lines, start=1):
        try:
            row = decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            if not line.strip():
                continue
            row = second_reading(line)
        if type(row) is dict:
            rows.append(row)
            numbers.append(number)
        else:
            reasons[number] = row.text if isinstance(row, Reason) else NOT_OBJECT
    return _Lines(rows, numbers, reasons, lines)


@dataclass(frozen=True)
class Reason:
    """Why something is no row."""

    text: str


def second_reading(line: bytes) -> object:
    """What Python's own writer puts out and its reader takes, though it is not strictly JSON: NaN and Infinity."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return Reason("not UTF-8")
    try:
        row = json.loads(text)
        written = json.dumps(row, ensure_ascii=False)
    except (ValueError, RecursionError):
        return Reason(NOT_JSON)
    return row if encodable(written) else Reason("not valid Unicode")


def _positions_before(numbers: Sequence[int], reasons: Mapping[int, str], start: int) -> dict[int, int]:
    """For each rejected line how many rows came before it, so that all can be told in order of arrival."""
    kinds = sorted([(number, 1) for number in numbers] + [(number, 0) for number in reasons]) if reasons else []
    positions: dict[int, int] = {}
    for number, is_row in kinds:
        if is_row:
            start += 1
        else:
            positions[number] = start
    return positions


def wrong_format(source: str) -> InputError:
    return InputError(
        "wrong-format",
        f"{source} is not JSON lines: no line of it is a JSON object",
        hint='write one object a line, such as {"time": 1, "price": 2.5}',
    )
