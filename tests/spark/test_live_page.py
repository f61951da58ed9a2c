"""The live page of a pipeline on Spark: what tee and metrics show, changes by the control stream, and errors."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tests.serve.service_client import LATE, RISE, STREAM, events, lines_of, serving, wait_for, write_pipeline

#: Each shard costs time in each micro-batch.
ONE_SHARD = "shards = 1\n"
CONTROL = '[control]\nformat = "json"\npath = "changes"\n'


def test_a_pipeline_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    output = '[output]\nformat = "parquet"\npath = "out"\n'
    pipeline = write_pipeline(tmp_path, LATE + RISE, ONE_SHARD + CONTROL + output)
    (tmp_path / "in" / "0.jsonl").write_text(lines_of([*events(200, 3), *events(320, 1)]) + "no json\n")
    with serving(pipeline, engine="spark") as served:
        client = served.client
        wait_for(lambda: client.counts("rise") == {"match": 2}, 240)
        wait_for(lambda: client.state()["partial_matches"])
        state = client.state()
        assert state["engine"] == "spark"
        assert state["statements"][0]["partial_matches"] is None
        assert (state["streams"][0]["events"], state["streams"][0]["quarantined"]) == (5, 1)
        assert state["watermark"] == "2026-03-01T10:05:20Z"
        rows = client.get("/api/notifications").json["rows"]
        assert [row["events"] for row in rows] == [{"a": "e201", "b": "e202"}, {"a": "e200", "b": "e201"}]
        assert (rows[0]["key"], rows[0]["start"]) == ({"k": "x"}, "2026-03-01T10:03:21Z")
        (bad,) = client.get("/api/quarantine").json["rows"]
        assert (bad["stream"], bad["event"]) == ("s", "no json")
        assert client.get("/api/statements/rise/automaton").json["states"][1]["partial_matches"] is None
        hidden = client.get("/api/statements/rise/partial-matches").json
        assert (hidden["rows"], hidden["total"]) == ([], None)
        assert "Spark tells the number of all partial matches" in hidden["note"]
        tried = client.request("POST", "/api/try", {"text": "SUBSCRIBE x FROM s MATCH a;"})
        assert (tried.status, tried.json["error"]) == (409, "this engine keeps no events to try statements on")

        added = client.request("POST", "/api/statements", {"text": "SUBSCRIBE high FROM s PER k MATCH a;"})
        assert [each["name"] for each in added.json["state"]["statements"]] == ["rise", "high"]
        (tmp_path / "in" / "1.jsonl").write_text(lines_of([*events(0, 1), *events(321, 1), *events(500, 1)]))
        wait_for(lambda: client.counts("high") == {"match": 2}, 120)
        wait_for(lambda: client.get("/api/late").json["total"] == 1)
        assert client.get("/api/late").json["rows"][0]["event"]["id"] == "e0"
        other = "SUBSCRIBE other FROM s PER v MATCH a;"
        refused = client.request("POST", "/api/statements", {"text": other})
        assert refused.status == 422
        assert "no shard can serve 'other'" in refused.json["error"]
        removed = client.request("DELETE", "/api/statements/high")
        assert [each["name"] for each in removed.json["state"]["statements"]] == ["rise"]
    assert served.service.recorder.status == "stopped"
    assert list((tmp_path / "out" / "kind=match").glob("*.parquet"))


def test_a_query_that_fails_stays_visible(spark: SparkSession, tmp_path: Path) -> None:
    """Without a control stream statements do not change; an event out of order ends the query, and the page goes on."""
    pipeline = write_pipeline(tmp_path, STREAM + RISE, ONE_SHARD)
    (tmp_path / "in" / "0.jsonl").write_text(lines_of(events(5, 2)))
    with serving(pipeline, engine="spark") as served:
        client = served.client
        wait_for(lambda: client.counts("rise") == {"match": 1}, 240)
        refused = client.request("POST", "/api/statements", {"text": RISE.replace("rise", "again")})
        assert (refused.status, refused.json["error"]) == (409, "this pipeline takes no changes")
        assert "add one, and start again" in client.state()["change_note"]
        (tmp_path / "in" / "1.jsonl").write_text(lines_of(events(0, 1)))
        wait_for(lambda: client.state()["status"] == "failed", 120)
        assert "but time is 2026-03-01T10:00:06Z already" in client.state()["error"]["error"]
        assert client.get("/healthz").status == 503
        assert client.get("/api/notifications").json["rows"][0]["events"] == {"a": "e5", "b": "e6"}
