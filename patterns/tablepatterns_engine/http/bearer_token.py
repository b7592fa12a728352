"""Check the form, audience and lifetime of bearer tokens.

The signature of a token is not verified: the engine does not have the keys of its issuer.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, cast

from tablepatterns.edm import Ticks

TrustTokens: TypeAlias = Literal["checked"] | bool
"""Whether bearer tokens are accepted as the owner's: none, any, or those that `is_current` accepts."""

_EVERY_ACCOUNT: Final = ("https://storage.azure.com", "e406a681-f3d4-42a8-90b6-c2b029497af1")
_MAX_LENGTH: Final = 16 * 1024


def is_current(token: str, account: str, service: str, now: Ticks) -> bool:
    """Return whether a token is a JWT for Azure Storage, or for a service of this account, that has not expired."""
    parts = token.split(".")
    if len(parts) != 3 or not all(parts) or len(token) > _MAX_LENGTH:
        return False
    header, claims = _members(parts[0]), _members(parts[1])
    if not header.get("alg") or _bytes(parts[2]) is None:
        return False
    expires, begins = claims.get("exp"), claims.get("nbf", 0)
    if not isinstance(expires, (int, float)) or not isinstance(begins, (int, float)):
        return False
    return _is_for(claims.get("aud"), account, service) and begins <= now.datetime().timestamp() < expires


def _is_for(audience: object, account: str, service: str) -> bool:
    audiences = cast("list[object]", audience) if isinstance(audience, list) else [audience]
    accepted = {*_EVERY_ACCOUNT, f"https://{account}.{service}.core.windows.net"}
    return any(
        isinstance(accepted_audience, str) and accepted_audience.removesuffix("/").lower() in accepted
        for accepted_audience in audiences
    )


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
