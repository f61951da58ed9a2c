"""Estimates on the live page: a lost event, when it probably happened, and what the probability rests on."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api")

from playwright.sync_api import Browser, expect

from tests.serve.served_page import picture, serious_faults, served, window

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

EXAMPLES = Path(__file__).parents[2] / "examples"

PIPELINE = """
statements = "watch.ftl"
checkpoint = "checkpoint"
model = "model.json"

[streams.reads]
path = "reads"
"""

#: Who paid, although the counter has missed it.
REPLACED = {
    "id STRING)": "id STRING, time TIMESTAMP)",
    "x ; !y ; z": "x ; y ; z",
    "LOSING 0.05 ABOVE 0.30": "LOSING 0.05 OF y ABOVE 0.01",
}


def test_an_estimate_and_what_it_rests_on(browser: Browser, tmp_path: Path) -> None:
    statements = (EXAMPLES / "shoplifting.ftl").read_text(encoding="utf-8")
    for old, new in REPLACED.items():
        assert old in statements
        statements = statements.replace(old, new)
    shutil.copy(EXAMPLES / "shoplifting.json", tmp_path / "model.json")
    (tmp_path / "reads").mkdir()
    shutil.copy(EXAMPLES / "reads.csv", tmp_path / "reads" / "reads.csv")
    with served(tmp_path, statements=statements, pipeline=PIPELINE) as server, window(browser) as seen:
        server.wait_for("estimate", 1, "shoplifting")
        page = seen.open(server, "notifications?kind=estimate")
        rows = page.locator("li.row")
        expect(rows.first).to_contain_text("%")
        for row in server.get("/api/notifications?kind=estimate")["rows"]:
            shown = rows.filter(has_text=row["bindings"]["id"])
            shown.locator("summary").click()
            rests = shown.get_by_role("definition").filter(has_text="gap")
            expect(rests.get_by_role("listitem")).to_have_count(
                len(row["estimate"]["lost"]) + len(row["estimate"]["gaps"])
            )
            for step in row["estimate"]["lost"]:
                expect(shown).to_contain_text(re.compile(f"{step} was lost, 80% between 2024-05-04"))
        picture(page, "estimates")
        assert serious_faults(page) == []

        page.goto(f"{server.url}/#/statements/shoplifting")
        drawing = page.get_by_role("img", name=re.compile("^Automaton with"))
        expect(drawing.locator("g.state.final")).to_have_count(1)
        expect(drawing).to_contain_text("y lost")
        picture(page, "statement-losing")
        assert seen.complaints == []
