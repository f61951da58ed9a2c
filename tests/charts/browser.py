"""A real browser for the tests: Chromium without a window."""

from __future__ import annotations

import shutil

#: The page is printed when its scripts have run.
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000", "--dump-dom")


def found() -> str | None:
    return shutil.which("chromium") or shutil.which("google-chrome")


def executable() -> str:
    browser = found()
    assert browser, "no chromium or google-chrome on the PATH"
    return browser
