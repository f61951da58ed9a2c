"""Training of LOSING: in simulated worlds, of the estimates that say p, the share p is true."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import foretell as ft
from foretell.bench.workloads.lossy_worlds import WORLDS, lossy, statement
from foretell.errors import InputError

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
    times = times_of_y(happened)
    true = np.array([not any(n.start < t < n.end for t in times.get((n.key or {})["lane"], ())) for n in found])
    place = np.minimum((said * 20).astype(int), 19)
    number = np.bincount(place, minlength=20)
    distance = np.abs(np.bincount(place, said, 20) - np.bincount(place, true, 20))
    return float(distance.sum() / number.sum())


def times_of_y(happened: pa.Table) -> dict[object, list[float]]:
    """The times of y in each lane."""
    times: dict[object, list[float]] = {}
    kinds, lanes, all_times = (happened.column(c).to_numpy(zero_copy_only=False) for c in ("kind", "lane", "time"))
    for lane, time in zip(lanes[kinds == "y"].tolist(), all_times[kinds == "y"].tolist(), strict=True):
        times.setdefault(lane, []).append(time)
    return times


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


# ── operators and values ──


def between(kinds: str, lanes: int, rng: np.random.Generator, share: float, v: str = "x") -> list[dict[str, object]]:
    """In each lane the first and the last of some kinds, and in a share of them those between; values are 0 or 1."""
    events = list[dict[str, object]]()
    for lane in range(lanes):
        happened = kinds if rng.random() < share else kinds[0] + kinds[-1]
        for kind in happened:
            time = lane * 10.0 + 2 * (kinds.index(kind) / (len(kinds) - 1))
            events.append({"kind": kind, "lane": lane, "time": time, "v": int(rng.random() < 0.3)})
    return events


@pytest.mark.parametrize("operator", [",", ";{v >= 0}"])
@pytest.mark.parametrize("complete", [False, True])
def test_events_that_an_operator_does_not_pass_over_are_counted(operator: str, complete: bool) -> None:
    """In a third of the lanes w comes between x and z. Of those in which none is seen, so many had none."""
    rng, loss = np.random.default_rng(1), 0.3
    text = f"""STREAM s (kind STRING, lane INT, time FLOAT, v INT) TIME time;
    SUBSCRIBE m FROM s PER lane MATCH x {operator} z DEFINE x AS kind = 'x', z AS kind = 'z' LOSING {loss} ABOVE 0;"""
    text = text.replace(f"LOSING {loss}", f"LOSING 0 OF x, 0 OF z, {loss}")
    happened = between("xwz", 1_500, rng, 1 / 3)
    seen = [e for e in happened if e["kind"] != "w" or rng.random() >= loss]
    model = ft.train(text, {"s": happened if complete else seen}, learning=ft.Learning(complete=complete))
    found = ft.run(text, {"s": seen[:300]}, model=model, engine="reference")
    assert {n.kind for n in found} == {"estimate"}
    assert found[0].probability == pytest.approx((2 / 3) / (2 / 3 + loss / 3), abs=0.03)
    compiled = ft.run(text, {"s": seen[:300]}, model=model, engine="embedded", learning=STATIC)
    assert [(n.id, n.probability) for n in compiled] == [(n.id, n.probability) for n in found]


@pytest.mark.parametrize("complete", [False, True])
def test_conditions_on_the_values_of_a_lost_step(complete: bool) -> None:
    """y always comes, so a y that was not seen was lost; three of ten have a value that z permits."""
    rng, loss = np.random.default_rng(1), 0.3
    text = f"""STREAM s (kind STRING, lane INT, time FLOAT, v INT) TIME time;
    SUBSCRIBE m FROM s PER lane MATCH x ; y ; z DEFINE x AS kind = 'x', y AS kind = 'y', z AS kind = 'z' AND y.v > 0
    LOSING {loss} OF y ABOVE 0;"""
    happened = between("xyz", 1_500, rng, 1.0)
    seen = [e for e in happened if e["kind"] != "y" or rng.random() >= loss]
    model = ft.train(text, {"s": happened if complete else seen}, learning=ft.Learning(complete=complete))
    estimates = [n for n in ft.run(text, {"s": seen}, model=model) if n.kind == "estimate"]
    assert len(estimates) > 300
    assert np.mean([n.probability for n in estimates]) == pytest.approx(0.3, abs=0.03)


def test_training_says_which_gaps_a_history_lacks() -> None:
    seen = pa.table({"kind": ["x", "z", "x"], "lane": [1, 1, 1], "time": [0.0, 1.0, 2.0], "read": [0, 1, 2]})
    text = statement(LOSS).replace("OF y", "")
    assert ft.train(text, {"reads": seen}).notes == (
        "'m': the history has no gap after 'x'; estimates of such gaps are 0 until a run has seen some",
    )
    with pytest.raises(ft.InputError, match="there is nothing to learn from: the history has no two events that 'm'"):
        ft.train(text, {"reads": seen.slice(0, 0)})


def test_training_of_many_gaps_is_refused() -> None:
    steps = [f"{'' if n % 10 == 0 else '!'}a{n}" for n in range(100)][:91]
    text = f"STREAM s (k STRING) TIME t; SUBSCRIBE q FROM s MATCH {' ; '.join(steps)} WITHIN 9 LOSING 0.05 ABOVE 0.1;"
    with pytest.raises(InputError) as caught:
        ft.train(text, {"s": [{"k": "", "t": 1.0}]})
    assert caught.value.message == (
        "subscription 'q': training needs 2,568 patterns, more than 600: "
        "one for each gap and each step that it may hide"
    )
    assert caught.value.hint == ("name the steps that are lost most often, positive and negated: LOSING 0.05 OF a0, a1")
