"""One recorded request: its operation, its line of code, and no secrets or property values."""

from __future__ import annotations

import asyncio
import linecache
import re
import sys
import sysconfig
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

import azure.core

from ..cost import Cost
from ..errors import BadFilter
from ..filters import Explanation, QueryClass, classify, parse

DISTINCTIVE_HEADERS: Final[Mapping[str, tuple[str, ...]]] = {
    "table": ("If-Match",),
    "queue": (),
    "blob": ("x-ms-lease-action", "x-ms-copy-source", "x-ms-requires-sync", "x-ms-blob-type"),
}
"""The headers that distinguish operations, by service."""

_ENTITY: Final = re.compile(
    r"(?P<table>[^()]*)\(PartitionKey='(?P<key>[^']*(?:''[^']*)*)',\s*RowKey='[^']*(?:''[^']*)*'\)", re.DOTALL
)
_OF_ACCOUNT: Final = {
    ("GET", "service", "properties"): "Get{}ServiceProperties",
    ("PUT", "service", "properties"): "Set{}ServiceProperties",
    ("GET", "service", "stats"): "Get{}ServiceStats",
    ("GET", "account", "properties"): "GetAccountInformation",
    ("POST", "service", "userdelegationkey"): "GetUserDelegationKey",
    ("POST", "", "batch"): "BlobBatch",
    ("GET", "", "blobs"): "FindBlobsByTags",
}
_OF_QUEUE: Final = {("PUT", ""): "CreateQueue", ("DELETE", ""): "DeleteQueue"}
_OF_MESSAGES: Final = {
    ("POST", False): "PutMessage",
    ("GET", False): "GetMessages",
    ("DELETE", False): "ClearMessages",
    ("PUT", True): "UpdateMessage",
    ("DELETE", True): "DeleteMessage",
}
_OF_CONTAINER: Final = {
    ("PUT", ""): "CreateContainer",
    ("DELETE", ""): "DeleteContainer",
    ("GET", ""): "GetContainerProperties",
    ("PUT", "lease"): "{}ContainerLease",
    ("GET", "list"): "ListBlobs",
    ("POST", "batch"): "BlobBatch",
}
_OF_BLOB: Final = {
    ("GET", ""): "GetBlob",
    ("HEAD", ""): "GetBlobProperties",
    ("PUT", ""): "PutBlob",
    ("DELETE", ""): "DeleteBlob",
    ("PUT", "properties"): "SetBlobProperties",
    ("PUT", "lease"): "{}BlobLease",
    ("PUT", "snapshot"): "SnapshotBlob",
    ("PUT", "block"): "PutBlock",
    ("GET", "blocklist"): "GetBlockList",
    ("PUT", "blocklist"): "PutBlockList",
    ("PUT", "appendblock"): "AppendBlock",
    ("PUT", "seal"): "AppendBlobSeal",
    ("PUT", "copy"): "AbortCopyBlob",
    ("PUT", "tier"): "SetBlobTier",
}
_READ_AND_SET: Final = {"metadata": "Metadata", "acl": "ACL", "tags": "Tags"}
"""What is read with GET or HEAD, and set with PUT."""
_FROM_URL: Final = frozenset({"PutBlock", "AppendBlock"})
_UNKNOWN: Final = "Unknown"


class RequestPurpose(NamedTuple):
    """What a request is for.

    :param operation: the service's name for the operation
    :param partition: the PartitionKey or the blob; None if there are several or none
    :param filter: the value of `$filter`; None if it is not a query
    """

    operation: str
    resource: str | None = None
    partition: str | None = None
    filter: str | None = None


def purpose_of(service: str, root: str, method: str, url: str, headers: Mapping[str, str]) -> RequestPurpose:
    """Return what a request is for.

    :param root: the path of the account's endpoint, "" if the host name contains the account
    :param headers: the request's `DISTINCTIVE_HEADERS`
    """
    address = urlsplit(url)
    query = {name: values[0] for name, values in parse_qs(address.query, keep_blank_values=True).items()}
    path = address.path.removeprefix(root).lstrip("/")
    if not path:
        return RequestPurpose(_account(service, method, query))
    if service == "table":
        return _table(method, unquote(path), query, headers)
    first, _, below = path.partition("/")
    if service == "queue":
        return _queue(method, first, below, query)
    return _blob(method, unquote(first), unquote(below), query, headers)


def _account(service: str, method: str, query: Mapping[str, str]) -> str:
    restype, comp = query.get("restype", ""), query.get("comp", "")
    if comp == "list":
        return "ListQueues" if service == "queue" else "ListContainers"
    read = "GET" if method == "HEAD" and restype == "account" else method
    return _OF_ACCOUNT.get((read, restype, comp), _UNKNOWN).format(service.capitalize())


def _table(method: str, name: str, query: Mapping[str, str], headers: Mapping[str, str]) -> RequestPurpose:
    if name == "$batch":
        return RequestPurpose("Transaction")
    if name == "Tables":
        return RequestPurpose("CreateTable" if method == "POST" else "QueryTables")
    if name.startswith("Tables("):
        return RequestPurpose("DeleteTable" if method == "DELETE" else "QueryTable", name[8:-2])
    entity = _ENTITY.fullmatch(name)
    if entity:
        return RequestPurpose(_write(method, headers), entity["table"], entity["key"].replace("''", "'"))
    table = name.removesuffix("()")
    if query.get("comp") == "acl":
        return RequestPurpose("GetTableACL" if method == "GET" else "SetTableACL", table)
    if method == "POST":
        return RequestPurpose("InsertEntity", table)
    return RequestPurpose("QueryEntities", table, None, query.get("$filter", ""))


def _write(method: str, headers: Mapping[str, str]) -> str:
    if method in ("GET", "DELETE"):
        return "QueryEntity" if method == "GET" else "DeleteEntity"
    if method == "PUT":
        return "UpdateEntity" if "If-Match" in headers else "InsertOrReplaceEntity"
    return "MergeEntity" if "If-Match" in headers else "InsertOrMergeEntity"


def _operation(noun: str, operations: Mapping[tuple[str, str], str], method: str, comp: str) -> str:
    """Return the operation on a queue, container or blob; of its lease, with a placeholder for the action."""
    if comp in _READ_AND_SET and method in ("GET", "HEAD", "PUT"):
        return f"{'Set' if method == 'PUT' else 'Get'}{noun}{_READ_AND_SET[comp]}"
    fallback = operations.get(("GET", comp), _UNKNOWN) if method == "HEAD" else _UNKNOWN
    return operations.get((method, comp), fallback)


def _queue(method: str, queue: str, below: str, query: Mapping[str, str]) -> RequestPurpose:
    if below.startswith("messages"):
        if query.get("peekonly") == "true":
            return RequestPurpose("PeekMessages", queue)
        has_id = bool(below.removeprefix("messages").strip("/"))
        return RequestPurpose(_OF_MESSAGES.get((method, has_id), _UNKNOWN), queue)
    return RequestPurpose(_operation("Queue", _OF_QUEUE, method, query.get("comp", "")), queue)


def _blob(
    method: str, container: str, blob: str, query: Mapping[str, str], headers: Mapping[str, str]
) -> RequestPurpose:
    comp = query.get("comp", "")
    action = headers.get("x-ms-lease-action", "").capitalize()
    if query.get("restype") == "container":
        return RequestPurpose(_operation("Container", _OF_CONTAINER, method, comp).format(action), container)
    if not blob:
        container, blob = "$root", container
    operation = _operation("Blob", _OF_BLOB, method, comp).format(action)
    if "x-ms-copy-source" in headers:
        operation = _copied(operation, headers)
    return RequestPurpose(operation, container, blob)


def _copied(operation: str, headers: Mapping[str, str]) -> str:
    if operation in _FROM_URL:
        return f"{operation}FromURL"
    if operation != "PutBlob":
        return operation
    if "x-ms-blob-type" in headers:
        return "PutBlobFromURL"
    return "CopyBlobFromURL" if headers.get("x-ms-requires-sync") == "true" else "CopyBlob"


def _file_of(package: str) -> str | None:
    spec = find_spec(package)
    return None if spec is None else spec.origin


_SKIPPED, _USERS, _ENDS = range(3)

_STDLIB: Final = sysconfig.get_path("stdlib")
_INSTALLED: Final = (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
# As spelled in frames; in a linked virtual environment this is not the resolved path
_OURS: Final = (
    # All packages of the library
    str(Path(__file__).parents[1]),
    *(f"{Path(str(module)).parents[up]}/" for module, up in ((azure.core.__file__, 1), (_file_of("tenacity"), 0))),
)
# Frames below these run the event loop or the pool, and are not the source of the request
_LOOPS: Final = (f"{Path(asyncio.__file__).parent}/", f"{_STDLIB}/concurrent/", f"{_STDLIB}/threading.py")

holding: ContextVar[Site | None] = ContextVar("holding", default=None)
"""The line of code that work in threads and tasks is attributed to."""


class Site(NamedTuple):
    """A line of code; `file` is the name of the cell in a notebook, `line` counts from 1."""

    file: str
    line: int
    function: str

    @property
    def code(self) -> str:
        """The text of the line; "" if it is not available."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"


def call_site() -> Site | None:
    """Return the innermost line on the stack that is not in this package, the SDK or Python's library."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        name = frame.f_code.co_filename
        if kind := _kind(name):
            if kind == _ENDS:
                break
            return Site(name, frame.f_lineno, frame.f_code.co_name)
        frame = frame.f_back
    return holding.get()


@cache
def _kind(name: str) -> int:
    if name.startswith("<"):
        return _SKIPPED if name.startswith("<frozen") else _USERS
    if name.startswith(_LOOPS):
        return _ENDS
    if name.startswith(_OURS):
        return _SKIPPED
    is_pythons = name.startswith(f"{_STDLIB}/") and not name.startswith(_INSTALLED)
    return _SKIPPED if is_pythons else _USERS


def is_billed(status: int) -> bool:
    """Whether a request with this status is billed; it is not after a service failure, or without a response."""
    return 0 < status < 500


@lru_cache(maxsize=512)
def plan_of(text: str) -> Explanation | None:
    """Return the query plan of the text of a filter; None if the service rejects the filter."""
    try:
        return classify(parse(text))
    except BadFilter:
        return None


def discards_most(examined: int | None, returned: int | None) -> bool:
    """Whether a query reads 100 or more rows that it does not return, and more than it returns; False if unknown."""
    if examined is None or returned is None:
        return False
    discarded = examined - returned
    return discarded >= 100 and discarded > returned


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it was sent; each retry by the SDK is a separate one.

    :param site: the line of your code that sent it. If none is on the stack, as in a task of the SDK, the line that
        waits for the task, or that begins the block
    :param service: table, queue or blob
    :param operation: the service's name for the operation, as in the engine's ledger
    :param partition: the PartitionKey or the blob; None if there are several or none
    :param reason: why the query is of this class; "" for other requests
    :param rewrite: a better query; "" for other requests
    :param moment: when it was sent, by the account's clock
    :param seconds: until the response arrived, by the account's clock; backoff is not included
    :param status: the response's status, for a transaction that of the failed operation; 0 without a response
    :param transactions: storage transactions billed: 1, or 0 if it was throttled, timed out, or got no response
    :param attempt: 1 for the first attempt, 2 for the SDK's first retry, and so on
    :param examined: how many entities the service read; only the in-memory engine reports it
    :param returned: how many entities the response contains; only the in-memory engine reports it
    """

    site: Site | None
    service: str
    operation: str
    resource: str | None
    partition: str | None
    query_class: QueryClass | None
    reason: str
    rewrite: str
    moment: datetime
    seconds: float
    status: int
    transactions: int
    bytes_in: int
    bytes_out: int
    attempt: int
    examined: int | None = None
    returned: int | None = None

    @property
    def cost(self) -> Cost:
        """The storage transactions billed, by service."""
        return Cost.of(self.service, self.operation, self.transactions)

    @property
    def is_scan(self) -> bool:
        """Whether the service searched a partition or the table, or a range and discarded most of it."""
        return self.query_class is not None and (self.query_class > QueryClass.RANGE or self.discards_most)

    @property
    def discards_most(self) -> bool:
        """Whether 100 or more rows were read but not returned, and more than were returned.

        Then the query searches by a property, whatever its key range. On a real account this is not known.
        """
        return self.query_class is not None and discards_most(self.examined, self.returned)

    @property
    def scan_class(self) -> QueryClass | None:
        """The class of a query, where a range that discards most of its rows counts as a partition scan."""
        return QueryClass.PARTITION_SCAN if self.query_class == QueryClass.RANGE and self.is_scan else self.query_class

    @property
    def is_retry(self) -> bool:
        return self.attempt > 1

    @property
    def is_throttled(self) -> bool:
        return self.status in (429, 503)

    @property
    def is_conflict(self) -> bool:
        """Whether it conflicts with another write: 409 or 412."""
        return self.status in (409, 412)

    @property
    def is_lost(self) -> bool:
        """Whether there was no response."""
        return self.status == 0

    @property
    def place(self) -> str:
        return "/".join(part for part in (self.service, self.resource, self.partition) if part is not None)
