"""Shared access signatures of one container, one blob or one snapshot."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from .. import errors
from ..errors import ServiceError
from ..http.call import AnyCall
from ..http.permissions import Need, Permit, check_letters
from ..http.sas import SharedAccess
from .call import BlobCall

_LETTERS: Final = re.compile("(?=.)r?a?c?w?d?x?y?l?t?f?m?e?o?p?i?")
_OVERRIDES: Final = {
    "rscc": "Cache-Control",
    "rscd": "Content-Disposition",
    "rsce": "Content-Encoding",
    "rscl": "Content-Language",
    "rsct": "Content-Type",
}
_SNAPSHOT_VERSION: Final = "2018-11-09"
"""The first version that signs what kind of resource it is for, and its snapshot."""
_ENCRYPTION_SCOPE_VERSION: Final = "2020-12-06"


@dataclass(frozen=True)
class BlobPermit(Permit):
    """What the signature of a container, a blob or a snapshot allows.

    :param resource: the container's name, or that and the blob's
    :param letters: its permissions, its stored policy's included
    :param headers: content headers that override those of the blob in the response to a read
    """

    resource: str
    letters: frozenset[str]
    headers: Mapping[str, str]

    def check(self, need: Need, resource: str = "") -> None:
        """Reject any other resource, and operations that the signature or its permissions do not cover."""
        inside = resource == self.resource or resource.startswith(f"{self.resource}/")
        of_blob = "/" in self.resource
        if not need.own or not inside or (of_blob and resource != self.resource):
            raise ServiceError(errors.AUTHORIZATION_FAILURE)
        check_letters(need.own, self.letters)


class BlobAccess(SharedAccess):
    """Checks the signatures in the queries of requests to the Blob service."""

    service = "b"
    letters = _LETTERS

    def resource(self, call: AnyCall) -> str:
        """Return the container or the blob that the signature is for: that of the request, as it does not name its own.

        A signature of a snapshot is for one, and that of a blob for none.
        """
        query = call.address.query
        kind, is_snapshot = query.get("sr"), "snapshot" in query
        if kind == "c":
            return call.resource
        if kind == ("bs" if is_snapshot else "b") and isinstance(call, BlobCall) and call.target.blob:
            return "/".join(call.place)
        return ""

    def home(self, resource: str) -> str:
        """Return the container, whose stored access policies are those of its blobs too."""
        return resource.partition("/")[0]

    def text(self, query: Mapping[str, str], resource: str) -> str:
        """Return what such a signature signs."""
        version = query.get("sv", "")
        fields = ["si", "sip", "spr", "sv"]
        if version >= _SNAPSHOT_VERSION:
            fields += ["sr", "snapshot" if query.get("sr") == "bs" else ""]
        if version >= _ENCRYPTION_SCOPE_VERSION:
            fields += ["ses"]
        head = [query.get("sp", ""), query.get("st", ""), query.get("se", ""), f"/blob/{self.account}/{resource}"]
        return "\n".join(head + [query.get(name, "") for name in (*fields, *_OVERRIDES)])

    def granted(self, resource: str, letters: frozenset[str], query: Mapping[str, str]) -> Permit:
        """Return what a valid signature allows."""
        return BlobPermit(resource, letters, {_OVERRIDES[name]: query[name] for name in _OVERRIDES if name in query})
