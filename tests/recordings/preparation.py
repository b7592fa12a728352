"""Create what a test created before its recording began, as far as the recording shows it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from recordings.backends import Backend
from recordings.exchange import Answer, Exchange

_VERSION = "2018-11-09"
_MAX_BLOB = 80 << 20
_ANY_ORIGIN = (
    b"<StorageServiceProperties><Cors><CorsRule><AllowedMethods>DELETE,GET,HEAD,MERGE,POST,OPTIONS,PUT,PATCH"
    b"</AllowedMethods><AllowedOrigins>*</AllowedOrigins><AllowedHeaders>*</AllowedHeaders>"
    b"<ExposedHeaders>*</ExposedHeaders><MaxAgeInSeconds>86400</MaxAgeInSeconds></CorsRule></Cors>"
    b"</StorageServiceProperties>"
)
_UNSUPPORTED = re.compile(rb"<(DeleteRetentionPolicy|StaticWebsite)>.*?</\1>", re.DOTALL)


class Preparation:
    """Sends requests that are not recorded, shortly before the first recorded one."""

    def __init__(self, backend: Backend, exchanges: Sequence[Exchange]) -> None:
        self._backend = backend
        self._exchanges = [exchange for exchange in exchanges if exchange.service]
        dates = [exchange.date for exchange in exchanges if exchange.date]
        self._now: datetime | None = dates[0] - timedelta(seconds=5) if dates else None

    def run(self) -> set[tuple[str, ...]]:
        """Prepare the account; return the paths of the blobs whose content is not known."""
        self._create_resources()
        self._allow_origins()
        self._set_properties()
        return self._upload_blobs()

    def _send(self, method: str, url: str, headers: dict[str, str], body: bytes = b"") -> Answer:
        sent = {"x-ms-date": "Thu, 09 May 2019 00:00:00 GMT", "x-ms-version": _VERSION, **headers}
        sent["Content-Length"] = str(len(body))
        return self._backend.send(method, url, sent, body, self._now, signed=True)

    def _create_resources(self) -> None:
        """Create tables, queues and containers that answer before the recording creates them."""
        seen: set[tuple[str | None, str, str]] = set()
        for exchange in self._exchanges:
            place = exchange.service, exchange.account, exchange.resource
            if not exchange.resource or place in seen:
                continue
            seen.add(place)
            answer = exchange.answer
            is_there = answer.status != 404 or (answer.code or "") in ("ResourceNotFound", "BlobNotFound")
            if exchange.path == ["$batch"]:
                is_there = b"TableNotFound" not in answer.body
            if exchange.creates_resource:
                is_there = answer.status == 409
            elif exchange.service == "table" and exchange.path[0].startswith("Tables("):
                is_there = answer.status != 404
            if is_there:
                self._create(exchange.service or "", exchange.account, exchange.resource)

    def _create(self, service: str, account: str, name: str) -> None:
        base = f"https://{account}.{service}.core.windows.net/"
        if service == "table":
            headers = {"Content-Type": "application/json", "Accept": "application/json;odata=nometadata"}
            self._send("POST", f"{base}Tables", headers, json.dumps({"TableName": name}).encode())
        else:
            self._send("PUT", base + name + ("?restype=container" if service == "blob" else ""), {})

    def _allow_origins(self) -> None:
        """Let pages of any origin send requests to the accounts whose answers say that they may."""
        services = {
            (exchange.account, exchange.service)
            for exchange in self._exchanges
            if exchange.answer.headers.get("access-control-allow-origin") == "*"
        }
        for account, service in sorted(services):
            url = f"https://{account}.{service}.core.windows.net/?restype=service&comp=properties"
            self._send("PUT", url, {}, _ANY_ORIGIN)

    def _set_properties(self) -> None:
        """Set the service's properties that the recording returns first; what the engine lacks is left out."""
        for exchange in self._exchanges:
            options = exchange.query.get("restype"), exchange.query.get("comp")
            if options == ("service", "properties") and exchange.method == "GET" and exchange.answer.status == 200:
                body = _UNSUPPORTED.sub(b"", exchange.answer.body).removeprefix(b"\xef\xbb\xbf")
                self._send("PUT", exchange.url, {"x-ms-version": exchange.version}, body)
                return

    def _upload_blobs(self) -> set[tuple[str, ...]]:
        blobs = _blobs_before(self._exchanges)
        for (account, *path), blob in blobs.items():
            base = f"https://{account}.blob.core.windows.net/"
            self._create("blob", account, path[0])
            kind = blob.headers.get("x-ms-blob-type", "BlockBlob")
            headers = {name: value for name, value in blob.headers.items() if name.startswith("x-ms-meta-")}
            headers |= {"x-ms-blob-type": kind, "Content-Type": blob.headers.get("content-type", "application/x")}
            content = b"" if kind == "AppendBlob" else bytes(blob.content)
            self._send("PUT", base + "/".join(path), headers, content)
        return {place for place, blob in blobs.items() if not blob.is_complete}


@dataclass
class _Blob:
    """What a recording shows of a blob that it does not create."""

    size: int = 1 << 20
    content: bytearray = field(default_factory=bytearray)
    known: int = 0
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        return self.known >= self.size

    def add(self, answer: Answer) -> None:
        """Add the properties and the part of the content that an answer has."""
        told = answer.headers
        if "x-ms-blob-type" in told and not self.headers:
            self.headers = dict(told)
            self.size = int(told.get("content-range", "/" + told.get("content-length", "0")).rpartition("/")[2])
            self.content = bytearray(min(self.size, _MAX_BLOB))
        if answer.status in (200, 206) and answer.body:
            first = int((re.match(r"bytes (\d+)", told.get("content-range", "")) or ["", "0"])[1])
            self.content[first : first + len(answer.body)] = answer.body
            self.known += len(answer.body)


def _blobs_before(exchanges: Sequence[Exchange]) -> dict[tuple[str, ...], _Blob]:
    """Return the blobs that a recording reads, or copies, before it writes them."""
    written: set[tuple[str, ...]] = set()
    blobs: dict[tuple[str, ...], _Blob] = {}
    for exchange in exchanges:
        if exchange.service != "blob":
            continue
        source = exchange.source_place
        place, status = (exchange.account, *exchange.path), exchange.answer.status
        is_copied = status < 400 and exchange.query.get("comp") != "incrementalcopy"
        if len(source) > 2 and source not in written and is_copied:
            blobs.setdefault(source, _Blob())
        if len(place) < 3 or place in written or "snapshot" in exchange.query:
            continue
        writes = exchange.method in ("PUT", "DELETE") and exchange.query.get("comp") in (None, "block", "blocklist")
        if writes and status < 400:
            written.add(place)
        elif status in (200, 201, 202, 206, 304, 412) and not writes:
            blob = blobs.setdefault(place, _Blob(size=0))
            if exchange.method in ("GET", "HEAD") and "comp" not in exchange.query:
                blob.add(exchange.answer)
    return blobs
