"""The intervals of lost steps in simulated worlds: four of five contain the time at which the step happened."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import foretell as ft
from foretell.bench.workloads.lossy_worlds import WORLDS, lossy, statement
from foretell.events.estimate_detail import CONFIDENCE
from tests.recover.estimate_programs import exponential
from tests.recover.test_gap_counter import LOSS, STATIC

WITHIN = 400
TEXT = statement(LOSS).replace("!y", "y").replace("WITHIN 1000", f"WITHIN {WITHIN}")

#: Any of its steps may be lost, and two of them together.
AT_EDGES = TEXT.replace(f"LOSING {LOSS} OF y", f"LOSING {LOSS}")


def gamma(shape: float, scale: float, share: float) -> dict[str, object]:
    return {"distribution": "gamma", "shape": shape, "scale": scale, "share": share}


#: The delays of the world "after or instead".
AFTER_OR_INSTEAD = {
    "y": {"x": gamma(2, 30, 0.5)},
    "z": {"y": exponential(30, 1.0), "x": exponential(40, 1.0)},
}

#: The delays of the world "only after": y follows four of five x, and z each y.
ONLY_AFTER = {
    "y": {"x": gamma(3, 15, 0.8)},
    "z": {"y": gamma(2, 10, 1.0), "x": gamma(2, 10, 0.0)},
}
ONLY_BEFORE = {
    "y": {"z": gamma(2, 10, 1.0)},
    "x": {"y": gamma(3, 15, 1.0), "z": gamma(3, 15, 0.0)},
}


def covered(happened: pa.Table, found: ft.Notifications) -> dict[str, list[bool]]:
    """By lost step, whether it happened within its interval, of the estimates that are true. Lanes are instances, in
    which each step happens at most once, but for y."""
    times, hits = times_of_kinds(happened), dict[str, list[bool]]()
    for n in found:
        lost = n.estimate.lost if n.estimate is not None else ()
        lane = (n.key or {})["lane"]
        known = [times.get((lane, step.step), []) for step in lost]
        if all(known) and all(max(t) - n.end <= 0 and n.end - min(t) <= WITHIN for t in known):
            for step, own in zip(lost, known, strict=True):
                hits.setdefault(step.step, []).append(any(step.low <= t <= step.high for t in own))
    return hits


def times_of_kinds(happened: pa.Table) -> dict[tuple[object, object], list[float]]:
    """The times at which each step happened in each lane."""
    times: dict[tuple[object, object], list[float]] = {}
    for lane, kind, time in zip(*(happened.column(c).to_pylist() for c in ("lane", "kind", "time")), strict=True):
        times.setdefault((lane, kind), []).append(time)
    return times


def check_coverage(text: str, world: str, instances: int, model: Any) -> dict[str, int]:
    """Checks that the share of hits is that of the intervals but for chance; how many estimates lacked each step."""
    rng, lossy_kinds = np.random.default_rng(20261119), "y" if text == TEXT else "xyz"
    happened = WORLDS[world](instances, rng)
    if model is None:
        history = lossy(WORLDS[world](instances, rng), LOSS, rng, lossy_kinds)
        model = ft.train(text, {"reads": history}, learning=STATIC)
    until = float(happened.column("time").to_numpy().max()) + WITHIN + 1
    seen = lossy(happened, LOSS, rng, lossy_kinds)
    hits = covered(happened, ft.run(text, {"reads": seen}, model=model, learning=STATIC, until=until))
    for step, own in hits.items():
        error = math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / len(own))
        assert abs(np.mean(own) - CONFIDENCE) < 4 * error, (world, step, np.mean(own), len(own))
    return {step: len(own) for step, own in hits.items()}


def test_given_delays() -> None:
    model = {"subscriptions": {"m": {"after": AFTER_OR_INSTEAD}}}
    assert check_coverage(TEXT, "after or instead", 12_000, model)["y"] > 400


@pytest.mark.parametrize("world", ["only after", "after or instead", "independent end", "shop"])
def test_learned_counts(world: str) -> None:
    assert check_coverage(TEXT, world, 8_000, None)["y"] > 250


def test_given_delays_at_the_edges() -> None:
    model = {"subscriptions": {"m": {"after": ONLY_AFTER, "before": ONLY_BEFORE}}}
    counts = check_coverage(AT_EDGES, "only after", 6_000, model)
    assert min(counts.get(step, 0) for step in "xyz") > 250


def test_learned_counts_at_the_edges() -> None:
    counts = check_coverage(AT_EDGES, "only after", 6_000, None)
    assert min(counts.get(step, 0) for step in "xyz") > 250
