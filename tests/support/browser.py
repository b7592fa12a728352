"""A headless Chromium, in which tests look at pages as readers do: the system's, or playwright's own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = (
    "--disable-gpu",
    # Nothing but the page asks for anything
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


class BrowserMissing(RuntimeError):
    """No Chromium is installed."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run a Chromium.

    :raises BrowserMissing: none is installed
    """
    # Chromium's own sandbox refuses to run for root, as in a container
    for_root = ("--no-sandbox",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()
    with sync_playwright() as playwright:
        path = program(playwright.chromium.executable_path)
        browser = playwright.chromium.launch(executable_path=path, args=[*OPTIONS, *for_root])
        try:
            yield browser
        finally:
            browser.close()


def program(own: str) -> str:
    """Return the path of the Chromium to run.

    :param own: where playwright would have installed its own
    :raises BrowserMissing: there is none
    """
    found = next(filter(None, map(shutil.which, PROGRAMS)), own if Path(own).is_file() else None)
    if found is None:
        raise BrowserMissing(
            "no Chromium is installed: apt install chromium, brew install --cask chromium, or playwright install "
            "chromium; the tests without it: make test ARGS=\"-m 'not browser'\""
        )
    return found
