"""Every awkward file is read as its case says, in process and by Spark's tasks."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest

import foretell as ft
from foretell.notify.notifications import Notifications
from tests.awkward.awkward_files import AwkwardFile, awkward_files
from tests.spark.local_batch import local_batch

CASES = [pytest.param(case, id=f"{case.theme}: {case.name}") for case in awkward_files()]


@pytest.mark.parametrize("case", CASES)
def test_in_process(case: AwkwardFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = case.write(tmp_path)
    if case.stdin is not None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(case.stdin.encode())))

    def run() -> Notifications:
        options: dict[str, Any] = {"time": case.time_columns, "read": case.read_options, "strict": case.strict}
        return ft.run(case.program, {"s": source}, engine="embedded", **options)

    _check(case, run)


@pytest.mark.parametrize("case", [param for param in CASES if param.values[0].stdin is None])  # type: ignore[attr-defined]
def test_in_tasks_of_spark(case: AwkwardFile, tmp_path: Path) -> None:
    source = case.write(tmp_path)

    def run() -> Notifications:
        job = local_batch(
            case.program, {"s": source}, time=case.time_columns, read=case.read_options, strict=case.strict
        )
        return job.notifications()

    _check(case, run)


def _check(case: AwkwardFile, run: Any) -> None:
    if case.error is not None:
        with pytest.raises(ft.ForetellError) as raised:
            run()
        assert case.error in str(raised.value)
        return
    found = run()
    if case.statement:
        assert len(found) == case.matches
    else:
        rows = [dict(notification.bindings) for notification in found]
        assert [_typed(row) for row in rows] == [_typed(row) for row in case.rows]
    assert len(found.bad) == case.set_aside
    for fragment in case.notes:
        assert any(fragment in note for note in found.notes), (fragment, found.notes)


def _typed(row: dict[str, Any]) -> dict[str, tuple[str, Any]]:
    """A row whose values carry their types: 5, 5.0 and '5' differ."""
    return {name: (type(value).__name__, value) for name, value in row.items()}


def test_there_are_two_hundred() -> None:
    assert len(CASES) >= 200
