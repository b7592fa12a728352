"""The operations on containers."""

from __future__ import annotations

from dataclasses import dataclass

from differential.account import Account, Known
from differential.blobs.terms import NO_TERMS, Lease, Terms
from differential.raw_requests import Metadata, Policy, metadata_headers, path, policies_xml, read_pages


@dataclass(frozen=True)
class CreateContainer:
    container: str
    metadata: Metadata = ()

    def send(self, account: Account, known: Known) -> None:
        account.request("PUT", _path(self.container), metadata_headers(self.metadata))


@dataclass(frozen=True)
class DeleteContainer:
    container: str
    terms: Terms = NO_TERMS

    def send(self, account: Account, known: Known) -> None:
        account.request("DELETE", _path(self.container), self.terms.headers(self.container, known))


@dataclass(frozen=True)
class GetContainer:
    """What a container says of itself.

    :param comp: None for its properties, or metadata
    """

    container: str
    comp: str | None = None
    method: str = "GET"
    terms: Terms = NO_TERMS

    def send(self, account: Account, known: Known) -> None:
        account.request(self.method, _path(self.container, self.comp), self.terms.headers(self.container, known))


@dataclass(frozen=True)
class SetContainerMetadata:
    container: str
    metadata: Metadata
    terms: Terms = NO_TERMS

    def send(self, account: Account, known: Known) -> None:
        headers = metadata_headers(self.metadata) | self.terms.headers(self.container, known)
        account.request("PUT", _path(self.container, "metadata"), headers)


@dataclass(frozen=True)
class GetPolicies:
    container: str
    terms: Terms = NO_TERMS

    def send(self, account: Account, known: Known) -> None:
        account.request("GET", _path(self.container, "acl"), self.terms.headers(self.container, known))


@dataclass(frozen=True)
class SetPolicies:
    """Access policies, and what is public.

    :param access: blob, container, or None for nothing
    """

    container: str
    policies: tuple[Policy, ...]
    access: str | None = None
    terms: Terms = NO_TERMS

    def send(self, account: Account, known: Known) -> None:
        headers = self.terms.headers(self.container, known)
        if self.access:
            headers["x-ms-blob-public-access"] = self.access
        account.request("PUT", _path(self.container, "acl"), headers, policies_xml(self.policies))


@dataclass(frozen=True)
class LeaseContainer:
    container: str
    lease: Lease

    def send(self, account: Account, known: Known) -> None:
        account.request("PUT", _path(self.container, "lease"), self.lease.headers())


@dataclass(frozen=True)
class ListContainers:
    """A list of containers, to its last page."""

    prefix: str
    limit: int | None = None
    include: str | None = None

    def send(self, account: Account, known: Known) -> None:
        read_pages(account, "", comp="list", prefix=self.prefix, maxresults=self.limit, include=self.include)


@dataclass(frozen=True)
class ListBlobs:
    """A list of blobs, to its last page."""

    container: str
    prefix: str | None = None
    delimiter: str | None = None
    limit: int | None = None
    include: str | None = None

    def send(self, account: Account, known: Known) -> None:
        asked = {"prefix": self.prefix, "delimiter": self.delimiter, "include": self.include}
        read_pages(account, self.container, restype="container", comp="list", maxresults=self.limit, **asked)


def _path(container: str, comp: str | None = None) -> str:
    return path(container, restype="container", comp=comp)
