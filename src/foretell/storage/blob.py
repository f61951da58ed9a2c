"""Checksummed blobs: values and arrays as bytes, for snapshots. Unlike a pickle, a blob contains no code.

The format: a magic word, the format version, a checksum of the rest, the lengths of the description and of the whole
blob; the description, in JSON; then the arrays and bytes that it refers to, little-endian, each at a multiple of 64.

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
PREFIX = struct.Struct("<8sIIQQ")  # magic, version, checksum, length of the description, length of the blob
_CHECKSUM_FROM = 16  # after the magic, the version and the checksum itself
_LONG = 1024  # so long may be each side of an array without elements
_NUMBERS = "biufc"  # the dtype kinds that are numbers, booleans included

#: dict (with str keys), list, None, bool, int of 64 bits, float, str, bytes, numeric arrays.
Tree: TypeAlias = Any


def pack(kind: str, header: Mapping[str, Tree], tree: Tree) -> bytes:
    """`kind` names the owner of the state, `header` has values that are needed before the tree can be used."""
    blocks = _Blocks()
    description = msgspec.json.encode(
        {"kind": kind, "header": blocks.describe(dict(header)), "tree": blocks.describe(tree)}
    )
    parts = [description, _padding(PREFIX.size + len(description)), *blocks.parts]
    length = PREFIX.size + sum(len(part) for part in parts)
    lengths = PREFIX.pack(MAGIC, VERSION, 0, len(description), length)[_CHECKSUM_FROM:]
    checksum = zlib.crc32(lengths, VERSION)
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return b"".join([PREFIX.pack(MAGIC, VERSION, checksum, len(description), length), *parts])


def unpack(blob: bytes | bytearray | memoryview, kind: str) -> tuple[dict[str, Tree], Tree]:
    """The header and the tree that were packed; the arrays are writable copies."""
    view = _checked(blob)
    _, _, _, length, _ = PREFIX.unpack_from(view)
    blocks = view[_aligned(PREFIX.size + length) :]
    try:
        description = msgspec.json.decode(view[PREFIX.size : PREFIX.size + length])
        if description["kind"] == kind:
            header = _value(description["header"], blocks)
            if not isinstance(header, dict):
                raise TypeError(header)
            return header, _value(description["tree"], blocks)
        other = str(description["kind"])
    except (msgspec.DecodeError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
        # The checksum is right, but `pack` did not write this.
        raise _damaged() from None
    raise InputError("other-snapshot", f"expected a snapshot of '{kind}', found one of '{other}'")


class _Blocks:
    """Collects the arrays and bytes that follow the description; positions are counted from its end."""

    def __init__(self) -> None:
        self.parts: list[bytes | memoryview] = []
        self.length = 0

    def describe(self, value: Tree) -> Any:
        """A value as JSON. Every JSON object has one key, which names the kind of value, so that none is ambiguous."""
        if isinstance(value, np.generic):
            value = value.item()
        match value:
            case None | bool():
                return value
            case str():
                return str(value)  # of a subclass only the text
            case int():
                if not -(2**63) <= value < 2**64:
                    raise TypeError(f"cannot pack an int of more than 64 bits: {value}")
                return value
            case float():
                return value if math.isfinite(value) else {"float": str(value)}
            case list() | tuple():
                return [self.describe(item) for item in value]
            case dict():
                return {"dict": {_key(key): self.describe(item) for key, item in value.items()}}
            case bytes():
                return {"bytes": [self._append(value), len(value)]}
            case np.ndarray() if value.dtype.kind in _NUMBERS:
                little = value.astype(value.dtype.newbyteorder("<"), order="C", copy=False)
                position = self._append(little.reshape(-1).view(np.uint8).data)
                return {"array": [little.dtype.str, list(little.shape), position]}
        raise TypeError(f"cannot pack a value of type {type(value).__name__}")

    def _append(self, content: bytes | memoryview) -> int:
        position = self.length
        self.parts += [content, _padding(len(content))]
        self.length += _aligned(len(content))
        return position


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"cannot pack a key of type {type(key).__name__}, only str")
    return str(key)


def _checked(blob: bytes | bytearray | memoryview) -> memoryview:
    """The blob, if it is a complete one of a known version."""
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise InputError("not-a-snapshot", f"expected a snapshot (bytes), found a value of type {type(blob).__name__}")
    view = memoryview(blob).cast("B")
    if len(view) < len(MAGIC) or view[: len(MAGIC)] != MAGIC:
        raise InputError("not-a-snapshot", "these bytes are not a Foretell snapshot")
    if len(view) < PREFIX.size:
        raise _damaged()
    _, version, checksum, _, length = PREFIX.unpack_from(view)
    if version > VERSION:
        raise InputError(
            "newer-snapshot",
            f"the snapshot has format {version}, this version of Foretell reads formats up to {VERSION}",
            hint="restore it with the version that made it, or a newer one",
        )
    if length != len(view) or checksum != zlib.crc32(view[_CHECKSUM_FROM:], version):
        raise _damaged()
    return view


def _damaged() -> InputError:
    return InputError("damaged-snapshot", "the snapshot is damaged: a part of it is missing or changed")


def _value(described: Any, blocks: memoryview) -> Tree:
    if isinstance(described, list):
        return [_value(item, blocks) for item in described]
    if not isinstance(described, dict):
        return described
    ((kind, content),) = described.items()
    match kind:
        case "dict":
            return {key: _value(item, blocks) for key, item in content.items()}
        case "float":
            return float(content)
        case "bytes":
            position, length = content
            return bytes(_part(blocks, position, length))
        case "array":
            return _array(blocks, *content)
    raise ValueError(kind)


def _array(blocks: memoryview, kind: str, shape: list[int], position: int) -> np.ndarray:
    dtype = np.dtype(kind)
    # An array without elements may have a long side, but no longer than others have for the same things.
    longest = max(len(blocks), _LONG)
    if dtype.kind not in _NUMBERS or not all(type(side) is int and 0 <= side <= longest for side in shape):
        raise ValueError(kind)
    content = _part(blocks, position, dtype.itemsize * math.prod(shape))
    array = np.empty(shape, dtype)
    array.reshape(-1).view(np.uint8)[:] = np.frombuffer(content, np.uint8)
    return array


def _part(blocks: memoryview, position: int, length: int) -> memoryview:
    if not 0 <= position <= position + length <= len(blocks):
        raise ValueError("outside")
    return blocks[position : position + length]


def _aligned(length: int) -> int:
    return -(-length // ALIGNMENT) * ALIGNMENT


def _padding(length: int) -> bytes:
    return bytes(_aligned(length) - length)
