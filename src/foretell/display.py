"""Short views of objects for people, as text and as HTML: a headline, a small table, remarks.

>>> print(View("2 cities", ("city", "days"), [("Oslo", "5"), ("Lima", "12")], ["Rome has no data"]).text())
2 cities
  city  days
  Oslo  5
  Lima  12
  Rome has no data
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import ClassVar

#: The columns of a terminal that every view fits into, and the rows of its table as text and as HTML.
WIDTH, TEXT_ROWS, HTML_ROWS = 80, 5, 20

#: A timestamp is no long text.
_LONG_TEXT = 20
#: The width to which a column may shrink.
_NARROWEST = 8

#: The units of durations, as in the language, with their seconds, and those with a plural.
_UNITS = (("day", 86_400.0), ("hour", 3_600.0), ("min", 60.0), ("s", 1.0), ("ms", 0.001))
_WITH_PLURAL = ("day", "hour")

# Colours and fonts are those of the notebook, so that the table is readable on light and dark ones.
_CELL = "padding: 0.15em 1em 0.15em 0; vertical-align: top; border-bottom: 1px solid rgba(128, 128, 128, 0.3)"
_TABLE = "border-collapse: collapse; margin: 0.3em 0"
_NUMBER = re.compile(r"-?[0-9][0-9,]*(?:\.[0-9]+)?(?:e[+-][0-9]+)?%?")


@dataclass(frozen=True)
class View:
    """A short view of an object for people. `more` says how many rows the table leaves out."""

    title: str
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    remarks: Sequence[str] = ()
    more: int = 0

    def text(self, width: int = WIDTH) -> str:
        """Lines of at most `width` columns; what does not fit is cut off with an ellipsis."""
        lines = [self.title]
        if self.rows:
            table = [self._shown_header, *self._shown_rows] if any(self.header) else self._shown_rows
            sizes = _column_sizes(table, width - 2)
            lines += [
                "  " + "  ".join(shortened(cell, size).ljust(size) for cell, size in zip(row, sizes)).rstrip()
                for row in table
            ]
        lines += [f"  {remark}" for remark in self._remarks]
        return "\n".join(shortened(" ".join(line.splitlines()), width) for line in lines)

    def html(self) -> str:
        """A self-contained fragment for a notebook."""
        parts = [f"<div>{escape(self.title)}</div>"]
        if self.rows:
            named = any(self.header)
            columns = list(zip(*self._shown_rows, strict=True))
            styles = [_column_style(cells) if named else f"text-align: left; {_wrapping(cells)}" for cells in columns]
            head = "<thead>" + _html_row("th", self._shown_header, styles) + "</thead>" if named else ""
            body = "".join(_html_row("td", row, styles) for row in self._shown_rows)
            parts.append(f'<table style="{_TABLE}">{head}<tbody>{body}</tbody></table>')
        parts += [f"<div><small>{escape(remark)}</small></div>" for remark in self._remarks]
        return f"<div>{''.join(parts)}</div>"

    @property
    def _shown_header(self) -> list[str]:
        return [name for name, *cells in zip(self.header, *self.rows, strict=True) if any(cells)]

    @property
    def _shown_rows(self) -> list[Sequence[str]]:
        """The rows, without columns that are empty."""
        columns = [cells for cells in zip(*self.rows, strict=True) if any(cells)]
        return list(zip(*columns, strict=True))

    @property
    def _remarks(self) -> list[str]:
        return [*([f"… {self.more:,} more"] if self.more else []), *self.remarks]


def _html_row(tag: str, cells: Sequence[str], styles: Sequence[str]) -> str:
    marked = (f'<{tag} style="{_CELL}; {style}">{escape(cell)}</{tag}>' for cell, style in zip(cells, styles))
    return f"<tr>{''.join(marked)}</tr>"


def _column_style(cells: Sequence[str]) -> str:
    """Numbers are to the right, one below the other."""
    numeric = all(_NUMBER.fullmatch(cell) for cell in cells if cell)
    return f"text-align: {'right' if numeric else 'left'}; {_wrapping(cells)}"


def _wrapping(cells: Sequence[str]) -> str:
    """Short texts, such as timestamps, stay on one line."""
    return f"white-space: {'pre-wrap' if max(map(len, cells)) > _LONG_TEXT else 'nowrap'}"


def _column_sizes(table: Sequence[Sequence[str]], width: int) -> list[int]:
    """The sizes of the columns. Where the table is too wide, long texts give way, then the last columns, so that every
    column is seen."""
    sizes = [max(map(len, column)) for column in zip(*table, strict=True)]
    room = width - 2 * (len(sizes) - 1)
    while sum(sizes) > room and max(sizes) > _LONG_TEXT:
        sizes[sizes.index(max(sizes))] -= 1
    for place in reversed(range(len(sizes))):
        sizes[place] = max(min(sizes[place], _NARROWEST), sizes[place] - max(sum(sizes) - room, 0))
    return sizes


class Viewed:
    """An object whose `repr` and HTML are its view."""

    __slots__: ClassVar[tuple[str, ...]] = ()

    def _view(self, rows: int) -> View:
        """The view, whose table has at most so many rows."""
        raise NotImplementedError  # every subclass has a view of its own

    def __repr__(self) -> str:
        return self._view(TEXT_ROWS).text()

    def _repr_html_(self) -> str:
        return self._view(HTML_ROWS).html()


def shortened(text: str, width: int) -> str:
    """The text, cut off with an ellipsis where it is longer than `width`."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def wrapped(text: str, width: int) -> str:
    """The text with its long lines broken between words; the rest of a line is indented.

    >>> print(wrapped("note: a line that is longer than the terminal is wide", 30))
    note: a line that is longer
      than the terminal is wide
    """
    return "\n".join(line if len(line) <= width else _broken(line, width) for line in text.split("\n"))


def _broken(line: str, width: int) -> str:
    indent = " " * (len(line) - len(line.lstrip(" ")) + 2)
    return "\n".join(
        textwrap.wrap(
            line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, expand_tabs=False
        )
    )


def counted(count: int, noun: str, plural: str = "") -> str:
    """
    >>> counted(1, "match", "matches"), counted(1200, "event")
    ('1 match', '1,200 events')
    """
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def listed(names: Sequence[str], separator: str = ", ", most: int = 5) -> str:
    """
    >>> listed(["a", "b", "c"], most=2)
    'a, b, … 1 more'
    """
    return separator.join([*names[:most], *([f"… {len(names) - most:,} more"] if len(names) > most else [])])


def duration_text(seconds: float, *, exact: bool = False) -> str:
    """A duration in the largest unit of which there is at least one, with three digits.

    `exact` takes a smaller unit where three digits do not tell the duration.

    >>> duration_text(432_000), duration_text(90), duration_text(3600), duration_text(0.25), duration_text(37.23)
    ('5 days', '1.5 min', '1 hour', '250 ms', '37.2 s')
    >>> duration_text(3601), duration_text(3601, exact=True)
    ('1 hour', '3,601 s')
    """
    if seconds == 0:
        return "0 s"
    for name, size in _UNITS:
        amount = seconds / size
        text = f"{amount:,.0f}" if amount >= 100 else f"{amount:.3g}"
        if (amount >= 0.9995 or name == "ms") and not (exact and float(text.replace(",", "")) * size != seconds):
            return f"{text} {name}s" if name in _WITH_PLURAL and text != "1" else f"{text} {name}"
    return f"{seconds:g} s"


def short_times(times: Sequence[datetime]) -> list[str]:
    """Times in one form, as short as all of them allow: without seconds or clock where none has any.

    >>> short_times([datetime(2026, 3, 1), datetime(2026, 3, 2)]), short_times([datetime(2026, 3, 1, 10)])
    (['2026-03-01', '2026-03-02'], ['2026-03-01 10:00'])
    """
    if any(time.microsecond for time in times):
        form = "milliseconds" if all(time.microsecond % 1000 == 0 for time in times) else "microseconds"
    else:
        form = "seconds" if any(time.second for time in times) else "minutes"
    if form == "minutes" and all((time.hour, time.minute) == (0, 0) for time in times):
        return [f"{time:%Y-%m-%d}" for time in times]
    return [time.replace(tzinfo=None).isoformat(" ", form) for time in times]


def without_equal_dates(starts: Sequence[str], ends: Sequence[str]) -> list[str]:
    """Short end times, without a date that is the start's.

    >>> without_equal_dates(["2026-03-01 10:00", "2026-03-01 23:00"], ["2026-03-01 11:00", "2026-03-02 01:00"])
    ['11:00', '2026-03-02 01:00']
    """
    pairs = [(start.partition(" ")[0], end.partition(" ")) for start, end in zip(starts, ends, strict=True)]
    return [clock if clock and day == date else f"{day}{space}{clock}" for date, (day, space, clock) in pairs]


def size_text(count: int | float) -> str:
    """A number of bytes.

    >>> size_text(800), size_text(12_345), size_text(5_240_000), size_text(1_310_000_000)
    ('800 B', '12 kB', '5.2 MB', '1.31 GB')
    """
    if count < 1000:
        return f"{count:.0f} B"
    if count >= 1e9:
        return f"{count / 1e9:.2f} GB"
    return f"{count / 1e3:.0f} kB" if count < 1_000_000 else f"{count / 1e6:.1f} MB"
