"""The operations on blobs."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from differential.account import Account, Known
from differential.blobs import containers
from differential.blobs.terms import NO_HEADERS, NO_TERMS, ContentHeaders, Lease, Place, Terms
from differential.raw_requests import Metadata, metadata_headers, path

NO_SNAPSHOT = "2001-01-01T00:00:00.0000000Z"
"""When no snapshot can have been taken."""


@dataclass(frozen=True)
class PutBlob:
    place: Place
    kind: Literal["BlockBlob", "AppendBlob"]
    content: str = ""
    about: ContentHeaders = NO_HEADERS
    metadata: Metadata = ()
    terms: Terms = NO_TERMS

    def send(self, account: Account, known: Known) -> None:
        headers = {**_brings(self, known), "x-ms-blob-type": self.kind}
        account.request("PUT", path(*self.place), _plain(headers), self.content)


@dataclass(frozen=True)
class PutBlock:
    place: Place
    block: str
    content: str
    terms: Terms = NO_TERMS

    def send(self, account: Account, known: Known) -> None:
        target = path(*self.place, comp="block", blockid=block_id(self.block))
        account.request("PUT", target, _plain(self.terms.headers(self.place, known)), self.content)


@dataclass(frozen=True)
class PutBlockList:
    """A blob made of blocks.

    :param blocks: names of blocks, each with where it is looked for: Latest, Committed or Uncommitted
    """

    place: Place
    blocks: tuple[tuple[str, str], ...]
    about: ContentHeaders = NO_HEADERS
    metadata: Metadata = ()
    terms: Terms = NO_TERMS

    def send(self, account: Account, known: Known) -> None:
        blocks = "".join(f"<{where}>{block_id(name)}</{where}>" for where, name in self.blocks)
        body = f"<BlockList>{blocks}</BlockList>"
        account.request("PUT", path(*self.place, comp="blocklist"), _brings(self, known), body)


@dataclass(frozen=True)
class GetBlockList:
    place: Place
    which: str | None = None
    terms: Terms = NO_TERMS

    def send(self, account: Account, known: Known) -> None:
        target = path(*self.place, comp="blocklist", blocklisttype=self.which)
        account.request("GET", target, self.terms.headers(self.place, known))


@dataclass(frozen=True)
class AppendBlock:
    """Content behind what there is.

    :param position: how long the blob has to be
    :param most: how long it may become
    """

    place: Place
    content: str
    position: int | None = None
    most: int | None = None
    terms: Terms = NO_TERMS

    def send(self, account: Account, known: Known) -> None:
        headers = self.terms.headers(self.place, known)
        if self.position is not None:
            headers["x-ms-blob-condition-appendpos"] = str(self.position)
        if self.most is not None:
            headers["x-ms-blob-condition-maxsize"] = str(self.most)
        account.request("PUT", path(*self.place, comp="appendblock"), _plain(headers), self.content)


@dataclass(frozen=True)
class Read:
    """A blob, or one of its snapshots.

    :param comp: metadata, or None for all
    :param span: the header Range
    :param snapshot: the one that was taken so many ago
    """

    place: Place
    method: Literal["GET", "HEAD"] = "GET"
    comp: str | None = None
    span: str | None = None
    snapshot: int | None = None
    terms: Terms = NO_TERMS

    def send(self, account: Account, known: Known) -> None:
        headers = self.terms.headers(self.place, known)
        if self.span is not None:
            headers["x-ms-range"] = self.span
        taken = _snapshot(self.place, self.snapshot, known)
        account.request(self.method, path(*self.place, comp=self.comp, snapshot=taken), headers)


@dataclass(frozen=True)
class SetHeaders:
    place: Place
    about: ContentHeaders
    terms: Terms = NO_TERMS

    def send(self, account: Account, known: Known) -> None:
        headers = self.about.headers() | self.terms.headers(self.place, known)
        account.request("PUT", path(*self.place, comp="properties"), headers)


@dataclass(frozen=True)
class SetMetadata:
    place: Place
    metadata: Metadata
    terms: Terms = NO_TERMS

    def send(self, account: Account, known: Known) -> None:
        headers = metadata_headers(self.metadata) | self.terms.headers(self.place, known)
        account.request("PUT", path(*self.place, comp="metadata"), headers)


@dataclass(frozen=True)
class LeaseBlob:
    place: Place
    lease: Lease
    terms: Terms = NO_TERMS

    def send(self, account: Account, known: Known) -> None:
        headers = self.terms.headers(self.place, known) | self.lease.headers()
        account.request("PUT", path(*self.place, comp="lease"), headers)


@dataclass(frozen=True)
class TakeSnapshot:
    place: Place
    metadata: Metadata = ()
    terms: Terms = NO_TERMS

    def send(self, account: Account, known: Known) -> None:
        headers = metadata_headers(self.metadata) | self.terms.headers(self.place, known)
        account.request("PUT", path(*self.place, comp="snapshot"), headers)


@dataclass(frozen=True)
class Delete:
    """A blob, one of its snapshots, or all of them.

    :param snapshots: include, only, or None
    """

    place: Place
    snapshots: str | None = None
    snapshot: int | None = None
    terms: Terms = NO_TERMS

    def send(self, account: Account, known: Known) -> None:
        headers = self.terms.headers(self.place, known)
        if self.snapshots:
            headers["x-ms-delete-snapshots"] = self.snapshots
        taken = _snapshot(self.place, self.snapshot, known)
        account.request("DELETE", path(*self.place, snapshot=taken), headers)


@dataclass(frozen=True)
class Copy:
    place: Place
    source: Place
    snapshot: int | None = None
    metadata: Metadata = ()
    terms: Terms = NO_TERMS
    source_terms: Terms = NO_TERMS

    def send(self, account: Account, known: Known) -> None:
        taken = _snapshot(self.source, self.snapshot, known)
        source = account.base + path(*self.source, snapshot=taken)
        conditions = self.terms.headers(self.place, known) | self.source_terms.headers(
            self.source, known, "x-ms-source-"
        )
        headers = {**metadata_headers(self.metadata), **conditions, "x-ms-copy-source": source}
        account.request("PUT", path(*self.place), headers)


OfContainer: TypeAlias = (
    containers.CreateContainer
    | containers.DeleteContainer
    | containers.GetContainer
    | containers.SetContainerMetadata
    | containers.GetPolicies
    | containers.SetPolicies
    | containers.LeaseContainer
)
AList: TypeAlias = containers.ListContainers | containers.ListBlobs
OfContent: TypeAlias = PutBlob | PutBlock | PutBlockList | AppendBlock | Copy
OfBlob: TypeAlias = OfContent | GetBlockList | Read | SetHeaders | SetMetadata | LeaseBlob | TakeSnapshot | Delete
Operation: TypeAlias = OfContainer | AList | OfBlob


def block_id(name: str) -> str:
    """Return the id of a block in Base64."""
    return b64encode(name.encode()).decode()


def _brings(write: PutBlob | PutBlockList, known: Known) -> dict[str, str | None]:
    return {**write.about.headers(), **metadata_headers(write.metadata), **write.terms.headers(write.place, known)}


def _plain(headers: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return headers for content that is no XML."""
    return {**headers, "Content-Type": "text/plain"}


def _snapshot(place: Place, age: int | None, known: Known) -> str | None:
    return None if age is None else known(("snapshot", place), age) or NO_SNAPSHOT
