"""Write the body of an entity group transaction, and read that of its response."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import quote

from ..entity import WRITE_ID
from ..write_id import WriteIds, as_bytes
from .entity_json import NotEncodable, entity_json
from .operation import Operation

_ETAG: Final = re.compile(r"[\x20-\x7e]+")
_STATUS_OR_ETAG: Final = re.compile(rb"\r\n(?:HTTP/1\.[01] (\d\d\d) |[Ee][Tt][Aa][Gg]: ([^\r\n]*))")
_FAILED_PART: Final = re.compile(
    rb"\r\nHTTP/1\.[01] ([13-9]\d\d) ([^\r\n]*)((?:\r\n[^\r\n]+)*)\r\n\r\n(.*?)\r\n--", re.DOTALL
)

_METHODS: Final = {"replace": "PUT", "insert_or_replace": "PUT", "merge": "PATCH", "insert_or_merge": "PATCH"}
_TOO_LARGE: Final = b"413"


class Envelope(NamedTuple):
    """What the parts of a transaction share."""

    service: str
    """The URL of the account's Table service, without a query."""
    table: str
    version: str
    """The version of the service's API."""
    date: str
    """The time in the format of HTTP headers."""


class FailedPart(NamedTuple):
    """The response to the operation for which the service rejected a transaction."""

    status: int
    reason: str
    headers: Mapping[str, str]
    content: bytes
    code: str
    message: str


def batch_body(
    envelope: Envelope,
    operations: Sequence[Operation],
    ids: Sequence[WriteIds],
    *,
    batch: str,
    changeset: str,
) -> bytes:
    """Return the body of a transaction, byte for byte as the SDK writes it.

    :param ids: the write ids that each operation stores in its row
    :param batch: the boundary of the batch
    :param changeset: the boundary of the parts
    :raises NotEncodable: the SDK must write this transaction
    """
    address = f"{envelope.service}/{envelope.table}"
    common = f"x-ms-version: {envelope.version}\r\nDataServiceVersion: 3.0\r\n"
    dates = f"x-ms-date: {envelope.date}\r\nDate: {envelope.date}\r\n\r\n"
    start = f"--{changeset}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\nContent-ID: "
    try:
        partition = f"{address}(PartitionKey='{_quoted(operations[0].partition_key)}',RowKey='"
        tails: dict[WriteIds, str] = {(): "}"}
        text = [f"--{batch}\r\nContent-Type: multipart/mixed; boundary={changeset}\r\n\r\n"]
        for number, (operation, write_ids) in enumerate(zip(operations, ids, strict=True)):
            kind, etag = operation.kind, operation.etag
            if etag is not None and not _ETAG.fullmatch(etag):
                raise NotEncodable(etag)
            # As the SDK does for an insert, to which no condition applies
            condition = "" if etag is None or kind == "insert" else f"If-Match: {etag}\r\n"
            if kind == "delete":
                line = f"DELETE {partition}{_quoted(operation.row_key)}') HTTP/1.1\r\n"
                text.append(f"{start}{number}\r\n\r\n{line}{common}{_ACCEPT_ENTITY}{condition}{dates}\r\n")
                continue
            tail = tails.get(write_ids) or tails.setdefault(write_ids, _tail(write_ids))
            entity = entity_json(operation.entity)[:-1] + tail
            if kind == "insert":
                line, accept = f"POST {address} HTTP/1.1\r\n", _ACCEPT_ENTITY
            else:
                line, accept = f"{_METHODS[kind]} {partition}{_quoted(operation.row_key)}') HTTP/1.1\r\n", _ACCEPT
            size = f"Content-Type: application/json\r\nContent-Length: {len(entity)}\r\n"
            text.append(f"{start}{number}\r\n\r\n{line}{size}{common}{accept}{condition}{dates}{entity}\r\n")
    except UnicodeError as error:
        raise NotEncodable(str(error)) from error
    text.append(f"--{changeset}--\r\n\r\n--{batch}--\r\n")
    return "".join(text).encode("ascii")


_ACCEPT: Final = "Accept: application/json\r\n"
_ACCEPT_ENTITY: Final = "Accept: application/json;odata=minimalmetadata\r\n"


def _quoted(key: str) -> str:
    if key.isalnum() and key.isascii():
        return key
    return quote(key.replace("'", "''"), safe="")


def _tail(write_ids: WriteIds) -> str:
    """Return the end of an entity's JSON, with its write ids."""
    value = b64encode(as_bytes(write_ids)).decode()
    return f', "{WRITE_ID}": "{value}", "{WRITE_ID}@odata.type": "Edm.Binary"}}'


def etags_of(content: bytes, count: int) -> list[str | None] | FailedPart | None:
    """Return the new ETag of each operation, or the failed part; None if the SDK must read the response.

    :param content: the body of a response with status 202
    :param count: the number of operations
    """
    etags: list[str | None] = []
    for status, etag in _STATUS_OR_ETAG.findall(content):
        if not status:
            etags[-1:] = [etag.decode("latin-1")]
        elif status[:1] == b"2":
            etags.append(None)
        else:
            return _failed_part(content)
    return etags if len(etags) == count and content.rstrip().endswith(b"--") else None


def _failed_part(content: bytes) -> FailedPart | None:
    found = _FAILED_PART.search(content)
    if found is None or found[1] == _TOO_LARGE:
        return None
    try:
        error = json.loads(found[4].decode("utf-8-sig"))["odata.error"]
        code, message = error["code"], error["message"]["value"]
        is_known = error.keys() == {"code", "message"} and isinstance(code, str) and isinstance(message, str)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    lines = found[3].decode("latin-1").split("\r\n")[1:]
    headers = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    is_json = any(name.lower() == "content-type" and "json" in value for name, value in headers.items())
    if not is_known or not is_json:
        return None
    return FailedPart(int(found[1]), found[2].decode("latin-1"), headers, found[4], code, message)
