"""Every awkward file is read in process as its case says; its events come out of a frame of pandas the same."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import foretell as ft
from foretell.notify.notifications import Notifications
from tests.awkward.awkward_files import AwkwardFile, awkward_files
from tests.awkward.outcomes import check_outcome

CASES = awkward_files()


def test_there_are_two_hundred() -> None:
    assert len(CASES) >= 200


@pytest.mark.parametrize("case", CASES, ids=str)
def test_in_process(case: AwkwardFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = case.write(tmp_path)
    if case.stdin is not None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(case.stdin.encode())))

    def run() -> Notifications:
        options: dict[str, Any] = {"time": case.time_columns, "read": case.read_options, "strict": case.strict}
        return ft.run(case.program, {"s": source}, engine="embedded", **options)

    check_outcome(case, run)


@pytest.mark.parametrize("case", [case for case in CASES if "time" in case.columns], ids=str)
def test_through_pandas(case: AwkwardFile) -> None:
    frame = pd.DataFrame(case.rows)
    again = AwkwardFile(case.theme, case.name, events=case.events)
    found = ft.run(again.program, {"s": frame}, time={"s": "time"}, engine="embedded")
    # A time that is a number stays one in a file by its declaration, which the frame does not have.
    assert [without_time(notification.bindings) for notification in found] == [without_time(row) for row in case.rows]


def without_time(row: Any) -> dict[str, object]:
    return {name: value for name, value in row.items() if name != "time"}
