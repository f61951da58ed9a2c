"""The live feed: its events, resumption, slow clients, and clients that go away."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

from foretell.serve.notification_log import MOST_FORECASTS, MOST_ROWS, NotificationLog
from tests.serve.service_client import LATE, RISE, events, lines_of, serving, wait_for, write_pipeline


def test_a_feed_tells_what_happens(tmp_path: Path) -> None:
    pipeline = write_pipeline(tmp_path, LATE + RISE)
    (tmp_path / "in" / "0.jsonl").write_text(lines_of([*events(200, 2), *events(320, 1)]))
    with serving(pipeline) as served:
        wait_for(lambda: served.client.counts("rise") == {"match": 1})
        with served.client.live() as feed:
            number, name, state = next(feed)
            assert (number, name) == ("1", "state")
            assert state["statements"][0]["text"].startswith("SUBSCRIBE rise")
            (tmp_path / "in" / "1.jsonl").write_text(lines_of([*events(0, 1), *events(322, 1), *events(400, 1)]))
            seen = {name: content for _, name, content in (next(feed) for _ in range(1))}
            while not {"notifications", "asides"} <= set(seen) or seen["asides"]["late"] == 0:
                _, name, content = next(feed)
                seen[name] = content
            assert seen["asides"] == {"late": 1, "quarantined": 0}
            assert seen["notifications"]["dropped"] == 0
            assert [row["number"] for row in seen["notifications"]["rows"]] == [2, 3]
            later = seen["state"] if "text" not in seen["state"]["statements"][0] else next(feed)[2]
            assert "text" not in later["statements"][0]
            assert len(later["history"]["seconds"]) <= 1
        served.server.end()


def test_the_end_of_a_service_is_told(tmp_path: Path) -> None:
    with serving(write_pipeline(tmp_path)) as served, served.client.live() as feed:
        assert next(feed)[1] == "state"
        served.server.end()
        *_, last = feed
        assert last[1:] == ("gone", {"reason": "the service has stopped"})


def test_a_client_resumes(tmp_path: Path) -> None:
    pipeline = write_pipeline(tmp_path)
    (tmp_path / "in" / "0.jsonl").write_text(lines_of(events(0, 400)))
    with serving(pipeline) as served:
        wait_for(lambda: served.client.counts("rise") == {"match": 399})
        for path, headers in (("/api/live?after=390", {}), ("/api/live", {"Last-Event-ID": "390"})):
            with served.client.live(path, **headers) as feed:
                found = next(content for _, name, content in feed if name == "notifications")
            assert ([row["number"] for row in found["rows"]], found["dropped"]) == (list(range(391, 400)), 0)
        with served.client.live("/api/live?after=0") as feed:
            number, found = next((number, content) for number, name, content in feed if name == "notifications")
        assert (number, len(found["rows"]), found["dropped"]) == ("399", 200, 199)
        assert served.state()["dropped"] == 199
        with served.client.live("/api/live?after=99999") as feed:
            assert next(feed)[0] == "399"


def test_clients_that_go_away_are_forgotten(tmp_path: Path) -> None:
    with serving(write_pipeline(tmp_path)) as served:
        for _ in range(3):
            with served.client.live() as feed:
                next(feed)
        wait_for(lambda: served.service.clients == 0)
        assert served.state()["status"] == "running"


def test_a_client_that_reads_nothing_holds_nobody_back(tmp_path: Path) -> None:
    pipeline = write_pipeline(tmp_path)
    with serving(pipeline) as served:
        parts = urlsplit(served.client.url)
        with socket.create_connection((str(parts.hostname), parts.port or 0)) as silent:
            silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            silent.sendall(f"GET /api/live HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode())
            wait_for(lambda: served.service.clients == 1)
            began = time.monotonic()
            for number in range(5):
                (tmp_path / "in" / f"{number}.jsonl").write_text(lines_of(events(1000 * number, 1000)))
            wait_for(lambda: served.client.counts("rise") == {"match": 4_999})
            assert time.monotonic() - began < 30
            assert served.client.get("/healthz").status == 200


def test_the_log_is_bounded() -> None:
    log = NotificationLog()
    row = {"subscription": "s", "kind": "match"}
    log.add([row] * 10, 1_000_000, "now")
    assert log.next == 1_000_001
    log.add([{**row, "kind": "forecast"}] * MOST_FORECASTS, 2 * MOST_FORECASTS, "now")
    log.add([row] * MOST_ROWS, MOST_ROWS, "now")
    rows, more = log.page(10 * MOST_ROWS, None, (), ())
    assert (len(rows), more) == (MOST_ROWS + MOST_FORECASTS, False)
    numbers = [row["number"] for row in rows]
    assert numbers == sorted(numbers, reverse=True)
    assert log.page(1, None, (), ("forecast",))[0][0]["kind"] == "forecast"
    missed = log.after(0, 100)
    assert (len(missed.rows), missed.dropped, missed.last) == (100, log.next - 1 - 100, log.next - 1)
    assert log.after(missed.last, 100).rows == []
