"""HTTP requests and responses, independent of the transport."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from http import HTTPStatus

from ..content import Content
from ..faults import Fault


class Request:
    """One HTTP request.

    :param url: the absolute URL as sent, percent-encoded
    :param headers: the headers, their names in lower case
    :param client: the sender's IP address, which a shared access signature may restrict
    :param names: the names of the headers as sent, if known, since metadata keeps its spelling
    """

    __slots__ = ("body", "client", "headers", "method", "names", "url")

    def __init__(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        client: str = "127.0.0.1",
        names: Collection[str] | None = None,
    ) -> None:
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.client = client
        self.names: Collection[str] = headers.keys() if names is None else names


class Response:
    """One HTTP response; its body is in pieces if it is too long to be joined.

    Its `fault` is what happens to it on the network, or None; the transport applies it. `examined` is how
    many entities were read for it, and `returned` how many it holds, which no service tells. `parts` are the responses
    that a multipart body was written from: clients in this process need not parse it.
    """

    __slots__ = ("_body", "examined", "fault", "headers", "parts", "reason", "returned", "status")

    def __init__(
        self, status: int, headers: dict[str, str], body: bytes | Content = b"", reason: str | None = None
    ) -> None:
        self.status = status
        self.headers = headers
        self._body = body
        self.reason = reason or REASONS.get(status, "")
        self.fault: Fault | None = None
        self.examined = 0
        self.returned = 0
        self.parts: Sequence[Response] = ()

    @property
    def size(self) -> int:
        return len(self._body)

    @property
    def body(self) -> bytes:
        """The whole body; pieces are joined on each access."""
        return bytes(self._body)

    @property
    def content(self) -> Content:
        """The pieces of the body, without copying."""
        return self._body if isinstance(self._body, Content) else Content([self._body])

    def drop_body(self) -> None:
        """Omit the body, as in the response to a HEAD request."""
        self._body = b""


REASONS = {
    **{status.value: status.phrase for status in HTTPStatus},
    # Python 3.13 has other phrases than the services
    413: "Request Entity Too Large",
    416: "Requested Range Not Satisfiable",
}
