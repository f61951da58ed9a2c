"""The benchmark of lost events: its stream is what its model says, and its figures are of runs that agree."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from foretell.bench.recover import measure
from foretell.bench.recover.calibration import BETWEEN, NEGATED, Rows, among
from foretell.bench.recover.figures import PAGE, charts
from foretell.bench.recover.throughput import growth, state
from foretell.bench.workloads.rfid_reads import HOUR, PAID, STOLEN, RecoverCase, reads


def test_reads_follow_the_model() -> None:
    pieces = list(islice(reads(1_000, 0.2, 3), 2))
    assert all(np.all(np.diff(piece["time"].to_numpy().astype(np.int64)) >= 0) for piece in pieces)
    assert pieces[0]["time"][-1].as_py() <= pieces[1]["time"][0].as_py()
    at = pa.concat_tables(pieces)["receptor"].to_pylist()
    counts = [at.count(receptor) / at.count("A") for receptor in "BC"]
    assert counts == pytest.approx([PAID, PAID + STOLEN], abs=0.01)


def test_lanes_and_variables_give_the_same_estimates() -> None:
    piece = next(reads(1_000, 0.2, 3)).slice(0, 3_000)
    found = []
    for lanes in (True, False):
        engine = RecoverCase(lanes, 0.2, HOUR, 0.0).engine()
        found.append(sorted((n.kind, n.start, n.end, round(n.probability, 4)) for n in engine.push("reads", piece)))
    assert found[0] == found[1]
    assert {row[0] for row in found[0]} >= {"estimate", "withdrawn"}


def test_growth_reports_the_events_so_far() -> None:
    (point,) = growth((1,))
    assert point.events > 200_000
    assert point.rate > 0


def test_an_estimate_that_is_not_certain_keeps_more() -> None:
    probable, possible = state(1_000, 1)
    assert 4 * snapshot_bytes(probable.note) < snapshot_bytes(possible.note)


def snapshot_bytes(note: str | None) -> float:
    assert note is not None
    return float(note.split(", ")[-1].split()[0].replace(",", ""))


def test_the_truth_of_rows() -> None:
    happened = np.array([[1, 2], [3, 4]])
    assert among(np.array([[3, 4], [1, 4], [1, 2]]), happened).tolist() == [True, False, True]


def test_probable_estimates_are_more_precise_than_plain_detection() -> None:
    points = [*measure.scores("two between", quick=True)]
    precision = {p.curve: p.y or 0.0 for p in points if p.figure == "precision-two-between-negated" and p.x == 0.9}
    assert precision["both ends"] > precision["plain detection"]
    assert {p.slug for p in charts(points)} == {
        f"{metric}-two-between-{pattern}" for metric in ("precision", "recall") for pattern in ("negated", "lost")
    }


def test_distances_and_curves_of_a_world(tmp_path: Path) -> None:
    points = [*PAGE.drawn(measure.calibration("independent end", quick=True), tmp_path)]
    distances = [p for p in points if p.note is not None]
    assert any(p.case == f"independent end: {NEGATED.text}, lossy history" for p in distances)
    curves = {p.curve for p in points if p.figure == "reliability-independent-end"}
    assert curves == {"x ; !y ; z, lossy history", "x ; !y ; z, complete history", "x ; y ; z, any lost"}
    assert {p.name for p in tmp_path.iterdir()} == {"calibration.html", "calibration-reliability-independent-end.svg"}


def test_sets_of_few_estimates_are_left_out() -> None:
    few = Rows(np.array([0.5]), np.array([True]), np.array([[1, -1, 2]]))
    assert not list(measure._distances("few", BETWEEN, [few]))
