"""Layouts of times: which characters of a text are its year, month, clock and zone.

The shape of a text has a 0 for each digit and an `a` for each letter other than T and Z. Texts of one shape have one
layout, so a column of a million times needs a few layouts, and NumPy does the rest.

>>> layout = layout_of(shape_of("01/Mar/2024:10:00:00 +0100"))
>>> {name: "01/Mar/2024:10:00:00 +0100"[start:end] for name, (start, end) in layout.items()}
{'day': '01', 'separator': '/', 'name': 'Mar', 'year': '2024', 'hour': '10', 'minute': '00', 'second': '00',
 'sign': '+', 'zone_hour': '01', 'zone_minute': '00'}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

#: The fields of a layout with their places: names are those of the groups below.
Layout = Mapping[str, tuple[int, int]]

#: Longer texts are no times, apart from what strptime makes of them.
LONGEST = 64

_CLOCK = r"(?P<hour>00?):(?P<minute>00)(?::(?P<second>00)(?:[.,](?P<fraction>0+))?)?"
_OFFSET = r"(?: ?(?:(?P<utc>Z)|(?P<sign>[+-])(?P<zone_hour>00)(?::?(?P<zone_minute>00)(?::?(?P<zone_second>00))?)?))?"
_ZONE = r"(?: ?\[?(?P<zone>[aTZ][aTZ0_/+-]*)\]?)?"
_NAME = r"(?P<name>[aTZ]{3})"
_WEEKDAY = r"[aTZ]{3}"

_LAYOUTS = tuple(
    re.compile(pattern)
    for pattern in (
        # 2024-03-01, 2024-03-01T10:00:00.123+01:00[Europe/Berlin], 2024/03/01 10:00
        rf"(?P<year>0000)(?P<separator>[-/.])(?P<month>00?)(?P=separator)(?P<day>00?)(?:[T ]{_CLOCK}{_OFFSET}{_ZONE})?",
        # 2024-03, 2024/03: the first day; 2024Q1, 2024-Q1, 2024 q1
        r"(?P<year>0000)[-/](?P<month>00)",
        r"(?P<year>0000)[- ]?(?P<quarter_sign>a)(?P<quarter>0)",
        # 01/Mar/2024:10:00:00 +0100 (Apache); Fri, 01 Mar 2024 10:00:00 GMT (RFC 2822); 1-Mar-2024 10:00
        rf"(?:{_WEEKDAY}, ?)?(?P<day>00?)(?P<separator>[-/ ]){_NAME}(?P=separator)(?P<year>0000)"
        rf"(?:[: T]{_CLOCK}{_OFFSET}{_ZONE}(?: \(.*\))?)?",
        # 03/04/2024 10:00 PM
        r"(?P<first>00?)(?P<separator>[-/.])(?P<other>00?)(?P=separator)(?P<year>0000)"
        rf"(?:(?:T|,? ){_CLOCK}(?: ?(?P<half>[aTZ]{{2}}))?{_OFFSET}{_ZONE})?",
        # Fri Mar  1 10:00:00 2024 (C)
        rf"{_WEEKDAY},? {_NAME} +(?P<day>00?) {_CLOCK}(?: (?P<zone>[aTZ]+))? (?P<year>0000)",
        # Jan 1 2000, Jan 1, 2000 10:00
        rf"{_NAME}\.? +(?P<day>00?),? +(?P<year>0000)(?:,? {_CLOCK}(?: ?(?P<half>[aTZ]{{2}}))?{_OFFSET}{_ZONE})?",
        # Mar  1 10:00:00 (syslog)
        rf"(?:{_WEEKDAY} )?{_NAME} +(?P<day>00?) {_CLOCK}{_ZONE}",
        # 1709287200, 1709287200.123, 1709287200123
        r"(?P<epoch>0{9,19})(?:\.(?P<epoch_fraction>0+))?",
    )
)

#: The directives of strptime that have a layout. Formats with others are read one text at a time.
_DIRECTIVES: Mapping[str, str] = {
    "Y": r"(?P<year>0000)",
    "y": r"(?P<short_year>00)",
    "m": r"(?P<month>00?)",
    "d": r"(?P<day>00?)",
    "b": _NAME,
    "H": r"(?P<hour>00?)",
    "I": r"(?P<hour>00?)",
    "M": r"(?P<minute>00?)",
    "S": r"(?P<second>00?)",
    "f": r"(?P<fraction>0{1,6})",
    "p": r"(?P<half>[aTZ]{2})",
    "a": _WEEKDAY,
    "z": r"(?:(?P<utc>Z)|(?P<sign>[+-])(?P<zone_hour>00):?(?P<zone_minute>00)(?::?(?P<zone_second>00))?)",
    "%": "%",
}


def _shape_table() -> bytes:
    table = bytearray(range(256))
    for code in range(256):
        character = chr(code)
        if code >= 128:
            table[code] = 255  # in no layout
        elif character.isdigit():
            table[code] = ord("0")
        elif character.isalpha() and character not in "TZ":
            table[code] = ord("a")
    return bytes(table)


_TABLE = _shape_table()
#: The shape of each byte.
SHAPES = np.frombuffer(_TABLE, np.uint8)


def shape_of(text: str) -> str:
    return text.encode("utf-8", "replace").translate(_TABLE).decode("latin-1")


@lru_cache(maxsize=4096)
def layout_of(shape: str, time_format: str | None = None) -> Layout | None:
    """The layout of texts of a shape, by a format of strptime where there is one; None where they are no times."""
    if len(shape) > LONGEST:
        return None
    if time_format is not None:
        pattern = _format_pattern(time_format)
        return None if pattern is None else _fields(pattern.fullmatch(shape))
    matches = (pattern.fullmatch(shape) for pattern in _LAYOUTS)
    return next((_fields(match) for match in matches if match), None)


def _fields(match: re.Match[str] | None) -> Layout | None:
    if match is None:
        return None
    spans = ((name, match.span(name)) for name in match.groupdict())
    return {name: span for name, span in sorted(spans, key=lambda item: item[1]) if span[0] >= 0}


@lru_cache(maxsize=64)
def _format_pattern(time_format: str) -> re.Pattern[str] | None:
    """A format of strptime as a pattern of shapes; None where it has a directive or a letter without one."""
    pieces: list[str] = []
    for directive, space, other in re.findall(r"%(.)|(\s+)|(.)", time_format, re.DOTALL):
        if directive:
            if directive not in _DIRECTIVES:
                return None
            pieces.append(_DIRECTIVES[directive])
        elif space:
            pieces.append(" +")
        elif other.isalnum() and other not in "TZ":
            return None  # a shape does not tell letters and digits apart
        else:
            pieces.append(re.escape(other))
    try:
        pattern = re.compile("".join(pieces))
    except re.error:  # a directive twice
        return None
    fields = pattern.groupindex
    dated = ("year" in fields or "short_year" in fields) and "day" in fields and ("month" in fields or "name" in fields)
    twelve_hours = "%I" in time_format and "half" in fields
    return pattern if dated and twelve_hours == ("%I" in time_format) == ("half" in fields) else None
