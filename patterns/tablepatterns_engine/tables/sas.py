"""Shared access signatures of one table: optionally limited to a key range."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from .. import errors
from ..errors import ServiceError
from ..http.call import AnyCall
from ..http.permissions import Permit, ResourcePermit
from ..http.sas import SharedAccess
from ..key_range import KeyScope

_LETTERS: Final = re.compile("(?=.)r?a?u?d?")
_FIELDS: Final = ("si", "sip", "spr", "sv", "spk", "srk", "epk", "erk")


class TableAccess(SharedAccess):
    """Checks the signatures in the queries of requests to the Table service."""

    service = "t"
    letters = _LETTERS

    def resource(self, call: AnyCall) -> str:
        """Return the table that the signature names."""
        return call.address.query.get("tn", "").lower()

    def text(self, query: Mapping[str, str], resource: str) -> str:
        """Return the text that such a signature signs."""
        head = [query.get("sp", ""), query.get("st", ""), query.get("se", ""), f"/table/{self.account}/{resource}"]
        return "\n".join(head + [query.get(name, "") for name in _FIELDS])

    def granted(self, resource: str, letters: frozenset[str], query: Mapping[str, str]) -> Permit:
        """Return the permissions that a valid signature grants."""
        return ResourcePermit(resource, letters, _scope(query))


def _scope(query: Mapping[str, str]) -> KeyScope:
    scope = KeyScope(query.get("spk"), query.get("srk"), query.get("epk"), query.get("erk"))
    if (scope.srk and scope.spk is None) or (scope.erk and scope.epk is None):
        raise ServiceError(errors.AUTHENTICATION_FAILED)
    return scope
