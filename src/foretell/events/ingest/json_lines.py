"""JSON: an object a line, objects over several lines, or an array of objects; and iterables of dicts.

The fields of nested objects are attributes by their paths (nested_paths.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import msgspec

from foretell.errors import InputError
from foretell.events.ingest.nested_paths import MOST, leaf_paths, name_of, path_of, value_at
from foretell.events.ingest.python_columns import PythonColumn
from foretell.events.ingest.raw_columns import RawTable, RejectedRow, RowOrigin, is_valid_unicode, valid_column_names
from foretell.events.ingest.scalar_parsing import display_value
from foretell.progress import advance

#: Lines that are decoded between two reports of progress.
_SLICE = 1 << 14

NOT_JSON = "not JSON"
NOT_UNICODE = "not valid Unicode"
NOT_OBJECT = "not a JSON object"
NOT_MAPPING = "not a mapping"

Row = Mapping[str, object]


@dataclass(frozen=True)
class _JsonRows:
    """One file's rows with their numbers (of the line, or of the element of an array), and for each number without a
    row the reason; `text` has the text of a number."""

    rows: list[Row]
    numbers: Sequence[int]
    reasons: Mapping[int, str]
    text: Callable[[int], str]

    def row_text(self, row: int) -> str:
        """The text of a row of the table."""
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
    found = _nested_names(rows, columns) if wanted is None else []
    for name in found[:MOST] if wanted is None else filter(path_of, sorted(wanted)):
        column = PythonColumn(name, [value_at(row, name) for row in rows])
        if name in columns or any(value is not None for value in column.values):
            columns[name] = column
    notes = (_too_many(origins),) if len(found) > MOST else ()
    names = list(dict.fromkeys([*names, *columns]))
    return RawTable(columns, names, origins, rejected, absent_is_null=True, notes=notes)


def _nested_names(rows: list[Row], columns: Mapping[str, PythonColumn]) -> list[str]:
    """The paths of all scalars in objects and lists, in the order of their first appearance."""
    nested = [name for name, column in columns.items() if not column.types <= _FLAT]
    paths = (leaf_paths(row.get(name), (name,)) for row in rows for name in nested)
    return [name_of(path) for path in dict.fromkeys(chain.from_iterable(paths)) if len(path) > 1]


_FLAT = frozenset({bool, int, float, str})


def _too_many(origins: Sequence[RowOrigin]) -> str:
    return f"{origins[0].source}: only the first {MOST} nested attributes are read; declare the ones that you need"


def _decode(content: bytes) -> _JsonRows:
    body = content.removeprefix(b"\xef\xbb\xbf")
    found = None if is_json_lines(body) else _decode_array(body) or _decode_objects(body)
    return found or _decode_lines(body)


def is_json_lines(content: bytes) -> bool:
    """Whether a file, by its beginning, has an object a line."""
    start = re.match(rb"\s*", content)
    line = content[start.end() if start else 0 :].partition(b"\n")[0]
    return line[:1] != b"[" and (line[:1] != b"{" or not isinstance(_parsed(line), ParseFailure))


def _decode_array(content: bytes) -> _JsonRows | None:
    """The rows of an array of objects; None where the content is none."""
    elements = _parsed(content) if content.lstrip()[:1] == b"[" else None
    if not isinstance(elements, list):
        return None
    objects = [(number, row) for number, row in enumerate(elements, start=1) if type(row) is dict]
    reasons = {number: NOT_OBJECT for number, row in enumerate(elements, start=1) if type(row) is not dict}
    return _JsonRows(
        [row for _, row in objects], [number for number, _ in objects], reasons, lambda n: json.dumps(elements[n - 1])
    )


def _decode_objects(content: bytes) -> _JsonRows | None:
    """The rows of objects that span several lines; None where not even the first is one. What lies between two of them
    and is no JSON is set aside up to the next line that begins an object."""
    text = content.decode("utf-8", "replace")
    decode = json.JSONDecoder().raw_decode
    rows: list[Row] = []
    numbers: list[int] = []
    texts: dict[int, str] = {}
    reasons: dict[int, str] = {}
    position, line, counted = 0, 1, 0
    # The pattern matches the empty text too, so there is always a match.
    while (position := _SPACE.match(text, position).end()) < len(text):  # type: ignore[union-attr]
        line += text.count("\n", counted, position)
        counted = position
        try:
            row, end = decode(text, position)
            if "\\u" in text[position:end] and not all(map(is_valid_unicode, _names(row))):
                row = ParseFailure(NOT_UNICODE)
        except (ValueError, RecursionError):
            if not rows:
                return None
            start = _OBJECT.search(text, position + 1)
            row, end = ParseFailure(NOT_JSON), start.start() if start else len(text)
        texts[line] = text[position:end].strip()
        if type(row) is dict:
            rows.append(row)
            numbers.append(line)
        else:
            reasons[line] = row.text if isinstance(row, ParseFailure) else NOT_OBJECT
        position = end
    return _JsonRows(rows, numbers, reasons, texts.__getitem__)


_SPACE = re.compile(r"[\s,]*")
_OBJECT = re.compile(r"^\{", re.MULTILINE)


def _parsed(content: bytes) -> object:
    try:
        return msgspec.json.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return parse_lenient_json(content)


def _decode_lines(content: bytes) -> _JsonRows:
    lines = content.split(b"\n")
    rows: list[Row] = []
    numbers: list[int] = []
    reasons: dict[int, str] = {}
    decode = msgspec.json.Decoder().decode
    for start in range(0, len(lines), _SLICE):
        part = lines[start : start + _SLICE]
        for number, line in enumerate(part, start=start + 1):
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
        advance(len(content) * len(part) // len(lines))  # to count the bytes of each line would take longer
    return _JsonRows(rows, numbers, reasons, lambda number: lines[number - 1].decode("utf-8", "replace").strip())


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
    return row if is_valid_unicode(written) else ParseFailure(NOT_UNICODE)


def _names(value: object) -> Iterator[str]:
    """The names of all attributes, also of nested ones. Half a character in a value makes only that unreadable."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from _names(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _names(inner)


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
        f"{source} is not JSON: no line is an object, and it is no array of objects",
        hint='write an object a line, such as {"time": 1, "price": 2.5}',
    )
