"""Shared access signatures of one queue."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from ..http.call import AnyCall
from ..http.permissions import Permit, ResourcePermit
from ..http.sas import SharedAccess

_LETTERS: Final = re.compile("(?=.)r?a?u?p?")
_FIELDS: Final = ("si", "sip", "spr", "sv")


class QueueAccess(SharedAccess):
    """Checks the signatures in the queries of requests to the Queue service."""

    service = "q"
    letters = _LETTERS

    def resource(self, call: AnyCall) -> str:
        """Return the queue of the request, since the signature does not name one."""
        return call.resource

    def text(self, query: Mapping[str, str], resource: str) -> str:
        """Return the text that such a signature signs."""
        head = [query.get("sp", ""), query.get("st", ""), query.get("se", ""), f"/queue/{self.account}/{resource}"]
        return "\n".join(head + [query.get(name, "") for name in _FIELDS])

    def granted(self, resource: str, letters: frozenset[str], query: Mapping[str, str]) -> Permit:
        """Return the permissions that a valid signature grants."""
        return ResourcePermit(resource, letters)
