"""Tutorial, cookbook and guides, followed literally: their files, commands and matches, and what they print."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.listed_matches import listed_rows, matches
from tests.docs.pages import ROOT, followed, without_times

DOCS = ROOT / "docs"
FOLLOWED = [
    DOCS / "tutorial.md",
    DOCS / "migrating.md",
    DOCS / "monitoring.md",
    DOCS / "tuning.md",
    DOCS / "upgrading.md",
    *sorted((DOCS / "cookbook").glob("[!i]*.md")),
    *sorted((DOCS / "ideas").glob("[!i]*.md")),
]


@pytest.mark.parametrize("page", FOLLOWED, ids=lambda path: path.stem)
def test_a_page_shows_what_its_commands_print(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert without_times(followed(text, tmp_path)) == without_times(text)
    assert [*tmp_path.iterdir()], "nothing of this page was followed"


@pytest.mark.parametrize("engine", ["embedded", "reference"])
@pytest.mark.parametrize(("page", "rows"), [("semantics.md", 90), ("migrating.md", 13)])
def test_a_page_lists_all_matches(page: str, rows: int, engine: str) -> None:
    listed = [*listed_rows((DOCS / page).read_text(encoding="utf-8"))]
    assert len(listed) >= rows
    wrong = {row.pattern: (row.shown, found) for row in listed if (found := matches(row, engine)) != row.shown}
    assert wrong == {}


def test_every_recipe_has_its_parts() -> None:
    for page in sorted((DOCS / "cookbook").glob("[!i]*.md")):
        recipes = page.read_text(encoding="utf-8").split("\n## ")[1:]
        assert recipes
        for recipe in recipes:
            parts = ("**Problem.**", ":\n\n```\n", "\n```\n$ ", "**The trap.**")
            assert [part for part in parts if part not in recipe] == [], recipe.splitlines()[0]


def test_the_cookbook_lists_every_recipe() -> None:
    index = (DOCS / "cookbook/index.md").read_text(encoding="utf-8")
    for page in sorted((DOCS / "cookbook").glob("[!i]*.md")):
        for recipe in page.read_text(encoding="utf-8").split("\n## ")[1:]:
            anchor = recipe.splitlines()[0].lower().replace(" ", "-")
            assert f"{page.name}#{anchor})" in index
