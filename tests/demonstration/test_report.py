"""The report in a browser: drawn without a network, readable by everybody, in light and dark, wide and narrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from foretell.demonstration.course import FlightCourse
from foretell.demonstration.findings import findings
from foretell.demonstration.report import report_page
from tests.charts.browser import executable
from tests.demonstration.slices import WATCHED_SINCE, weeks
from tests.serve.served_page import LOOKS, Look, serious_faults, sideways_scroll, window

pytestmark = pytest.mark.browser

#: Screenshots are kept here.
ARTEFACTS = Path(__file__).parents[2] / "artifacts" / "demonstration"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("report")
    course = FlightCourse("embedded", folder, weeks(), WATCHED_SINCE)
    course.learn()
    course.watch()
    page = folder / "report.html"
    page.write_text(report_page(findings(course.outcome())), encoding="utf-8")
    return page.as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=executable(), args=["--no-sandbox", "--disable-gpu"])
        yield running
        running.close()


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.name)
def test_the_report(browser: Browser, address: str, look: Look) -> None:
    requests: list[str] = []
    with window(browser, look, offline=True) as watched:
        page = watched.page
        page.on("request", lambda request: requests.append(request.url))
        page.goto(address)
        charts = page.locator(".chart").count()
        page.wait_for_function(f"document.querySelectorAll('.chart svg').length == {charts}")
        assert charts == 10  # without those of estimates by their kinds, of which some weeks have too few
        ARTEFACTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=ARTEFACTS / f"report-{look.name}.png", full_page=True)
        assert sideways_scroll(page) == 0
        assert serious_faults(page) == []
        assert watched.complaints == []
    assert requests == [address]
