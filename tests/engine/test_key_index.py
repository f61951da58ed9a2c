"""KeyIndex and OccurrenceCounters against dicts."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from foretell.machine.input.key_index import KeyIndex
from foretell.machine.input.occurrence_counters import OccurrenceCounters


def _number(numbering: KeyIndex, keys: list[tuple[int, ...]]) -> list[int]:
    starts = np.cumsum([0, *map(len, keys)])
    found: list[int] = numbering.number(starts, np.array([w for key in keys for w in key], np.int64)).tolist()
    return found


@pytest.mark.parametrize("seed", range(9))
def test_numbering(seed: int) -> None:
    chance = random.Random(seed)
    numbering, known = KeyIndex(), dict[tuple[int, ...], int]()
    most = chance.choice([2, 10, 2**62])
    for _ in range(12):
        keys = [tuple(chance.randint(-most, most) for _ in range(chance.randint(0, 3))) for _ in range(300)]
        assert _number(numbering, keys) == [known.setdefault(key, len(known)) for key in keys]
        if chance.random() < 0.3:
            before, numbering = numbering.state(), KeyIndex()
            numbering.restore(before)
        if chance.random() < 0.3:
            keep = np.array([chance.random() < 0.5 for _ in known], np.bool_)
            numbering.keep(keep)
            known = {key: i for i, key in enumerate(key for key, kept in zip(known, keep) if kept)}


@pytest.mark.parametrize("seed", range(9))
def test_ordinals(seed: int) -> None:
    chance = random.Random(seed)
    ordinals, counts = OccurrenceCounters(), Counter[tuple[int, int, float]]()
    for _ in range(30):
        step, count = chance.randrange(2), chance.randint(0, 40)
        lane = np.array([chance.randrange(3) for _ in range(count)], np.int64)
        value = np.array([chance.choice([-0.0, 0.0, 0.5, -1.5]) for _ in range(count)], np.float64)
        expected = []
        for key in zip([step] * count, lane.tolist(), value.tolist()):
            counts[key] += 1
            expected.append(counts[key])
        assert ordinals.of(step, lane, [value]).tolist() == expected
        if chance.random() < 0.3:
            before, ordinals = ordinals.state(), OccurrenceCounters()
            ordinals.restore(before)
