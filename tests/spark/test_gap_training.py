"""Training of lost events on Spark: the counts are those of training in process, cell for cell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import foretell as ft
from foretell.bench.workloads.lossy_worlds import WORLDS, lossy, statement


@pytest.mark.parametrize("complete", [False, True])
def test_counts_are_those_of_training_in_process(tmp_path: Path, complete: bool) -> None:
    rng = np.random.default_rng(1)
    for part in range(2):
        pq.write_table(lossy(WORLDS["overlapping"](600, rng), 0.1, rng), tmp_path / f"{part}.parquet")
    text = statement(0.1).replace("1000", "300").replace("LOSING 0.1 OF y", "LOSING 0.1 OF x, 0.2 OF y, z")
    text += "SUBSCRIBE f FROM reads PER lane MATCH x ; z DEFINE x AS kind = 'x', z AS kind = 'z' "
    text += "FORECAST WITHIN 2 EVENTS ABOVE 0.5;"
    learning = ft.Learning(complete=complete)
    in_process = ft.train(text, {"reads": tmp_path}, learning=learning, engine="embedded")
    separate = ft.train(text, {"reads": tmp_path}, learning=learning, engine="spark")
    assert len(in_process.delays["m"]["gaps"]) == 3  # type: ignore[arg-type]
    assert separate.delays == in_process.delays
    assert separate.subscriptions["f"].statistics.events == in_process.subscriptions["f"].statistics.events


def test_a_history_without_events(tmp_path: Path) -> None:
    pq.write_table(WORLDS["shop"](20, np.random.default_rng(1)).slice(0, 0), tmp_path / "none.parquet")
    text = statement(0.1)
    for engine in ("embedded", "spark"):
        with pytest.raises(ft.InputError, match="there is nothing to learn from"):
            ft.train(text, {"reads": tmp_path}, engine=engine)
