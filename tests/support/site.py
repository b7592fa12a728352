"""Build a site of a few pages with the project's configuration, and serve it for a browser."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

from support.page_programs import DOCS

CONF = f"""
extensions = ["myst_parser", "tools.sphinx_extensions.run_button"]
html_theme = "furo"
exclude_patterns = ["code"]
html_search_scorer = {str(DOCS / "search_scorer.js")!r}
"""


class _Quiet(http.server.SimpleHTTPRequestHandler):
    extensions_map = http.server.SimpleHTTPRequestHandler.extensions_map | {
        ".js": "text/javascript",
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
    }

    def log_message(self, *_: object) -> None: ...


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve a folder, and yield its URL."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def build(folder: Path, pages: Mapping[str, str]) -> Path:
    """Build a site of pages, by their names, and return its folder."""
    from sphinx.application import Sphinx

    source, built = folder / "source", folder / "built"
    for name, text in pages.items():
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    (source / "conf.py").write_text(CONF, "utf-8")
    Sphinx(source, source, built, folder / ".doctrees", "html", status=None, warning=None).build()
    return built


class Requests:
    """The requests of a page since it was opened.

    :param page: the page, before it is opened
    :param site: the URL of the site
    """

    def __init__(self, page: Page, site: str) -> None:
        self._site = site
        self._urls: list[str] = []
        # The context also reports the requests of web workers
        page.context.on("request", lambda request: self._urls.append(request.url))

    @property
    def early(self) -> list[str]:
        """Requests of files for programs, other than the scripts and the style of the buttons and of the stories."""
        own = ("run.js", "run.css", "story.js")
        return [url for url in self._urls if "/run/" in url and not url.partition("?")[0].endswith(own)]

    @property
    def elsewhere(self) -> list[str]:
        """Requests to other hosts."""
        return [url for url in self._urls if not url.startswith((self._site, "data:", "blob:"))]
