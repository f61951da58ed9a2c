"""Statements of all kinds on the live page: correlators, FOR EACH, LOSING, several streams, plain numbers as time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serve.service_client import Served, lines_of, serving, wait_for

PIPELINE = """
checkpoint = "checkpoint"
text = '''
STREAM doors (k STRING, n INT, t INT) TIME t;
STREAM rooms (k STRING, v FLOAT, t INT) TIME t;
SUBSCRIBE both FROM doors, rooms PER k MATCH a , b DEFINE a AS stream = 'doors', b AS stream = 'rooms';
SUBSCRIBE hot FOR EACH limits FROM rooms PER k MATCH a DEFINE a AS v > :most;
SUBSCRIBE opened FROM doors PER k MATCH a{2,3} , b DEFINE a AS n = 1, b AS n = 2 RETURN count(a) AS times;
SUBSCRIBE silent FROM doors PER k MATCH !a WITHIN 100;
'''

[streams.doors]
path = "doors"

[streams.rooms]
path = "rooms"

[tables]
limits = "limits.csv"

[output]
format = "csv"
path = "out"
"""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    (tmp_path / "watch.toml").write_text(PIPELINE)
    for name in ("doors", "rooms"):
        (tmp_path / name).mkdir()
    (tmp_path / "limits.csv").write_text("id,most\n1,20\n2,30\n")
    with serving(tmp_path / "watch.toml") as served:
        wait_for(lambda: served.service.recorder.ready)
        yield served


def push(folder: Path, stream: str, name: str, rows: list[dict[str, object]]) -> None:
    """Write a file that appears as a whole."""
    draft = folder / f".{name}"
    draft.write_text(lines_of(rows))
    draft.rename(folder / stream / f"{name}.jsonl")


def test_the_state_of_many_kinds(served: Served, tmp_path: Path) -> None:
    push(tmp_path, "doors", "0", [{"k": "x", "n": n, "t": t} for t, n in enumerate([1, 1, 2, 1])])
    wait_for(lambda: served.client.counts("opened") == {"match": 1})
    push(tmp_path, "rooms", "0", [{"k": "x", "v": 25.5, "t": 5}, {"k": "x", "v": 31.0, "t": 6}])
    wait_for(lambda: served.client.counts("hot") == {"match": 3})
    assert served.client.counts("both") == {"match": 1}
    push(tmp_path, "doors", "1", [{"k": "x", "n": 0, "t": 1000}])
    wait_for(lambda: served.client.counts("silent").get("match"))
    rows = served.client.get("/api/notifications?statement=hot").json["rows"]
    assert [(row["id"], row["end"]) for row in rows] == [(2, 6), (1, 6), (1, 5)]
    (row,) = served.client.get("/api/notifications?statement=opened").json["rows"]
    assert (row["bindings"], row["events"]) == ({"times": 2}, {"a": [0, 1], "b": 2})
    wait_for(lambda: served.state()["watermark"] == 1000)
    state = served.state()
    kinds = {each["name"]: each["kind"] for each in state["statements"]}
    assert kinds == {"both": "subscribe", "hot": "template", "opened": "subscribe", "silent": "subscribe"}
    assert {each["name"]: each["events"] for each in state["streams"]} == {"doors": 5, "rooms": 2}


def test_partial_matches_of_a_repeated_step(served: Served, tmp_path: Path) -> None:
    push(tmp_path, "doors", "0", [{"k": "x", "n": 1, "t": t} for t in (1, 2)])
    wait_for(lambda: served.client.get("/api/statements/opened/partial-matches").json["total"])
    found = served.client.get("/api/statements/opened/partial-matches").json
    assert sorted(json.dumps(row["events"]) for row in found["rows"]) == ['{"a": [0, 1]}', '{"a": [1]}']
    assert served.client.get("/api/statements/silent/partial-matches").json["rows"] == []
    absence = served.client.get("/api/statements/silent/automaton").json
    assert (absence["states"], absence["note"][:20]) == ([], "it has no automaton:")


def test_statements_that_are_added(served: Served, tmp_path: Path) -> None:
    """A correlator, and a template of a table that is there."""
    correlator = "CORRELATE watch FROM doors PER k DO push('both'){ sequential{a, b} } DEFINE a AS n = 7, b AS n = 8;"
    for text in (correlator, "SUBSCRIBE cold FOR EACH limits FROM rooms PER k MATCH a DEFINE a AS v < :most - 15;"):
        answer = served.client.request("POST", "/api/statements", {"text": text})
        assert answer.status == 200, answer.body
    kinds = {each["name"]: each["kind"] for each in served.state()["statements"]}
    assert (kinds["watch"], kinds["cold"]) == ("correlate", "template")
    machine = served.client.get("/api/statements/watch/automaton").json
    assert (machine["states"], machine["mermaid"][:9]) == ([], "flowchart")
    push(tmp_path, "doors", "0", [{"k": "x", "n": n, "t": n} for n in (7, 8)])
    wait_for(lambda: served.client.counts("watch") == {"token": 1})
    tried = served.client.request("POST", "/api/try", {"text": "SUBSCRIBE x FROM rooms MATCH a;"}).json
    assert tried["note"] == "no events of its streams have come in the last hour of event time"
    push(tmp_path, "rooms", "0", [{"k": "x", "v": 1.0, "t": 9}])
    wait_for(lambda: served.client.counts("cold") == {"match": 2})
    cold = "SUBSCRIBE cool FOR EACH limits FROM rooms PER k MATCH a DEFINE a AS v < :most;"
    tried = served.client.request("POST", "/api/try", {"text": cold}).json
    assert tried["counts"] == {"match": 2}, tried
    assert (tried["from"], tried["to"]) == (9, 9)


def test_the_output_as_csv(served: Served, tmp_path: Path) -> None:
    push(tmp_path, "rooms", "0", [{"k": 'a "b"', "v": 25.5, "t": 5}])
    wait_for(lambda: list((tmp_path / "out").glob("kind=match/*.csv")))
    (file,) = (tmp_path / "out" / "kind=match").iterdir()
    header, row = file.read_text().splitlines()
    assert header.startswith("subscription,key,start,end,probability,horizon,id,bindings,events")
    assert row.startswith('hot,"{""k"":""a \\""b\\""""}",5,5,1.0,,1,{},')


def test_estimates_are_shown(tmp_path: Path) -> None:
    """LOSING with the delays of a model, as the pipeline file names it."""
    examples = Path(__file__).parents[2] / "examples"
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.csv").write_text((examples / "reads.csv").read_text())
    (tmp_path / "watch.toml").write_text(
        f'checkpoint = "checkpoint"\nstatements = "{examples / "shoplifting.ftl"}"\n'
        f'model = "{examples / "shoplifting.json"}"\n[streams.reads]\npath = "in"\n'
    )
    with serving(tmp_path / "watch.toml") as served:
        wait_for(lambda: served.state()["events"] > 0, 180)
        (name,) = [each["name"] for each in served.state()["statements"]]
        wait_for(lambda: served.client.counts(name).get("estimate", 0) > 0)
        row = served.client.get("/api/notifications?kind=estimate").json["rows"][0]
        assert set(row["estimate"]) == {"score", "lost", "gaps"}
        view = served.client.get(f"/api/statements/{name}/automaton").json
        assert "with LOSING" in view["note"]
        assert view["mermaid"]
