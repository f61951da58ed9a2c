"""The part of `foretell explain` on Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from foretell.cli.commands import app

TEXT = """
STREAM ticks (ts INT, name STRING, price FLOAT, volume INT, id INT) TIME ts ID id;
STREAM other (ts INT, name STRING, v INT) TIME ts;
SUBSCRIBE x FROM ticks PER name MATCH a ; b DEFINE a AS price > 149.5 AND name LIKE 'a%', b AS price > 149.0 WITHIN 9
RETURN a.name AS name;
SUBSCRIBE again FROM x PER name MATCH a ; b WITHIN 9;
SUBSCRIBE high FROM ticks MATCH a ; b DEFINE a AS price > 149.5, b AS price < 1.0 WITHIN 9;
SUBSCRIBE z FOR EACH limits FROM other MATCH a , b DEFINE a AS v > :x, b AS v > :y;
"""


def test_statements_on_spark(tmp_path: Path) -> None:
    (tmp_path / "some.ftl").write_text(TEXT)
    notified = CliRunner().invoke(app, ["explain", str(tmp_path / "some.ftl")])
    assert "1,000,000 of a statement in a lane (Limits.lane), 10,000,000 in all (Limits.engine)" in notified.stdout
    assert notified.exit_code == 0
    assert notified.stdout.partition("on Spark\n")[2] == (
        "  x: 4 shards per core, by name, with again\n"
        "  again: 4 shards per core, by name, with x\n"
        "  high: one task with all events; statements without PER are spread over the cores\n"
        "  z: one task with all events; statements without PER are spread over the cores\n"
        "  ticks: shuffled columns: ts, name, price, id (cut: volume)\n"
        "    shuffled events: those that some step accepts, if no ID is NULL\n"
        "    pushed down: price > 149.5 OR price > 149.0 OR price < 1.0\n"
        "  other: shuffled columns: ts, v (cut: name)\n"
        "    shuffled events: all (z: ',' needs the very next event)\n"
    )


def test_of_a_template_the_table_tells_more(tmp_path: Path) -> None:
    (tmp_path / "some.ftl").write_text(TEXT)
    (tmp_path / "limits.csv").write_text("id,x,y\n1,2,3\n")
    file, table = str(tmp_path / "some.ftl"), f"limits={tmp_path / 'limits.csv'}"
    *_, z, on_spark = lines("explain", file, "--json")
    assert (z["name"], z["states"]) == ("z", [])
    assert "give its table with --table" in z["why"]
    assert [item["dropped"] for item in on_spark["on Spark"]["streams"]] == [True, False]
    *_, z, _ = lines("explain", file, "--json", "--table", table)
    assert len(z["states"]) == 2


def test_a_condition_that_is_not_translatable(tmp_path: Path) -> None:
    text = "STREAM s (time INT, name STRING, id INT) TIME time ID id; SUBSCRIBE m FROM s MATCH a ; b "
    (tmp_path / "some.ftl").write_text(text + "DEFINE a AS name LIKE 'a%', b AS name LIKE 'b%';")
    notified = CliRunner().invoke(app, ["explain", str(tmp_path / "some.ftl")])
    assert notified.stdout.endswith("    pushed down: nothing (not translatable)\n")


def lines(*given: str) -> list[dict[str, Any]]:
    notified = CliRunner().invoke(app, given)
    assert notified.exit_code == 0
    return [
        explanation for explanation in map(json.loads, notified.stdout.splitlines()) if "together" not in explanation
    ]
