"""Changes at random in a tree of values and arrays: what somebody may write who knows the format."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy, deepcopy
from random import Random
from typing import Any

import numpy as np

_INTS = (0, 1, -1, 2, -2, 3, 7, 63, 64, 1000, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40, 2**62, -(2**62),
         2**63 - 1, -(2**63))  # fmt: skip
_FLOATS = (0.0, -1.0, 0.5, 1e300, -1e300, float("nan"), float("inf"), float("-inf"), 2.0**53)
_TYPES = ("<i8", "<i4", "<u4", "<u8", "<u1", "|b1", "<f8", "<f4", "<c16", "<i2")
_OTHERS: tuple[Any, ...] = (None, True, "", "x", "\ud800", b"", b"abc", [], {}, [0], {"x": 1}, 0, 1.5, -1, 2**63)


Path = tuple[Any, ...]


class Tree:
    """A tree of dicts and lists, and the paths to all places in it."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self._places: list[Path] = [(), *_paths(value, ())]
        self._arrays = [path for path in self._places if _is_array(_at(value, path))]

    def changed(self, chance: Random) -> Any:
        """The tree with one to three changes; it shares the rest with this one."""
        root = {"": self.value}
        for _ in range(chance.choice([1, 1, 1, 2, 3])):
            # An array is often the deepest place of many: take one of those half of the time.
            arrays = self._arrays and chance.random() < 0.6
            path = ("", *chance.choice(self._arrays if arrays else self._places))
            try:
                container = _opened(root, path)
            except (LookupError, TypeError):
                continue  # an earlier change has removed it
            _change(container, path[-1], chance)
        return root[""]


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.size > 0


def _at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


def _paths(value: Any, path: Path) -> Iterator[Path]:
    """The paths to all that a value contains."""
    keys: Any = ()
    if isinstance(value, dict):
        keys = value
    elif isinstance(value, list):
        keys = range(len(value))
    for key in keys:
        yield (*path, key)
        yield from _paths(value[key], (*path, key))


def _opened(value: Any, path: Path) -> Any:
    """The last container of a path; all along it are copies from now on, and so is what it leads to."""
    for key in path[:-1]:
        value[key] = copy(value[key])
        value = value[key]
    if isinstance(value[path[-1]], dict | list):
        value[path[-1]] = copy(value[path[-1]])
    return value


def _change(container: Any, key: Any, chance: Random) -> None:
    value = container[key]
    if chance.random() < 0.08:
        container[key] = deepcopy(chance.choice(_OTHERS))
    elif isinstance(value, np.ndarray):
        container[key] = _array(value.copy(), chance)
    elif isinstance(value, dict):
        _dictionary(value, chance)
    elif isinstance(value, list):
        _list(value, chance)
    elif isinstance(value, bool) or value is None:
        container[key] = chance.choice([True, False, None, 1])
    elif isinstance(value, int):
        container[key] = chance.choice([*_INTS, value + 1, value - 1, -value, value * 2, 0.5])
    elif isinstance(value, float):
        container[key] = chance.choice([*_FLOATS, value + 1, -value, 3])
    elif isinstance(value, str):
        at = chance.randrange(len(value) + 1)
        container[key] = chance.choice(
            [value[:at], value[:at] + chance.choice("xa;'1\x00é\ud800") + value[at:], value * 2]
        )
    elif isinstance(value, bytes):
        at = chance.randrange(len(value) + 1)
        container[key] = chance.choice([value[:at], value[:at] + bytes([chance.randrange(256)]) + value[at + 1 :]])


def _dictionary(value: dict[str, Any], chance: Random) -> None:
    if value and chance.random() < 0.7:
        key = chance.choice(list(value))
        old = value.pop(key)
        if chance.random() < 0.5:
            value[key + chance.choice(["", "x", "0"])] = old
    else:
        value[chance.choice(["x", "0", "1", "a"])] = chance.choice(_OTHERS)


def _list(value: list[Any], chance: Random) -> None:
    if value and chance.random() < 0.5:
        value.pop(chance.randrange(len(value)))
    elif value and chance.random() < 0.8:
        value.insert(chance.randrange(len(value) + 1), deepcopy(chance.choice(value)))
    else:
        value.append(deepcopy(chance.choice(_OTHERS)))


def _array(value: Any, chance: Random) -> Any:
    kind = chance.random()
    if kind < 0.7 and value.size:
        flat = value.reshape(-1)
        for _ in range(chance.choice([1, 1, 2, 5])):
            at = chance.randrange(flat.size)
            choice = chance.choice([*_INTS, "next", "next", "next", "other", "other", "length"])
            with np.errstate(all="ignore"):
                if choice == "next":
                    flat[at : at + 1] = (flat[at : at + 1].astype(_wide(value)) + chance.choice([-1, 1])).astype(
                        value.dtype
                    )
                elif choice == "other":
                    flat[at] = flat[chance.randrange(flat.size)]
                elif value.dtype.kind == "f" and chance.random() < 0.5:
                    flat[at] = chance.choice(_FLOATS)
                else:
                    flat[at] = np.array(len(value) if choice == "length" else choice, np.int64).astype(value.dtype)
        return value
    if kind < 0.75 and value.size:
        value[...] = np.array(chance.choice(_INTS), np.int64).astype(value.dtype)
        return value
    if kind < 0.88 and value.ndim:
        axis, count = chance.randrange(value.ndim), chance.choice([0, 1, 2, 5, value.shape[0]])
        if chance.random() < 0.5:
            return np.take(value, range(min(count, value.shape[axis])), axis=axis)
        width = [(0, 0)] * value.ndim
        width[axis] = (0, max(1, count))
        return np.pad(value, width)
    if kind < 0.95:
        with np.errstate(all="ignore"):
            return value.astype(chance.choice(_TYPES))
    return value.reshape(chance.choice([(-1,), (1, -1), (-1, 1)])) if value.size else value.reshape((1000, 0))


def _wide(value: Any) -> Any:
    """A type in which one more and one less fit."""
    return np.int64 if value.dtype.kind in "biu" else value.dtype
