"""Transports that record the requests of SDK clients and return fixed responses."""

from __future__ import annotations

import re
from typing import Any

from azure.core.credentials import AzureNamedKeyCredential
from azure.core.pipeline.transport import HttpTransport
from azure.data.tables import TableClient

from tablepatterns.sdk.call import SimpleResponse
from tablepatterns.sdk.request_sender import RequestSender

CREDENTIAL = AzureNamedKeyCredential("devstoreaccount1", "a2V5")
SERVICE = "https://devstoreaccount1.table.core.windows.net"
_BOUNDARY = re.compile(r"(batch|changeset)_[0-9a-f-]{36}")
_DATE = re.compile(r"(Date|x-ms-date): [^\r\n]+")


class Recorder(HttpTransport[Any, Any]):
    """Records each request, and responds that a transaction with this many operations succeeded."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.operations = 1

    def send(self, request: Any, **options: Any) -> Any:
        self.sent.append(request)
        part = "--c\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 204 No Content\r\nETag: W/1\r\n\r\n\r\n"
        body = (
            "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n" + part * self.operations + "--c--\r\n--b--\r\n"
        )
        headers = {"Content-Type": "multipart/mixed; boundary=b"}
        return Parts(request, 202, "Accepted", headers, body.encode())

    def open(self) -> None: ...

    def close(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...


class Parts(SimpleResponse):
    """A multipart response for the SDK."""

    def parts(self) -> list[SimpleResponse]:
        found = self.content.count(b"HTTP/1.1 204")
        return [SimpleResponse(self.request, 204, "No Content", {"Etag": "W/1"}, b"")] * found


class Replies(HttpTransport[Any, Any]):
    """Returns the same body for every request.

    :param pages: the number of responses, all but the last with a continuation token
    """

    def __init__(self, body: bytes, content_type: str, pages: int = 1) -> None:
        self._body, self._content_type = body, content_type
        self.left = pages

    def send(self, request: Any, **options: Any) -> Any:
        self.left -= 1
        headers = {"Content-Type": self._content_type}
        if self.left:
            headers["x-ms-continuation-NextPartitionKey"] = "1!4!cA--"
        return SimpleResponse(request, 200, "OK", headers, self._body)

    def open(self) -> None: ...

    def close(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...


def client(transport: Any) -> TableClient:
    return TableClient(SERVICE, "Employees", credential=CREDENTIAL, transport=transport)


def sender(transport: Any) -> RequestSender:
    return RequestSender(TableClient, SERVICE, {"credential": CREDENTIAL, "transport": transport})


def comparable(request: Any) -> tuple[str, str, dict[str, str], str]:
    """Return a request without the parts that differ from call to call: boundaries, dates, id and signature."""
    own = {"x-ms-client-request-id", "authorization", "x-ms-date", "date"}
    headers = {name.lower(): _BOUNDARY.sub(r"\1", value) for name, value in request.headers.items()}
    body = _DATE.sub(r"\1", _BOUNDARY.sub(r"\1", _text(request.content)))
    return request.method, request.url, {name: text for name, text in headers.items() if name not in own}, body


def _text(content: Any) -> str:
    return content.decode() if isinstance(content, bytes) else content or ""
