"""Serve the page of a design file on this machine, and reload it in the browser when the file changes."""

from __future__ import annotations

import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

from rich.console import Console

from ..errors import BadInput
from ..review.capacity.price import PriceTable
from ..review.design.file import read_design
from ..review.report.html import html, page
from ..review.report.markup import element
from ..review.reviewer import review

_LOOPBACK: Final = "127.0.0.1"
_POLL_SECONDS: Final = 0.3
_KEEP_ALIVE_SECONDS: Final = 5.0


class Watched:
    """The page of a design file, which is written again when the file changes.

    :param path: the design file
    :param prices: what the service charges; None for the prices that come with the package
    """

    def __init__(self, path: Path, prices: PriceTable | None = None) -> None:
        self.path = path
        self.page = ""
        self.version = 0
        self._prices = prices
        self._seen: object = None
        self.changed = threading.Condition()
        self.is_over = False
        """Whether no further version will come."""

    def refresh(self) -> bool:
        """Write the page again if the file has changed since the last time; tell whether it had."""
        seen = self._state()
        if self.version and seen == self._seen:
            return False
        text = self._written(str(self.version + 1))
        with self.changed:
            self._seen, self.page, self.version = seen, text, self.version + 1
            self.changed.notify_all()
        return True

    def _state(self) -> object:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size

    def _written(self, version: str) -> str:
        """Return the page of the design, or the errors of its file."""
        try:
            return html(review(read_design(self.path), prices=self._prices, detailed=True), version=version)
        except (BadInput, OSError) as error:
            said = [
                element("h1", "The design file has errors"),
                element("pre", str(error), class_="errors"),
                element("p", "The page reloads when the file changes.", class_="quiet"),
            ]
            return page(f"Errors: {self.path.name}", element("main", *said), version=version)


class PageServer(ThreadingHTTPServer):
    """Serves the page to browsers on this machine.

    :param port: where it listens; 0 for any free port
    """

    daemon_threads = False

    def __init__(self, watched: Watched, port: int = 0) -> None:
        super().__init__((_LOOPBACK, port), _Handler)
        self.watched = watched

    def server_close(self) -> None:
        """Let the browsers that wait for changes go, and close the server."""
        with self.watched.changed:
            self.watched.is_over = True
            self.watched.changed.notify_all()
        super().server_close()

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{_LOOPBACK}:{self.server_port}/"


class _Handler(BaseHTTPRequestHandler):
    server: PageServer  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_GET(self) -> None:
        # A page of another site could reach this server by a name of its own for the loopback address
        if self.headers.get("Host", "").rpartition(":")[0] not in (_LOOPBACK, "localhost"):
            self.send_error(HTTPStatus.FORBIDDEN)
        elif self.path == "/":
            self._answer("text/html; charset=utf-8", self.server.watched.page.encode())
        elif self.path == "/events":
            self._send_versions()
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def _answer(self, content_type: str, body: bytes) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def _send_versions(self) -> None:
        """Send the version of the page now, and whenever it changes, until the browser leaves."""
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        watched, sent = self.server.watched, 0
        try:
            while not watched.is_over:
                with watched.changed:
                    if watched.version == sent and not watched.is_over:
                        watched.changed.wait(_KEEP_ALIVE_SECONDS)
                    version = watched.version
                self.wfile.write(f"data: {version}\n\n".encode() if version != sent else b": \n\n")
                self.wfile.flush()
                sent = version
        except OSError:
            return

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class names it
        """Print nothing for a request."""


def watch(
    path: Path, prices: PriceTable | None, port: int, console: Console, stop: threading.Event | None = None
) -> None:
    """Serve the page of a design file until Ctrl+C, and write it again when the file changes.

    :param port: where to listen on 127.0.0.1; 0 for any free port
    :param stop: ends it, as Ctrl+C does
    :raises BadInput: there is no such file
    :raises OSError: the port is taken
    """
    if not path.is_file():
        raise BadInput("design", str(path), "only a design file can be watched", "give a TOML file")
    stop = stop or threading.Event()
    watched = Watched(path, prices)
    with PageServer(watched, port) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            watched.refresh()
            console.print(f"{server.url} shows {path.name}; Ctrl+C ends it", markup=False, soft_wrap=True)
            while not stop.wait(_POLL_SECONDS):
                if watched.refresh():
                    console.print(f"{path.name} has changed", markup=False)
        except KeyboardInterrupt:
            pass  # Ctrl+C is how the user ends it
        finally:
            server.shutdown()
            thread.join()
