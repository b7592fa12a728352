"""A server that answers each request at once with a constant, as the service does after a success.

`python -m benchmarks.constant_server [CERTIFICATE]` prints its port. It answers the requests of `over_http.py`.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
from typing import Final

_ROW: Final = (
    b'{"odata.metadata":"http://127.0.0.1/account/$metadata#Employees/@Element",'
    b'"odata.etag":"W/\\"datetime\'2026-11-23T21%3A00%3A00.0000000Z\'\\"","PartitionKey":"Sales",'
    b'"RowKey":"empid_0000001","Timestamp":"2026-11-23T21:00:00.0000000Z","LastName":"Jones","Age":34,'
    b'"Email":"jonesj@contoso.com"}'
)
_MESSAGE: Final = (
    b'<?xml version="1.0" encoding="utf-8"?><QueueMessagesList><QueueMessage>'
    b"<MessageId>0d3a9d0c-2a52-4a37-9a4f-6f1f3e0c2b11</MessageId>"
    b"<InsertionTime>Mon, 23 Nov 2026 21:00:00 GMT</InsertionTime>"
    b"<ExpirationTime>Fri, 31 Dec 9999 23:59:59 GMT</ExpirationTime><PopReceipt>AgAAAAMAAAAAAAAA</PopReceipt>"
    b"<TimeNextVisible>Mon, 23 Nov 2026 21:00:30 GMT</TimeNextVisible>%s</QueueMessage></QueueMessagesList>"
)
_ETAG: Final = b"ETag: W/\"datetime'2026-11-23T21%3A00%3A00.0000000Z'\"\r\n"


def _response(status: bytes, headers: bytes, body: bytes = b"") -> bytes:
    common = b"Cache-Control: no-cache\r\nServer: Constant\r\nx-ms-request-id: 1\r\nx-ms-version: 2019-02-02\r\n"
    date = b"Date: Mon, 23 Nov 2026 21:00:00 GMT\r\n"
    return b"HTTP/1.1 %s\r\n%s%s%sContent-Length: %d\r\n\r\n%s" % (status, common, date, headers, len(body), body)


_JSON: Final = b"Content-Type: application/json;odata=minimalmetadata;streaming=true;charset=utf-8\r\n" + _ETAG
_XML: Final = b"Content-Type: application/xml\r\n"
_TEXT: Final = b"<DequeueCount>1</DequeueCount><MessageText>%s</MessageText>" % (
    b"entity 223 of Sales has changed; " * 8
)
_RESPONSES: Final = {
    (b"GET", False): _response(b"200 OK", _JSON, _ROW),
    (b"POST", False): _response(b"201 Created", _JSON, _ROW),
    (b"POST", True): _response(b"201 Created", _XML, _MESSAGE % b""),
    (b"GET", True): _response(b"200 OK", _XML, _MESSAGE % _TEXT),
}
_NO_CONTENT: Final = _response(b"204 No Content", _ETAG)


class Answering(asyncio.Protocol):
    """One connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]
        self._received = b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            head = self._received[:end].lower()
            _, _, length = head.partition(b"\r\ncontent-length:")
            whole = end + 4 + int(length.split(b"\r\n", 1)[0] or 0)
            if len(self._received) < whole:
                return
            method, target, _ = self._received.split(b" ", 2)
            self._received = self._received[whole:]
            self._transport.write(_RESPONSES.get((method, b"/messages" in target), _NO_CONTENT))


async def serve(certificate: str | None) -> None:
    tls = None
    if certificate:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate)
    server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0, ssl=tls)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1] if len(sys.argv) > 1 else None))
