"""Short views of objects for people, as text and as HTML: a headline, a small table, remarks.

>>> print(View("2 cities", ("city", "days"), [("Oslo", "5"), ("Lima", "12")], ["Rome has no data"]).text())
2 cities
  city  days
  Oslo  5
  Lima  12
  Rome has no data
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import ClassVar

#: The columns of a terminal that every view fits into, and the rows of its table as text and as HTML.
WIDTH, TEXT_ROWS, HTML_ROWS = 80, 5, 20

#: A timestamp is no long text.
_LONG_TEXT = 20

#: The units of durations, as in the language, with their seconds, and those with a plural.
_UNITS = (("day", 86_400.0), ("hour", 3_600.0), ("min", 60.0), ("s", 1.0), ("ms", 0.001))
_WITH_PLURAL = ("day", "hour")

# Colours and fonts are those of the notebook, so that the table is readable on light and dark ones.
_CELL = "text-align: left; padding: 0.1em 0.8em 0.1em 0; white-space: pre-wrap; vertical-align: top"
_TABLE = "border-collapse: collapse; margin: 0.3em 0"


@dataclass(frozen=True)
class View:
    """What a person sees of an object. `more` says how many rows the table leaves out."""

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
            head = "".join(f'<th style="{_CELL}">{escape(name)}</th>' for name in self._shown_header)
            head = f"<thead><tr>{head}</tr></thead>" if any(self.header) else ""
            rows = ("".join(f'<td style="{_CELL}">{escape(cell)}</td>' for cell in row) for row in self._shown_rows)
            body = "".join(f"<tr>{row}</tr>" for row in rows)
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


def _column_sizes(table: Sequence[Sequence[str]], width: int) -> list[int]:
    """The sizes of the columns. Where the table is too wide, long texts give way, so that every column is seen."""
    sizes = [max(map(len, column)) for column in zip(*table, strict=True)]
    while sum(sizes) + 2 * (len(sizes) - 1) > width and max(sizes) > _LONG_TEXT:
        sizes[sizes.index(max(sizes))] -= 1
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
