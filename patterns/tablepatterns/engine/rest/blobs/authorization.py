"""Who sent a request to the Blob service: anybody, where a container is public."""

from __future__ import annotations

from dataclasses import dataclass

from ... import texts
from ...account import Engine
from ...container import PublicAccess
from ...refusal import Refusal
from ..access import Need, Permit
from ..authorization import Authorization
from ..call import Call
from ..signed_texts import storage_texts
from ..tokens import TrustTokens
from .needs import LIST_BLOBS, READ, READ_CONTAINER
from .sas import BlobAccess


@dataclass(frozen=True)
class PublicPermit(Permit):
    """What anybody may do with a container or its blobs.

    :param access: how much of it is public
    """

    access: PublicAccess

    def check(self, need: Need, resource: str = "") -> None:
        """Refuse all but reading blobs and, where the container is public too, what is said of it and its list."""
        of_container = need in (LIST_BLOBS, READ_CONTAINER) and self.access is PublicAccess.CONTAINER
        if need is not READ and not of_container:
            raise Refusal(texts.NO_AUTHENTICATION_INFORMATION)


class BlobAuthorization(Authorization):
    """Finds out what the sender of a request may do.

    :param engine: the account
    :param trust_tokens: whether bearer tokens are accepted, see `TrustTokens`
    """

    __slots__ = ("_engine",)

    def __init__(self, engine: Engine, *, trust_tokens: TrustTokens) -> None:
        super().__init__(engine, BlobAccess(engine, engine.blobs), storage_texts, trust_tokens=trust_tokens)
        self._engine = engine

    def permit(self, call: Call) -> Permit:
        """Return what the sender may do; without a credential that is what is public."""
        if "authorization" not in call.request.headers and "sig" not in call.address.query:
            access = self._engine.blobs.containers.public_access(call.resource)
            if access is not PublicAccess.NONE:
                return PublicPermit(access)
        return super().permit(call)
