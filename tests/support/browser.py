"""A headless Chromium for tests of pages: the system's, or playwright's own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

PROGRAMS = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
SECONDS_TO_START = 30
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
    path = program()
    # Chromium's sandbox does not run for root, as in a container
    for_root = ("--no-sandbox",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*OPTIONS, *for_root])
        try:
            yield browser
        finally:
            browser.close()


@cache
def program() -> str:
    """Return the path of the Chromium to run.

    :raises BrowserMissing: no Chromium is installed
    """
    path = next(filter(_starts, filter(None, map(shutil.which, PROGRAMS))), None)
    if path is None:
        with sync_playwright() as playwright:
            path = playwright.chromium.executable_path
        if not _starts(path):
            raise BrowserMissing(
                "No Chromium is installed. To run them: apt install chromium, or brew install --cask chromium, "
                "or .venv/bin/playwright install --with-deps chromium."
            )
    return path


def _starts(path: str) -> bool:
    """Return whether a program can be run: some systems have one that only says how to install it."""
    try:
        return subprocess.run([path, "--version"], capture_output=True, timeout=SECONDS_TO_START).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


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
