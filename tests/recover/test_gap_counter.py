"""Training of LOSING: in simulated worlds, of the estimates that say p, the share p is true."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import foretell as ft
from foretell.bench.workloads.lossy_worlds import WORLDS, lossy, statement

LOSS = 0.1

STATIC = ft.Learning(online=False)


def calibration_error(world: str, instances: int, *, complete: bool, learning: ft.Learning = STATIC) -> float:
    rng = np.random.default_rng(20261118)
    history = WORLDS[world](instances, rng)
    seen = history if complete else lossy(history, LOSS, rng)
    model = ft.train(statement(LOSS), {"reads": seen}, learning=ft.Learning(complete=complete))
    happened = WORLDS[world](instances, rng)
    return calibration(
        happened, ft.run(statement(LOSS), {"reads": lossy(happened, LOSS, rng)}, model=model, learning=learning)
    )


def calibration(happened: pa.Table, found: Iterable[ft.Notification]) -> float:
    """The mean distance between what is said and what is true, over 20 bins of what is said."""
    found = list(found)
    said = np.array([n.probability for n in found])
    true = np.array([not any_y(happened, n) for n in found])
    place = np.minimum((said * 20).astype(int), 19)
    number = np.bincount(place, minlength=20)
    distance = np.abs(np.bincount(place, said, 20) - np.bincount(place, true, 20))
    return float(distance.sum() / number.sum())


def any_y(happened: pa.Table, estimate: ft.Notification) -> bool:
    key = id(happened)
    if key not in _times:
        _times.clear()
        _times[key] = {}
        kinds, lanes, times = (happened.column(c).to_numpy(zero_copy_only=False) for c in ("kind", "lane", "time"))
        for lane, time in zip(lanes[kinds == "y"], times[kinds == "y"], strict=True):
            _times[key].setdefault(int(lane), []).append(float(time))
    assert estimate.key is not None
    lane = estimate.key["lane"]
    assert isinstance(lane, int)
    return any(estimate.start < time < estimate.end for time in _times[key].get(lane, ()))


_times: dict[int, dict[int, list[float]]] = {}


@pytest.mark.parametrize(("world", "complete"), [("shop", False), ("several reads", False), ("independent end", True)])
def test_estimates_are_calibrated(world: str, complete: bool) -> None:
    assert calibration_error(world, 1_500, complete=complete) <= 0.06


@pytest.mark.soak
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("complete", [False, True])
def test_every_world(world: str, complete: bool) -> None:
    assert calibration_error(world, 20_000, complete=complete) <= 0.03


def test_a_lost_step_of_a_chain() -> None:
    """z comes only after y, so a y that was not seen was lost."""
    rng = np.random.default_rng(1)
    text = statement(LOSS).replace("!y", "y")
    model = ft.train(text, {"reads": WORLDS["only after"](1_000, rng)}, learning=ft.Learning(complete=True))
    found = ft.run(text, {"reads": lossy(WORLDS["only after"](300, rng), LOSS, rng)}, model=model)
    estimates = [n.probability for n in found if n.kind == "estimate"]
    assert len(estimates) > 10
    assert min(estimates) == pytest.approx(1.0)


def test_steps_at_the_edges_are_learned() -> None:
    rng = np.random.default_rng(1)
    text = (
        statement(LOSS)
        .replace("!y", "y")
        .replace(f"LOSING {LOSS} OF y", f"LOSING {LOSS}")
        .replace("ABOVE 0", "ABOVE 0.5")
    )
    history = WORLDS["only after"](1_000, rng)
    model = ft.train(text, {"reads": history}, learning=ft.Learning(complete=True))
    lane = history.column("lane").to_numpy()
    without_x = history.filter(pa.array((lane < 50) & (history.column("kind").to_numpy(zero_copy_only=False) != "x")))
    found = ft.run(text, {"reads": without_x}, model=model)
    first_lost = [n for n in found if n.events["x"] is None and n.events["y"] is not None and n.events["z"] is not None]
    assert len(first_lost) >= 30
    assert min(n.probability for n in first_lost) > 0.9  # every z has come after an x


def test_a_model_of_gaps_is_saved_and_loaded(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    seen = lossy(WORLDS["shop"](300, rng), LOSS, rng)
    model = ft.train(statement(LOSS), {"reads": seen})
    model.save(tmp_path / "model.json")
    rows = [(n.id, n.probability) for n in ft.run(statement(LOSS), {"reads": seen}, model=model)]
    assert rows
    again = ft.run(statement(LOSS), {"reads": seen}, model=tmp_path / "model.json")
    assert [(n.id, n.probability) for n in again] == rows


def test_nothing_is_learned_of_what_is_always_lost() -> None:
    with pytest.raises(ft.InputError, match="a history that lost 1 of 'y' shows nothing of it"):
        ft.train(statement(1.0), {"reads": WORLDS["shop"](30, np.random.default_rng(1))})


def test_forecasts_and_gaps_are_trained_together() -> None:
    seen = WORLDS["shop"](200, np.random.default_rng(1))
    text = statement(LOSS) + "SUBSCRIBE f FROM reads PER lane MATCH x ; z DEFINE x AS kind = 'x', z AS kind = 'z' "
    model = ft.train(text + "FORECAST WITHIN 2 EVENTS ABOVE 0.5;", {"reads": seen})
    other = text.replace("FROM reads PER lane MATCH x ; z ", "FROM others PER lane MATCH x ; z ")
    inputs = {"reads": seen, "others": seen}
    apart = ft.train(other + "FORECAST WITHIN 2 EVENTS ABOVE 0.5;", inputs, time={"others": "time"})
    assert apart.delays == model.delays
    assert apart.subscriptions["f"].statistics.events == model.subscriptions["f"].statistics.events
    assert set(model.subscriptions) == {"f"}
    assert set(model.delays) == {"m"}


@pytest.mark.parametrize(
    ("gap", "message"),
    [
        ([], "a gap: expected an object, found a list"),
        ({"from": 1}, "a gap lies between two steps, or between one and null"),
        ({"from": "x", "to": "z"}, "the gap 'x to z' of the model cannot be read: 'hidden'"),
        ({"from": "x", "to": "z", "hidden": ["y"], "loss": [1.0], "counts": []}, "do not fit each other"),
        ({"from": "x", "to": "z", "hidden": ["y"], "loss": [0.1], "counts": [[[0], [[0, -1]]]]}, "bin 0 has -1 gaps"),
        ({"from": "x", "to": "z", "hidden": ["y"], "loss": [0.1], "counts": [[[0, 1], []]]}, "do not fit each other"),
        ({"from": "x", "to": "z", "hidden": ["y"], "loss": [0.1], "counts": [[[10**9], []]]}, "do not fit each other"),
        ({"from": "x", "to": "z", "hidden": ["y"], "loss": [0.1], "counts": [[[1e400], []]]}, "cannot be read"),
    ],
)
def test_gaps_that_cannot_be_read(gap: object, message: str) -> None:
    model = {"subscriptions": {"m": {"gaps": [gap]}}}
    with pytest.raises(ft.InputError) as caught:
        ft.run(statement(LOSS), {"reads": WORLDS["shop"](3, np.random.default_rng(1))}, model=model)
    assert caught.value.code == "bad-model"
    assert message in str(caught.value)
