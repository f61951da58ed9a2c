"""Two hundred notifications a second: the page stays quick, and as small as it was."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api")

from playwright.sync_api import Browser, CDPSession, Page, expect

from tests.serve.served_page import ARTEFACTS, PageServerProcess, picture, served, window

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1200)]

RATE = 200
#: Bounds: those of a page that does not grow, far above what it needs.
MOST_NODES = 8_000
MOST_HEAP_GROWTH = 12e6
MOST_FRAME_MILLISECONDS = 100
MOST_BUSY = 0.6

WATCH_ANNOUNCEMENTS = """
window.announcements_ = [];
const announcer = document.getElementById("announcer");
new MutationObserver(() => window.announcements_.push(announcer.textContent)).observe(announcer, { childList: true });
"""

WATCH_FRAMES = """
window.frames_ = [];
let before = performance.now();
const look = (now) => {
  window.frames_.push(now - before);
  if (window.frames_.length > 20000) window.frames_.splice(0, 10000);
  before = now;
  requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""


@dataclass(frozen=True)
class Load:
    """What the page takes: bytes of heap after a collection, nodes, seconds of work so far."""

    heap: float
    nodes: float
    work: float
    at: float


def load(session: CDPSession) -> Load:
    session.send("HeapProfiler.collectGarbage")
    metrics = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
    return Load(metrics["JSHeapUsedSize"], metrics["Nodes"], metrics["TaskDuration"], time.monotonic())


class Flood(threading.Thread):
    """Pairs of logins, each a match, at a steady rate until it is ended."""

    def __init__(self, server: PageServerProcess) -> None:
        super().__init__(daemon=True)
        self._server, self._end, self.pairs = server, threading.Event(), 0

    def run(self) -> None:
        began = time.monotonic()
        while not self._end.wait(0.1):
            due = int((time.monotonic() - began) * RATE) - self.pairs
            ways = (
                (f"10.1.{number // 250 % 250}.{number % 250}", status)
                for number in range(self.pairs, self.pairs + due)
                for status in ("denied", "success")
            )
            self._server.log_in(*ways, step=0.001)
            self.pairs += due

    def end(self) -> None:
        self._end.set()
        self.join()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PageServerProcess]:
    with served(tmp_path) as server:
        server.practice()
        server.wait_for("match", 5)
        yield server


def measured(page: Page, seconds: float, every: float) -> tuple[list[Load], list[float]]:
    """The load at intervals, and how many milliseconds frames took."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    page.evaluate(WATCH_FRAMES)
    loads, end = [load(session)], time.monotonic() + seconds
    while time.monotonic() < end:
        page.wait_for_timeout(min(every, max(0.1, end - time.monotonic())) * 1000)
        loads.append(load(session))
    frames: Any = page.evaluate("window.frames_")
    return loads, sorted(frames)


def flooded(browser: Browser, server: PageServerProcess, view: str, seconds: float, every: float) -> None:
    flood = Flood(server)
    flood.start()
    try:
        with window(browser) as seen:
            page = seen.open(server, view)
            page.wait_for_timeout(4000)  # the list is full
            first = page.locator("li.row").first.inner_text()
            page.evaluate(WATCH_ANNOUNCEMENTS)
            loads, frames = measured(page, seconds, every)
            assert page.locator("li.row").first.inner_text() != first  # the list moves
            picture(page, f"flood-{view.partition('?')[0]}")
            assert seen.complaints == []
            report: dict[str, Any] = {
                "view": view, "seconds": seconds, "pairs": flood.pairs,
                "heap_mb": [round(each.heap / 1e6, 2) for each in loads],
                "nodes": [int(each.nodes) for each in loads],
                "frame_ms": {share: frames[int(share * (len(frames) - 1))] for share in (0.5, 0.95, 0.99, 1.0)},
                "busy": (loads[-1].work - loads[0].work) / (loads[-1].at - loads[0].at),
            }  # fmt: skip
            ARTEFACTS.mkdir(parents=True, exist_ok=True)
            (ARTEFACTS / f"flood-{view.partition('?')[0]}.json").write_text(json.dumps(report), encoding="utf-8")
            assert max(report["nodes"]) < MOST_NODES, report
            assert loads[-1].heap - loads[len(loads) // 3].heap < MOST_HEAP_GROWTH, report
            assert report["frame_ms"][0.95] < MOST_FRAME_MILLISECONDS, report
            assert report["busy"] < MOST_BUSY, report
            announcements = page.evaluate("window.announcements_")
            assert len(announcements) <= 1 + seconds / 20, announcements  # screen readers are not flooded
            assert all(text.endswith("new notifications") for text in announcements)
            counts = page.evaluate("document.querySelectorAll('li.row').length")
            assert counts <= 100
            begun = time.monotonic()
            if view.startswith("notifications"):
                page.get_by_role("button", name="Pause").click()
                expect(page.get_by_role("button", name="Go on")).to_be_visible()
                assert time.monotonic() - begun < 2
    finally:
        flood.end()


def test_older_notifications(browser: Browser, server: PageServerProcess) -> None:
    before = server.get("/api/notifications?statement=guess&limit=500")["rows"]
    for number in range(150):
        server.break_in(f"10.2.0.{number}")
    server.pass_time()
    server.wait_for("match", len(before) + 150)
    with window(browser) as seen:
        page = seen.open(server, "notifications?statement=guess")
        rows = page.locator("li.row")
        expect(rows).to_have_count(100)
        page.get_by_role("button", name="Show older ones").focus()
        page.keyboard.press("Enter")
        expect(rows).to_have_count(len(before) + 150)
        expect(rows.nth(100).locator("summary")).to_be_focused()
        expect(rows.nth(149)).to_contain_text("10.2.0.0")
        expect(page.get_by_text("That is all that is kept.")).to_be_visible()
        server.break_in("203.0.113.81")
        server.pass_time()
        expect(page.get_by_text("Held while you read · 1 new")).to_be_visible()
        page.get_by_role("button", name="Show the newest").click()
        expect(rows.first).to_contain_text("203.0.113.81")
        expect(rows).to_have_count(100)


@pytest.mark.parametrize("view", ["notifications", "overview"])
def test_a_flood(browser: Browser, server: PageServerProcess, view: str) -> None:
    flooded(browser, server, view, seconds=15, every=3)
    reached = {each["name"]: each["counts"]["match"] for each in server.get("/api/state")["statements"]}
    assert reached["guess"] > 10 * RATE  # it was a flood


@pytest.mark.soak
def test_ten_minutes_of_flood(browser: Browser, server: PageServerProcess) -> None:
    flooded(browser, server, "notifications", seconds=600, every=20)
