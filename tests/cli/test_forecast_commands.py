"""`foretell train` and `foretell backtest`: the part of the events that they use."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests.command import foretell

STATEMENT = "SUBSCRIBE m FROM s MATCH a , b DEFINE a, b AS side = 'h' FORECAST WITHIN 2 EVENTS ABOVE 0.5;"
INPUT = ("--input", "s=s.csv", "--time", "s=time")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m.ftl").write_text(STATEMENT)
    sides = random.Random(1).choices("ht", k=1000)
    (tmp_path / "s.csv").write_text("time,side\n" + "".join(f"{i},{side}\n" for i, side in enumerate(sides)))
    return tmp_path


def trained(folder: Path, *options: str) -> str:
    done = foretell(folder, "train", "m.ftl", *INPUT, "--output", "model.json", *options)
    assert done.returncode == 0, done.stderr
    return done.stderr.partition(" of which")[0]


def points(folder: Path, *options: str) -> int:
    done = foretell(folder, "backtest", "m.ftl", *INPUT, "--model", "model.json", "--json", *options)
    assert done.returncode == 0, done.stderr
    (card,) = json.loads(done.stdout)["scorecards"]
    return int(card["points"] + card["censored"])


def test_a_split_divides_the_events(folder: Path) -> None:
    """By a share or by the time that it is, the same events are trained on, and the others are evaluated."""
    assert trained(folder, "--split", "0.7").startswith("m: trained on 700 events,")
    assert points(folder, "--split", "0.7") == 300
    assert trained(folder, "--split", "700").startswith("m: trained on 700 events,")
    assert points(folder, "--split", "700") == 300


def test_a_period(folder: Path) -> None:
    assert trained(folder, "--since", "100", "--until", "500").startswith("m: trained on 400 events,")
    assert points(folder, "--since", "600", "--until", "650") == 50


def test_a_split_and_a_period_that_contradict(folder: Path) -> None:
    done = foretell(folder, "train", "m.ftl", *INPUT, "--output", "m.json", "--split", "700", "--until", "500")
    assert done.returncode == 2
    assert "give --until or --split, not both" in " ".join(done.stderr.split())


def test_quiet(folder: Path) -> None:
    assert trained(folder, "--quiet") == ""


@pytest.mark.parametrize(("pattern", "states"), [("a", "1 state"), ("a , b", "2 states")])
def test_the_number_of_states(folder: Path, pattern: str, states: str) -> None:
    statement = STATEMENT.replace("a , b", pattern)
    (folder / "m.ftl").write_text(statement if "," in pattern else statement.replace("a, b", "a"))
    done = foretell(folder, "train", "m.ftl", *INPUT, "--output", "model.json")
    assert done.stderr.splitlines()[0].endswith(f"; {states}")
