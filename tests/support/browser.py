"""A headless Chromium for tests of pages: the system's, or playwright's own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = (
    "--disable-gpu",
    # Only the page sends requests
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
    # Chromium's sandbox does not run for root, as in a container
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

    :param own: the path where playwright installs its own
    :raises BrowserMissing: no Chromium is installed
    """
    found = next(filter(None, map(shutil.which, PROGRAMS)), own if Path(own).is_file() else None)
    if found is None:
        raise BrowserMissing(
            "no Chromium is installed: apt install chromium, brew install --cask chromium, or playwright install "
            "chromium; the tests without it: make test ARGS=\"-m 'not browser'\""
        )
    return found


class WatchedPage:
    """A file in a window, with what it says in consoles, errors and dialogs, and the addresses that it requests."""

    def __init__(self, browser: Browser, path: Path, width: int, **options: Any) -> None:
        self.page: Page = browser.new_page(viewport={"width": width, "height": 900}, **options)
        self.url = path.as_uri()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(self.url)
