"""Snapshots that were made by earlier versions are still read, and lead to what they led to then (see make_state)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import foretell as ft
from foretell.engine import Engine
from tests.engine.make_state import FOLDER, engine_amid, pushes, told_after

SNAPSHOTS = sorted(FOLDER.glob("*.ftlstate"))


@pytest.mark.parametrize("path", SNAPSHOTS, ids=lambda path: path.stem)
def test_a_snapshot_of_an_earlier_version(path: Path) -> None:
    engine = Engine.restore(None, path.read_bytes())
    after = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert told_after(engine, after["pushes"]) == after["told"]


@pytest.mark.parametrize("path", SNAPSHOTS, ids=lambda path: path.stem)
def test_its_statements_are_those_of_its_text(path: Path) -> None:
    engine = Engine.restore(ft.load(path.with_suffix(".ftl")), path.read_bytes())
    assert (engine.fresh, engine.dropped) == ((), ())


def test_there_are_snapshots() -> None:
    assert SNAPSHOTS


def test_the_program_tells_something_of_every_kind() -> None:
    """What follows from the next snapshot that is made says something of each of its statements."""
    engine = engine_amid(pushes(90)[:60])
    made = {n["subscription"] for some in told_after(engine, pushes(90)[60:]) for n in some}
    assert {str(s.name) for s in engine.subscriptions.program.statements} - made == {"s", "u"}
