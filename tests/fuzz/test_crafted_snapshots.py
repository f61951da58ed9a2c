"""Snapshots that somebody made up, with a right checksum (see crafted_snapshots)."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

import foretell as ft
from foretell.storage.blob import VERSION, pack, unpack
from tests.engine.letter_events import PAIR, STREAM, events
from tests.fuzz.bounded import run_bounded


def test_some_crafted_snapshots() -> None:
    report = run_bounded("crafted_snapshots", 80)
    assert not report.violations, report
    assert report.outcomes["refused"] > 20, report
    assert report.outcomes["ran"] > 5, report


@pytest.mark.soak
@pytest.mark.timeout(6 * 3600)
def test_many_crafted_snapshots() -> None:
    report = run_bounded("crafted_snapshots", 100_000, first=80)
    assert not report.violations, report


def test_a_refusal_says_what_does_not_fit() -> None:
    engine = ft.Engine(STREAM + PAIR)
    engine.push("s", events("a"))
    header, state = unpack(engine.snapshot(), "engine")
    state["work"]["running"]["fed"][0]["feed"]["history"]["lane"][0] = 5
    with pytest.raises(ft.InputError, match="cannot restore the snapshot: the lanes of events are out of range"):
        ft.Engine.restore(None, pack("engine", header, state))


def test_an_array_without_elements_is_not_long() -> None:
    """Its sides take no room in the blob, and would take much where an array of them is made."""
    made = pack("test", {}, np.zeros((0, 1000))).replace(b"[0,1000]", b"[0,9999]")
    crafted = made[:12] + zlib.crc32(made[16:], VERSION).to_bytes(4, "little") + made[16:]
    with pytest.raises(ft.InputError, match="damaged"):
        unpack(crafted, "test")
    restored = crafted.replace(b"[0,9999]", b"[0,1000]")
    restored = restored[:12] + zlib.crc32(restored[16:], VERSION).to_bytes(4, "little") + restored[16:]
    assert unpack(restored, "test")[1].shape == (0, 1000)
