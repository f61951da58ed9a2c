"""Reports of several tasks are merged by end, subscription and sort key; ends of different tasks may be equal."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from foretell.events.types import Type
from foretell.notify.notification_batch import NotificationBatch
from foretell.plan.result_schema import ResultSchema
from foretell.spark.batch.match_reports import MatchReport, decode_report, encode_report, in_order


def _report(name: str, rows: list[tuple[int, int]]) -> MatchReport:
    """Notifications with these ends and sort keys; the start repeats the key, so that rows can be told apart."""
    rows = sorted(rows)
    shape = ResultSchema(name, {}, {}, {}, {}, Type.INT)
    columns = {"start": [key for _, key in rows], "end": [end for end, _ in rows]}
    keys = pa.array([key.to_bytes(2, "big") for _, key in rows], pa.binary())
    return MatchReport(NotificationBatch(shape, "match", pa.RecordBatch.from_pydict(columns)), keys)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("names", ["p", "pq"])
def test_reports_are_merged_in_order(names: str, seed: int) -> None:
    chance = random.Random(seed)
    keys = iter(chance.sample(range(1000), 90))
    rows = [(chance.choice(names), [(chance.randrange(12), next(keys)) for _ in range(chance.randint(1, 15))])
            for _ in range(6)]  # fmt: skip
    reports = [_report(name, some) for name, some in rows]
    shapes = {report.batch.shape.name: report.batch.shape for report in reports}
    shipped = [decode_report(encode_report(report), shapes[report.batch.shape.name]) for report in reports]
    found = [(n.end, n.subscription, n.start) for n in in_order(shipped)]
    assert found == sorted((end, name, key) for name, some in rows for end, key in some)


def test_no_reports() -> None:
    assert not len(in_order([]))
