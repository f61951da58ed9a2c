"""Snapshots of earlier versions are still read, and give the same results (see snapshot_fixtures)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import foretell as ft
from foretell.engine import Engine
from tests.engine.snapshot_fixtures import FOLDER, engine_with_history, pushes, results_after

SNAPSHOTS = sorted(FOLDER.glob("*.ftlstate"))


@pytest.mark.parametrize("path", SNAPSHOTS, ids=lambda path: path.stem)
def test_a_snapshot_of_an_earlier_version(path: Path) -> None:
    engine = Engine.restore(None, path.read_bytes())
    after = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert results_after(engine, after["pushes"]) == after["told"]


@pytest.mark.parametrize("path", SNAPSHOTS, ids=lambda path: path.stem)
def test_its_statements_are_those_of_its_text(path: Path) -> None:
    engine = Engine.restore(ft.load(path.with_suffix(".ftl")), path.read_bytes())
    assert (engine.fresh, engine.dropped) == ((), ())


def test_there_are_snapshots() -> None:
    assert SNAPSHOTS


def test_the_program_has_results_of_every_statement() -> None:
    """What follows from the next snapshot that is made says something of each of its statements."""
    engine = engine_with_history(pushes(90)[:60])
    made = {n["subscription"] for group in results_after(engine, pushes(90)[60:]) for n in group}
    assert {str(s.name) for s in engine.subscriptions.program.statements} - made == {"s", "u"}


RISES = """STREAM ticks (k INT, price INT, t INT) TIME t;
SUBSCRIBE rise FROM ticks PER k MATCH a , b , c DEFINE a AS price < 3, b AS price > a.price, c AS price > b.price;"""


def test_many_lanes_restored_again_and_again() -> None:
    """More lanes than a new table has room for; and what is written down does not grow by being read back."""
    plain, restored = ft.Engine(RISES), ft.Engine(RISES)
    sizes = []
    for batch in range(6):
        events = [{"k": i % 300, "price": (i * 7 + batch) % 11, "t": batch * 1000 + i} for i in range(1000)]
        assert restored.push("ticks", events).rows == plain.push("ticks", events).rows
        snapshot = restored.snapshot()
        sizes.append(len(snapshot))
        restored = ft.Engine.restore(RISES, snapshot)
    assert max(sizes) < 1.5 * min(sizes)


def test_a_leading_negation_is_kept_until_the_trailing_one_is_decided() -> None:
    """For the a at 4 there is an x at the edge of its window, which is needed until that of the y is over."""
    text = """STREAM s (t INT, kind STRING) TIME t;
    SUBSCRIBE m FROM s MATCH !x ; a ; !y DEFINE a AS kind = 'a', x AS kind = 'x', y AS kind = 'y' WITHIN 3;"""
    engine = Engine(text)
    notified: list[ft.Notification] = []
    for t, kind in ((1, "x"), (4, "a"), (5, "a"), (7, "a"), (10, "y"), (11, "z")):
        notified += engine.push("s", [{"t": t, "kind": kind}])
        engine = Engine.restore(None, engine.snapshot())
    assert [(n.start, n.end) for n in notified] == [(5, 8)]
