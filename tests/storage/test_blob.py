"""Checksummed blobs: round trips, and refusal of truncated, changed or forged ones."""

from __future__ import annotations

import math
import zlib
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import foretell as ft
from foretell.storage.blob import ALIGNMENT, MAGIC, PREFIX, VERSION, pack, unpack

quick = settings(max_examples=150, deadline=None, derandomize=True)

numbers = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="?"),
    hnp.unsigned_integer_dtypes(endianness="?"),
    hnp.floating_dtypes(endianness="?"),
    hnp.complex_number_dtypes(endianness="?"),
)
arrays = hnp.arrays(numbers, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(),
    st.text(),
    st.binary(),
    arrays,
    arrays.map(lambda array: array.T),
)
trees = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
)


def same(left: Any, other: Any) -> bool:
    """Equal in value and type; NaN is equal to itself, an array's order of bytes does not count."""
    if isinstance(left, np.ndarray):
        kind = left.dtype.newbyteorder("<")
        return other.dtype == kind and np.array_equal(left, other, equal_nan=left.dtype.kind in "fc")
    if type(left) is not type(other):
        return False
    if isinstance(left, dict):
        return list(left) == list(other) and all(same(left[name], other[name]) for name in left)
    if isinstance(left, list):
        return len(left) == len(other) and all(map(same, left, other))
    return bool(left == other) or (isinstance(left, float) and math.isnan(left) and math.isnan(other))


def refused(blob: Any, kind: str = "test") -> tuple[str, str]:
    with pytest.raises(ft.InputError) as caught:
        unpack(blob, kind)
    return caught.value.code, caught.value.message


@quick
@given(st.dictionaries(st.text(), leaves, max_size=3), trees)
def test_round_trip(header: dict[str, Any], tree: Any) -> None:
    blob = pack("test", header, tree)
    found_header, found = unpack(blob, "test")
    assert same(header, found_header)
    assert same(tree, found)
    assert pack("test", header, tree) == blob


@quick
@given(trees, st.data())
def test_truncated_or_changed_blobs_are_refused(tree: Any, data: st.DataObject) -> None:
    blob = pack("test", {}, tree)
    refused(blob[: data.draw(st.integers(0, len(blob) - 1))])
    refused(blob + data.draw(st.binary(min_size=1)))
    changed = bytearray(blob)
    for place in data.draw(st.sets(st.integers(0, len(blob) - 1), min_size=1, max_size=5)):
        changed[place] ^= data.draw(st.integers(1, 255))
    refused(changed)


def test_every_cut_and_every_changed_byte_is_refused() -> None:
    blob = pack("test", {"text": "x"}, {"array": np.arange(5), "bytes": b"abc", "float": math.inf})
    for place in range(len(blob)):
        refused(blob[:place])
        changed = bytearray(blob)
        changed[place] ^= 1 << place % 8
        refused(changed)


@quick
@given(st.binary(max_size=200))
def test_any_other_bytes_are_refused(blob: bytes) -> None:
    refused(blob)
    refused(MAGIC + blob)
    refused(_forged(blob))


@pytest.mark.parametrize(
    "described",
    [
        {},
        {"what": 1},
        {"dict": 1},
        {"float": "much"},
        {"array": ["<i8", [2], 0]},
        {"array": ["<i8", [-1, -1], 0]},
        {"array": ["O", [0], 0]},
        {"bytes": [-1, 1]},
        {"bytes": [0, 1]},
    ],
)
def test_a_forged_description_is_refused(described: object) -> None:
    """With the right checksum, but not by us: what is not described as we do it, places that are not there."""
    assert unpack(_forged(_described([])), "test") == ({}, [])
    assert refused(_forged(_described(described)))[0] == "damaged-snapshot"


def _described(tree: object) -> bytes:
    return msgspec.json.encode({"kind": "test", "header": {"dict": {}}, "tree": tree})


def _forged(description: bytes) -> bytes:
    rest = description + bytes(-(PREFIX.size + len(description)) % ALIGNMENT)
    length = PREFIX.size + len(rest)
    lengths = PREFIX.pack(MAGIC, VERSION, 0, len(description), length)[16:]
    checksum = zlib.crc32(lengths + rest, VERSION)
    return PREFIX.pack(MAGIC, VERSION, checksum, len(description), length) + rest


def test_messages() -> None:
    blob = pack("engine", {}, [])
    assert refused(blob, "model") == (
        "other-snapshot",
        "expected a snapshot of 'model', found one of 'engine'",
    )
    newer = bytearray(blob)
    newer[len(MAGIC)] = VERSION + 1
    assert refused(newer) == (
        "newer-snapshot",
        "the snapshot has format 2, this version of Foretell reads formats up to 1",
    )
    assert refused(blob[:-1])[1] == "the snapshot is damaged: a part of it is missing or changed"
    assert refused(b"PAR1")[1] == "these bytes are not a Foretell snapshot"
    assert refused("text")[1] == "expected a snapshot (bytes), found a value of type str"


def test_arrays_are_aligned_and_come_back_writable() -> None:
    array = np.array([7.25, 8.5])
    blob = pack("test", {}, [np.arange(3, dtype=np.int8), array])
    assert blob.index(array.tobytes()) % ALIGNMENT == 0
    small, found = unpack(memoryview(blob), "test")[1]
    found[0], small[:] = 1, 0
    assert unpack(blob, "test")[1][1].tolist() == [7.25, 8.5]


def test_kinds_of_values() -> None:
    class Name(str):
        pass

    assert unpack(pack("test", {}, {Name("a"): (Name("b"), np.int64(3), np.float64(0.5))}), "test")[1] == {
        "a": ["b", 3, 0.5]
    }


@pytest.mark.parametrize("value", [{1: 2}, {1}, object(), 2**64, np.array(["text"]), np.array([None]), 1j])
def test_values_that_cannot_be_packed(value: object) -> None:
    with pytest.raises(TypeError):
        pack("test", {}, [value])
