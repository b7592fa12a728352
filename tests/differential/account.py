"""One side of the comparison: an account that gets requests from the SDK or raw ones, and its responses."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from azure.core.exceptions import AzureError, HttpResponseError

from conformance.raw import Answer, Raw
from support.backends import Backend

MOST_PAGES = 200
"""No list here is as long; a token that leads back to itself would make one that never ends."""

Known: TypeAlias = Callable[[Hashable, int], "str | None"]
"""Gives what an account made for itself, such as an ETag: of what, and how many such things ago; None for nothing."""


class Heard(NamedTuple):
    """What became of an operation.

    :param answers: every response to it
    :param error: the name of the error with which the SDK ended it, None where it succeeded
    """

    answers: list[Answer]
    error: str | None


class Account:
    """An account that gets requests from the SDK, or raw ones.

    :param backend: a sync one
    :param raw: how raw requests are sent, and to which service
    """

    def __init__(self, backend: Backend, raw: type[Raw]) -> None:
        self._answers: list[Answer] = []
        self.service: Any = getattr(backend.connect(raw_response_hook=self._hear), f"{raw.service}s")
        self._raw = raw(backend)
        self.base = self._raw.base
        self._run = backend.run

    def hear(self, ask: Callable[[], None]) -> Heard:
        """Ask, and return what is heard."""
        self._answers = []
        try:
            ask()
        except (AzureError, ValueError) as error:
            # A ValueError is the SDK's word for some errors; before any answer it would be about our own call
            if not self._answers and not isinstance(error, AzureError):
                raise
            return Heard(self._answers, type(error).__name__)
        return Heard(self._answers, None)

    def table(self, name: str) -> Any:
        """Return the SDK's client of a table."""
        return self.service.get_table_client(name)

    def read_pages(self, found: Any) -> None:
        """Read what the SDK finds, page by page to the end."""
        for page in islice(found.by_page(), MOST_PAGES):
            list(page)

    def request(
        self, method: str, path: str, headers: Mapping[str, str | None] | None = None, body: Any = b""
    ) -> Answer:
        """Send one raw request, and return its response."""
        self.send_raw(lambda raw: raw(method, path, headers, body))
        return self._answers[-1]

    def send_raw(self, call: Callable[[Raw], Any]) -> None:
        """Send one raw request with a function."""
        try:
            self._answers.append(self._run(call(self._raw)))
        except HttpResponseError as error:
            self._answers.append(_answer(error.response))
            raise

    def close(self) -> None:
        """Close the connection for raw requests; the backend closes the SDK's."""
        self._raw.close()

    def _hear(self, call: Any) -> None:
        call.http_response.read()
        self._answers.append(_answer(call.http_response))


def _answer(response: Any) -> Answer:
    return Answer(response.status_code, response.headers, response.text())
