"""The live page when something goes wrong: a pipeline that fails, a server that goes away and comes back, a token."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api")

from playwright.sync_api import Browser, expect

from tests.serve.served_page import (
    LOOKS,
    STATEMENTS,
    Look,
    Network,
    PageServerProcess,
    picture,
    serious_faults,
    served,
    sideways_scroll,
    window,
)

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

TOKEN = "a-token-of-the-tests-0123456789"


def test_a_server_that_goes_away_and_comes_back(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as server, window(browser) as seen:
        server.break_in("198.51.100.1")
        server.pass_time()
        page = seen.open(server, "notifications?statement=guess")
        rows = page.locator("li.row")
        expect(rows).to_have_count(1, timeout=60_000)
        server.stop(signal.SIGKILL)
        banner = page.get_by_role("alert").filter(has_text="The connection to the server is lost.")
        expect(banner).to_be_visible()
        expect(page.get_by_text("Not connected")).to_be_visible()
        expect(rows).to_have_count(1)  # what was there stays to read
        assert page.evaluate("document.querySelector('#banner use').getBBox().width") > 0  # the icon needs no server
        picture(page, "connection-lost")
        assert serious_faults(page) == []
        server.break_in("198.51.100.2")
        server.pass_time()
        server.start()
        expect(page.locator("#health[data-health=running]")).to_be_visible(timeout=40_000)
        expect(banner).to_have_count(0)
        expect(rows.filter(has_text="198.51.100.2")).to_have_count(1, timeout=60_000)


def test_try_now_and_a_clean_stop(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as server, window(browser, LOOKS[2]) as seen:
        page = seen.open(server)
        server.stop()
        banner = page.get_by_role("alert").filter(has_text="connection")
        expect(banner).to_be_visible()
        picture(page, "connection-lost-phone")
        assert sideways_scroll(page) <= 0
        server.start()
        page.get_by_role("button", name="Try now").click()
        expect(page.locator("#health[data-health=running]")).to_be_visible()


def test_nothing_is_lost_over_a_short_break(browser: Browser, tmp_path: Path) -> None:
    """The network breaks, not the server: the page asks for what came meanwhile."""
    with served(tmp_path) as server, Network(server.port) as network, window(browser) as seen:
        page = seen.page
        page.goto(f"http://127.0.0.1:{network.port}/#/notifications?statement=guess")
        server.break_in("198.51.100.1")
        server.pass_time()
        rows = page.locator("li.row")
        expect(rows).to_have_count(1, timeout=60_000)
        network.cut()
        expect(page.get_by_role("alert").filter(has_text="connection")).to_be_visible(timeout=30_000)
        for number in range(2, 7):
            server.break_in(f"198.51.100.{number}")
        server.pass_time()
        server.wait_for("match", 6)
        network.mend()
        expect(rows).to_have_count(6, timeout=30_000)
        texts = [row.locator(".key").inner_text() for row in rows.all()]
        assert texts == [f"198.51.100.{number}" for number in range(6, 0, -1)]


def test_a_pipeline_that_fails(browser: Browser, tmp_path: Path) -> None:
    """An event out of order in a stream without LATE BY ends the pipeline; the page stays and says why."""
    with served(tmp_path, statements=STATEMENTS.replace(" LATE BY 2 s", "")) as server, window(browser) as seen:
        server.break_in("198.51.100.1")
        server.pass_time()
        page = seen.open(server)
        expect(page.locator("li.row").first).to_be_visible(timeout=60_000)
        server.come_late("198.51.100.2")
        banner = page.get_by_role("alert").filter(has_text="The pipeline failed.")
        expect(banner).to_be_visible(timeout=30_000)
        expect(banner).to_contain_text("LATE BY")
        expect(page.locator("#health-text")).to_have_text("Failed")
        picture(page, "pipeline-failed")
        assert serious_faults(page) == []
        page.goto(f"{server.url}/#/new")
        page.get_by_label("Statement", exact=True).fill("SUBSCRIBE x FROM logins MATCH a , b;")
        page.keyboard.press("Control+Enter")
        expect(page.locator("#check-summary[data-kind=error]")).to_be_visible(timeout=30_000)


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServerProcess]:
    """A server that wants a token."""
    folder = tmp_path_factory.mktemp("locked")
    (folder / "token").write_text(TOKEN, encoding="utf-8")
    with served(folder, "--token-file", "token") as server:
        yield server


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.name)
def test_signing_in(browser: Browser, locked: PageServerProcess, look: Look) -> None:
    with window(browser, look) as seen:
        page = seen.page
        page.goto(f"{locked.url}/#/statements")
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in to Foretell")
        field = page.get_by_label("Token")
        expect(field).to_be_focused()
        page.keyboard.type("a wrong token")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("This is not the token of this server.")
        expect(field).to_have_attribute("aria-invalid", "true")
        picture(page, f"sign-in-{look.name}")
        assert serious_faults(page) == []
        assert sideways_scroll(page) <= 0
        page.keyboard.type(TOKEN)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Statements")
        expect(page.locator("#health[data-health=running]")).to_be_visible()


def test_a_session_that_ends(browser: Browser, locked: PageServerProcess) -> None:
    with window(browser) as seen:
        page = seen.page
        page.goto(locked.url)
        page.get_by_label("Token").fill(TOKEN)
        page.keyboard.press("Enter")
        expect(page.locator("#health[data-health=running]")).to_be_visible()
        page.goto(f"{locked.url}/#/new")
        page.get_by_label("Statement", exact=True).fill("SUBSCRIBE x")
        page.context.clear_cookies()
        page.get_by_label("Statement", exact=True).fill("SUBSCRIBE x FROM")  # the next request is refused
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in to Foretell")
        page.get_by_label("Token").fill(TOKEN)
        page.keyboard.press("Enter")
        expect(page.get_by_label("Statement", exact=True)).to_have_value("SUBSCRIBE x FROM")


def test_a_form_without_scripts(browser: Browser, locked: PageServerProcess) -> None:
    with window(browser, java_script_enabled=False) as seen:
        page = seen.page
        page.goto(locked.url)
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/login?wrong=1")
        page.get_by_label("Token").fill(TOKEN)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{locked.url}/")
