"""The documentation site builds without a warning."""

from __future__ import annotations

from pathlib import Path

import pytest
from sphinx.cmd.build import main as sphinx

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    status = sphinx(["--fail-on-warning", "--keep-going", "--quiet", "--fresh-env", str(DOCS), str(folder)])
    assert status == 0, "Sphinx's warnings are above"
    return folder


@pytest.mark.parametrize("source", sorted(DOCS.rglob("*.md")), ids=lambda path: str(path.relative_to(DOCS)))
def test_each_page_is_built(site: Path, source: Path) -> None:
    page = site / source.relative_to(DOCS).with_suffix(".html")
    assert "<h1>" in page.read_text(encoding="utf-8")


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    # People read the site offline too.
    index = (site / "index.html").read_text(encoding="utf-8")
    assert 'src="http' not in index
    assert 'rel="stylesheet" type="text/css" href="http' not in index
