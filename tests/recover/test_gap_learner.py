"""Statements with LOSING go on learning: counts of a run, ageing, batches, snapshots, and drift."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import foretell as ft
from foretell.bench.workloads.lossy_worlds import WORLDS, lossy, polled, statement
from foretell.events.delays.delay_model import DelayModel
from foretell.events.delays.gap_counts import BINS, GapCounts
from foretell.recover.gap_drift import BLOCKS, compared
from tests.recover.test_gap_counter import calibration, calibration_error

LOSS = 0.1

#: Every step may be lost, so that there are gaps at the edges, too.
ALL_LOST = statement(LOSS).replace("!y", "y").replace(f"{LOSS} OF y", f"{LOSS}").replace("1000", "300")

#: With what operators do not pass over, and a condition on the values of a step that may be lost.
OPERATORS = ALL_LOST.replace("x ; y ; z", "x ;{lane >= 0} y , z").replace("'z' WITHIN", "'z' AND read > y.read WITHIN")


def later(history: pa.Table, lanes: int) -> pa.Table:
    """The same in other lanes, and after all of the first ones."""
    lane, time, read = (history.column(name).to_numpy() for name in ("lane", "time", "read"))
    columns = {"lane": lane + lanes, "time": time + 100_000.0, "read": read + 1_000_000}
    for name, values in columns.items():
        history = history.set_column(history.schema.get_field_index(name), name, pa.array(values))
    return history


def pushed(
    text: str, model: ft.Model, events: pa.Table, learning: ft.Learning, size: int, restore: int = 0
) -> tuple[list[tuple[object, ...]], ft.Model]:
    """The rows and the model of an engine that gets batches of a size, and is restored after every so many."""
    engine, rows = ft.Engine(text, model=model, learning=learning), list[tuple[object, ...]]()
    for number, first in enumerate(range(0, len(events), size)):
        rows += [(n.kind, n.id, n.probability) for n in engine.push("reads", events.slice(first, size))]
        if restore and number % restore == 0:
            engine = ft.Engine.restore(None, engine.snapshot())
    rows += [(n.kind, n.id, n.probability) for n in engine.advance(1e7)]
    return rows, engine.model()


def ended(history: pa.Table) -> pa.Table:
    """With one event that time passes at, so that all windows end."""
    after = {"kind": "w", "lane": 0, "time": float(history.column("time").to_numpy().max()) + 2_000.0, "read": -1}
    return pa.concat_tables([history, pa.Table.from_pylist([after], history.schema)])


def cells(model: ft.Model) -> dict[object, dict[tuple[int, ...], list[float]]]:
    return {
        ends: {key: bins.tolist() for key, bins in counts.counts.items() if bins.any()}
        for ends, counts in gaps_of(model).gaps.items()
    }


def gaps_of(model: ft.Model) -> DelayModel:
    return DelayModel.of(model.delays["m"])


@pytest.mark.parametrize("text", [statement(LOSS), ALL_LOST, OPERATORS])
def test_neither_batches_nor_snapshots_change_a_row(text: str) -> None:
    rng = np.random.default_rng(1)
    model = ft.train(text, {"reads": lossy(WORLDS["shop"](400, rng), LOSS, rng)})
    events = lossy(WORLDS["repeats"](150, rng), LOSS, rng)
    learning = ft.Learning(half_life=500.0)
    rows, learned = pushed(text, model, events, learning, len(events))
    assert len({probability for _, _, probability in rows}) > 20
    again, learned_again = pushed(text, model, events, learning, 61, restore=2)
    assert again == rows
    assert learned_again.delays == learned.delays
    kept, unlearned = pushed(text, model, events, ft.Learning(online=False), len(events))
    assert kept != rows
    assert unlearned.delays == model.delays


@pytest.mark.parametrize("text", [statement(LOSS), ALL_LOST, OPERATORS])
def test_a_run_counts_what_training_counts(text: str) -> None:
    """Cell for cell, without ageing: of a history, and of what a run sees of the lanes after it."""
    rng = np.random.default_rng(1)
    first, second = (lossy(WORLDS["several reads"](120, rng), LOSS, rng) for _ in range(2))
    second = later(second, 1_000)
    never = ft.Learning(half_life=math.inf)
    _, learned = pushed(text, ft.train(text, {"reads": ended(first)}, learning=never), second, never, 100)
    whole = ft.train(text, {"reads": ended(pa.concat_tables([first, second]))}, learning=never)
    assert cells(learned) == cells(whole)


def test_a_complete_history_goes_on_with_a_lossy_stream() -> None:
    """The counts are those of a history that lost as much, and say the same."""
    rng = np.random.default_rng(1)
    text = statement(LOSS)
    model = ft.train(text, {"reads": WORLDS["shop"](500, rng)}, learning=ft.Learning(complete=True))
    counts = gaps_of(model).gaps["x", "z"]
    thinned = counts.thinned([LOSS])
    assert thinned.loss == (LOSS,)
    assert thinned.totals == pytest.approx(counts.totals)
    lengths = np.array([10.0, 100.0, 300.0])
    for wanted in ([False], [True]):
        alike = (gaps.probabilities(lengths, wanted, [LOSS]) for gaps in (_of_one_bin(thinned), _of_one_bin(counts)))
        assert next(alike) == pytest.approx(next(alike), rel=1e-9)
    events = lossy(WORLDS["shop"](100, rng), LOSS, rng)
    _, learned = pushed(text, model, events, ft.Learning(half_life=math.inf), 1_000)
    assert gaps_of(learned).gaps["x", "z"].totals.sum() > counts.totals.sum()


def _of_one_bin(counts: GapCounts) -> GapCounts:
    """The same with all gaps of one length: then there is nothing to smooth."""
    return replace(
        counts, counts={key: np.where(np.arange(BINS) == 60, b.sum(), 0.0) for key, b in counts.counts.items()}
    )


def test_a_reader_whose_period_changed() -> None:
    """The static model stays wrong; a model that ages is right again after some half-lives."""
    rng, loss, lanes = np.random.default_rng(1), 0.3, 2_500
    text = statement(loss)
    model = ft.train(text, {"reads": lossy(polled(2_000, rng, 10.0), loss, rng)})
    happened = polled(lanes, rng, 40.0)
    events = lossy(happened, loss, rng)
    errors = {}
    for online in (False, True):
        engine = ft.Engine(text, model=model, learning=ft.Learning(half_life=2_000.0, online=online))
        found = engine.push("reads", events)
        assert bool(found.notes) is online
        errors[online] = calibration(happened, [n for n in found if n.start >= lanes / 4])
    assert errors[False] > 0.15
    assert errors[True] < 0.08


def test_online_learning_keeps_calibrated_estimates_calibrated() -> None:
    assert calibration_error("shop", 1_500, complete=False, learning=ft.Learning(half_life=3_000.0)) <= 0.06


def test_a_model_given_to_a_restored_engine_counts_afresh() -> None:
    rng = np.random.default_rng(1)
    text = statement(LOSS)
    first, second = (ft.train(text, {"reads": lossy(WORLDS[w](300, rng), LOSS, rng)}) for w in ("shop", "repeats"))
    engine = ft.Engine(text, model=first)
    engine.push("reads", lossy(WORLDS["shop"](100, rng), LOSS, rng))
    restored = ft.Engine.restore(None, engine.snapshot(), model=second)
    assert restored.model().delays == second.delays
    delays = {"after": {"y": {"x": {"distribution": "exponential", "mean": 60}}}}
    without = ft.Engine.restore(None, engine.snapshot(), model={"subscriptions": {"m": delays}})
    assert without.push("reads", later(WORLDS["shop"](100, rng), 1_000)) is not None
    assert without.model().delays == {"m": delays}


def test_only_what_has_a_window_is_learned_online() -> None:
    rng = np.random.default_rng(1)
    text = statement(LOSS).replace("WITHIN 1000", "")
    model = ft.train(text, {"reads": lossy(WORLDS["shop"](100, rng), LOSS, rng)})
    _, learned = pushed(text, model, lossy(WORLDS["shop"](100, rng), LOSS, rng), ft.Learning(), 1_000)
    assert learned.delays == model.delays


# ── drift ──


def drift_notes(world: Sequence[pa.Table], text: str, model: ft.Model) -> list[str]:
    engine = ft.Engine(text, model=model, learning=ft.Learning(half_life=10_000.0))
    return [note for events in world for note in engine.push("reads", events).notes]


def test_drift_is_told_once() -> None:
    rng, loss = np.random.default_rng(1), 0.3
    text = statement(loss)
    model = ft.train(text, {"reads": lossy(polled(2_000, rng, 10.0), loss, rng)})
    worlds = [lossy(polled(2_500, rng, period, first), loss, rng) for period, first in ((10.0, 0), (40.0, 5_000))]
    assert drift_notes(worlds[:1], text, model) == []
    (note,) = drift_notes(worlds, text, model)
    assert note.startswith("'m': what is seen between 'x' and 'z' departs from the model: of the last ")
    assert note.endswith("; train again on recent events")


def test_a_stationary_stream_does_not_drift() -> None:
    """Gaps that overlap depend on each other: eight of them share what was seen."""
    rng = np.random.default_rng(1)
    share = rng.uniform(0.05, 0.95, (200, 4))
    alarms = sum(_windows_in_a_row(rng, share[run], share[run]) for run in range(200))
    assert alarms <= 2
    changed = sum(_windows_in_a_row(rng, share[run], np.clip(share[run] + 0.15, 0, 1)) for run in range(200))
    assert changed >= 150


def _windows_in_a_row(rng: np.random.Generator, trained: np.ndarray, now: np.ndarray, windows: int = 20) -> bool:
    """Whether two windows in a row depart; every gap counts eight times."""
    known = np.full(4, 400)
    training = np.stack([8 * known, 8 * rng.binomial(known, trained)]).astype(float)
    before = False
    for _ in range(windows):
        gaps = rng.integers(20, 40, (BLOCKS, 4))
        departs = compared(np.stack([8 * gaps, 8 * rng.binomial(gaps, now)], axis=1).astype(float), training).departs
        if departs and before:
            return True
        before = departs
    return False


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("world", WORLDS)
def test_stationary_worlds_do_not_drift(world: str) -> None:
    """The history is the middle of a world, and the stream what follows: at its beginning instances are young."""
    alarms = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        seen = lossy(WORLDS[world](24_000 if world == "overlapping" else 10_000, rng), LOSS, rng)
        cuts = (450.0, 800.0, 1_200.0) if world == "overlapping" else (450.0, 1_500.0, 5_000.0)
        history, stream = (_between(seen, low, high) for low, high in pairwise(cuts))
        alarms += bool(drift_notes([stream], statement(LOSS), ft.train(statement(LOSS), {"reads": history})))
    assert alarms <= 1


def _between(events: pa.Table, low: float, high: float) -> pa.Table:
    time = events.column("time").to_numpy()
    return events.filter(pa.array((time >= low) & (time < high)))
