"""Raw requests to the Table service of an engine, signed here to check the engine's signatures, too."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import quote, unquote_plus

from tablepatterns_engine.account import Engine
from tablepatterns_engine.errors import ServiceError
from tablepatterns_engine.http.api import Api
from tablepatterns_engine.http.authorization import TrustTokens
from tablepatterns_engine.http.message import Request, Response
from tablepatterns_engine.tables.api import TABLES

T = TypeVar("T")

JSON = {"accept": "application/json"}
_PATH = re.compile(r"https?://[^/?#]+([^?#]*)", re.IGNORECASE | re.DOTALL)
_COMP = re.compile(r"[?&]comp=([^&#]*)")


class Wire:
    """Sends raw requests to the Table service of an engine, by default signed with the account key."""

    def __init__(self, engine: Engine, *, trust_tokens: TrustTokens = False) -> None:
        self.engine = engine
        self.base = f"https://{engine.account_name}.table.core.windows.net"
        self._api = Api(engine, engine.tables, TABLES, trust_tokens=trust_tokens)

    def send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] = JSON,
        body: object = b"",
        *,
        base: str | None = None,
        signed: bool = True,
        client: str = "127.0.0.1",
    ) -> Response:
        """Send a request; a body that is neither bytes nor text is sent as JSON."""
        url = (self.base if base is None else base) + path
        asked = dict(headers)
        if signed:
            asked["x-ms-date"] = "Fri, 22 Aug 2014 00:00:00 GMT"
            asked["authorization"] = lite_signature(self.engine, url, asked["x-ms-date"])
        return self._api.handle(Request(method, url, asked, as_bytes(body), client))

    def status(self, method: str, path: str, headers: Mapping[str, str] = JSON, body: object = b"") -> int:
        """Send a request and return the status only."""
        return self.send(method, path, headers, body).status

    def error(self, *args: Any, **options: Any) -> tuple[int, str, str]:
        """Send a request that is rejected in JSON; return the status, the code, and the message without id and time."""
        response = self.send(*args, **options)
        return (response.status, *error_of(response))


def lite_signature(engine: Engine, url: str, date: str) -> str:
    """Return the Authorization header of SharedKeyLite for a URL."""
    text = f"{date}\n{canonical(engine, url)}"
    return f"SharedKeyLite {engine.account_name}:{sign(engine, text)}"


def canonical(engine: Engine, url: str) -> str:
    """Return the canonicalized resource of a URL."""
    path, comp = _PATH.match(url), _COMP.search(url)
    suffix = f"?comp={unquote_plus(comp[1], errors='replace')}" if comp else ""
    return f"/{engine.account_name}{(path[1] if path else '') or '/'}{suffix}"


def sign(engine: Engine, text: str) -> str:
    """Return the signature of a text with the account's key."""
    key, message = b64decode(engine.account_key), text.encode("utf-8", "surrogatepass")
    return b64encode(hmac.new(key, message, hashlib.sha256).digest()).decode()


def as_bytes(body: object) -> bytes:
    """Return the bytes of a body."""
    if isinstance(body, bytes):
        return body
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()


def error_of(response: Response) -> tuple[str, str]:
    """Return the code and the message of an error in JSON, without request id and time."""
    error = json.loads(response.body)["odata.error"]
    return error["code"], error["message"]["value"].split("\nRequestId:")[0]


def attempt(action: Callable[[], T]) -> T | ServiceError:
    """Return the result of an action, or the error that rejected it."""
    try:
        return action()
    except ServiceError as error:
        return error


def entity_path(partition_key: str, row_key: str, table: str = "Employees") -> str:
    """Return the path of an entity in the SDK's format."""
    keys = (quote(key.replace("'", "''"), safe="") for key in (partition_key, row_key))
    return "/{}(PartitionKey='{}',RowKey='{}')".format(table, *keys)


def batch(*operations: tuple[str, str, Mapping[str, str], object]) -> tuple[dict[str, str], bytes]:
    """Return headers and body of a batch with one changeset of (method, URL, headers, body)."""
    parts = "".join(f"--c\r\n{_part(*operation)}\r\n" for operation in operations)
    body = f"--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{parts}--c--\r\n--b--\r\n"
    return {**JSON, "content-type": "multipart/mixed; boundary=b"}, body.encode()


def query_batch(method: str, url: str) -> tuple[dict[str, str], bytes]:
    """Return headers and body of a batch with one request outside a changeset."""
    body = f"--b\r\n{_part(method, url, JSON, b'')}\r\n--b--\r\n"
    return {**JSON, "content-type": "multipart/mixed; boundary=b"}, body.encode()


def _part(method: str, url: str, headers: Mapping[str, str], body: object) -> str:
    fields = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    kind = "Content-Type: application/http\r\nContent-Transfer-Encoding: binary"
    return f"{kind}\r\n\r\n{method} {url} HTTP/1.1\r\n{fields}\r\n{as_bytes(body).decode()}"
