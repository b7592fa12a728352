"""Write the bytes of writes, and read those of the response to an entity group transaction."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import quote

from ..entity import WRITE_ID
from ..write_id import WriteIds, as_bytes
from .entity_json import NotEncodable, entities_json, entity_json
from .errors import code_and_message
from .operation import Kind, Operation

_ETAG: Final = re.compile(r"[\x20-\x7e]+")
_PART: Final = "\r\nHTTP/1."
_PART_ETAG: Final = re.compile("\r\netag: ([^\r\n]*)", re.IGNORECASE)
_FAILED_PART: Final = re.compile(
    rb"\r\nHTTP/1\.[01] ([13-9]\d\d) ([^\r\n]*)((?:\r\n[^\r\n]+)*)\r\n\r\n(.*?)\r\n--", re.DOTALL
)

_ROW: Final = "application/json"
_ENTITY: Final = "application/json;odata=minimalmetadata"
_METHOD_AND_ACCEPT: Final[Mapping[Kind, tuple[str, str]]] = {
    "insert": ("POST", _ENTITY),
    "replace": ("PUT", _ROW),
    "merge": ("PATCH", _ROW),
    "insert_or_replace": ("PUT", _ROW),
    "insert_or_merge": ("PATCH", _ROW),
    "delete": ("DELETE", _ENTITY),
}
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


def entity_write(
    address: str, operation: Operation, write_ids: WriteIds
) -> tuple[str, str, dict[str, str], str | None]:
    """Return the method, URL, headers and body of one operation, as the SDK sends it.

    :param address: the URL of the table
    :param write_ids: the write ids that the operation stores in its row
    :raises NotEncodable: the SDK must send it
    """
    method, accept = _METHOD_AND_ACCEPT[operation.kind]
    headers = {"Accept": accept}
    try:
        if operation.kind == "insert":
            headers["Content-Type"] = "application/json;odata=nometadata"
        else:
            address += entity_address(operation.partition_key, operation.row_key)
            if operation.etag is not None:
                headers["If-Match"] = _header(operation.etag)
        if operation.kind == "delete":
            return method, address, headers, None
        headers.setdefault("Content-Type", _ROW)
        return method, address, headers, entity_json(operation.entity)[:-1] + _tail(write_ids)
    except ValueError as error:
        raise NotEncodable(str(error)) from error


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
    common = f"x-ms-version: {envelope.version}\r\nDataServiceVersion: 3.0\r\nAccept: "
    dates = f"x-ms-date: {envelope.date}\r\nDate: {envelope.date}\r\n\r\n"
    start = f"--{changeset}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\nContent-ID: "
    try:
        partition = f"{address}(PartitionKey='{_quoted(operations[0].partition_key)}',RowKey='"
        texts = iter(entities_json([operation.entity for operation in operations if operation.kind != "delete"]))
        tails: dict[WriteIds, str] = {}
        body = [f"--{batch}\r\nContent-Type: multipart/mixed; boundary={changeset}\r\n\r\n"]
        for number, (operation, write_ids) in enumerate(zip(operations, ids, strict=True)):
            kind, etag = operation.kind, operation.etag
            # As the SDK does for an insert, to which no condition applies
            condition = "" if etag is None or kind == "insert" else f"If-Match: {_header(etag)}\r\n"
            row = address if kind == "insert" else f"{partition}{_quoted(operation.row_key)}')"
            if kind == "delete":
                head, entity = f"{row} HTTP/1.1", ""
            else:
                tail = tails.get(write_ids) or tails.setdefault(write_ids, _tail(write_ids))
                entity = next(texts)[:-1] + tail
                head = f"{row} HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {len(entity)}"
            method, accept = _METHOD_AND_ACCEPT[kind]
            body.append(f"{start}{number}\r\n\r\n{method} {head}\r\n{common}{accept}\r\n{condition}{dates}{entity}\r\n")
    except ValueError as error:
        raise NotEncodable(str(error)) from error
    body.append(f"--{changeset}--\r\n\r\n--{batch}--\r\n")
    return "".join(body).encode("ascii")


def entity_address(partition_key: str, row_key: str) -> str:
    """Return the part of an entity's URL that follows the table's name."""
    return f"(PartitionKey='{_quoted(partition_key)}',RowKey='{_quoted(row_key)}')"


def _quoted(key: str) -> str:
    if key.isalnum() and key.isascii():
        return key
    return quote(key.replace("'", "''"), safe="")


def _header(etag: str) -> str:
    if not _ETAG.fullmatch(etag):
        raise NotEncodable(etag)
    return etag


def _tail(write_ids: WriteIds) -> str:
    """Return the end of an entity's JSON, with its write ids."""
    if not write_ids:
        return "}"
    value = b64encode(as_bytes(write_ids)).decode()
    return f', "{WRITE_ID}": "{value}", "{WRITE_ID}@odata.type": "Edm.Binary"}}'


def etags_of(content: bytes, count: int) -> list[str | None] | FailedPart | None:
    """Return the new ETag of each operation, or the failed part; None if the SDK must read the response.

    :param content: the body of a response with status 202
    :param count: the number of operations
    """
    etags: list[str | None] = []
    # A JSON string has no line break, so what looks like a header in an entity's values is not found
    for part in content.decode("latin-1").split(_PART)[1:]:
        if part[1:3] != " 2":
            return _failed_part(content)
        etag = _PART_ETAG.search(part)
        etags.append(etag[1] if etag else None)
    return etags if len(etags) == count and content.rstrip().endswith(b"--") else None


def _failed_part(content: bytes) -> FailedPart | None:
    match = _FAILED_PART.search(content)
    if match is None or match[1] == _TOO_LARGE:
        return None
    try:
        error = code_and_message(json.loads(match[4].decode("utf-8-sig")))
    except ValueError:
        return None
    lines = match[3].decode("latin-1").split("\r\n")[1:]
    headers = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    is_json = any(name.lower() == "content-type" and "json" in value for name, value in headers.items())
    if error is None or not is_json:
        return None
    return FailedPart(int(match[1]), match[2].decode("latin-1"), headers, match[4], *error)
