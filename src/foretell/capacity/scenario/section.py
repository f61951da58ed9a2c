"""A section of a scenario file: its values by key, each checked, with errors at their place in the text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from foretell.errors import NOWHERE, InputError, Place, lines_of, suggestion

_HEADER = re.compile(r"^\s*\[+\s*(.+?)\s*\]+\s*(?:#.*)?$")
_PART = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)\s*""")

#: Rates and times outside of these are no rates and times of a service, and their squares might be no numbers.
_LEAST, _MOST = 1e-12, 1e12


class ScenarioSection:
    """A table of the file; `keys` lead to it from the top."""

    def __init__(self, values: Mapping[str, Any], keys: tuple[str, ...], text: str, file: str) -> None:
        self.keys = keys
        self._values = values
        self._text = text
        self._file = file

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def names(self) -> list[str]:
        return [*self._values]

    def known(self, *keys: str) -> None:
        """Refuses all other keys."""
        for key in self._values:
            if key not in keys:
                self.refuse(key, f"unknown key '{key}'", suggestion(key, keys), code="unknown-key")

    def section(self, key: str) -> ScenarioSection:
        """A table within this one; empty, if there is none."""
        value = self._values.get(key, {})
        if not isinstance(value, Mapping):
            self.refuse(key, f"expected a table, found {value!r}", f"write a section [{'.'.join((*self.keys, key))}]")
        return ScenarioSection(value, (*self.keys, key), self._text, self._file)

    def sections(self) -> list[tuple[str, ScenarioSection]]:
        return [(name, self.section(name)) for name in self._values]

    def values(self) -> dict[str, Any]:
        return dict(self._values)

    def value(self, key: str) -> Any:
        return self._values.get(key)

    def text(self, key: str) -> str | None:
        value = self._values.get(key)
        if value is not None and not isinstance(value, str):
            self.refuse(key, f"expected a text, found {value!r}")
        return value

    def choice(self, key: str, choices: Iterable[str], default: str) -> str:
        value = self.text(key)
        if value is not None and value not in choices:
            hint = suggestion(value, choices)
            self.refuse(key, f"'{value}' is not one of {', '.join(choices)}", hint)
        return default if value is None else value

    def flag(self, key: str, default: bool) -> bool:
        value = self._values.get(key, default)
        if not isinstance(value, bool):
            self.refuse(key, f"expected true or false, found {value!r}")
        return value

    def number(self, key: str) -> float | None:
        """A number above 0."""
        return None if key not in self._values else self.as_number(key, self._values[key])

    def needed(self, key: str) -> float:
        value = self.number(key)
        if value is None:
            self.refuse(key, f"'{key}' is missing", f"add {key} = a number to [{'.'.join(self.keys)}]")
        return value

    def as_number(self, key: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.refuse(key, f"expected a number, found {value!r}")
        if not 0 < value < math.inf:
            meaning = "nothing would ever happen" if value == 0 else "it must be above 0"
            self.refuse(key, f"{value:g} is no {key}: {meaning}", "write a number above 0")
        if not _LEAST <= value <= _MOST:
            self.refuse(
                key, f"the number is not from {_LEAST:g} to {_MOST:g}", "write a rate per second, a time in seconds"
            )
        return float(value)

    def share(self, key: str, default: float) -> float:
        """A number from 0 to 1."""
        value = self._values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            self.refuse(key, f"expected a number from 0 to 1, found {value!r}")
        return float(value)

    def count(self, key: str, default: int | None = None, least: int = 1) -> int | None:
        """A whole number."""
        value = self._values.get(key, default)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            self.refuse(key, f"expected a whole number, {least} or more, found {value!r}")
        if value > 10**15:
            self.refuse(key, f"{value:g} is too large", "write at most 1e15, or leave it out: then there is no bound")
        return value

    def refuse(self, key: str, message: str, hint: str = "", code: str = "wrong-value") -> NoReturn:
        """An error at the place of a key."""
        raise self.error((key,), message, hint, code)

    def error(self, keys: Sequence[str], message: str, hint: str = "", code: str = "wrong-value") -> InputError:
        path = [*self.keys, *keys]
        place = place_of(self._text, path)
        where = ".".join(path)
        prefix = f"{self._file}: " if self._file and place == NOWHERE else ""
        error = InputError(code, f"{prefix}{where}: {message}", place=place, hint=hint)
        error.within(self._text, self._file)
        return error


def place_of(text: str, keys: Sequence[str]) -> Place:
    """The place of a key, or of the nearest table above it.

    >>> place_of('[filter]\\nrate = 0  # none\\n', ["filter", "rate"]), place_of("[filter]", ["filter", "rate"])
    (Place(line=2, column=1, end_column=5, end_line=0), Place(line=1, column=1, end_column=9, end_line=0))
    """
    best, depth = NOWHERE, 0
    current: list[str] = []
    for number, line in enumerate(lines_of(text), start=1):
        header = _HEADER.match(line)
        if header and "=" not in _unquoted(line):
            current = _parts(header[1])
            found, start, end = current, len(line) - len(line.lstrip()), len(line.rstrip())
        else:
            name, equals, _ = line.partition("=")
            if not equals:
                continue
            found = [*current, *_parts(name)]
            start = len(name) - len(name.lstrip())
            end = len(name.rstrip())
        shared = _shared(found, keys)
        if shared == len(found) and shared > depth:
            best, depth = Place(number, start + 1, end + 1), shared
    return best


def _unquoted(line: str) -> str:
    return re.sub(r'"[^"]*"', "", line.partition("#")[0])


def _parts(name: str) -> list[str]:
    """The keys of a dotted name."""
    return [part.strip("\"'") for part in _PART.findall(name)]


def _shared(found: Sequence[str], keys: Sequence[str]) -> int:
    count = 0
    for first, second in zip(found, keys):
        if first != second:
            break
        count += 1
    return count
