"""Raw requests to the Queue service of an engine, signed here to check the engine's signatures, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qs, parse_qsl, urlsplit
from xml.etree.ElementTree import Element

from defusedxml.ElementTree import fromstring

from support.table_requests import as_bytes, sign
from tablepatterns_engine.account import Engine
from tablepatterns_engine.http.api import Api
from tablepatterns_engine.http.authorization import TrustTokens
from tablepatterns_engine.http.message import Request, Response
from tablepatterns_engine.queues.api import QUEUES

DATE = "Fri, 22 Aug 2014 00:00:00 GMT"
SIGNED_HEADERS = [
    "content-encoding",
    "content-language",
    "content-length",
    "content-md5",
    "content-type",
    "date",
    "if-modified-since",
    "if-match",
    "if-none-match",
    "if-unmodified-since",
    "range",
]


class Said(NamedTuple):
    """An error: its message without the lines with request id and time, and its details."""

    status: int
    code: str
    text: str
    details: dict[str, str | None]


class QueueWire:
    """Sends raw requests to the Queue service of an engine, by default signed with the account key."""

    def __init__(self, engine: Engine, *, trust_tokens: TrustTokens = False) -> None:
        self.engine = engine
        self.base = f"https://{engine.account_name}.queue.core.windows.net"
        self._api = Api(engine, engine.queues, QUEUES, trust_tokens=trust_tokens)

    def send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | str = b"",
        *,
        base: str | None = None,
        signed: bool = True,
        client: str = "127.0.0.1",
    ) -> Response:
        """Send a request."""
        url = (self.base if base is None else base) + path
        named = dict(headers or {})
        asked = {name.lower(): value for name, value in named.items()}
        if signed:
            asked["x-ms-date"] = DATE
            asked["authorization"] = f"SharedKey {self.engine.account_name}:" + sign(
                self.engine, full_text(self.engine.account_name, method, url, asked)
            )
        return self._api.handle(Request(method, url, asked, as_bytes(body), client, tuple(named)))

    def error(self, *args: Any, **options: Any) -> Said:
        """Send a request that is rejected, and return the error."""
        return said_by(self.send(*args, **options))

    def xml(self, *args: Any, **options: Any) -> Element:
        """Send a request, and return the XML document of the response."""
        found: Element = fromstring(self.send(*args, **options).body)
        return found


def full_text(account: str, method: str, url: str, headers: Mapping[str, str]) -> str:
    """Return the string to sign of SharedKey; headers are in lower case."""
    address = urlsplit(url)
    values = [headers.get(name, "") for name in SIGNED_HEADERS]
    own = "".join(f"{name}:{headers[name].strip()}\n" for name in sorted(headers) if name.startswith("x-ms-"))
    options = parse_qs(address.query, keep_blank_values=True).items()
    values_by_name = sorted((name.lower(), ",".join(sorted(texts))) for name, texts in options)
    resource = f"/{account}{address.path or '/'}" + "".join(f"\n{name}:{value}" for name, value in values_by_name)
    return "\n".join([method, *values, own]) + resource


def lite_text(account: str, method: str, url: str, headers: Mapping[str, str]) -> str:
    """Return the string to sign of SharedKeyLite; headers are in lower case."""
    address = urlsplit(url)
    values = [headers.get(name, "") for name in ("content-md5", "content-type", "date")]
    own = "".join(f"{name}:{headers[name].strip()}\n" for name in sorted(headers) if name.startswith("x-ms-"))
    comp = dict(parse_qsl(address.query)).get("comp")
    return "\n".join([method, *values, own]) + f"/{account}{address.path or '/'}" + (f"?comp={comp}" if comp else "")


def said_by(response: Response) -> Said:
    """Parse an error in XML."""
    error = fromstring(response.body)
    members = {member.tag: member.text for member in error}
    code, text = members.pop("Code"), members.pop("Message")
    assert error.tag == "Error"
    assert code == response.headers["x-ms-error-code"]
    return Said(response.status, code, text.split("\nRequestId:")[0], members)
