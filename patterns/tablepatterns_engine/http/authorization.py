"""Authenticate the sender of a request: by shared key, shared access signature or bearer token."""

from __future__ import annotations

from typing import Final

from .. import errors
from ..account import Engine
from ..errors import ServiceError
from .bearer_token import TrustTokens, is_current
from .call import AnyCall
from .permissions import Owner, Permit
from .sas import SharedAccess
from .shared_key import SignedTexts, Signer

CHALLENGE: Final = (
    "Bearer authorization_uri=https://login.microsoftonline.com/00000000-0000-0000-0000-000000000000/oauth2/authorize "
    "resource_id=https://storage.azure.com"
)
"""The WWW-Authenticate header of a 401; the tenant is fictitious, since the engine has none."""

_OWNER: Final = Owner()


class Authorization:
    """Determines what the sender of a request may do.

    Bearer tokens cannot be verified without their issuer. They are rejected with a challenge, unless the engine
    trusts them; then any token over https, or any that `is_current` accepts, is the owner's.
    """

    __slots__ = ("_shared", "_signed_texts", "_signer", "_trust_tokens")

    def __init__(
        self, engine: Engine, shared: SharedAccess, signed_texts: SignedTexts, *, trust_tokens: TrustTokens
    ) -> None:
        self._signer = Signer(engine.account_name, engine.account_key)
        self._shared = shared
        self._signed_texts = signed_texts
        self._trust_tokens = trust_tokens

    def permit(self, call: AnyCall) -> Permit:
        header, address = call.request.headers.get("authorization"), call.target.address
        if header is None:
            if "sig" in address.query:
                return self._shared.permit(call)
            raise ServiceError(errors.NO_AUTHENTICATION_INFORMATION)
        if header.startswith("Bearer "):
            if not self._trusts(header.removeprefix("Bearer "), call):
                raise ServiceError(errors.INVALID_TOKEN)
            if address.secure:
                return _OWNER
        elif self._signer.signed_request(header, call.request, address, self._signed_texts):
            return _OWNER
        raise ServiceError(errors.AUTHENTICATION_FAILED)

    def _trusts(self, token: str, call: AnyCall) -> bool:
        if self._trust_tokens == "checked":
            return is_current(token, call.engine.account_name, call.service.lower(), call.now)
        return bool(self._trust_tokens)
