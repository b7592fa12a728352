"""One request to the Blob service: what its URL names, unsupported options, the permission it needs and a SAS has."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tablepatterns.edm import Ticks

from .. import errors
from ..errors import ServiceError
from ..http.address import Kinds, Target, decode, kind_of, read_address
from ..http.authorization import ENCRYPTION_SCOPE_VERSION, SharedAccess
from ..http.call import AnyCall, Call
from ..http.message import Request
from ..http.permissions import Need, Owner, Permit, check_letters, on_object
from ..http.supported import BLOB_SUPPORT
from ..resources import invalid_parameter
from .blob import Revision
from .containers import Containers
from .service import Blobs

ROOT: Final = "$root"
"""The container of blobs whose URL has none."""

_OF_SERVICE: Final[Kinds] = {
    (None, "list"): "containers",
    (None, "batch"): "batch",
    # BlobBatchClient of the SDK for Node reads the account of a path-style URL as a container
    ("container", "batch"): "batch",
    (None, "blobs"): "search",
    ("service", "properties"): "properties",
    ("service", "stats"): "stats",
    ("service", "userdelegationkey"): "delegation key",
    ("account", "properties"): "account",
}
_OF_CONTAINER: Final[Kinds] = {
    ("container", None): "container",
    ("container", "metadata"): "container metadata",
    ("container", "acl"): "container acl",
    ("container", "lease"): "container lease",
    ("container", "list"): "blobs",
    ("container", "batch"): "batch",
    ("container", "blobs"): "search",
    ("container", "rename"): "unknown",
    ("container", "undelete"): "unknown",
}
_OF_BLOB: Final[Kinds] = {
    (None, None): "blob",
    (None, "metadata"): "metadata",
    (None, "properties"): "headers",
    (None, "lease"): "lease",
    (None, "snapshot"): "snapshot",
    (None, "block"): "block",
    (None, "blocklist"): "block list",
    (None, "appendblock"): "append block",
    (None, "seal"): "seal",
    (None, "copy"): "copy",
    (None, "tier"): "tier",
    (None, "tags"): "tags",
    **dict.fromkeys(((None, name) for name in ("page", "pagelist", "incrementalcopy", "query", "undelete")), "unknown"),
    **dict.fromkeys(((None, name) for name in ("expiry", "immutabilityPolicies", "legalhold")), "unknown"),
}


def locate(url: str, account: str) -> Target:
    """Return the resource that a URL names.

    Its kind "unknown" is an operation of the service that the engine does not have.
    """
    address = read_address(url, account)
    query = address.query
    first, _, blob_path = address.tail[1:].partition("/")
    # The service writes slashes for backslashes
    container, blob = decode(first), decode(blob_path).replace("\\", "/")
    if query.get("restype") == "account" and query.get("comp") == "properties":
        return Target(address, "account", container, blob)
    if not container:
        return Target(address, kind_of(_OF_SERVICE, query))
    if query.get("restype") == "container":
        if blob:
            raise ServiceError(errors.INVALID_URI)
        return Target(address, kind_of(_OF_CONTAINER, query), container)
    if not blob:
        container, blob = ROOT, container
    return Target(address, kind_of(_OF_BLOB, query), container, blob)


class InvalidRevisionError(ServiceError):
    """A snapshot or version that is not a time; the service does not repeat the code of this error in a header."""


class BlobCall(Call[Blobs]):
    __slots__ = ()

    service = "Blob"
    support = BLOB_SUPPORT

    def locate(self) -> None:
        self.target = locate(self.request.url, self.context.account_name)
        self.notes.partition = self.target.item or None

    @property
    def default_version(self) -> str:
        return self.settings.get_service_properties().default_version or super().default_version

    def inner(self, request: Request, *, as_owner: bool = False) -> BlobCall:
        """Return the call of a request inside this one, with the same notes.

        :param as_owner: whether this request's account key also authorizes requests without a credential
        """
        call = BlobCall(self.context, self.settings, request, self.id, self.now, self.authorize)
        call.locate()
        call.notes = self.notes
        has_own = "authorization" in request.headers or "sig" in call.address.query
        inherits = as_owner and not has_own and isinstance(self.permit, Owner)
        call.permit = self.permit if inherits else self.authorize(call)
        call.address.check_options()
        return call

    @property
    def containers(self) -> Containers:
        return self.state.containers

    @property
    def place(self) -> tuple[str, str]:
        return self.target.resource, self.target.item

    @property
    def revision(self) -> Revision:
        """The snapshot or the version that the URL names; else the current blob."""
        revision = Revision(self._time("snapshot"), self._time("versionid"))
        if None not in revision:
            raise ServiceError(errors.MUTUALLY_EXCLUSIVE_PARAMETERS)
        return revision

    def _time(self, name: str) -> Ticks | None:
        text = self.address.query.get(name)
        try:
            return None if text is None else Ticks.parse(text)
        except ValueError as error:
            raise InvalidRevisionError(invalid_parameter(name, text).error_message) from error

    def allow(self, need: Need) -> None:
        """Check that the sender may execute an operation on this container, or on this blob in it."""
        self.permit.check(need, "/".join(self.place) if self.target.item else self.resource)

    def may(self, need: Need) -> bool:
        try:
            self.allow(need)
        except ServiceError:
            return False
        return True


LIST_CONTAINERS: Final = Need("s", ("l",))
ACCOUNT: Final = Need("s", ("r", "w", "d", "l", "a", "c", "u", "p"), tuple("racwdxyltfmeopi"))
"""Every SAS of a container or a blob allows this too."""
CREATE_CONTAINER: Final = Need("c", ("c", "w"))
READ_CONTAINER: Final = Need("c", ("r",))
WRITE_CONTAINER: Final = Need("c", ("w",))
BREAK_CONTAINER_LEASE: Final = Need("c", ("w", "d"))
DELETE_CONTAINER: Final = Need("c", ("d",))
LIST_BLOBS: Final = Need("c", ("l",), ("l",))
READ: Final = on_object("r")
CREATE: Final = on_object("w", "c")
""""c" alone does not allow overwriting."""
WRITE: Final = on_object("w")
ADD: Final = on_object("w", "a")
SNAPSHOT: Final = on_object("w", "c")
BREAK_LEASE: Final = on_object("w", "d")
DELETE: Final = on_object("d")
DELETE_VERSION: Final = on_object("x")
TAGS: Final = on_object("t")


_OVERRIDES: Final = {
    "rscc": "Cache-Control",
    "rscd": "Content-Disposition",
    "rsce": "Content-Encoding",
    "rscl": "Content-Language",
    "rsct": "Content-Type",
}
_REVISIONS: Final = {"bs": "snapshot", "bv": "versionid"}
"""The kinds of signatures of an earlier state of a blob, and the option of the URL that names it."""
_SNAPSHOT_VERSION: Final = "2018-11-09"
"""The first version that signs the kind of resource and the snapshot."""


@dataclass(frozen=True)
class BlobPermit(Permit):
    """The permissions of a SAS of a container, a blob, a snapshot or a version.

    :param resource: the container's name, or container and blob
    :param letters: its permissions, including those of its stored policy
    :param headers: content headers that override those of the blob in the response to a read
    """

    resource: str
    letters: frozenset[str]
    headers: Mapping[str, str]

    def check(self, need: Need, resource: str = "") -> None:
        inside = resource == self.resource or resource.startswith(f"{self.resource}/")
        of_blob = "/" in self.resource
        if not need.own or not inside or (of_blob and resource != self.resource):
            raise ServiceError(errors.AUTHORIZATION_FAILURE)
        check_letters(need.own, self.letters)


class BlobAccess(SharedAccess):
    service = "blob"
    letters = re.compile("(?=.)r?a?c?w?d?x?y?l?t?f?m?e?o?p?i?")

    def resource(self, call: AnyCall) -> str:
        """Return the container or the blob of the request, since the signature does not name one.

        A SAS of a snapshot or a version covers only that, and one of a blob neither.
        """
        query = call.address.query
        if query.get("sr") == "c":
            return call.resource
        kind = next((kind for kind, name in _REVISIONS.items() if name in query), "b")
        if query.get("sr") == kind and call.target.item:
            return f"{call.resource}/{call.target.item}"
        return ""

    def home(self, resource: str) -> str:
        """Return the container, whose stored access policies apply to its blobs too."""
        return resource.partition("/")[0]

    def signed_fields(self, query: Mapping[str, str]) -> Sequence[str]:
        """Return the names of what a signature signs after the resource, which depends on its version."""
        version, names = query.get("sv", ""), [*self.fields]
        if version >= _SNAPSHOT_VERSION:
            names += ["sr", _REVISIONS.get(query.get("sr", ""), "")]
        if version >= ENCRYPTION_SCOPE_VERSION:
            names += ["ses"]
        return [*names, *_OVERRIDES]

    def granted(self, resource: str, letters: frozenset[str], query: Mapping[str, str]) -> Permit:
        return BlobPermit(resource, letters, {_OVERRIDES[name]: query[name] for name in _OVERRIDES if name in query})
