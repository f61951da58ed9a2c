"""docs/capacity.md is true: its scenarios run, and its examples are those of `examples/capacity/`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import foretell as ft
from foretell.capacity.scenario.rates import MeasuredRate, StatementSample
from foretell.capacity.scenario.scenario import read_scenario
from tests.command import foretell

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples/capacity").glob("*.toml"))
TEXT = (ROOT / "docs/capacity.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)


def no_meter(sample: StatementSample) -> MeasuredRate:
    raise AssertionError(f"examples measure nothing: {sample}")


def test_the_first_scenario(tmp_path: Path) -> None:
    (tmp_path / "first.toml").write_text(BLOCKS[0], encoding="utf-8")
    (shown,) = re.findall(r"\$ foretell capacity first.toml\n(.*?)```", TEXT, re.DOTALL)
    done = foretell(tmp_path, "capacity", "first.toml", terminal=True, width=100)
    assert done.stdout == shown
    (tmp_path / "first.toml").write_text(BLOCKS[0].replace("rate = 40", "rate = 60"), encoding="utf-8")
    overloaded = foretell(tmp_path, "capacity", "first.toml", terminal=True)
    (warning,) = re.findall(r"```\n(warning: no steady state.*?)```", TEXT, re.DOTALL)
    assert " ".join(overloaded.stderr.split()).startswith(" ".join(warning.split()))
    assert overloaded.returncode == 1


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_scenarios(path: Path) -> None:
    assert read_scenario(path, no_meter).points
    assert path.stem in ("maintenance", "spark-stream") or f"`{path.name}`" in TEXT


def test_the_page_shows_the_example_of_spark() -> None:
    (shown,) = [tomllib.loads(block) for block in BLOCKS if "[batches]" in block]
    example = tomllib.loads((ROOT / "examples/capacity/spark-stream.toml").read_text(encoding="utf-8"))
    assert {name: example[name] for name in shown} == shown


def test_the_net_of_the_page() -> None:
    (net,) = [tomllib.loads(block) for block in BLOCKS if "[transitions.serve]" in block]
    (point,) = ft.capacity({**net, "run": {"seconds": 10, "precision": 0.05}}).points
    assert point.saturation is not None
    assert point.saturation.rate == pytest.approx(4, rel=0.05)


def test_every_key_of_the_reference_is_known() -> None:
    keys = re.findall(r"^\| `\[(\w+)\]` `(\w+)`", TEXT, re.MULTILINE)
    assert {section for section, _ in keys} == {
        "provider", "observer", "network", "filter", "batches", "notifier", "client", "run",
    }  # fmt: skip
