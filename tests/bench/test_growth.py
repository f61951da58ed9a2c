"""The growth benchmark: exponents are what they say, and a quick run gives every curve."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from foretell.bench.growth import curves as growth_curves
from foretell.bench.growth.batches import batches
from foretell.bench.growth.curves import Point, Sample, Samples, curves, exponent
from foretell.bench.growth.figures import charts
from foretell.bench.growth.partial_matches import partial_matches
from foretell.bench.growth.windows import windows


@pytest.mark.parametrize("power", [-1.0, 0.0, 0.5, 1.0, 2.0])
def test_exponent(power: float) -> None:
    assert exponent([(x, 3e-7 * x**power) for x in (1, 10, 50, 1000)]) == pytest.approx(power)


def test_no_exponent_of_a_single_point() -> None:
    assert exponent([(1, 1)]) is None
    assert exponent([(1, 0), (2, 1)]) is None


def test_a_curve_that_is_steep_at_its_end_says_so() -> None:
    def measured(x: int) -> Samples:
        return {("lanes", "c"): Sample(10, 1.0, max(100, x))}

    points = list(curves([1, 10, 100, 1000], measured))
    assert [p.x for p in points] == [1, 10, 100, 1000]
    assert all(p.exponent is not None and p.exponent < 0.4 and p.exponent_last == 1 for p in points)
    assert charts(points)[0].slug == "lanes"


def test_what_needs_too_much_memory_is_left_out_and_said() -> None:
    def measured(x: int) -> Samples:
        if x > 10:
            raise MemoryError
        return {("lanes", "c"): Sample(10, 1.0, x)}

    *points, note = curves([1, 10, 100], measured)
    assert [p.x for p in points] == [1, 10]
    assert note.note == "left out from 100 on: needs more than 6 GiB"
    assert "left out" in note.line()
    assert "(c: left out from 100 on" in charts([*points, note])[0].caption


def test_what_takes_too_long_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth_curves, "LONGEST", 0.0)
    *points, note = curves([1, 10, 100], lambda x: {("lanes", "c"): Sample(10, 1.0, x)})
    assert [p.x for p in points] == [1]
    assert note.note is not None
    assert note.note.startswith("left out from 10 on")


@pytest.mark.parametrize("part", [windows, partial_matches, batches])
def test_curves_have_exponents(part: Callable[[bool], Iterator[Point]]) -> None:
    points = [point for point in part(True) if point.note is None]
    assert len({point.curve for point in points}) > 1 or len({point.figure for point in points}) > 1
    assert all(point.y is not None and point.y > 0 and point.exponent is not None for point in points)


@pytest.mark.soak
def test_a_quick_run_gives_every_curve(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "foretell.cli", "bench", "growth", "--quick", "--json", "--output", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert {"bench", "case", "events", "seconds", "rate", "curve", "figure"} <= set.intersection(*map(set, lines))
    drawn = {line["figure"] for line in lines if "y" in line}
    assert {p.name for p in tmp_path.iterdir()} == {"growth.html", *(f"growth-{name}.svg" for name in drawn)}


@pytest.mark.parametrize(
    ("option", "takers"),
    [
        ("--quick", "benchmarks 'growth', 'forecast', 'filter', 'recover', 'calibration', 'capacity' take"),
        ("--output=x", "benchmarks 'growth', 'forecast', 'filter', 'calibration' take"),
        ("--cluster", "benchmark 'spark' takes"),
        ("--events=10000", "benchmark 'spark' takes"),
    ],
)
def test_only_some_take_their_options(option: str, takers: str) -> None:
    command = [sys.executable, "-m", "foretell.cli", "bench", "language", option]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"only the {takers} {option.partition('=')[0]}" in done.stderr
