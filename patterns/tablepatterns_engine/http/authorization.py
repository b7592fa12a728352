"""Authenticate the sender of a request: by shared key, shared access signature or bearer token."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import ClassVar, Final, Literal, TypeAlias, TypeVar, cast

from tablepatterns.edm import Ticks

from .. import errors
from ..errors import ServiceError
from ..resources import AccessPolicy, Settings
from .call import AccountContext, AnyCall
from .permissions import AccountPermit, Owner, Permit, ResourcePermit
from .shared_key import SignedTexts, Signer

_FIRST_VERSION: Final = "2015-04-05"
"""The first version that signs the address range and the protocol; older signatures look different."""
ENCRYPTION_SCOPE_VERSION: Final = "2020-12-06"
_VERSION: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TERMS: Final = ("sp", "st", "se")
_ACCOUNT_FIELDS: Final = ("sp", "ss", "srt", "st", "se", "sip", "spr", "sv")

_Term = TypeVar("_Term")


class SharedAccess:
    __slots__ = ("_signer", "account")

    service: ClassVar[str]
    letters: ClassVar[re.Pattern[str]]
    """The permissions of a SAS of one resource, each at most once and in this order."""
    fields: ClassVar[tuple[str, ...]] = ("si", "sip", "spr", "sv")
    """What the signature of a resource signs after permissions, times and the resource."""

    def __init__(self, context: AccountContext) -> None:
        self.account = context.account_name
        self._signer = Signer(context.account_name, context.account_key)

    def resource(self, call: AnyCall) -> str:
        """Return the name of the resource that a signature is for, "" if there is none; by default, the request's."""
        return call.resource

    def home(self, resource: str) -> str:
        """Return the resource that has the stored access policies; by default, itself."""
        return resource

    def signed_fields(self, query: Mapping[str, str]) -> Sequence[str]:
        """Return the names of what the signature of a resource signs after the resource; by default, `fields`."""
        return self.fields

    def granted(self, resource: str, letters: frozenset[str], query: Mapping[str, str]) -> Permit:
        """Return the permissions of a valid signature of a resource; `letters` include those of its stored policy."""
        return ResourcePermit(resource, letters)

    def permit(self, call: AnyCall) -> Permit:
        query = call.address.query
        version = query.get("sv", "")
        if not _VERSION.fullmatch(version) or version < _FIRST_VERSION:
            raise ServiceError(errors.AUTHENTICATION_FAILED)
        permit = self._account_permit(query, call.now) if "ss" in query else self._own_permit(query, call)
        _check_way(query, call.address.secure, call.request.client)
        return permit

    def _account_permit(self, query: Mapping[str, str], now: Ticks) -> Permit:
        fields = [self.account, *(query.get(name, "") for name in _ACCOUNT_FIELDS), ""]
        if query["sv"] >= ENCRYPTION_SCOPE_VERSION:
            fields.insert(-1, query.get("ses", ""))
        if not self._signer.signed("\n".join(fields), query.get("sig", "")):
            raise ServiceError(errors.AUTHENTICATION_FAILED)
        _check_time(_moment(query.get("st")), _moment(query.get("se")), now)
        if self.service[0] not in query["ss"]:
            raise ServiceError(errors.AUTHORIZATION_SERVICE_MISMATCH)
        return AccountPermit(query.get("srt", ""), frozenset(query.get("sp", "")))

    def _own_permit(self, query: Mapping[str, str], call: AnyCall) -> Permit:
        resource = self.resource(call)
        terms, fields = ([query.get(name, "") for name in names] for names in (_TERMS, self.signed_fields(query)))
        text = "\n".join([*terms, f"/{self.service}/{self.account}/{resource}", *fields])
        if not resource or not self._signer.signed(text, query.get("sig", "")):
            raise ServiceError(errors.AUTHENTICATION_FAILED)
        letters, start, expiry = _terms(query, self.home(resource), call.settings)
        _check_time(start, expiry, call.now)
        if not self.letters.fullmatch(letters):
            raise ServiceError(errors.AUTHENTICATION_FAILED)
        return self.granted(resource, frozenset(letters), query)


def _terms(query: Mapping[str, str], resource: str, settings: Settings) -> tuple[str, Ticks | None, Ticks | None]:
    """Return permissions, start and expiry, each from the signature or from its stored policy, never from both."""
    policy = _policy(resource, query["si"], settings) if "si" in query else AccessPolicy("")
    return (
        _one_of(query.get("sp"), policy.permission) or "",
        _one_of(_moment(query.get("st")), policy.start),
        _one_of(_moment(query.get("se")), policy.expiry),
    )


def _policy(resource: str, name: str, settings: Settings) -> AccessPolicy:
    try:
        policies = settings.get_policies(resource)
    except ServiceError as error:
        raise ServiceError(errors.AUTHENTICATION_FAILED) from error
    for policy in policies:
        if policy.id == name:
            return policy
    raise ServiceError(errors.AUTHENTICATION_FAILED)


def _one_of(signed: _Term | None, stored: _Term | None) -> _Term | None:
    if signed is not None and stored is not None:
        raise ServiceError(errors.AUTHENTICATION_FAILED)
    return stored if signed is None else signed


def _moment(text: str | None) -> Ticks | None:
    try:
        return Ticks.parse(text) if text else None
    except ValueError as error:
        raise ServiceError(errors.AUTHENTICATION_FAILED) from error


def _check_time(start: Ticks | None, expiry: Ticks | None, now: Ticks) -> None:
    if expiry is None or now >= expiry or (start is not None and now < start):
        raise ServiceError(errors.AUTHENTICATION_FAILED)


def _check_way(query: Mapping[str, str], secure: bool, client: str) -> None:
    protocol = query.get("spr", "https,http")
    if protocol not in ("https", "https,http"):
        raise ServiceError(errors.AUTHENTICATION_FAILED)
    if protocol == "https" and not secure:
        raise ServiceError(errors.PROTOCOL_MISMATCH)
    if "sip" in query and not _is_from(query["sip"], client):
        raise ServiceError(errors.SOURCE_IP_MISMATCH.format(address=client))


def _is_from(addresses: str, client: str) -> bool:
    """Return whether an address is the given one, or in the given range (inclusive)."""
    first, _, last = addresses.partition("-")
    try:
        low, high, here = (ip_address(text) for text in (first, last or first, client))
    except ValueError as error:
        raise ServiceError(errors.AUTHENTICATION_FAILED) from error
    return low.version == high.version == here.version and int(low) <= int(here) <= int(high)


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
