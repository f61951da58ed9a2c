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
from tests.recover.test_gap_counter import LOSS, STATIC, times_of_y

TEXT = statement(LOSS).replace("!y", "y")

#: A pattern with a step lost at either end, or at both.
AT_EDGES = TEXT.replace(f"LOSING {LOSS} OF y", f"LOSING {LOSS}").replace("WITHIN 1000", "WITHIN 400")


def gamma(shape: float, scale: float, share: float) -> dict[str, object]:
    return {"distribution": "gamma", "shape": shape, "scale": scale, "share": share}


#: The delays of the world "after or instead".
AFTER_OR_INSTEAD = {
    "y": {"x": gamma(2, 30, 0.5)},
    "z": {"y": exponential(30, 1.0), "x": exponential(40, 1.0)},
}


def covered(happened: pa.Table, found: ft.Notifications) -> list[bool]:
    """Of the estimates that lack a y which did happen, whether it happened within the interval."""
    times, hits = times_of_y(happened), list[bool]()
    for n in found:
        for lost in n.estimate.lost if n.estimate is not None else ():
            inside = [t for t in times.get((n.key or {})["lane"], ()) if n.start < t < n.end]
            if lost.step == "y" and inside:
                hits.append(any(lost.low <= t <= lost.high for t in inside))
    return hits


def check_coverage(world: str, instances: int, model: Any, slack: float = 0.0) -> int:
    """Checks that the share of hits is that of the intervals but for chance, and returns their number."""
    rng = np.random.default_rng(20261119)
    happened = WORLDS[world](instances, rng)
    if model is None:
        history = lossy(WORLDS[world](instances, rng), LOSS, rng)
        model = ft.train(TEXT, {"reads": history}, learning=STATIC)
    hits = covered(happened, ft.run(TEXT, {"reads": lossy(happened, LOSS, rng)}, model=model, learning=STATIC))
    error = math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / len(hits))
    assert abs(np.mean(hits) - CONFIDENCE) < 4 * error + slack, (world, np.mean(hits), len(hits))
    return len(hits)


def test_given_delays() -> None:
    model = {"subscriptions": {"m": {"after": AFTER_OR_INSTEAD}}}
    assert check_coverage("after or instead", 12_000, model) > 400


@pytest.mark.parametrize("world", ["only after", "after or instead", "independent end", "shop"])
def test_learned_counts(world: str) -> None:
    assert check_coverage(world, 8_000, None) > 250
