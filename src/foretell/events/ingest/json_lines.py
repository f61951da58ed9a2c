"""JSON: an object a line, objects over several lines, or an array of objects; and iterables of dicts.

The fields of nested objects are attributes by their paths (nested_paths.py).
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain

import msgspec

from foretell.errors import InputError
from foretell.events.ingest.json_blocks import DECODE_ERRORS, BlockDecoder, JsonPart, JsonRows, Row
from foretell.events.ingest.json_columns import joined_column, nested_names, path_column
from foretell.events.ingest.line_numbers import joined_numbers
from foretell.events.ingest.nested_paths import MOST, path_of, roots_of
from foretell.events.ingest.raw_columns import (
    RawColumn,
    RawTable,
    RejectedRow,
    RowOrigin,
    is_valid_unicode,
    valid_column_names,
)
from foretell.events.ingest.scalar_parsing import display_value
from foretell.progress import advance
from foretell.records import record

#: Bytes that are decoded at once, which a processor's cache holds; where they are out of the ordinary fewer and fewer,
#: down to those that are decoded line by line.
_MOST_BYTES = 256 << 10
_LEAST_BYTES = 8 << 10

NOT_JSON = "not JSON"
NOT_UNICODE = "not valid Unicode"
NOT_OBJECT = "not a JSON object"
NOT_MAPPING = "not a mapping"


@record
class _JsonFile:
    """One file's rows, in parts."""

    source: str
    parts: Sequence[JsonPart]

    @property
    def rows(self) -> int:
        return sum(len(part.numbers) for part in self.parts)

    def origin(self) -> RowOrigin:
        starts = list(accumulate((len(part.numbers) for part in self.parts), initial=0))

        def text(row: int) -> str:
            index = bisect_right(starts, row) - 1
            part = self.parts[index]
            return part.text(part.numbers[row - starts[index]])

        return RowOrigin(self.source, joined_numbers([part.numbers for part in self.parts]), text)

    def rejected(self, before: int) -> Iterator[RejectedRow]:
        for part in self.parts:
            places = _positions_before(part.numbers, part.reasons, before)
            for number, reason in part.reasons.items():
                yield RejectedRow(places[number], self.source, number, reason, part.text(number))
            before += len(part.numbers)


def read_json_lines(
    files: Iterable[tuple[str, bytes]], wanted: frozenset[str] | None, *, whole: bool = True
) -> RawTable:
    """The rows of all files, given by name and content; only the `wanted` columns, where these are known.

    A file without a single row is of another format, unless the content is only a part of it (`whole` is False).
    """
    decoder = BlockDecoder(None if wanted is None else roots_of(wanted))
    read: list[_JsonFile] = []
    for source, content in files:
        file = _JsonFile(source, _decode(content, decoder))
        if whole and not file.rows and any(part.reasons for part in file.parts):
            raise not_json_lines(source)
        read.append(file)
    return _raw_table(read, wanted)


def read_dicts(source: Iterable[object], label: str, wanted: frozenset[str] | None) -> RawTable:
    """The dicts of an iterable; `label` takes the place of a file name."""
    rows: list[Row] = []
    numbers: list[int] = []
    rejected: dict[int, str] = {}
    for number, row in enumerate(source, start=1):
        if isinstance(row, Mapping):
            rows.append(row)
            numbers.append(number)
        else:
            rejected[number] = display_value(row)
    texts = dict(zip(numbers, rows, strict=True))
    part = JsonRows(
        rows,
        numbers,
        dict.fromkeys(rejected, NOT_MAPPING),
        lambda number: rejected[number] if number in rejected else row_text(texts[number]),
    )
    return _raw_table([_JsonFile(label, [part])], wanted)


def row_text(row: Row) -> str:
    """A row as one line of JSON; values without a JSON form are shown as text."""
    try:
        return json.dumps(row, default=str, ensure_ascii=False, skipkeys=True)
    except (ValueError, RecursionError):  # very long numbers, dicts that contain themselves
        return json.dumps({str(name): display_value(value) for name, value in row.items()})


def _raw_table(files: Sequence[_JsonFile], wanted: frozenset[str] | None) -> RawTable:
    parts = [part for file in files for part in file.parts]
    origins = [file.origin() for file in files]
    names = valid_column_names(chain.from_iterable(part.names for part in parts))
    taken = [name for name in names if wanted is None or name in wanted]
    columns: dict[str, RawColumn] = {name: joined_column(name, parts) for name in taken}
    found = nested_names(columns) if wanted is None else []
    for name in found[:MOST] if wanted is None else filter(path_of, sorted(wanted)):
        column = path_column(name, parts, names)
        if name in columns or any(value is not None for value in column.values):
            columns[name] = column
    notes = (_too_many(origins),) if len(found) > MOST else ()
    starts = accumulate((file.rows for file in files), initial=0)
    rejected = [row for file, start in zip(files, starts, strict=False) for row in file.rejected(start)]
    names = list(dict.fromkeys([*names, *columns]))
    return RawTable(columns, names, origins, rejected, absent_is_null=True, notes=notes)


def _too_many(origins: Sequence[RowOrigin]) -> str:
    return f"{origins[0].source}: only the first {MOST} nested attributes are read; declare the ones that you need"


def _decode(content: bytes, decoder: BlockDecoder) -> Sequence[JsonPart]:
    body = content.removeprefix(b"\xef\xbb\xbf")
    found = None if is_json_lines(body) else _decode_array(body) or _decode_objects(body)
    return list(_decode_blocks(body, decoder)) if found is None else [found]


def is_json_lines(content: bytes) -> bool:
    """Whether a file, by its beginning, has an object a line."""
    space = re.match(rb"\s*", content)
    start = space.end() if space else 0
    end = content.find(b"\n", start)
    line = content[start:] if end < 0 else content[start:end]
    return line[:1] != b"[" and (line[:1] != b"{" or not isinstance(_parsed(line), ParseFailure))


def _decode_array(content: bytes) -> JsonRows | None:
    """The rows of an array of objects; None where the content is none."""
    elements = _parsed(content) if content.lstrip()[:1] == b"[" else None
    if not isinstance(elements, list):
        return None
    objects = [(number, row) for number, row in enumerate(elements, start=1) if type(row) is dict]
    reasons = {number: NOT_OBJECT for number, row in enumerate(elements, start=1) if type(row) is not dict}
    return JsonRows(
        [row for _, row in objects], [number for number, _ in objects], reasons, lambda n: json.dumps(elements[n - 1])
    )


def _decode_objects(content: bytes) -> JsonRows | None:
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
    return JsonRows(rows, numbers, reasons, texts.__getitem__)


_SPACE = re.compile(r"[\s,]*")
_OBJECT = re.compile(r"^\{", re.MULTILINE)


def _parsed(content: bytes) -> object:
    try:
        return msgspec.json.decode(content)
    except DECODE_ERRORS:
        return parse_lenient_json(content)


def _decode_blocks(content: bytes, decoder: BlockDecoder) -> Iterator[JsonPart]:
    start, line, size = 0, 1, _LEAST_BYTES
    while start < len(content):
        end = content.find(b"\n", start + size - 1) + 1 or len(content)
        part: JsonPart | None = decoder.decode(content, start, end, line)
        if part is not None:
            size = min(2 * size, _MOST_BYTES)
            line += len(part.numbers)
        elif size > _LEAST_BYTES:
            size //= 2
            continue
        else:
            rows = _decode_lines(content[start:end], line)
            decoder.learn(rows)
            part = rows
            line += content.count(b"\n", start, end)
        advance(end - start)
        start = end
        yield part


def _decode_lines(content: bytes, first: int) -> JsonRows:
    """The rows of lines that are decoded one by one; the first has the number `first`."""
    lines = content.split(b"\n")
    rows: list[Row] = []
    numbers: list[int] = []
    reasons: dict[int, str] = {}
    decode = msgspec.json.Decoder().decode
    for number, line in enumerate(lines, start=first):
        try:
            row = decode(line)
        except DECODE_ERRORS:
            if not line.strip():
                continue
            row = parse_lenient_json(line)
        if type(row) is dict:
            rows.append(row)
            numbers.append(number)
        else:
            reasons[number] = row.text if isinstance(row, ParseFailure) else NOT_OBJECT
    return JsonRows(rows, numbers, reasons, lambda number: lines[number - first].decode("utf-8", "replace").strip())


@record
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
