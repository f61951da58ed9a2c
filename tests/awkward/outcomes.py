"""Whether a run of an awkward file came out as its case says."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

import foretell as ft
from foretell.notify.notifications import Notifications
from tests.awkward.awkward_files import AwkwardFile


def check_outcome(case: AwkwardFile, run: Callable[[], Notifications]) -> None:
    if case.error is not None:
        with pytest.raises(ft.ForetellError) as raised:
            run()
        assert case.error in str(raised.value)
        return
    found = run()
    if case.statement:
        assert len(found) == case.matches
    else:
        assert [typed_row(dict(match.bindings)) for match in found] == [typed_row(row) for row in case.rows]
    if case.first_time is not None:
        assert found[0].started == datetime.fromisoformat(case.first_time)
    assert len(found.bad) == case.set_aside
    assert found.summary.unreadable == ({"s": dict(case.nulls)} if case.nulls else {})
    for fragment in case.notes:
        assert any(fragment in note for note in found.notes), (fragment, found.notes)


def typed_row(row: dict[str, Any]) -> dict[str, tuple[str, Any]]:
    """A row whose values carry their types: 5, 5.0 and '5' differ."""
    return {name: (type(value).__name__, value) for name, value in row.items()}
