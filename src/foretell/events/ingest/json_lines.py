"""JSON lines, and iterables of dicts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import msgspec

from foretell.errors import InputError
from foretell.events.ingest.python_columns import PythonColumn
from foretell.events.ingest.raw_columns import RawTable, RejectedRow, RowOrigin, is_valid_unicode, valid_column_names
from foretell.events.ingest.scalar_parsing import display_value

NOT_JSON = "not JSON"
NOT_OBJECT = "not a JSON object"
NOT_MAPPING = "not a mapping"

Row = Mapping[str, object]


@dataclass(frozen=True)
class _JsonLines:
    """One file's rows with their line numbers, and for each line that is no row the reason."""

    rows: list[Row]
    numbers: Sequence[int]
    reasons: Mapping[int, str]
    lines: Sequence[bytes]

    def text(self, number: int) -> str:
        return self.lines[number - 1].decode("utf-8", "replace").strip()

    def row_text(self, row: int) -> str:
        """The line of a row of the table."""
        return self.text(self.numbers[row])


def read_json_lines(
    files: Iterable[tuple[str, bytes]], wanted: frozenset[str] | None, *, whole: bool = True
) -> RawTable:
    """The rows of all files, given by name and content; only the `wanted` columns, where these are known.

    A file without a single row is of another format, unless the content is only a part of it (`whole` is False).
    """
    rows: list[Row] = []
    origins: list[RowOrigin] = []
    rejected: list[RejectedRow] = []
    for source, content in files:
        lines = _decode(content)
        if whole and lines.reasons and not lines.rows:
            raise not_json_lines(source)
        before = _positions_before(lines.numbers, lines.reasons, len(rows))
        for number, reason in lines.reasons.items():
            rejected.append(RejectedRow(before[number], source, number, reason, lines.text(number)))
        origins.append(RowOrigin(source, lines.numbers, lines.row_text))
        rows += lines.rows
    return _raw_table(rows, origins, rejected, wanted)


def read_dicts(source: Iterable[object], label: str, wanted: frozenset[str] | None) -> RawTable:
    """The dicts of an iterable; `label` takes the place of a file name."""
    rows: list[Row] = []
    numbers: list[int] = []
    rejected: list[RejectedRow] = []
    for number, row in enumerate(source, start=1):
        if isinstance(row, Mapping):
            rows.append(row)
            numbers.append(number)
        else:
            rejected.append(RejectedRow(len(rows), label, number, NOT_MAPPING, display_value(row)))
    return _raw_table(rows, [RowOrigin(label, numbers, lambda i: row_text(rows[i]))], rejected, wanted)


def row_text(row: Row) -> str:
    """A row as one line of JSON; values without a JSON form are shown as text."""
    try:
        return json.dumps(row, default=str, ensure_ascii=False, skipkeys=True)
    except (ValueError, RecursionError):  # very long numbers, dicts that contain themselves
        return json.dumps({str(name): display_value(value) for name, value in row.items()})


def _raw_table(
    rows: list[Row], origins: list[RowOrigin], rejected: list[RejectedRow], wanted: frozenset[str] | None
) -> RawTable:
    names = valid_column_names(chain.from_iterable(rows))
    taken = [name for name in names if wanted is None or name in wanted]
    columns = {name: PythonColumn(name, [row.get(name) for row in rows]) for name in taken}
    return RawTable(columns, names, origins, rejected, absent_is_null=True)


def _decode(content: bytes) -> _JsonLines:
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
            row = parse_lenient_json(line)
        if type(row) is dict:
            rows.append(row)
            numbers.append(number)
        else:
            reasons[number] = row.text if isinstance(row, ParseFailure) else NOT_OBJECT
    return _JsonLines(rows, numbers, reasons, lines)


@dataclass(frozen=True)
class ParseFailure:
    """Why a line or message is no row."""

    text: str


def parse_lenient_json(line: bytes) -> object:
    """Parse with Python's own reader, which accepts NaN and Infinity, as its writer produces them."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return ParseFailure("not UTF-8")
    try:
        row = json.loads(text)
        written = json.dumps(row, ensure_ascii=False)
    except (ValueError, RecursionError):
        return ParseFailure(NOT_JSON)
    return row if is_valid_unicode(written) else ParseFailure("not valid Unicode")


def _positions_before(numbers: Sequence[int], reasons: Mapping[int, str], start: int) -> dict[int, int]:
    """For each rejected line the number of rows before it, so that all can be reported in order of arrival."""
    lines = sorted([(number, 1) for number in numbers] + [(number, 0) for number in reasons]) if reasons else []
    positions: dict[int, int] = {}
    for number, is_row in lines:
        if is_row:
            start += 1
        else:
            positions[number] = start
    return positions


def not_json_lines(source: str) -> InputError:
    return InputError(
        "wrong-format",
        f"{source} is not JSON lines: no line is a JSON object",
        hint='write one object a line, such as {"time": 1, "price": 2.5}',
    )
