"""Where recorded requests are sent: a new engine for each recording, or an account of Azurite."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from email.utils import format_datetime
from hmac import digest
from http.client import HTTPConnection, HTTPException
from typing import Final, Protocol
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from recordings.exchange import Answer
from tablepatterns_engine import Engine
from tablepatterns_engine.account import DEVELOPMENT_KEY
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.dispatch import AccountApi, service_of
from tablepatterns_engine.http.address import read_address
from tablepatterns_engine.http.message import Request
from tablepatterns_engine.http.shared_key import storage_texts, table_texts

AZURITE_KEY: Final = "a2V5"
"""The key of the accounts of `AzuriteBackend`; thousands of longer ones would not fit into its environment."""


class Backend(Protocol):
    """Answers the requests of one recording."""

    has_clock: bool
    """Whether its clock can be set."""
    keeps_versions: bool
    """Whether its accounts keep previous versions of blobs, if it can."""

    def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, now: datetime | None, *, signed: bool
    ) -> Answer: ...


class Signer:
    """Signs requests anew, as recordings have no signatures."""

    def __init__(self, service: str, account: str, key: str = DEVELOPMENT_KEY) -> None:
        self._texts = table_texts if service == "table" else storage_texts
        self._account = account
        self._key = b64decode(key)

    def request(self, request: Request) -> str:
        """Return the Authorization header of a request."""
        text = next(iter(self._texts(self._account, request, read_address(request.url, self._account), False)))
        return f"SharedKey {self._account}:{self._sign(text)}"

    def parts(self, base: str, body: bytes) -> bytes:
        """Sign the requests of a batch of blobs; their paths are below the host of `base`."""
        site = "/".join(base.split("/")[:3])

        def sign_part(match: re.Match[bytes]) -> bytes:
            method, path, fields = (group.decode() for group in match.groups())
            pairs = (line.split(": ", 1) for line in fields.split("\r\n") if ": " in line)
            headers = {name.lower(): value for name, value in pairs if name.lower() != "authorization"}
            signature = self.request(Request(method, site + path, headers))
            return re.sub(rb"(?<=Authorization: )SharedKey [^\r]*", signature.encode(), match[0])

        return re.sub(rb"(PUT|DELETE|GET) (\S+) HTTP/1.1\r\n((?:[^\r]+\r\n)+)", sign_part, body)

    def source(self, url: str) -> str:
        """Sign the SAS of the source of a copy."""
        parts = urlsplit(url)
        query = dict(parse_qsl(parts.query))
        if "sig" not in query:
            return url
        place = unquote(parts.path).removeprefix(f"/{self._account}/")
        container, blob = place.lstrip("/").split("/", 1)
        resource = f"/blob/{self._account}/{container}" + ("" if query.get("sr") == "c" else f"/{blob}")
        fields = [query.get(name, "") for name in ("sp", "st", "se")] + [resource]
        fields += [query.get(name, "") for name in ("si", "sip", "spr", "sv")]
        if query["sv"] >= "2018-11-09":
            fields += [query["sr"], ""]
        query["sig"] = self._sign("\n".join([*fields, *[""] * 5]))
        return urlunsplit(parts._replace(query=urlencode(query)))

    def _sign(self, text: str) -> str:
        return b64encode(digest(self._key, text.encode("utf-8", "surrogatepass"), "sha256")).decode()


def _signed(request: Request, signer: Signer, base: str, *, is_signed: bool) -> Request:
    """Return a request with new signatures: its own, that of its source, and those of its parts."""
    headers = dict(request.headers)
    if "x-ms-copy-source" in headers:
        headers["x-ms-copy-source"] = signer.source(headers["x-ms-copy-source"])
    if "comp=batch" in request.url and b"Authorization: SharedKey" in request.body:
        request.body = signer.parts(base, request.body)
    if "content-length" in headers:
        headers["content-length"] = str(len(request.body))
    request.headers = headers
    if is_signed:
        headers["authorization"] = signer.request(request)
    return request


class EngineBackend:
    """A new engine for each account of the recording, at the time of the recording."""

    has_clock = True
    keeps_versions = False

    def __init__(self) -> None:
        self._accounts: dict[str, tuple[Engine, AccountApi]] = {}

    def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, now: datetime | None, *, signed: bool
    ) -> Answer:
        account = urlsplit(url).netloc.partition(".")[0].removesuffix("-secondary")
        if account not in self._accounts:
            clock = Clock(now or datetime.now(timezone.utc))
            engine = Engine(account, clock=clock, deletion_seconds=30, keep_blob_versions=self.keeps_versions)
            self._accounts[account] = engine, AccountApi(engine)
        engine, api = self._accounts[account]
        if now:
            engine.clock.set(now)
        fields = {name.lower(): value for name, value in headers.items()}
        request = Request(method, url, fields, body, names=headers)
        base = f"https://{urlsplit(url).netloc}"
        response = api.handle(_signed(request, Signer(service_of(url), account), base, is_signed=signed))
        return Answer(response.status, {name.lower(): value for name, value in response.headers.items()}, response.body)


class AzuriteBackend:
    """A new account of a running Azurite, in path style; its time is the current one.

    :param urls: the URL of each service
    :param names: the names of accounts that no recording has used yet; their key is `AZURITE_KEY`
    """

    has_clock = False
    keeps_versions = False

    def __init__(self, urls: Mapping[str, str], names: Iterator[str]) -> None:
        self._urls = urls
        self._names = names
        self._accounts: dict[str, str] = {}

    def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, now: datetime | None, *, signed: bool
    ) -> Answer:
        host = urlsplit(url).netloc
        label, service = host.split(".")[:2]
        account = label.removesuffix("-secondary")
        if account not in self._accounts:
            self._accounts[account] = next(self._names)
        name = self._accounts[account]
        base = f"{self._urls[service.capitalize()]}/{name}{label.removeprefix(account)}"
        sent = {field.lower(): value.replace(f"https://{host}", base) for field, value in headers.items()}
        if now:
            sent.pop("date", None)
            sent["x-ms-date"] = format_datetime(datetime.now(timezone.utc), usegmt=True)
        target = re.sub(rf"https?://{re.escape(host)}", base, url)
        inner = re.sub(rf"https?://{re.escape(host)}".encode(), base.encode(), body)
        if "comp=batch" in url:
            inner = re.sub(rb"(?m)^([A-Z]+ )/", rb"\1/%b/" % name.encode(), inner)
        request = _signed(
            Request(method, target, sent, inner), Signer(service, name, AZURITE_KEY), base, is_signed=signed
        )
        return self._ask(request, (base, f"https://{host}"), (f"{name}.", f"{account}."))

    def _ask(self, request: Request, *replacements: tuple[str, str]) -> Answer:
        """Send a request; return the answer with the host and the account of the recording."""
        address = urlsplit(request.url)
        connection = HTTPConnection(address.hostname or "", address.port, timeout=30)
        try:
            target = request.url.partition(address.netloc)[2]
            connection.putrequest(request.method, target, skip_accept_encoding=True)
            for field, value in ({"content-length": str(len(request.body))} | dict(request.headers)).items():
                connection.putheader(field, value.encode("utf-8"))
            connection.endheaders(request.body)
            response = connection.getresponse()
            fields = {field.lower(): value for field, value in response.getheaders()}
            content = response.read()
        except (HTTPException, OSError) as error:
            return Answer(0, {}, repr(error).encode())
        finally:
            connection.close()
        for own, recorded in replacements:
            content = content.replace(own.encode(), recorded.encode())
            fields = {field: value.replace(own, recorded) for field, value in fields.items()}
        return Answer(response.status, fields, content)
