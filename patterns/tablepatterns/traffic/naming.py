"""Naming: which operation a request is, and on what, by its verb, its URL and a few headers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

TELLING: Final[Mapping[str, tuple[str, ...]]] = {
    "table": ("If-Match",),
    "queue": (),
    "blob": ("x-ms-lease-action", "x-ms-copy-source", "x-ms-requires-sync", "x-ms-blob-type"),
}
"""For each service the headers by which operations differ."""

_ENTITY: Final = re.compile(
    r"(?P<table>[^()]*)\(PartitionKey='(?P<key>[^']*(?:''[^']*)*)',\s*RowKey='[^']*(?:''[^']*)*'\)", re.DOTALL
)
_OF_ACCOUNT: Final = {
    ("GET", "service", "properties"): "Get{}ServiceProperties",
    ("PUT", "service", "properties"): "Set{}ServiceProperties",
    ("GET", "service", "stats"): "Get{}ServiceStats",
    ("GET", "account", "properties"): "GetAccountInformation",
    ("HEAD", "account", "properties"): "GetAccountInformation",
    ("POST", "service", "userdelegationkey"): "GetUserDelegationKey",
    ("POST", "", "batch"): "BlobBatch",
    ("GET", "", "blobs"): "FindBlobsByTags",
}
_OF_QUEUE: Final = {
    ("PUT", ""): "CreateQueue",
    ("DELETE", ""): "DeleteQueue",
    ("GET", "metadata"): "GetQueueMetadata",
    ("HEAD", "metadata"): "GetQueueMetadata",
    ("PUT", "metadata"): "SetQueueMetadata",
    ("GET", "acl"): "GetQueueACL",
    ("HEAD", "acl"): "GetQueueACL",
    ("PUT", "acl"): "SetQueueACL",
}
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
    ("HEAD", ""): "GetContainerProperties",
    ("GET", "metadata"): "GetContainerMetadata",
    ("HEAD", "metadata"): "GetContainerMetadata",
    ("PUT", "metadata"): "SetContainerMetadata",
    ("GET", "acl"): "GetContainerACL",
    ("HEAD", "acl"): "GetContainerACL",
    ("PUT", "acl"): "SetContainerACL",
    ("PUT", "lease"): "{}ContainerLease",
    ("GET", "list"): "ListBlobs",
    ("POST", "batch"): "BlobBatch",
}
_OF_BLOB: Final = {
    ("GET", ""): "GetBlob",
    ("HEAD", ""): "GetBlobProperties",
    ("PUT", ""): "PutBlob",
    ("DELETE", ""): "DeleteBlob",
    ("GET", "metadata"): "GetBlobMetadata",
    ("HEAD", "metadata"): "GetBlobMetadata",
    ("PUT", "metadata"): "SetBlobMetadata",
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
    ("GET", "tags"): "GetBlobTags",
    ("PUT", "tags"): "SetBlobTags",
}
_FROM_URL: Final = frozenset({"PutBlock", "AppendBlock"})
_UNKNOWN: Final = "Unknown"


class Named(NamedTuple):
    """What a request is about.

    :param operation: the service's name of the operation
    :param resource: the table, the queue or the container, None where it is about none
    :param partition: the PartitionKey, or the blob; None where it is about none or several
    :param filter: the value of `$filter`, None for anything but a query
    """

    operation: str
    resource: str | None = None
    partition: str | None = None
    filter: str | None = None


def named(service: str, root: str, method: str, url: str, headers: Mapping[str, str]) -> Named:
    """Return what a request is about.

    :param service: table, queue or blob
    :param root: the path of the account's endpoint, "" where the account is in the name of the host
    :param headers: of the request, those of the service's that are `TELLING`
    """
    address = urlsplit(url)
    query = {name: values[0] for name, values in parse_qs(address.query, keep_blank_values=True).items()}
    path = address.path.removeprefix(root).lstrip("/")
    if service == "table":
        return _table(method, path, query, headers)
    first, _, below = path.partition("/")
    found = None if first else _account(service, method, query)
    if found is not None:
        return Named(found)
    if service == "queue":
        return _queue(method, first, below, query)
    return _blob(method, unquote(first), unquote(below), query, headers)


def _account(service: str, method: str, query: Mapping[str, str]) -> str:
    restype, comp = query.get("restype", ""), query.get("comp", "")
    if comp == "list":
        return "ListQueues" if service == "queue" else "ListContainers"
    return _OF_ACCOUNT.get((method, restype, comp), _UNKNOWN).format(service.capitalize())


def _table(method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str]) -> Named:
    name = unquote(path)
    if not name:
        return Named(_account("table", method, query))
    if name == "$batch":
        return Named("Transaction")
    if name == "Tables":
        return Named("CreateTable" if method == "POST" else "QueryTables")
    if name.startswith("Tables("):
        return Named("DeleteTable" if method == "DELETE" else "QueryTable", name[8:-2])
    entity = _ENTITY.fullmatch(name)
    if entity:
        return Named(_write(method, headers), entity["table"], entity["key"].replace("''", "'"))
    table = name.removesuffix("()")
    if query.get("comp") == "acl":
        return Named("GetTableACL" if method == "GET" else "SetTableACL", table)
    if method == "POST":
        return Named("InsertEntity", table)
    return Named("QueryEntities", table, None, query.get("$filter", ""))


def _write(method: str, headers: Mapping[str, str]) -> str:
    if method in ("GET", "DELETE"):
        return "QueryEntity" if method == "GET" else "DeleteEntity"
    if method == "PUT":
        return "UpdateEntity" if "If-Match" in headers else "InsertOrReplaceEntity"
    return "MergeEntity" if "If-Match" in headers else "InsertOrMergeEntity"


def _queue(method: str, queue: str, below: str, query: Mapping[str, str]) -> Named:
    if below.startswith("messages"):
        if query.get("peekonly") == "true":
            return Named("PeekMessages", queue)
        has_id = bool(below.removeprefix("messages").strip("/"))
        return Named(_OF_MESSAGES.get((method, has_id), _UNKNOWN), queue)
    return Named(_OF_QUEUE.get((method, query.get("comp", "")), _UNKNOWN), queue)


def _blob(method: str, container: str, blob: str, query: Mapping[str, str], headers: Mapping[str, str]) -> Named:
    kind = method, query.get("comp", "")
    action = headers.get("x-ms-lease-action", "").capitalize()
    if query.get("restype") == "container":
        return Named(_OF_CONTAINER.get(kind, _UNKNOWN).format(action), container)
    if not blob:
        container, blob = "$root", container
    found = _OF_BLOB.get(kind, _UNKNOWN).format(action)
    if "x-ms-copy-source" in headers:
        found = _copied(found, headers)
    return Named(found, container, blob)


def _copied(operation: str, headers: Mapping[str, str]) -> str:
    if operation in _FROM_URL:
        return f"{operation}FromURL"
    if operation != "PutBlob":
        return operation
    if "x-ms-blob-type" in headers:
        return "PutBlobFromURL"
    return "CopyBlobFromURL" if headers.get("x-ms-requires-sync") == "true" else "CopyBlob"
