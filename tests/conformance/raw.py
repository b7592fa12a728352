"""Raw requests that the SDK's clients cannot send, signed like theirs, on the same transports."""

from __future__ import annotations

import hmac
import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import format_datetime
from inspect import isawaitable
from typing import Any, ClassVar, NamedTuple
from urllib.parse import parse_qs, quote, urlsplit

from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import HttpResponseError
from azure.core.pipeline.transport import AioHttpTransport, RequestsTransport
from azure.core.rest import HttpRequest

from support.backends import Backend
from tablepatterns_engine.transport import AioEngineTransport, EngineTransport

JSON = {"Accept": "application/json;odata=minimalmetadata", "Content-Type": "application/json"}
XML = {"Accept": "application/xml", "Content-Type": "application/xml"}
_EVERY = {"x-ms-version": "2019-02-02", "DataServiceVersion": "3.0"}


class Answer(NamedTuple):
    """What came back, and the text of its body."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


class Raw:
    """One account's table service as anyone reaches it who knows the key."""

    service = "table"
    headers: ClassVar[Mapping[str, str]] = {**_EVERY, **JSON}

    def __init__(self, backend: Backend) -> None:
        storage = backend.connect()
        if storage.engine:
            self._transport: Any = (AioEngineTransport if backend.aio else EngineTransport)(storage.engine)
        else:
            self._transport = (AioHttpTransport if backend.aio else RequestsTransport)()
        self._credential: AzureNamedKeyCredential = storage.target.credential
        self.base: str = storage.target.urls[self.service]
        self.account = self._credential.named_key.name

    async def __call__(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str | None] | None = None,
        body: Any = b"",
        *,
        signed: bool = True,
    ) -> Answer:
        """Send a request, and return the answer.

        :param path: what follows the account's URL, percent-encoded
        :param headers: besides those of every request, or instead of them; None leaves one out
        :param body: bytes, text, or an object that becomes JSON
        :param signed: whether the account's key signs it
        :raises HttpResponseError: the answer is an error
        """
        url = self.base + path
        meant = {**self.headers, "x-ms-date": http_date(), **(headers or {})}
        sent = {name: value for name, value in meant.items() if value is not None}
        content = body if isinstance(body, (bytes, str)) else json.dumps(body)
        if content:
            sent["Content-Length"] = str(len(content if isinstance(content, bytes) else content.encode()))
        if signed:
            sent["Authorization"] = self.authorization(method, path, sent)
        answer = self._transport.send(HttpRequest(method, url, headers=sent, content=content or None))
        response: Any = await answer if isawaitable(answer) else answer
        if response.status_code >= 400:
            raise HttpResponseError(response=response)
        return Answer(response.status_code, response.headers, response.text())

    def authorization(self, method: str, path: str, headers: Mapping[str, str], *, lite: bool = False) -> str:
        """Return the header Authorization of a request, by SharedKey or by SharedKeyLite."""
        address = urlsplit(self.base + path)
        comp = parse_qs(address.query).get("comp")
        resource = f"/{self.account}{address.path}" + (f"?comp={comp[0]}" if comp else "")
        signed = [headers["x-ms-date"], resource]
        if not lite:
            signed = [method, "", headers.get("Content-Type", ""), *signed]
        return self._signed("\n".join(signed), lite)

    def _signed(self, text: str, lite: bool) -> str:
        key = b64decode(self._credential.named_key.key)
        signature = b64encode(hmac.digest(key, text.encode(), "sha256")).decode()
        return f"{'SharedKeyLite' if lite else 'SharedKey'} {self.account}:{signature}"

    def close(self) -> Any:
        """Close the connection."""
        return self._transport.close()


def http_date() -> str:
    """Return the present, as headers have it."""
    return format_datetime(datetime.now(timezone.utc), usegmt=True)


def entity_path(table: str, partition_key: str, row_key: str) -> str:
    """Return the path of an entity."""
    first, second = (quote(key.replace("'", "''"), safe="'") for key in (partition_key, row_key))
    return f"/{table}(PartitionKey='{first}',RowKey='{second}')"
