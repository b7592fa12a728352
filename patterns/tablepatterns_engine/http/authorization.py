"""Authenticate the sender of a request: by shared key, shared access signature or bearer token."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, cast

from tablepatterns.edm import Ticks

from .. import errors
from ..errors import ServiceError
from .call import AccountContext, AnyCall
from .permissions import Owner, Permit
from .sas import SharedAccess
from .shared_key import SignedTexts, Signer

TrustTokens: TypeAlias = Literal["checked"] | bool
"""Whether bearer tokens are accepted as the owner's: none, any, or those that `is_current` accepts."""

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
        self, context: AccountContext, shared: SharedAccess, signed_texts: SignedTexts, *, trust_tokens: TrustTokens
    ) -> None:
        self._signer = Signer(context.account_name, context.account_key)
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
            trusts, token = self._trust_tokens, header.removeprefix("Bearer ")
            if trusts == "checked":
                trusts = is_current(token, call.context.account_name, call.service.lower(), call.now)
            if not trusts:
                raise ServiceError(errors.INVALID_TOKEN)
            if address.secure:
                return _OWNER
        elif self._signer.signed_request(header, call.request, address, self._signed_texts):
            return _OWNER
        raise ServiceError(errors.AUTHENTICATION_FAILED)


_EVERY_ACCOUNT: Final = ("https://storage.azure.com", "e406a681-f3d4-42a8-90b6-c2b029497af1")
_MAX_LENGTH: Final = 16 * 1024


def is_current(token: str, account: str, service: str, now: Ticks) -> bool:
    """Return whether a token is a JWT for Azure Storage, or for a service of this account, that has not expired.

    Its signature is not verified: the engine does not have the keys of its issuer.
    """
    parts = token.split(".")
    if len(parts) != 3 or not all(parts) or len(token) > _MAX_LENGTH:
        return False
    header, claims = _members(parts[0]), _members(parts[1])
    if not header.get("alg") or _bytes(parts[2]) is None:
        return False
    expires, begins = claims.get("exp"), claims.get("nbf", 0)
    if not isinstance(expires, (int, float)) or not isinstance(begins, (int, float)):
        return False
    audience = claims.get("aud")
    audiences = cast("list[object]", audience) if isinstance(audience, list) else [audience]
    accepted = {*_EVERY_ACCOUNT, f"https://{account}.{service}.core.windows.net"}
    is_for_account = any(isinstance(text, str) and text.removesuffix("/").lower() in accepted for text in audiences)
    return is_for_account and begins <= now.datetime().timestamp() < expires


def _members(part: str) -> Mapping[str, object]:
    content = _bytes(part)
    try:
        members: object = None if content is None else json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, object]", members) if isinstance(members, dict) else {}


def _bytes(part: str) -> bytes | None:
    try:
        return urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except ValueError:
        return None
