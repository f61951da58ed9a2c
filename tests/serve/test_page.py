"""The live page in a real browser: each view in each window, notifications as they come, texts of events as texts."""

from __future__ import annotations

import json
import re
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api")

from playwright.sync_api import Browser, Locator, Page, expect

from tests.serve.served_page import (
    EVIL_IMAGE,
    EVIL_SCRIPT,
    LOOKS,
    Look,
    PageServerProcess,
    picture,
    serious_faults,
    served,
    sideways_scroll,
    window,
)

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

VIEWS = (
    "overview",
    "statements",
    "statements/attack",
    "statements/both",
    "statements/guess/change",
    "new",
    "notifications",
    "forecasts",
    "aside",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServerProcess]:
    with served(tmp_path_factory.mktemp("served")) as server:
        server.practice()
        server.break_in("198.51.100.7", EVIL_IMAGE)
        server.log_in((EVIL_SCRIPT, "denied"), (EVIL_SCRIPT, "success"))
        server.break_in("long-" + "x" * 300, "y" * 3000)
        server.pass_time()
        server.wait_for("match", 10)
        server.wait_for("match", 5, "attack")
        server.come_late("198.51.100.8")
        server.append(['{"event": "bad", "time": "yesterday", "ip": "' + EVIL_SCRIPT + '"}'])
        server.wait_for_asides(late=1, quarantined=1)
        yield server


def rows(page: Page) -> Locator:
    return page.get_by_role("list", name=re.compile("^Notifications")).locator("li.row")


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.name)
@pytest.mark.parametrize("view", VIEWS)
def test_each_view_in_each_window(browser: Browser, server: PageServerProcess, view: str, look: Look) -> None:
    with window(browser, look) as seen:
        page = seen.open(server, view)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        page.wait_for_timeout(1500)  # figures, pictures and the check of a text arrive
        picture(page, f"{view.replace('/', '-')}-{look.name}")
        assert sideways_scroll(page) <= 0
        assert serious_faults(page) == []
        assert seen.complaints == []


def test_the_overview_shows_how_the_pipeline_is(browser: Browser, server: PageServerProcess) -> None:
    with window(browser) as seen:
        page = seen.open(server)
        expect(page.locator(".tile", has_text="Set aside")).to_contain_text("1 late, 1 quarantined")
        table = page.get_by_role("table", name="Statements")
        expect(table.get_by_role("row")).to_have_count(5)
        matches = {each["name"]: each["counts"]["match"] for each in server.get("/api/state")["statements"]}
        expect(table.get_by_role("row", name=re.compile("^guess")).locator(".column-match")).to_have_text(
            str(matches["guess"])
        )
        curve = page.get_by_role("slider", name="Events per second")
        curve.focus()
        page.keyboard.press("ArrowLeft")
        expect(curve).to_have_attribute("aria-valuetext", re.compile(r"\d\d:\d\d:\d\d: .* events/s"))


def test_a_match_appears_by_itself(browser: Browser, server: PageServerProcess) -> None:
    with window(browser) as seen:
        page = seen.open(server, "notifications")
        expect(rows(page).first).to_be_visible()
        server.break_in("203.0.113.5", "curl")
        server.pass_time()
        row = rows(page).filter(has_text="203.0.113.5").filter(has_text="guess")
        expect(row).to_have_count(1)
        expect(row.locator("time")).to_have_attribute("title", re.compile(r"^2026-03-01T\d\d:\d\d:\d\d"))
        row.locator("summary").focus()
        page.keyboard.press("Enter")
        expect(row.get_by_role("definition").filter(has_text="curl")).to_be_visible()
        expect(row).to_contain_text("ip = 203.0.113.5")
        picture(page, "notification-open")


def test_texts_of_events_are_texts(browser: Browser, server: PageServerProcess) -> None:
    with window(browser) as seen:
        page = seen.open(server, "notifications?statement=guess")
        evil = rows(page).filter(has_text=EVIL_SCRIPT)
        expect(evil).to_have_count(1)
        image = rows(page).filter(has_text=EVIL_IMAGE)
        image.locator("summary").click()
        expect(image.get_by_role("definition").filter(has_text=EVIL_IMAGE)).to_be_visible()
        page.goto(f"{server.url}/#/aside")
        expect(page.get_by_role("table", name="Quarantined events")).to_contain_text(EVIL_SCRIPT)
        page.goto(f"{server.url}/#/statements/silent")
        expect(page.get_by_role("heading", level=1)).to_contain_text("silent")
        page.goto(f"{server.url}/#/statements/{EVIL_IMAGE}")
        expect(page.get_by_text("There is no statement of this name.")).to_be_visible()
        assert page.evaluate("window.broken") is None
        assert page.locator("main img, main script").count() == 0
        assert seen.complaints == []


def test_a_filter_and_its_address(browser: Browser, server: PageServerProcess) -> None:
    with window(browser) as seen:
        page = seen.open(server, "notifications")
        page.get_by_label("Statement", exact=True).select_option("attack")
        page.get_by_label("Match", exact=True).check()
        expect(rows(page).filter(has_not_text="attack")).to_have_count(0)
        expect(rows(page).filter(has_not_text="Match")).to_have_count(0)
        expect(rows(page).first).to_be_visible()
        assert page.url.endswith("#/notifications?statement=attack&kind=match")
        page.reload()
        expect(page.get_by_label("Statement", exact=True)).to_have_value("attack")
        expect(page.get_by_label("Match", exact=True)).to_be_checked()
        page.get_by_label("Match", exact=True).uncheck()
        page.get_by_label("Withdrawn", exact=True).check()
        expect(page.get_by_text("No notifications pass this filter yet.")).to_be_visible()


def test_a_pause_holds_the_list(browser: Browser, server: PageServerProcess) -> None:
    with window(browser) as seen:
        page = seen.open(server, "notifications?statement=guess")
        expect(rows(page).first).to_be_visible()
        page.keyboard.press("p")
        button = page.get_by_role("button", name="Go on")
        expect(button).to_have_attribute("aria-pressed", "true")
        server.break_in("203.0.113.77")
        server.pass_time()
        expect(page.get_by_text("Paused · 1 new")).to_be_visible()
        expect(rows(page).filter(has_text="203.0.113.77")).to_have_count(0)
        picture(page, "notifications-paused")
        button.click()
        expect(rows(page).first).to_contain_text("203.0.113.77")
        expect(page.get_by_text("Paused")).to_have_count(0)


def test_an_open_notification_stays_where_it_is(browser: Browser, server: PageServerProcess) -> None:
    with window(browser) as seen:
        page = seen.open(server, "notifications?statement=guess")
        first = rows(page).first
        text = first.locator("summary").inner_text()
        first.locator("summary").click()
        server.break_in("203.0.113.78")
        server.pass_time()
        expect(page.get_by_text(re.compile("Held while you read · 1 new"))).to_be_visible()
        assert rows(page).first.locator("summary").inner_text() == text
        page.get_by_role("button", name="Show the newest").click()
        expect(rows(page).first).to_contain_text("203.0.113.78")


def test_the_list_by_keyboard(browser: Browser, server: PageServerProcess) -> None:
    with window(browser) as seen:
        page = seen.open(server, "notifications")
        expect(rows(page).nth(2)).to_be_visible()
        rows(page).first.locator("summary").focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        expect(rows(page).nth(2).locator("summary")).to_be_focused()
        page.keyboard.press("Home")
        expect(rows(page).first.locator("summary")).to_be_focused()
        assert page.locator('.row-line[tabindex="0"]').count() == 1


def test_forecasts_of_each_key(browser: Browser, server: PageServerProcess) -> None:
    server.wait_for("forecast", 1, "attack")
    with window(browser) as seen:
        page = seen.open(server, "forecasts")
        cards = page.get_by_role("list", name="Forecasts").get_by_role("listitem")
        expect(cards.first).to_contain_text(re.compile(r"\d%"))
        expect(cards.first).to_contain_text("60% within 4 events")
        page.get_by_label("Key", exact=True).fill("nobody")
        expect(page.get_by_text("No forecasts pass this filter.")).to_be_visible()
        page.get_by_label("Key", exact=True).fill("10.0.0.1")
        expect(cards).to_have_count(1)


def test_the_automaton_and_its_partial_matches(browser: Browser, server: PageServerProcess) -> None:
    server.log_in(("203.0.113.99", "denied"))
    server.pass_time()
    with window(browser) as seen:
        page = seen.open(server, "statements/attack")
        drawing = page.get_by_role("img", name=re.compile("^Automaton with"))
        expect(drawing).to_be_visible()
        automaton = server.get("/api/statements/attack/automaton")
        expect(drawing.locator("g.state")).to_have_count(len(automaton["states"]))
        page.get_by_text("States and edges as tables").click()
        expect(page.get_by_role("table", name="Edges").locator("tbody tr")).to_have_count(len(automaton["edges"]))
        expect(page.get_by_role("table", name="Partial matches")).to_contain_text("203.0.113.99")
        expect(page.get_by_role("region", name="Text of attack")).to_contain_text("FORECAST WITHIN 4 EVENTS")


def test_a_correlator_is_drawn_from_its_diagram(browser: Browser, server: PageServerProcess) -> None:
    with window(browser) as seen:
        page = seen.open(server, "statements/both")
        drawing = page.get_by_role("img", name=re.compile("^Automaton with"))
        expect(drawing.locator("g.state.start")).to_have_count(3)
        expect(drawing.locator("g.transition").filter(has_text="good")).to_have_count(1)
        assert server.get("/api/statements/both/automaton")["states"] == []


def test_a_notification_is_copied(browser: Browser, server: PageServerProcess) -> None:
    with window(browser, permissions=["clipboard-read", "clipboard-write"]) as seen:
        page = seen.open(server, "notifications?statement=guess&kind=match")
        rows(page).first.locator("summary").click()
        rows(page).first.get_by_role("button", name="Copy as JSON").click()
        expect(page.get_by_text("The notification is copied as JSON.")).to_be_visible()
        copied = json.loads(page.evaluate("navigator.clipboard.readText()"))
        newest = server.get("/api/notifications?statement=guess&kind=match&limit=1")["rows"][0]
        assert copied == {name: value for name, value in newest.items() if name not in ("number", "received")}


def test_a_page_that_nobody_sees_lets_go_of_its_connection(browser: Browser, server: PageServerProcess) -> None:
    with window(browser) as seen:
        page = seen.page
        page.clock.install()
        seen.open(server, "notifications?statement=guess")
        before = metric(server, "foretell_clients")
        hide(page, hidden=True)
        page.clock.fast_forward(61_000)
        wait_for(lambda: metric(server, "foretell_clients") == before - 1)
        expect(page.get_by_role("alert")).to_have_count(0)
        server.break_in("203.0.113.80")
        server.pass_time()
        hide(page, hidden=False)
        page.clock.run_for(3000)
        expect(rows(page).filter(has_text="203.0.113.80")).to_have_count(1)
        expect(page.locator("#health[data-health=running]")).to_be_visible()


def hide(page: Page, *, hidden: bool) -> None:
    page.evaluate(
        "hidden => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });"
        " document.dispatchEvent(new Event('visibilitychange')); }",
        hidden,
    )


def metric(server: PageServerProcess, name: str) -> float:
    with urllib.request.urlopen(f"{server.url}/metrics", timeout=20) as answer:
        lines = answer.read().decode().splitlines()
    return next(float(line.split()[-1]) for line in lines if line.startswith(f"{name} "))


def wait_for(condition: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_the_theme_is_chosen_and_kept(browser: Browser, server: PageServerProcess) -> None:
    with window(browser) as seen:
        page = seen.open(server)
        ground = "getComputedStyle(document.body).backgroundColor"
        light = page.evaluate(ground)
        page.get_by_role("button", name="Theme: as the system").click()
        assert page.evaluate(ground) == light
        page.get_by_role("button", name="Theme: light").click()
        dark = page.evaluate(ground)
        assert dark != light
        page.reload()
        expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()
        assert page.evaluate(ground) == dark


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_nothing_moves_for_who_wants_no_motion(browser: Browser, server: PageServerProcess, motion: str) -> None:
    with window(browser) as seen:
        seen.page.emulate_media(reduced_motion=motion)  # type: ignore[arg-type]
        page = seen.open(server)
        page.wait_for_timeout(500)
        assert (page.evaluate("document.getAnimations().length") > 0) == (motion == "no-preference")


def test_views_and_help_by_keyboard(browser: Browser, server: PageServerProcess) -> None:
    with window(browser) as seen:
        page = seen.open(server)
        for key, heading in zip("2345", ("Statements", "Notifications", "Forecasts", "Set aside"), strict=True):
            page.keyboard.press(key)
            expect(page.get_by_role("heading", level=1)).to_have_text(heading)
            expect(page.get_by_role("heading", level=1)).to_be_focused()
            expect(page.locator("nav [aria-current=page]")).to_have_count(1)
        page.keyboard.press("?")
        dialog = page.get_by_role("dialog", name="Keyboard and help")
        expect(dialog).to_be_visible()
        picture(page, "help")
        assert serious_faults(page) == []
        dialog.get_by_label("Shortcuts with a single key").uncheck()
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        page.keyboard.press("2")
        expect(page.get_by_role("heading", level=1)).to_have_text("Set aside")
        page.evaluate("document.activeElement.blur()")
        page.reload()
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()


def test_nothing_comes_from_elsewhere(browser: Browser, server: PageServerProcess) -> None:
    with window(browser) as seen:
        asked: list[str] = []
        seen.page.on("request", lambda request: asked.append(request.url))
        seen.open(server, "statements/attack")
        assert [url for url in asked if not url.startswith(server.url)] == []
    folder = Path(__file__).parents[2] / "src" / "foretell" / "serve" / "page"
    for path in folder.iterdir():
        text = path.read_text(encoding="utf-8")
        addresses = set(re.findall(r"https?://[^\s\"')]+", text)) - {"http://www.w3.org/2000/svg"}
        assert not addresses, path.name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", text), (
            path.name
        )
