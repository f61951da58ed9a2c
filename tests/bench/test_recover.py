"""The benchmark of lost events: its stream is what its model says, and its figures are of runs that agree."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pyarrow as pa
import pytest

from foretell.bench.recover.throughput import growth
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
