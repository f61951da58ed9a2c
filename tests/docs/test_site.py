"""The documentation site builds without a warning, and its links lead somewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from sphinx.cmd.build import main as sphinx

import foretell as ft

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


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


class _Page(HTMLParser):
    """The places of a page that links lead to, and the links that lead away from it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := values.get(name))}
        link = values.get("src" if tag in ("img", "script") else "href")
        if link:
            self.links.append(link)


def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    pages = {path: _Page(path) for path in sorted(site.rglob("*.html"))}
    assert sum(len(page.links) for page in pages.values()) > 1000
    broken = []
    for path, page in pages.items():
        for link in page.links:
            address, anchor = urldefrag(link)
            if urlsplit(address).scheme:
                continue
            target = path if not address else (path.parent / unquote(urlsplit(address).path)).resolve()
            if not target.exists() or (anchor and target in pages and unquote(anchor) not in pages[target].anchors):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_every_link_of_a_file_in_the_root_leads_somewhere(site: Path, name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if not urlsplit(link).scheme]
    named = [path for path in re.findall(r"`((?:docs|examples|tests)/[\w./-]+)`", text) if "NAME" not in path]
    named = [path for path in named if not path.startswith("docs/_build/")]  # `make docs` makes it
    assert links or named
    for link in (*links, *named):
        address, anchor = urldefrag(link)
        assert (ROOT / address).exists(), link
        if anchor:
            built = site / Path(address).relative_to("docs").with_suffix(".html")
            assert anchor in _Page(built).anchors, link


def test_the_page_of_the_api_has_every_public_name(site: Path) -> None:
    page = (site / "api.html").read_text(encoding="utf-8")
    lacking = [name for name in ft.__all__ if f'id="foretell.{name}"' not in page and name != "build"]
    assert lacking == []
    assert 'id="module-foretell.build"' in page


def test_a_person_finds_every_page_from_the_first(site: Path) -> None:
    index = _Page(site / "index.html")
    reached = {urldefrag(link)[0] for link in index.links}
    pages = {path.relative_to(site).as_posix() for path in site.glob("*.html")}
    assert pages - reached - {"index.html", "genindex.html", "search.html", "py-modindex.html"} == set()
