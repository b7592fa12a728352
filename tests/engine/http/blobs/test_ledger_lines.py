"""The ledger's record of each request to blobs."""

from __future__ import annotations

from typing import get_args
from uuid import UUID

import pytest

from support.blob_requests import APPEND_BLOB, BLOCK_BLOB, LEASE, BlobWire
from tablepatterns_engine.account import Engine
from tablepatterns_engine.blobs.leases import Acquire
from tablepatterns_engine.ledger import BlobOperation

HELD = {"x-ms-lease-id": LEASE}
SOURCE = {"x-ms-copy-source": "https://contoso.blob.core.windows.net/public/b"}
CONTAINER, BLOB, LEASED = "/photos?restype=container", "/photos/b", "/photos/leased"


def lease(action: str, **headers: str) -> dict[str, str]:
    return {"x-ms-lease-action": action, **{name.replace("_", "-"): value for name, value in headers.items()}}


ACQUIRE = lease("acquire", x_ms_lease_duration="15")
CHANGE = lease("change", x_ms_lease_id=LEASE, x_ms_proposed_lease_id=str(UUID(int=2)))

# method, path, headers, body: operation, blob, returned, written
LINES: list[tuple[tuple[str, str, dict[str, str], str], tuple[str, str | None, int, int]]] = [
    (("GET", "/?comp=list", {}, ""), ("ListContainers", None, 3, 0)),
    (("PUT", "/other?restype=container", {}, ""), ("CreateContainer", None, 0, 0)),
    (("DELETE", CONTAINER, {}, ""), ("DeleteContainer", None, 0, 0)),
    (("GET", CONTAINER, {}, ""), ("GetContainerProperties", None, 0, 0)),
    (("GET", f"{CONTAINER}&comp=metadata", {}, ""), ("GetContainerMetadata", None, 0, 0)),
    (("PUT", f"{CONTAINER}&comp=metadata", {}, ""), ("SetContainerMetadata", None, 0, 0)),
    (("GET", f"{CONTAINER}&comp=acl", {}, ""), ("GetContainerACL", None, 0, 0)),
    (("PUT", f"{CONTAINER}&comp=acl", {}, ""), ("SetContainerACL", None, 0, 0)),
    (("PUT", f"{CONTAINER}&comp=lease", ACQUIRE, ""), ("AcquireContainerLease", None, 0, 0)),
    (("PUT", "/leased?restype=container&comp=lease", lease("renew", **HELD), ""), ("RenewContainerLease", None, 0, 0)),
    (("PUT", "/leased?restype=container&comp=lease", CHANGE, ""), ("ChangeContainerLease", None, 0, 0)),
    (
        ("PUT", "/leased?restype=container&comp=lease", lease("release", **HELD), ""),
        ("ReleaseContainerLease", None, 0, 0),
    ),
    (("PUT", "/leased?restype=container&comp=lease", lease("break"), ""), ("BreakContainerLease", None, 0, 0)),
    (("GET", f"{CONTAINER}&comp=list", {}, ""), ("ListBlobs", None, 3, 0)),
    (("PUT", BLOB, BLOCK_BLOB, "text"), ("PutBlob", "b", 0, 1)),
    (("PUT", "/photos/c", {**BLOCK_BLOB, **SOURCE}, ""), ("PutBlobFromURL", "c", 0, 1)),
    (("GET", BLOB, {}, ""), ("GetBlob", "b", 1, 0)),
    (("HEAD", BLOB, {}, ""), ("GetBlobProperties", "b", 1, 0)),
    (("GET", f"{BLOB}?comp=metadata", {}, ""), ("GetBlobMetadata", "b", 1, 0)),
    (("PUT", f"{BLOB}?comp=metadata", {}, ""), ("SetBlobMetadata", "b", 0, 1)),
    (("PUT", f"{BLOB}?comp=properties", {}, ""), ("SetBlobProperties", "b", 0, 1)),
    (("PUT", f"{BLOB}?comp=lease", ACQUIRE, ""), ("AcquireBlobLease", "b", 0, 0)),
    (("PUT", f"{LEASED}?comp=lease", lease("renew", **HELD), ""), ("RenewBlobLease", "leased", 0, 0)),
    (("PUT", f"{LEASED}?comp=lease", CHANGE, ""), ("ChangeBlobLease", "leased", 0, 0)),
    (("PUT", f"{LEASED}?comp=lease", lease("release", **HELD), ""), ("ReleaseBlobLease", "leased", 0, 0)),
    (("PUT", f"{LEASED}?comp=lease", lease("break"), ""), ("BreakBlobLease", "leased", 0, 0)),
    (("PUT", f"{BLOB}?comp=snapshot", {}, ""), ("SnapshotBlob", "b", 0, 1)),
    (("PUT", f"{BLOB}?comp=block&blockid=YQ==", {}, "text"), ("PutBlock", "b", 0, 1)),
    (("PUT", "/photos/c?comp=block&blockid=YQ==", SOURCE, ""), ("PutBlockFromURL", "c", 0, 1)),
    (("PUT", f"{BLOB}?comp=blocklist", {}, "<BlockList />"), ("PutBlockList", "b", 0, 1)),
    (("GET", f"{BLOB}?comp=blocklist", {}, ""), ("GetBlockList", "b", 0, 0)),
    (("PUT", "/photos/log?comp=appendblock", {}, "text"), ("AppendBlock", "log", 0, 1)),
    (("PUT", "/photos/log?comp=appendblock", SOURCE, ""), ("AppendBlockFromURL", "log", 0, 1)),
    (("PUT", "/photos/log?comp=seal", {}, ""), ("AppendBlobSeal", "log", 0, 1)),
    (("PUT", "/photos/c", SOURCE, ""), ("CopyBlob", "c", 0, 1)),
    (("PUT", "/photos/c", {**SOURCE, "x-ms-requires-sync": "true"}, ""), ("CopyBlobFromURL", "c", 0, 1)),
    (("PUT", f"{BLOB}?comp=tier", {"x-ms-access-tier": "Cool"}, ""), ("SetBlobTier", "b", 0, 1)),
    (("PUT", f"{BLOB}?comp=tags", {}, "<Tags><TagSet /></Tags>"), ("SetBlobTags", "b", 0, 1)),
    (("GET", f"{BLOB}?comp=tags", {}, ""), ("GetBlobTags", "b", 0, 0)),
    (("DELETE", BLOB, {}, ""), ("DeleteBlob", "b", 0, 1)),
    (("GET", "/?restype=account&comp=properties", {}, ""), ("GetAccountInformation", None, 0, 0)),
    (("GET", "/?restype=service&comp=properties", {}, ""), ("GetBlobServiceProperties", None, 0, 0)),
    (
        ("PUT", "/?restype=service&comp=properties", {}, "<StorageServiceProperties> </StorageServiceProperties>"),
        ("SetBlobServiceProperties", None, 0, 0),
    ),
]
# A batch has a test of its own, statistics are on the secondary, and an abort finds nothing to abort
ELSEWHERE = {"BlobBatch", "GetBlobServiceStats", "AbortCopyBlob"}


@pytest.fixture
def filled(engine: Engine, wire: BlobWire) -> BlobWire:
    """An account with a block blob, an append blob, and a blob and a container that are leased."""
    engine.blobs.containers.create("leased")
    wire.send("PUT", BLOB, BLOCK_BLOB, b"text")
    wire.send("PUT", LEASED, BLOCK_BLOB, b"text")
    wire.send("PUT", "/photos/log", APPEND_BLOB)
    wire.send("PUT", "/public?restype=container", {"x-ms-blob-public-access": "blob"})
    wire.send("PUT", "/public/b", BLOCK_BLOB, "text")
    engine.blobs.lease("photos", "leased", Acquire(60, UUID(LEASE)))
    engine.blobs.containers.lease("leased", Acquire(60, UUID(LEASE)))
    engine.ledger.clear()
    return wire


def test_every_operation_has_a_line_here() -> None:
    assert {operation for _, (operation, *_) in LINES} | ELSEWHERE == set(get_args(BlobOperation))


@pytest.mark.parametrize(("asked", "line"), LINES, ids=[line[0] for _, line in LINES])
def test_a_request_is_one_line(
    asked: tuple[str, str, dict[str, str], str], line: tuple[str, str | None, int, int], filled: BlobWire
) -> None:
    response = filled.send(*asked)
    assert response.status < 300
    (record,) = filled.engine.ledger.records
    assert (record.operation, record.partition, record.returned, record.written) == line
    container = asked[1][1:].partition("?")[0].partition("/")[0]
    assert (record.service, record.table, record.query_class) == ("blob", container or None, None)
    assert (record.status, record.error, record.billable) == (response.status, None, 1)
    assert (record.bytes_in, record.bytes_out) == (len(asked[3]), len(response.body))
    assert record.moment == filled.engine.clock.now()


def test_statistics_are_a_line_too(engine: Engine, wire: BlobWire) -> None:
    wire.send("GET", "/?restype=service&comp=stats", base="https://contoso-secondary.blob.core.windows.net")
    assert engine.ledger.records[-1].operation == "GetBlobServiceStats"


@pytest.mark.parametrize(
    ("method", "path", "error", "operation"),
    [
        ("GET", "/photos/missing", "BlobNotFound", "GetBlob"),
        ("GET", "/nowhere/b", "ContainerNotFound", "GetBlob"),
        ("PUT", "/PHOTOS?restype=container", "InvalidResourceName", "CreateContainer"),
        ("PUT", f"/photos/b?comp=copy&copyid={LEASE}", "MissingRequiredHeader", "AbortCopyBlob"),
        ("GET", "/photos/b?comp=page", "NotImplemented", "Unknown"),
        ("PATCH", "/photos/b", "UnsupportedHttpVerb", "Unknown"),
    ],
)
def test_an_error_is_a_line_with_its_code(method: str, path: str, error: str, operation: str, filled: BlobWire) -> None:
    filled.send(method, path)
    (record,) = filled.engine.ledger.records
    assert (record.error, record.operation) == (error, operation)
