"""A state written down: values and arrays in one block of bytes, which says what it is and whether it is whole.

A block is: the magic word, the version of the format, a checksum of all the rest, the lengths of the description and
of the block; the description, JSON; then the arrays and bytes it refers to, little-endian, each at a multiple of 64.
Nothing in it is code, as in a pickle.

>>> block = pack("example", {"made": "today"}, {"counts": np.arange(3), "names": ["x", None]})
>>> unpack(block, "example")
({'made': 'today'}, {'counts': array([0, 1, 2]), 'names': ['x', None]})
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec
import numpy as np

from foretell.errors import InputError

MAGIC = b"FORETELL"
VERSION = 1
ALIGNMENT = 64
_PREFIX = struct.Struct("<8sIIQQ")  # magic, version, checksum, length of the description, length of all
_SUMMED_FROM = 16  # what stands before is the magic, the version and the checksum itself
_NUMBERS = "biufc"  # the kinds of NumPy's types that are numbers, truth values included

#: dict (with texts as keys), list, None, bool, int of 64 bits, float, str, bytes, numeric arrays.
Tree: TypeAlias = Any


def pack(kind: str, header: Mapping[str, Tree], tree: Tree) -> bytes:
    """`kind` says what it is the state of, `header` what must be known before the tree can be used."""
    blocks = _Blocks()
    described = {"kind": kind, "header": blocks.describe(dict(header)), "tree": blocks.describe(tree)}
    description = msgspec.json.encode(described)
    parts = [description, _padding(_PREFIX.size + len(description)), *blocks.parts]
    length = _PREFIX.size + sum(len(part) for part in parts)
    lengths = _PREFIX.pack(MAGIC, VERSION, 0, len(description), length)[_SUMMED_FROM:]
    checksum = zlib.crc32(lengths, VERSION)
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return b"".join([_PREFIX.pack(MAGIC, VERSION, checksum, len(description), length), *parts])


def unpack(blob: bytes | bytearray | memoryview, kind: str) -> tuple[dict[str, Tree], Tree]:
    """The header and the tree that were packed; the arrays are copies, to write into."""
    view = _checked(blob)
    described = _PREFIX.unpack_from(view)[3]
    start = _aligned(_PREFIX.size + described)
    try:
        found = msgspec.json.decode(view[_PREFIX.size : _PREFIX.size + described])
        if found["kind"] == kind:
            return _value(found["header"], view[start:]), _value(found["tree"], view[start:])
        other = str(found["kind"])
    except (msgspec.DecodeError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
        # The checksum is right, so this was not made by us.
        raise _damaged() from None
    raise InputError("other-snapshot", f"this is a snapshot of '{other}', and one of '{kind}' is wanted")


class _Blocks:
    """Gathers what stands behind the description; its places there are counted from where the description ends."""

    def __init__(self) -> None:
        self.parts: list[bytes | memoryview] = []
        self.length = 0

    def describe(self, value: Tree) -> Any:
        """A value as JSON. An object there is always one name with what it stands for, so that none can be mistaken."""
        if isinstance(value, np.generic):
            value = value.item()
        match value:
            case None | bool():
                return value
            case str():
                return str(value)  # without what a kind of its own adds to it
            case int():
                if not -(2**63) <= value < 2**64:
                    raise TypeError(f"an int of more than 64 bits cannot be packed: {value}")
                return value
            case float():
                return value if math.isfinite(value) else {"float": str(value)}
            case list() | tuple():
                return [self.describe(one) for one in value]
            case dict():
                return {"dict": {_name(name): self.describe(one) for name, one in value.items()}}
            case bytes():
                return {"bytes": [self._placed(value), len(value)]}
            case np.ndarray() if value.dtype.kind in _NUMBERS:
                little = value.astype(value.dtype.newbyteorder("<"), order="C", copy=False)
                place = self._placed(little.reshape(-1).view(np.uint8).data)
                return {"array": [little.dtype.str, list(little.shape), place]}
        raise TypeError(f"cannot be packed: {type(value).__name__}")

    def _placed(self, content: bytes | memoryview) -> int:
        place = self.length
        self.parts += [content, _padding(len(content))]
        self.length += _aligned(len(content))
        return place


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"a key must be a text to be packed, not {type(name).__name__}")
    return str(name)


def _checked(blob: bytes | bytearray | memoryview) -> memoryview:
    """The block, if it is one of ours and whole."""
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise InputError("not-a-snapshot", f"a snapshot is bytes, not {type(blob).__name__}")
    view = memoryview(blob).cast("B")
    if len(view) < len(MAGIC) or view[: len(MAGIC)] != MAGIC:
        raise InputError("not-a-snapshot", "this is not a snapshot of Foretell's")
    if len(view) < _PREFIX.size:
        raise _damaged()
    _, version, checksum, _, length = _PREFIX.unpack_from(view)
    if version > VERSION:
        raise InputError(
            "newer-snapshot",
            f"the snapshot has format {version}, this version of Foretell reads {VERSION}",
            hint="it was made by a newer version, or is damaged",
        )
    if length != len(view) or checksum != zlib.crc32(view[_SUMMED_FROM:], version):
        raise _damaged()
    return view


def _damaged() -> InputError:
    return InputError("damaged-snapshot", "the snapshot is damaged: some of it is missing or was changed")


def _value(described: Any, blocks: memoryview) -> Tree:
    if isinstance(described, list):
        return [_value(one, blocks) for one in described]
    if not isinstance(described, dict):
        return described
    ((form, content),) = described.items()
    match form:
        case "dict":
            return {name: _value(one, blocks) for name, one in content.items()}
        case "float":
            return float(content)
        case "bytes":
            place, length = content
            return bytes(_part(blocks, place, length))
        case "array":
            return _array(blocks, *content)
    raise ValueError(form)


def _array(blocks: memoryview, kind: str, shape: list[int], place: int) -> np.ndarray:
    dtype = np.dtype(kind)
    if dtype.kind not in _NUMBERS:
        raise ValueError(kind)
    content = _part(blocks, place, dtype.itemsize * math.prod(shape))
    array = np.empty(shape, dtype)
    array.reshape(-1).view(np.uint8)[:] = np.frombuffer(content, np.uint8)
    return array


def _part(blocks: memoryview, place: int, length: int) -> memoryview:
    if not 0 <= place <= place + length <= len(blocks):
        raise ValueError("outside")
    return blocks[place : place + length]


def _aligned(length: int) -> int:
    return -(-length // ALIGNMENT) * ALIGNMENT


def _padding(length: int) -> bytes:
    return bytes(_aligned(length) - length)
