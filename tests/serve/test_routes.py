"""The API: notifications, automata, partial matches, checks, trials, changes of statements, metrics."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serve.service_client import RISE, STREAM, Served, events, lines_of, serving, wait_for, write_pipeline

PROGRAM = (
    STREAM
    + RISE
    + "SUBSCRIBE far FROM s PER k MATCH a ; b ; c DEFINE b AS v > a.v, c AS v > 1000 WITHIN 1 h RETURN a.v AS low;"
    + "SUBSCRIBE soon FROM s PER k MATCH a , b DEFINE b AS v > a.v FORECAST WITHIN 2 EVENTS ABOVE 0.2;"
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("routes")
    pipeline = write_pipeline(folder, PROGRAM)
    (folder / "in" / "0.jsonl").write_text(lines_of(events(0, 70)))
    with serving(pipeline) as served:
        wait_for(lambda: served.client.counts("rise") == {"match": 69}, 180)
        yield served


@pytest.fixture
def changeable(tmp_path: Path) -> Iterator[Served]:
    pipeline = write_pipeline(tmp_path)
    (tmp_path / "in" / "0.jsonl").write_text(lines_of(events(0, 3)))
    with serving(pipeline) as served:
        wait_for(lambda: served.client.counts("rise") == {"match": 2})
        yield served


# ── notifications ──


def test_pages_of_notifications(served: Served) -> None:
    first = served.client.get("/api/notifications?statement=rise&limit=20").json
    assert (len(first["rows"]), first["more"]) == (20, True)
    row = first["rows"][0]
    assert row["events"] == {"a": "e68", "b": "e69"}
    assert {"number", "received", "estimate", "horizon", "id", "bindings"} <= set(row)
    assert (row["key"], row["start"], row["probability"]) == ({"k": "x"}, "2026-03-01T10:01:08Z", 1.0)
    numbers = [row["number"] for row in first["rows"]]
    assert numbers == sorted(numbers, reverse=True)
    second = served.client.get(f"/api/notifications?statement=rise&limit=500&before={numbers[-1]}").json
    assert (len(second["rows"]), second["more"]) == (49, False)
    assert served.client.get("/api/notifications?kind=estimate").json == {"rows": [], "more": False}
    both = served.client.get("/api/notifications?statement=rise,soon&kind=match&limit=500").json["rows"]
    assert {row["subscription"] for row in both} == {"rise", "soon"}
    for wrong in ("soon", "-1", "9" * 5000, "%D9%A1"):
        assert served.client.get(f"/api/notifications?before={wrong}").status == 400
    assert len(served.client.get("/api/notifications?limit=none").json["rows"]) == 50


def test_forecasts(served: Served) -> None:
    wait_for(lambda: served.client.get("/api/forecasts").json["rows"])
    (row,) = served.client.get("/api/forecasts?statement=soon").json["rows"]
    assert (row["statement"], row["key"], row["threshold"], row["horizon"]) == ("soon", {"k": "x"}, 0.2, "2 EVENTS")
    assert row["history"][-1] == ["2026-03-01T10:01:09Z", pytest.approx(row["probability"], abs=1e-3)]
    assert 0 < row["probability"] <= 1


# ── statements ──


def test_an_automaton(served: Served) -> None:
    view = served.client.get("/api/statements/far/automaton").json
    assert [(s["start"], s["final"]) for s in view["states"]] == [(True, False), *[(False, False)] * 2, (False, True)]
    assert [(e["source"], e["target"], e["step"]) for e in view["edges"]] == [(-1, 0, "a"), (0, 1, "b"), (1, 2, "c")]
    assert view["mermaid"].startswith("stateDiagram-v2")
    counts = [state["partial_matches"] for state in view["states"]]
    assert counts[0] is None
    assert counts[1] > 0
    assert served.client.get("/api/statements/none/automaton").status == 404


def test_partial_matches(served: Served) -> None:
    found = served.client.get("/api/statements/far/partial-matches?limit=5").json
    assert len(found["rows"]) == 5
    assert found["total"] > 70
    assert found["rows"][0]["key"] == {"k": "x"}
    assert found["rows"][0]["began"] == "2026-03-01T10:01:09Z"
    rise = served.client.get("/api/statements/rise/partial-matches").json
    assert rise["rows"] == [{"key": {"k": "x"}, "state": 0, "began": "2026-03-01T10:01:09Z", "events": {"a": "e69"}}]
    assert served.client.get("/api/statements/none/partial-matches").json["error"] == "there is no statement 'none'"


def test_the_state_of_statements(served: Served) -> None:
    wait_for(lambda: served.state()["statements"][0]["lanes"] == 1)
    rise = served.state()["statements"][0]
    assert (rise["kind"], rise["reads"], rise["partial_matches"], rise["stopped_lanes"]) == ("subscribe", ["s"], 1, 0)
    assert rise["state_bytes"] > 0
    assert rise["text"].startswith("SUBSCRIBE rise\nFROM   s\n")


def test_the_history(served: Served) -> None:
    wait_for(lambda: len(served.state()["history"]["seconds"]) > 1)
    history = served.state()["history"]
    assert len({len(column) for column in history.values()}) == 1
    assert history["seconds"] == sorted(history["seconds"])


# ── checks ──


def test_a_check_says_where_errors_are(served: Served) -> None:
    text = "SUBSCRIBE x FROM s MATCH a , b\nDEFINE b AS w > a.v;"
    (error,) = served.client.request("POST", "/api/check", {"text": text}).json["errors"]
    assert (error["line"], error["column"], error["end_column"]) == (2, 13, 14)
    assert "'w'" in error["message"]
    assert error["excerpt"] == "  2 | DEFINE b AS w > a.v;\n    |             ^"


def test_a_check_finds_several_errors(served: Served) -> None:
    text = "SUBSCRIBE x FROM s MATCH a DEFINE a AS w = 1;\n\nSUBSCRIBE y FROM s MATCH a DEFINE a AS u = 1;"
    answer = served.client.request("POST", "/api/check", {"text": text}).json
    assert [error["line"] for error in answer["errors"]] == [1, 3]
    assert answer["ok"] is False


def test_a_check_has_findings(served: Served) -> None:
    text = "SUBSCRIBE x FROM s\nMATCH a , b\nDEFINE a AS v > 5 AND v < 3;"
    answer = served.client.request("POST", "/api/check", {"text": text}).json
    assert answer["ok"] is True
    assert [(f["code"], f["line"], f["certain"]) for f in answer["findings"]] == [("contradiction", 3, True)]


def test_a_check_knows_the_running_statements(served: Served) -> None:
    check = {"text": "SUBSCRIBE second FROM far MATCH a , b DEFINE b AS low > a.low;"}
    assert served.client.request("POST", "/api/check", check).json["errors"] == []
    taken = served.client.request("POST", "/api/check", {"text": RISE}).json
    assert [(e["message"], e["line"]) for e in taken["errors"]] == [("there is 'rise' already", 1)]
    assert served.client.request("POST", "/api/check", {"text": RISE, "replaces": "rise"}).json["errors"] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no statement"),
        ("STREAM z (a INT) TIME a;", "'z' is a stream: the streams are those of the pipeline file"),
        ("SUBSCRIBE x FROM unknown MATCH a;", "unknown stream 'unknown'"),
        ("SUBSCRIBE x FROM s MATCH" + " (" * 5000, ""),
        ("x" * 100_001, "more than 100,000 characters"),
        ("\ud800", ""),
    ],
)
def test_bad_texts(served: Served, text: str, message: str) -> None:
    for method, path in (("POST", "/api/check"), ("POST", "/api/try"), ("POST", "/api/statements")):
        answer = served.client.request(method, path, {"text": text})
        assert answer.status == (200 if path == "/api/check" else 422), answer.body
        assert message in answer.json["errors"][0]["message"]


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"text": 3}', b"\xff", b"[" * 100_000])
def test_bad_requests(served: Served, body: bytes) -> None:
    answer = served.client.request("POST", "/api/check", body)
    assert (answer.status, set(answer.json)) == (400, {"error", "hint"})


# ── trials ──


def test_a_trial_on_the_last_hour(served: Served) -> None:
    text = "SUBSCRIBE tens FROM s PER k MATCH a DEFINE a AS v % 10 = 0;"
    answer = served.client.request("POST", "/api/try", {"text": text})
    tried = answer.json
    assert answer.status == 200, tried
    assert (tried["counts"], tried["events"]) == ({"match": 7}, 70)
    assert (tried["from"], tried["to"]) == ("2026-03-01T10:00:00Z", "2026-03-01T10:01:09Z")
    assert [row["events"]["a"] for row in tried["rows"]] == [f"e{n}" for n in range(0, 70, 10)]
    assert "tens" not in [each["name"] for each in served.state()["statements"]]


def test_a_trial_reads_running_statements(served: Served) -> None:
    text = "SUBSCRIBE twice FROM rise PER k MATCH a , b;"
    tried = served.client.request("POST", "/api/try", {"text": text}).json
    assert tried["errors"][0]["message"]  # rise does not return k
    tried = served.client.request("POST", "/api/try", {"text": text.replace(" PER k", "")}).json
    assert tried["counts"] == {"match": 68}


# ── changes ──


def test_a_statement_is_added_and_removed(changeable: Served, tmp_path: Path) -> None:
    text = "SUBSCRIBE high FROM s MATCH a DEFINE a AS v >= 4;"
    added = changeable.client.request("POST", "/api/statements", {"text": text})
    assert [each["name"] for each in added.json["state"]["statements"]] == ["rise", "high"]
    (tmp_path / "in" / "1.jsonl").write_text(lines_of(events(3, 3)))
    wait_for(lambda: changeable.client.counts("high") == {"match": 2})
    removed = changeable.client.request("DELETE", "/api/statements/high")
    assert [each["name"] for each in removed.json["state"]["statements"]] == ["rise"]
    assert changeable.client.request("DELETE", "/api/statements/high").status == 404


def test_a_refused_change_leaves_all_as_it_was(changeable: Served, tmp_path: Path) -> None:
    """The old statement keeps its partial match."""
    wrong = RISE.replace("v > a.v", "v > a.w")
    answer = changeable.client.request("PUT", "/api/statements/rise", {"text": wrong})
    assert (answer.status, answer.json["errors"][0]["line"]) == (422, 1)
    two = RISE + RISE.replace("rise", "other")
    assert changeable.client.request("PUT", "/api/statements/rise", {"text": two}).status == 422
    for_each = "SUBSCRIBE rise FOR EACH limits FROM s MATCH a DEFINE a AS v > :most;"
    refused = changeable.client.request("PUT", "/api/statements/rise", {"text": for_each})
    assert (refused.status, refused.json["hint"]) == (422, "the tables are those of the pipeline file")
    (tmp_path / "in" / "1.jsonl").write_text(lines_of(events(3, 1)))
    wait_for(lambda: changeable.client.counts("rise") == {"match": 3})


def test_a_statement_that_others_read_stays(changeable: Served) -> None:
    assert (
        changeable.client.request("POST", "/api/statements", {"text": "SUBSCRIBE twice FROM rise MATCH a , b;"}).status
        == 200
    )
    answer = changeable.client.request("DELETE", "/api/statements/rise")
    assert (answer.status, answer.json["error"]) == (422, "'rise' cannot be removed: 'twice' reads it")
    changed = RISE.replace("1 h", "2 h")
    answer = changeable.client.request("PUT", "/api/statements/rise", {"text": changed})
    assert (answer.status, answer.json["error"]) == (422, "'rise' cannot be removed: 'twice' reads it")
    assert answer.json["hint"] == "unsubscribe 'twice' first"


def test_a_read_only_service(tmp_path: Path) -> None:
    with serving(write_pipeline(tmp_path), read_only=True) as served:
        for method, path in (("POST", ""), ("PUT", "/rise"), ("DELETE", "/rise")):
            answer = served.client.request(method, f"/api/statements{path}", {"text": RISE})
            assert (answer.status, answer.json["error"]) == (403, "this service is read-only")
        state = served.state()
        assert (state["can_change"], state["read_only"]) == (False, True)
        assert served.client.request("POST", "/api/check", {"text": RISE, "replaces": "rise"}).json["ok"]


# ── metrics ──


def test_metrics(served: Served) -> None:
    answer = served.client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.body.decode().splitlines()
    sample = re.compile(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? -?[0-9.e+-]+')
    assert [line for line in lines if not line.startswith("# ") and not sample.fullmatch(line)] == []
    assert 'foretell_events_total{stream="s"} 70' in lines
    assert 'foretell_notifications_total{statement="rise",kind="match"} 69' in lines
    assert "foretell_up 1" in lines
    buckets = [int(line.split()[-1]) for line in lines if line.startswith("foretell_push_seconds_bucket")]
    assert buckets == sorted(buckets)
    kinds = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    assert len(kinds) == len([line for line in lines if line.startswith("# TYPE")])


def test_events_are_data(tmp_path: Path) -> None:
    """What an event has is JSON, whatever it is."""
    pipeline = write_pipeline(
        tmp_path, STREAM + "SUBSCRIBE all FROM s PER k MATCH a RETURN a.k AS k;".replace("all", "every")
    )
    key = "<script>alert(1)</script>\u2028\n\nid: 7\nevent: gone"
    (tmp_path / "in" / "0.jsonl").write_text(lines_of(events(0, 1, k=key)))
    with serving(pipeline) as served:
        wait_for(lambda: served.client.counts("every") == {"match": 1})
        answer = served.client.get("/api/notifications")
        assert answer.headers["content-type"] == "application/json"
        assert answer.json["rows"][0]["key"] == {"k": key}
        with served.client.live("/api/live?after=0") as feed:
            seen = [next(feed) for _ in range(3)]
        (rows,) = [content["rows"] for _, name, content in seen if name == "notifications"]
        assert rows[0]["key"] == {"k": key}
