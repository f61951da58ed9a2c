"""Statements on the live page, by keyboard alone: add, check, try, change, remove, and refusals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api")

from playwright.sync_api import Browser, Page, expect

from tests.serve.served_page import LOOKS, PageServerProcess, picture, serious_faults, served, window

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

PAIR = "SUBSCRIBE pair FROM logins PER ip\nMATCH a , b\nDEFINE a AS status = 'denied', b AS status = 'denied'"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServerProcess]:
    with served(tmp_path_factory.mktemp("served")) as server:
        server.practice()
        server.wait_for("match", 5)
        yield server


def tab_to(page: Page, name: str) -> None:
    """Press Tab until the focus is on what has this name."""
    for _ in range(60):
        focused = page.evaluate(
            "(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim() || "
            "document.activeElement.getAttribute('aria-label')"
        )
        if focused == name:
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach '{name}'")


def typed(page: Page, text: str) -> None:
    tab_to(page, "Statement")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def names(server: PageServerProcess) -> list[str]:
    return [statement["name"] for statement in server.get("/api/state")["statements"]]


def test_add_change_and_remove_by_keyboard(browser: Browser, server: PageServerProcess) -> None:
    with window(browser) as seen:
        page = seen.open(server, "statements")
        page.keyboard.press("n")
        expect(page.get_by_role("heading", level=1)).to_have_text("Add a statement")
        typed(page, PAIR + "\nWITHIN 5 min;")
        expect(page.get_by_text("No errors.", exact=True)).to_be_visible(timeout=30_000)
        page.keyboard.press("Control+Enter")
        expect(page.get_by_role("heading", level=1)).to_contain_text("pair", timeout=60_000)
        expect(page.get_by_role("status").get_by_text("pair is added.")).to_be_visible()
        assert "pair" in names(server)

        server.log_in(("203.0.113.1", "denied"), ("203.0.113.1", "denied"))
        server.pass_time()
        expect(page.get_by_role("list", name="Latest notifications of this statement")).to_contain_text("203.0.113.1")

        tab_to(page, "Change or try")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Change pair")
        typed(page, PAIR + "\nWITHIN 7 min;")
        expect(page.get_by_text("No errors.", exact=True)).to_be_visible(timeout=30_000)
        tab_to(page, "Save the change")
        page.keyboard.press("Enter")
        expect(page.get_by_role("region", name="Text of pair")).to_contain_text("WITHIN 7 min", timeout=60_000)

        tab_to(page, "Remove")
        page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog", name="Remove pair?")
        expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
        assert serious_faults(page) == []
        picture(page, "remove-question")
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        expect(page.get_by_role("button", name="Remove")).to_be_focused()
        assert "pair" in names(server)
        page.keyboard.press("Enter")
        tab_to(page, "Remove pair")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Statements")
        expect(page.get_by_role("table", name="Statements").get_by_text("pair")).to_have_count(0)
        assert "pair" not in names(server)
        assert seen.complaints == []


def test_errors_as_one_types(browser: Browser, server: PageServerProcess) -> None:
    with window(browser) as seen:
        page = seen.open(server, "new")
        typed(page, PAIR.replace("pair", "wrong").replace("b AS status", "b AS statsu") + ";")
        problem = page.get_by_role("list", name="Errors and findings").get_by_role("listitem")
        expect(problem).to_have_count(1)
        expect(problem).to_contain_text("Line 3, column 37")
        lines = problem.locator(".excerpt").inner_text().rstrip().split("\n")
        caret = next(number for number, line in enumerate(lines) if set(line.strip(" |")) == {"^"})
        assert lines[caret - 1][lines[caret].index("^") :].startswith("statsu")
        assert lines[caret].count("^") == len("statsu")
        expect(page.locator(".mark-error")).to_have_text("statsu")
        expect(problem.locator(".hint")).to_contain_text("status")
        expect(page.get_by_label("Statement", exact=True)).to_have_attribute("aria-invalid", "true")
        expect(page.locator("#check-summary")).to_contain_text("1 error")
        assert serious_faults(page) == []
        picture(page, "editor-error")

        problem.get_by_role("button", name="Line 3, column 37").focus()
        page.keyboard.press("Enter")
        page.keyboard.insert_text("status")
        expect(problem.locator(".problem-kind.error")).to_have_count(0)
        expect(page.locator(".mark-error")).to_have_count(0)

        page.keyboard.press("Control+a")
        page.keyboard.press("Delete")
        expect(page.get_by_text("Write a statement. It is checked while you type.")).to_be_visible()


def test_a_trial_changes_nothing(browser: Browser, server: PageServerProcess) -> None:
    before = names(server)
    with window(browser) as seen:
        page = seen.open(server, "new")
        typed(page, PAIR.replace("pair", "tried") + "\nWITHIN 5 min;")
        page.keyboard.press("Alt+Enter")
        status = page.locator(".trial-status")
        expect(status).to_contain_text(re.compile(r"\d+ match(es)? in [\d,]+ events from 2026-03-01"), timeout=60_000)
        rows = page.get_by_role("list", name="What the statement would have said").locator("li.row")
        assert rows.count() > 0
        rows.first.locator("summary").click()
        expect(rows.first.get_by_role("definition").first).to_be_visible()
        picture(page, "trial")
        assert serious_faults(page) == []
        assert names(server) == before
        assert seen.complaints == []


def test_a_trial_of_a_text_with_an_error(browser: Browser, server: PageServerProcess) -> None:
    with window(browser) as seen:
        page = seen.open(server, "new")
        typed(page, "SUBSCRIBE x FROM logins MATCH a , b DEFINE a AS nowhere = 1;")
        page.keyboard.press("Alt+Enter")
        expect(page.locator(".trial-status")).to_contain_text("nowhere")
        expect(page.get_by_role("list", name="Errors and findings").get_by_role("listitem")).to_have_count(1)


def test_a_refused_statement_stays_in_the_editor(browser: Browser, server: PageServerProcess) -> None:
    with window(browser) as seen:
        page = seen.open(server, "new")
        text = "SUBSCRIBE guess FROM logins MATCH a , b;"
        typed(page, text)
        page.keyboard.press("Control+Enter")
        expect(page.locator("#check-summary")).to_contain_text("guess")
        expect(page.get_by_label("Statement", exact=True)).to_have_value(text)
        expect(page.get_by_label("Statement", exact=True)).to_be_focused()
        page.reload()  # what was typed survives
        expect(page.get_by_label("Statement", exact=True)).to_have_value(text)
        page.get_by_role("link", name="Cancel").click()
        page.keyboard.press("n")
        expect(page.get_by_label("Statement", exact=True)).to_have_value("")


def test_a_statement_that_others_read_is_not_removed(browser: Browser, server: PageServerProcess) -> None:
    with window(browser) as seen:
        page = seen.open(server, "new")
        typed(page, "SUBSCRIBE twice FROM guess MATCH a , b;")
        page.keyboard.press("Control+Enter")
        expect(page.get_by_role("heading", level=1)).to_contain_text("twice", timeout=60_000)
        page.goto(f"{server.url}/#/statements/guess")
        page.get_by_role("button", name="Remove").click()
        page.get_by_role("dialog").get_by_role("button", name="Remove guess").click()
        expect(page.locator(".toast.error")).to_contain_text("twice")
        assert "guess" in names(server)


@pytest.mark.parametrize("name", ["<img src=x onerror=window.broken=1>", "50% ü? #1", "a/b"])
def test_a_statement_of_an_odd_name(browser: Browser, server: PageServerProcess, name: str) -> None:
    with window(browser) as seen:
        page = seen.open(server, "new")
        typed(page, f'SUBSCRIBE "{name}" FROM logins MATCH a , b;')
        page.keyboard.press("Control+Enter")
        expect(page.get_by_role("heading", level=1)).to_contain_text(name, timeout=60_000)
        expect(page.get_by_role("region", name=f"Text of {name}")).to_contain_text(name)
        expect(page.get_by_role("img", name=re.compile("^Automaton"))).to_be_visible()
        page.get_by_role("button", name="Remove").click()
        page.get_by_role("dialog").get_by_role("button", name=f"Remove {name}").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Statements")
        assert name not in names(server)
        assert page.evaluate("window.broken") is None
        assert seen.complaints == []


def test_an_example_to_begin_with(browser: Browser, server: PageServerProcess) -> None:
    with window(browser, LOOKS[2]) as seen:
        page = seen.open(server, "new")
        page.get_by_role("button", name="Insert an example").click()
        expect(page.get_by_label("Statement", exact=True)).to_have_value(re.compile("FROM logins"))
        expect(page.locator("#check-summary")).to_contain_text("No errors", timeout=30_000)
        picture(page, "editor-phone-example")


def test_a_page_that_only_shows(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path, "--read-only") as server, window(browser) as seen:
        page = seen.open(server, "statements")
        expect(page.get_by_text("Read-only", exact=True)).to_be_visible()
        expect(page.get_by_role("link", name="Add a statement")).to_have_count(0)
        page.get_by_role("link", name="Check or try a statement").click()
        expect(page.get_by_label("Statement", exact=True)).to_be_visible()
        expect(page.get_by_role("button", name="Add the statement")).to_have_count(0)
        page.goto(f"{server.url}/#/statements/guess")
        expect(page.get_by_role("heading", level=1)).to_contain_text("guess")
        expect(page.get_by_role("button", name="Remove")).to_have_count(0)
        picture(page, "read-only")
