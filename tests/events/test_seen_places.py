"""Counts of where in gaps steps were seen: merged, thinned, aged, written and read, and their intervals."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from foretell.errors import InputError
from foretell.events.delays.gap_counts import BINS, GapCounts, bin_of
from foretell.events.delays.seen_places import PLACES, SeenPlaces, place_of
from foretell.events.estimate_detail import INTERVAL_ENDS


def seen(parts: np.ndarray[Any, np.dtype[np.float64]], length: float = 100.0) -> SeenPlaces:
    """Events at these parts of gaps of one length."""
    return SeenPlaces.of(bin_of(np.full(len(parts), length)), place_of(parts))


def counts(places: SeenPlaces, loss: float = 0.0) -> GapCounts:
    """A thousand gaps of one length, as many of which showed a step as there are places."""
    number = int(places.weights.sum())
    shown = np.concatenate([np.ones(number, np.int64), np.zeros(1_000 - number, np.int64)])[:, None]
    whole = GapCounts.of(["y"], [loss], bin_of(np.full(1_000, 100.0)), shown)
    return GapCounts(whole.hidden, whole.loss, whole.counts, places={"y": places})


def interval(of: GapCounts, length: float = 100.0, low: float = 0.0, high: float = 1.0) -> list[float]:
    [found] = of.places_lost("y", np.array([length]), np.array([low]), np.array([high])).tolist()
    return [float(end) for end in found]


def test_an_interval_is_that_of_the_events() -> None:
    chance = np.random.default_rng(1)
    parts = chance.beta(2, 5, 900)
    assert interval(counts(seen(parts))) == pytest.approx(np.quantile(parts, INTERVAL_ENDS), abs=0.02)


def test_an_event_just_after_one_end_of_a_long_gap() -> None:
    """Bins are narrow towards both ends."""
    low, high = interval(counts(seen(np.full(900, 0.001))))
    assert 0.0008 < low < high < 0.0013


def test_only_gaps_of_about_the_length_count() -> None:
    near, far = seen(np.full(400, 0.2)), seen(np.full(400, 0.8), 100_000.0)
    both = counts(near.merged(far))
    assert interval(both) == pytest.approx([0.2, 0.2], abs=0.03)
    assert interval(both, 100_000.0) == pytest.approx([0.8, 0.8], abs=0.03)


def test_bounds_cut_an_interval() -> None:
    low, high = interval(counts(seen(np.random.default_rng(1).random(900))), low=0.5, high=0.6)
    assert [low, high] == pytest.approx([0.51, 0.59], abs=0.005)


def test_without_places_the_whole_gap() -> None:
    assert interval(GapCounts(("y",), (0.1,))) == pytest.approx(INTERVAL_ENDS)


def test_merging_and_ageing() -> None:
    few, many = counts(seen(np.full(100, 0.3)), 0.0), counts(seen(np.full(200, 0.7)), 0.5)
    merged = few.merged(many)
    # Half of the first ones count: the history of the others had lost as many.
    assert merged.places["y"].weights.tolist() == [50.0, 200.0]
    assert merged.aged(0.5).places["y"].weights.tolist() == [25.0, 100.0]
    assert not len(merged.aged(1e-12).places["y"].cells)


def test_the_form_in_a_model() -> None:
    whole = counts(seen(np.random.default_rng(1).random(300)))
    document = json.loads(json.dumps(whole.to_json()))
    again = GapCounts.from_json(document, "x to z")
    assert again.places["y"].cells.tolist() == whole.places["y"].cells.tolist()
    assert again.places["y"].weights.tolist() == whole.places["y"].weights.tolist()
    before = GapCounts.from_json({name: part for name, part in document.items() if name != "places"}, "x to z")
    assert interval(before) == pytest.approx(INTERVAL_ENDS)


@pytest.mark.parametrize(
    "places",
    [
        {"w": [[1, 1, 1.0]]},
        {"y": [[BINS, 1, 1.0]]},
        {"y": [[1, PLACES, 1.0]]},
        {"y": [[-1, 1, 1.0]]},
        {"y": [[1.5, 1, 1.0]]},
        {"y": [[1, 1, -1.0]]},
        {"y": [[1, 1, 1e300]]},
        {"y": [[1, 1]]},
        {"y": "places"},
        {"y": [[1, 1, "many"]]},
        [],
    ],
)
def test_places_that_no_training_writes_are_refused(places: object) -> None:
    document = counts(seen(np.full(3, 0.5))).to_json() | {"places": places}
    with pytest.raises(InputError) as caught:
        GapCounts.from_json(document, "x to z")
    assert caught.value.code == "bad-model"
