"""Amounts of memory: as texts, of objects, and how much of it this computer grants to a process."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

_UNITS = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}
_AMOUNT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)\s*", re.IGNORECASE)

#: Where Linux shows the limits of control groups, and the files that have them (version 2, version 1).
_GROUPS = Path("/sys/fs/cgroup")
_LIMIT_FILES = ("memory.max", "memory/memory.limit_in_bytes")


def bytes_of(text: str) -> int | None:
    """The bytes that a text says; None where it says none.

    >>> bytes_of("4 GiB"), bytes_of("1.5MB"), bytes_of("100"), bytes_of("much"), bytes_of("4 gallons")
    (4294967296, 1500000, 100, None, None)
    """
    found = _AMOUNT.fullmatch(text)
    if found is None or found[2].lower() not in _UNITS:
        return None
    return int(float(found[1]) * _UNITS[found[2].lower()])


def format_bytes(count: int) -> str:
    """A number of bytes in the unit that fits.

    >>> format_bytes(4 * 2**30), format_bytes(1_500_000), format_bytes(100)
    ('4 GiB', '1.4 MiB', '100 bytes')
    """
    for unit, size in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.1f}".removesuffix(".0") + f" {unit}"
    return f"{count} bytes"


# ── objects ──

#: About what an entry of a dict, list or set takes that is no array.
_ENTRY_BYTES = 64
#: Of a longer collection this many entries are looked at; the others are taken to be like them.
_SAMPLE = 64

#: What counts as an entry alone, and what has entries. (A union would be made anew for each object.)
_SMALL = (type(None), str, bytes, int, float, bool, type)
_COLLECTIONS = (list, tuple, set, frozenset)


def bytes_held(*roots: object, without: Collection[object] = ()) -> int:
    """About how much memory the arrays and collections take that objects of ours hold, leaving some objects out.

    >>> bytes_held({"a": np.zeros(1000), "b": [np.zeros(10)] * 2}) > 8000
    True
    """
    return _Holder({id(left_out) for left_out in without}).total(roots)


class _Holder:
    """Counts each object once."""

    def __init__(self, seen: set[int]) -> None:
        self._seen = seen

    def total(self, value: Any) -> int:
        if isinstance(value, _SMALL) or id(value) in self._seen:
            return 0
        self._seen.add(id(value))
        if isinstance(value, np.ndarray):
            return value.nbytes
        if isinstance(value, dict):
            return self._entries(value.values())
        if isinstance(value, _COLLECTIONS):
            return self._entries(value)
        if not type(value).__module__.startswith("foretell."):
            return 0
        return self.total(vars(value)) if hasattr(value, "__dict__") else 0

    def _entries(self, values: Collection[Any]) -> int:
        if not values:
            return 0
        sample = list(islice(values, _SAMPLE))
        return _ENTRY_BYTES * len(values) + sum(map(self.total, sample)) * len(values) // len(sample)


# ── the computer ──


@cache
def default_budget() -> int:
    """Half of the memory that this process may have: of the computer, of its control group, of its own limit."""
    return max(2**20, min(_amounts()) // 2)


def _amounts() -> list[int]:
    amounts = [sys.maxsize]
    if hasattr(os, "sysconf") and {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= os.sysconf_names.keys():
        amounts.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    amounts += _group_limits()
    try:
        import resource
    except ImportError:  # Windows has none
        return amounts
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    return amounts + [limit for limit in limits if limit != resource.RLIM_INFINITY]


def _group_limits() -> list[int]:
    """The limits of this process's control group and of those around it."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    inside = next((line[3:] for line in lines if line.startswith("0::")), "/")
    folder = _GROUPS / inside.lstrip("/")
    folders = {_GROUPS, *(parent for parent in (folder, *folder.parents) if parent.is_relative_to(_GROUPS))}
    return [limit for at in folders for name in _LIMIT_FILES if (limit := _read_limit(at / name)) is not None]


def _read_limit(file: Path) -> int | None:
    try:
        text = file.read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None
