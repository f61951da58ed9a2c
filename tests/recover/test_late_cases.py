"""The cases with late events: on the reference evaluator, and on an engine to which they come at their times."""

from __future__ import annotations

from typing import Any

import pytest

import foretell as ft
from foretell.events.notification import Notification
from tests.case_files import Case, late_cases, rows
from tests.recover.late_programs import run_with_late


def arrivals(case: Case) -> list[tuple[dict[str, Any], int]]:
    """The late events without the times at which they arrive, and these."""
    return [({n: v for n, v in row.items() if n != "arrives"}, int(row["arrives"])) for row in case.late["s"]]  # type: ignore[arg-type]


def pushed(case: Case) -> list[Notification]:
    engine = ft.Engine(case.text, model=case.model)
    found, waiting = list[Notification](), list(case.streams["s"])
    for late, time in arrivals(case):
        found += engine.push("s", [event for event in waiting if event["time"] < time])  # type: ignore[operator]
        waiting = [event for event in waiting if event["time"] >= time]  # type: ignore[operator]
        found += [*engine.advance(time), *engine.push("s", [late])]
    return [*found, *engine.push("s", waiting), *engine.end()]


@pytest.mark.parametrize("case", late_cases(), ids=lambda case: case.name)
def test_late_case(case: Case) -> None:
    assert case.model is not None
    assert rows(run_with_late(case.text, case.streams["s"], arrivals(case), case.model)) == case.expect
    found = sorted(pushed(case), key=lambda n: (n.end, n.kind != "estimate"))
    assert rows(found) == case.expect
