"""The suite of cases on every engine that exists."""

from __future__ import annotations

import pytest

import foretell as ft
from tests.case_files import Case, cases, rows

ALL = cases()
ENGINES = ("embedded", "reference")  # Spark runs a part of them, in tests/spark


def test_there_are_enough_and_no_two_have_one_name() -> None:
    assert len(ALL) >= 250
    assert len({(c.file, c.name) for c in ALL}) == len(ALL)


def beyond(engine: str, case: Case) -> bool:
    """What an engine does not run yet, and must say so of. Nothing else may be left out."""
    return engine == "embedded" and not case.is_compiled


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", ALL, ids=lambda c: f"{c.file}: {c.name}")
def test_case(case: Case, engine: str) -> None:
    if beyond(engine, case):
        with pytest.raises(ft.ForetellError) as caught:
            _run(case, engine)
        assert caught.value.code in ("not-in-engine", case.error)
    elif case.error is not None:
        with pytest.raises(ft.ForetellError) as caught:
            _run(case, engine)
        assert caught.value.code == case.error
    else:
        assert rows(_run(case, engine)) == case.expect


def _run(case: Case, engine: str) -> ft.Notifications:
    return ft.run(
        case.text,
        case.streams,
        time=case.time,
        tables=case.tables,
        until=case.until,
        model=case.model,
        engine=engine,
    )
