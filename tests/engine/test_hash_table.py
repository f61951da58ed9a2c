"""Tables of keys that somebody chose so that an unkeyed hash would give all of them the same slot."""

from __future__ import annotations

from time import process_time

import numpy as np
import pytest

from foretell.arrays import Ints
from foretell.events.types import Type
from foretell.filter.column import Column, no_nulls
from foretell.machine.input.key_index import KeyIndex
from foretell.machine.input.lane_index import LaneIndex

COUNT = 60_000
_INVERSE = np.uint64(pow(0x9E3779B97F4A7C15, -1, 2**64))


def turned_around() -> Ints:
    """Keys whose products with the constant of `mixed` differ only in high bits, and then have the same low ones."""
    numbers = np.arange(1, COUNT + 1, dtype=np.uint64)
    return ((numbers << np.uint64(32) ^ numbers) * _INVERSE).view(np.int64)


def high_bits() -> Ints:
    return (np.arange(1, COUNT + 1, dtype=np.uint64) << np.uint64(48)).view(np.int64)


def chosen() -> list[Ints]:
    return [turned_around(), high_bits()]


@pytest.mark.parametrize("keys", chosen(), ids=["turned around", "high bits"])
def test_lanes(keys: Ints) -> None:
    def lanes(count: int) -> Ints:
        column = Column(Type.INT, keys[:count], no_nulls(count))
        return LaneIndex([Type.INT]).of([column], count)

    lanes(10)  # compiled
    start = process_time()
    assert lanes(COUNT).tolist() == list(range(COUNT))
    assert process_time() - start < 1


@pytest.mark.parametrize("keys", chosen(), ids=["turned around", "high bits"])
def test_other_keys(keys: Ints) -> None:
    KeyIndex().number(np.arange(11), keys)
    start = process_time()
    assert KeyIndex().number(np.arange(COUNT + 1), keys).tolist() == list(range(COUNT))
    assert process_time() - start < 1
