"""Results of very many matches: in pieces, in temporary files, and stopped at their limit."""

from __future__ import annotations

import pytest

import foretell as ft
from foretell.machine.exec.limits import Limits
from foretell.machine.input.time_slices import SLICE_MATCHES, SliceSize
from foretell.notify import collected_notifications

TRIPLES = "SUBSCRIBE m FROM s MATCH a ; b ; c; SUBSCRIBE n FROM s MATCH a , b;"


def events(count: int) -> list[dict[str, object]]:
    return [{"time": time // 3, "k": time % 7} for time in range(count)]


def run(count: int, limits: Limits | None = None) -> ft.Notifications:
    return ft.run(TRIPLES, {"s": events(count)}, time="time", engine="embedded", limits=limits)


def test_pieces_in_temporary_files_are_the_same_rows_in_the_same_order(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run(60)
    assert len(whole) == 60 * 59 * 58 // 6 + 59
    monkeypatch.setattr(collected_notifications, "PIECE_RESULTS", 500)
    monkeypatch.setattr("foretell.machine.runtime.SLICE", 6)
    monkeypatch.setattr(collected_notifications, "_MEMORY_SHARE", 10**9)  # all go to files
    pieces = run(60, Limits(memory="1 GiB"))
    assert list(pieces) == list(whole)
    assert pieces.table() == whole.table()
    assert pieces.summary == whole.summary


def test_an_engine_returns_pieces_too(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"STREAM s (k INT, time INT) TIME time; {TRIPLES}"
    whole = ft.Engine(text).push("s", events(60))
    monkeypatch.setattr(collected_notifications, "PIECE_RESULTS", 500)
    monkeypatch.setattr("foretell.machine.runtime.SLICE", 6)
    assert list(ft.Engine(text).push("s", events(60))) == list(whole)


def test_results_stop_at_their_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collected_notifications, "PIECE_RESULTS", 5000)
    monkeypatch.setattr("foretell.machine.runtime.SLICE", 6)
    with pytest.raises(ft.InputError) as caught:
        run(90, Limits(results="1 MiB"))
    assert caught.value.code == "results-limit"
    assert "over 1 MiB" in caught.value.message
    assert "Limits.results" in caught.value.hint


def test_slices_shrink_before_their_matches_are_too_many() -> None:
    """Triples of events: an event brings the more, the more there were before it."""
    size, done, largest = SliceSize(262_144), 0, 0
    while done < 20_000:
        before, done = done, done + size.next
        matches = (done**3 - before**3) // 6
        largest = max(largest, matches if size.next > 1 else 0)
        size.adapt(done - before, matches)
    assert largest <= 2 * SLICE_MATCHES


def test_slices_that_take_long_shrink() -> None:
    size = SliceSize(262_144)
    size.adapt(1000, 0, seconds=10.0)
    assert size.next <= 100


def test_matches_that_wait_stop_at_the_budget_within_a_batch() -> None:
    """With LAST, matches wait until their window has passed: 4,000 events have eight million."""
    rows = {"s": events(4000)}
    limits = Limits(memory="256 MiB")
    found = ft.run("SUBSCRIBE m FROM s MATCH a ; LAST b WITHIN 1000000", rows, time="time", limits=limits)
    assert "'m' stopped: over 256 MiB of memory; add WITHIN or raise Limits.memory" in found.notes


def test_slices_are_long_where_matches_are_few() -> None:
    size, slices, done = SliceSize(262_144), 0, 0
    while done < 1_000_000:
        events_done = size.next
        size.adapt(events_done, events_done // 2)
        done, slices = done + events_done, slices + 1
    assert slices <= 9
