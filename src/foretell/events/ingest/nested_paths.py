"""Paths into nested values: `user.name` is a field of an object, `tags[0]` an element of a list."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from foretell.errors import InputError
from foretell.events.types import Type

Path = tuple[str | int, ...]

#: Of a stream without declared attributes, so many levels, elements of a list and attributes in all become attributes.
DEEPEST, ELEMENTS, MOST = 5, 8, 256

_STEP = re.compile(r"(?:^|\.)([^.\[\]]+)|(?!^)\[([0-9]{1,9})\]")


@lru_cache(maxsize=4096)
def path_of(name: str) -> Path | None:
    """The path that a name spells; None for a plain name.

    >>> path_of("user.tags[0]"), path_of("price")
    (('user', 'tags', 0), None)
    """
    steps: list[str | int] = []
    end = 0
    for match in _STEP.finditer(name):
        if match.start() != end or (match.start() == 0 and name[0] == "."):
            return None
        steps.append(match[1] if match[2] is None else int(match[2]))
        end = match.end()
    return tuple(steps) if end == len(name) and len(steps) > 1 else None


def name_of(path: Iterable[str | int]) -> str:
    """
    >>> name_of(("user", "tags", 0))
    'user.tags[0]'
    """
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def value_at(row: Mapping[str, object], name: str) -> object:
    """An attribute of a row, also a nested one; a key that is spelled like a path comes first."""
    path = path_of(name)
    if path is None or name in row:
        return row.get(name)
    value: object = row
    for step in path:
        if isinstance(step, str):
            value = value.get(step) if isinstance(value, Mapping) else None
        else:
            value = value[step] if isinstance(value, list | tuple) and step < len(value) else None
    return value


def leaf_paths(value: object, path: Path) -> Iterator[Path]:
    """The paths of the scalars in a nested value."""
    if len(path) > DEEPEST:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if isinstance(key, str):
                yield from leaf_paths(inner, (*path, key))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value[:ELEMENTS]):
            yield from leaf_paths(inner, (*path, index))
    elif value is not None:
        yield path


def roots_of(names: Iterable[str]) -> frozenset[str]:
    """The names, and the first steps of those that are paths: the columns to read for them."""
    roots = ((name, str(path[0])) if (path := path_of(name)) else (name,) for name in names)
    return frozenset(root for pair in roots for root in pair)


def nested_value(name: str, kind: Type | None, shape: str, fields: Iterable[str]) -> InputError:
    """The error for an attribute that is an object or a list."""
    listed = list(fields)
    shown = ", ".join(f'"{field}"' for field in listed[:5]) + (", …" if len(listed) > 5 else "")
    hint = f"use its parts: {shown}" if shown else ""
    return InputError("wrong-type", f"{name} is {shape}" + (f", not {kind.value}" if kind else ""), hint=hint)
