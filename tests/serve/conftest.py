"""The browser of the tests of the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.charts.browser import executable

if TYPE_CHECKING:
    from playwright.sync_api import Browser

OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"]
#: Heap sizes are exact only if asked for.
EXACT_MEMORY = "--enable-precise-memory-info"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=executable(), args=[*OPTIONS, EXACT_MEMORY])
        yield browser
        browser.close()
