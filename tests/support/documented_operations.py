"""All operations of the three services, with their documented headers and query parameters.

The lists are those of the REST reference and of the services' descriptions for code generation. Common ones are left
out: `timeout`, `comp` and `restype`, and the headers for dates, versions, request ids and lengths.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from support.blob_requests import APPEND_BLOB, BLOCK_BLOB, LEASE

_CONDITIONS = "if-match if-none-match if-modified-since if-unmodified-since x-ms-if-tags"
_TIMES = "if-modified-since if-unmodified-since"
_WRITE = f"{_CONDITIONS} x-ms-lease-id"
_SOURCE = (
    "x-ms-source-if-match x-ms-source-if-none-match x-ms-source-if-modified-since x-ms-source-if-unmodified-since "
    "x-ms-copy-source-authorization"
)
_FROM = (
    "x-ms-source-content-md5 x-ms-source-content-crc64 content-md5 x-ms-file-request-intent x-ms-source-encryption-key "
    "x-ms-source-encryption-key-sha256 x-ms-source-encryption-algorithm"
)
_OF_TAGS = "x-ms-blob-if-match x-ms-blob-if-none-match x-ms-blob-if-modified-since x-ms-blob-if-unmodified-since"
_KEY = "x-ms-encryption-key x-ms-encryption-key-sha256 x-ms-encryption-algorithm"
_SCOPE = f"{_KEY} x-ms-encryption-scope"
_KEPT = "x-ms-immutability-policy-mode x-ms-immutability-policy-until-date x-ms-legal-hold"
_CONTENT = " ".join(f"x-ms-blob-{name}" for name in ("cache-control", "content-type", "content-encoding"))
_CONTENT += " x-ms-blob-content-language x-ms-blob-content-disposition"
_MD5 = "x-ms-blob-content-md5"
_BODY = "content-md5 x-ms-content-crc64 x-ms-structured-body x-ms-structured-content-length"
_EXPIRY = "x-ms-expiry-option x-ms-expiry-time"
_VERSION = "?snapshot ?versionid"
_PAGE = "?prefix ?marker ?maxresults"
_LISTED = f"{_PAGE} ?delimiter ?include ?showonly ?startFrom ?endBefore"

_URL = {"x-ms-copy-source": "https://contoso.blob.core.windows.net/shared/source"}
_TAGS = "<Tags><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tags>"
_BLOCKS = "<BlockList><Uncommitted>YQ==</Uncommitted></BlockList>"
_MESSAGE = "<QueueMessage><MessageText>new</MessageText></QueueMessage>"
_SETTINGS = "<StorageServiceProperties><Cors /></StorageServiceProperties>"
_POLICIES = "<SignedIdentifiers />"
_READ = {"accept": "application/json", "dataserviceversion": "3.0"}
_JSON = {**_READ, "content-type": "application/json"}
_MINE = {"x-ms-lease-id": LEASE}
_ENTITY = "/Employees(PartitionKey='p',RowKey='r')"
_MATCH = {**_JSON, "if-match": "*"}


class Documented(NamedTuple):
    """An operation: a valid request, and its possible options.

    :param body: the body of the request; "{receipt}" in the path is the pop receipt of the stored message
    :param options: headers, and query parameters after a question mark
    """

    service: str
    name: str
    method: str
    path: str
    headers: dict[str, str]
    body: str
    options: tuple[str, ...]


def _blob(name: str, request: str, options: str, headers: dict[str, str] | None = None, body: str = "") -> Documented:
    method, path = request.split(" ", 1)
    return Documented("blob", name, method, path, headers or {}, body, tuple(options.split()))


def _queue(name: str, request: str, options: str = "", body: str = "") -> Documented:
    return _blob(name, request, options, {}, body)._replace(service="queue")


def _table(
    name: str, request: str, options: str = "", headers: dict[str, str] | None = None, body: str = ""
) -> Documented:
    return _blob(name, request, options, headers, body)._replace(service="table")


def _leases(suffix: str, path: str, options: str) -> list[Documented]:
    def action(name: str, own: str, **headers: str) -> Documented:
        said = {"x-ms-lease-action": name.lower(), **{key.replace("_", "-"): value for key, value in headers.items()}}
        return _blob(f"{name}{suffix}", f"PUT {path}", f"{options} {own}", said)

    return [
        action("Acquire", "x-ms-lease-duration x-ms-proposed-lease-id", x_ms_lease_duration="15")._replace(
            path=path.replace("leased", "free")
        ),
        action("Renew", "x-ms-lease-id", **{"x-ms-lease-id": LEASE}),
        action(
            "Change", "x-ms-lease-id x-ms-proposed-lease-id", **{**_MINE, "x-ms-proposed-lease-id": LEASE[:-1] + "e"}
        ),
        action("Release", "x-ms-lease-id", **_MINE),
        action("Break", "x-ms-lease-break-period"),
    ]


_WHOLE = f"{_WRITE} {_CONTENT} x-ms-meta-a x-ms-tags x-ms-access-tier"
BLOBS: Final = [
    _blob("GetAccountInformation", "GET /?restype=account&comp=properties", ""),
    _blob("ListContainers", "GET /?comp=list", f"{_PAGE} ?include"),
    _blob("GetBlobServiceProperties", "GET /?restype=service&comp=properties", ""),
    _blob("SetBlobServiceProperties", "PUT /?restype=service&comp=properties", "", {}, _SETTINGS),
    _blob(
        "CreateContainer",
        "PUT /new?restype=container",
        "x-ms-meta-a x-ms-blob-public-access x-ms-default-encryption-scope x-ms-deny-encryption-scope-override",
    ),
    _blob("GetContainerProperties", "GET /free?restype=container", "x-ms-lease-id"),
    _blob("GetContainerMetadata", "GET /free?restype=container&comp=metadata", "x-ms-lease-id"),
    _blob("SetContainerMetadata", "PUT /free?restype=container&comp=metadata", f"{_TIMES} x-ms-lease-id x-ms-meta-a"),
    _blob("GetContainerACL", "GET /free?restype=container&comp=acl", "x-ms-lease-id"),
    _blob(
        "SetContainerACL",
        "PUT /free?restype=container&comp=acl",
        f"{_TIMES} x-ms-lease-id x-ms-blob-public-access",
        {},
        _POLICIES,
    ),
    _blob("DeleteContainer", "DELETE /free?restype=container", f"{_TIMES} x-ms-lease-id"),
    *_leases("ContainerLease", "/leased?restype=container&comp=lease", _TIMES),
    _blob("ListBlobs", "GET /photos?restype=container&comp=list", _LISTED),
    _blob(
        "GetBlob",
        "GET /photos/b",
        f"{_WRITE} {_KEY} {_VERSION} x-ms-range range x-ms-range-get-content-md5 x-ms-range-get-content-crc64 "
        "x-ms-structured-body x-ms-upn",
    ),
    _blob("GetBlobProperties", "HEAD /photos/b", f"{_WRITE} {_KEY} {_VERSION} x-ms-upn"),
    _blob("GetBlobMetadata", "GET /photos/b?comp=metadata", f"{_WRITE} {_KEY} {_VERSION}"),
    _blob("SetBlobMetadata", "PUT /photos/b?comp=metadata", f"{_WRITE} {_SCOPE} x-ms-meta-a"),
    _blob(
        "SetBlobProperties",
        "PUT /photos/b?comp=properties",
        f"{_WRITE} {_CONTENT} {_MD5} x-ms-blob-content-length x-ms-blob-sequence-number",
    ),
    _blob(
        "DeleteBlob",
        "DELETE /photos/b",
        f"{_WRITE} {_VERSION} x-ms-delete-snapshots ?deletetype x-ms-access-tier-if-modified-since "
        "x-ms-access-tier-if-unmodified-since",
    ),
    *_leases("BlobLease", "/photos/leased?comp=lease", _CONDITIONS),
    _blob("SnapshotBlob", "PUT /photos/b?comp=snapshot", f"{_WRITE} {_SCOPE} x-ms-meta-a"),
    _blob(
        "SetBlobTier",
        "PUT /photos/b?comp=tier",
        f"x-ms-if-tags x-ms-lease-id x-ms-rehydrate-priority {_VERSION}",
        {"x-ms-access-tier": "Cool"},
    ),
    _blob("GetBlobTags", "GET /photos/b?comp=tags", f"{_OF_TAGS} x-ms-if-tags x-ms-lease-id {_VERSION}"),
    _blob(
        "SetBlobTags",
        "PUT /photos/b?comp=tags",
        f"{_OF_TAGS} x-ms-if-tags x-ms-lease-id content-md5 x-ms-content-crc64 {_VERSION}",
        {},
        _TAGS,
    ),
    _blob("PutBlob", "PUT /photos/b", f"{_WHOLE} {_MD5} {_BODY} {_SCOPE} {_KEPT} {_EXPIRY}", BLOCK_BLOB, "new"),
    _blob("PutBlob", "PUT /photos/b", f"{_WRITE} {_CONTENT} x-ms-meta-a x-ms-tags {_SCOPE} {_KEPT}", APPEND_BLOB),
    _blob(
        "PutBlobFromURL",
        "PUT /photos/b",
        f"{_WHOLE} {_MD5} {_SCOPE} {_SOURCE} {_FROM} x-ms-source-if-tags x-ms-copy-source-tag-option "
        "x-ms-copy-source-blob-properties",
        {**BLOCK_BLOB, **_URL},
    ),
    _blob("PutBlock", "PUT /photos/b?comp=block&blockid=YQ==", f"x-ms-lease-id {_BODY} {_SCOPE}", {}, "new"),
    _blob(
        "PutBlockFromURL",
        "PUT /photos/b?comp=block&blockid=YQ==",
        f"x-ms-lease-id {_SCOPE} {_SOURCE} {_FROM} x-ms-source-range",
        _URL,
    ),
    _blob(
        "PutBlockList",
        "PUT /photos/b?comp=blocklist",
        f"{_WHOLE} {_MD5} content-md5 x-ms-content-crc64 {_SCOPE} {_KEPT}",
        {},
        _BLOCKS,
    ),
    _blob("GetBlockList", "GET /photos/b?comp=blocklist", "x-ms-if-tags x-ms-lease-id ?snapshot ?blocklisttype"),
    _blob(
        "AppendBlock",
        "PUT /photos/log?comp=appendblock",
        f"{_WRITE} {_BODY} {_SCOPE} x-ms-blob-condition-appendpos x-ms-blob-condition-maxsize",
        {},
        "new",
    ),
    _blob(
        "AppendBlockFromURL",
        "PUT /photos/log?comp=appendblock",
        f"{_WRITE} {_SCOPE} {_SOURCE} {_FROM} x-ms-source-range x-ms-blob-condition-appendpos "
        "x-ms-blob-condition-maxsize",
        _URL,
    ),
    _blob("AppendBlobSeal", "PUT /photos/log?comp=seal", f"{_WRITE} x-ms-blob-condition-appendpos"),
    _blob(
        "CopyBlob",
        "PUT /photos/b",
        f"{_WRITE} {_SOURCE} x-ms-source-if-tags x-ms-meta-a x-ms-tags x-ms-access-tier x-ms-rehydrate-priority "
        f"{_KEPT} x-ms-source-lease-id",
        _URL,
    ),
    _blob("CopyBlob", "PUT /photos/log", "x-ms-seal-blob", {"x-ms-copy-source": _URL["x-ms-copy-source"] + "/log"}),
    _blob(
        "CopyBlobFromURL",
        "PUT /photos/b",
        f"{_WRITE} {_SOURCE} x-ms-meta-a x-ms-tags x-ms-access-tier {_KEPT} x-ms-encryption-scope "
        "x-ms-source-content-md5 x-ms-copy-source-tag-option x-ms-file-request-intent",
        {**_URL, "x-ms-requires-sync": "true"},
    ),
]
QUEUES: Final = [
    _queue("ListQueues", "GET /?comp=list", f"{_PAGE} ?include"),
    _queue("GetQueueServiceProperties", "GET /?restype=service&comp=properties"),
    _queue("SetQueueServiceProperties", "PUT /?restype=service&comp=properties", "", _SETTINGS),
    _queue("CreateQueue", "PUT /new", "x-ms-meta-a"),
    _queue("DeleteQueue", "DELETE /orders"),
    _queue("GetQueueMetadata", "GET /orders?comp=metadata"),
    _queue("SetQueueMetadata", "PUT /orders?comp=metadata", "x-ms-meta-a"),
    _queue("GetQueueACL", "GET /orders?comp=acl"),
    _queue("SetQueueACL", "PUT /orders?comp=acl", "", _POLICIES),
    _queue("PutMessage", "POST /orders/messages", "?visibilitytimeout ?messagettl", _MESSAGE),
    _queue("GetMessages", "GET /orders/messages", "?visibilitytimeout ?numofmessages ?peekonly"),
    _queue("PeekMessages", "GET /orders/messages?peekonly=true", "?numofmessages"),
    _queue(
        "UpdateMessage",
        "PUT /orders/messages/{receipt}&visibilitytimeout=0",
        "?visibilitytimeout ?popreceipt",
        _MESSAGE,
    ),
    _queue("DeleteMessage", "DELETE /orders/messages/{receipt}", "?popreceipt"),
    _queue("ClearMessages", "DELETE /orders/messages"),
]
_PROJECTED = "?$select ?$filter ?$top ?$format"
TABLES: Final = [
    _table("GetTableServiceProperties", "GET /?restype=service&comp=properties"),
    _table("SetTableServiceProperties", "PUT /?restype=service&comp=properties", "", {}, _SETTINGS),
    _table("QueryTables", "GET /Tables", f"{_PROJECTED} ?NextTableName", _READ),
    _table("CreateTable", "POST /Tables", "prefer ?$format", _JSON, '{"TableName": "New"}'),
    _table("DeleteTable", "DELETE /Tables('Employees')"),
    _table("GetTableACL", "GET /Employees?comp=acl"),
    _table("SetTableACL", "PUT /Employees?comp=acl", "", {}, _POLICIES),
    _table("QueryEntities", "GET /Employees()", f"{_PROJECTED} ?NextPartitionKey ?NextRowKey", _READ),
    _table("QueryEntity", f"GET {_ENTITY}", _PROJECTED, _READ),
    _table(
        "InsertEntity", "POST /Employees", "prefer ?$format", _JSON, '{"PartitionKey": "p", "RowKey": "new", "A": 1}'
    ),
    _table("UpdateEntity", f"PUT {_ENTITY}", "if-match", _MATCH, '{"A": 2}'),
    _table("MergeEntity", f"PATCH {_ENTITY}", "if-match", _MATCH, '{"A": 2}'),
    _table("InsertOrReplaceEntity", f"PUT {_ENTITY}", "if-match", _JSON, '{"A": 2}'),
    _table("InsertOrMergeEntity", f"PATCH {_ENTITY}", "if-match", _JSON, '{"A": 2}'),
    _table("DeleteEntity", f"DELETE {_ENTITY}", "if-match", {**_READ, "if-match": "*"}),
]
DOCUMENTED: Final = [*BLOBS, *QUEUES, *TABLES]
