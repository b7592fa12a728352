"""Shared access signatures of one container, one blob or one snapshot."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from .. import errors
from ..errors import ServiceError
from ..http.call import AnyCall
from ..http.permissions import Need, Permit, check_letters
from ..http.sas import ENCRYPTION_SCOPE_VERSION, SharedAccess

_OVERRIDES: Final = {
    "rscc": "Cache-Control",
    "rscd": "Content-Disposition",
    "rsce": "Content-Encoding",
    "rscl": "Content-Language",
    "rsct": "Content-Type",
}
_SNAPSHOT_VERSION: Final = "2018-11-09"
"""The first version that signs the kind of resource and the snapshot."""


@dataclass(frozen=True)
class BlobPermit(Permit):
    """The permissions of a SAS of a container, a blob or a snapshot.

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

        A SAS of a snapshot covers only the snapshot, and one of a blob no snapshots.
        """
        query = call.address.query
        kind, is_snapshot = query.get("sr"), "snapshot" in query
        if kind == "c":
            return call.resource
        if kind == ("bs" if is_snapshot else "b") and call.target.item:
            return f"{call.resource}/{call.target.item}"
        return ""

    def home(self, resource: str) -> str:
        """Return the container, whose stored access policies apply to its blobs too."""
        return resource.partition("/")[0]

    def signed_fields(self, query: Mapping[str, str]) -> Sequence[str]:
        """Return the names of what a signature signs after the resource, which depends on its version."""
        version, names = query.get("sv", ""), [*self.fields]
        if version >= _SNAPSHOT_VERSION:
            names += ["sr", "snapshot" if query.get("sr") == "bs" else ""]
        if version >= ENCRYPTION_SCOPE_VERSION:
            names += ["ses"]
        return [*names, *_OVERRIDES]

    def granted(self, resource: str, letters: frozenset[str], query: Mapping[str, str]) -> Permit:
        return BlobPermit(resource, letters, {_OVERRIDES[name]: query[name] for name in _OVERRIDES if name in query})
