"""Raw requests to queues and blobs: what both have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote, urlencode

from differential.account import MOST_PAGES, Account
from differential.answers import document

Metadata: TypeAlias = tuple[tuple[str, str], ...]


class Policy(NamedTuple):
    """A stored access policy; what is None is left open."""

    id: str
    start: str | None = None
    expiry: str | None = None
    permission: str | None = None


def path(*names: str, **options: object) -> str:
    """Return what follows the account's URL: names, and the options that are not None."""
    given = {name: value for name, value in options.items() if value is not None}
    where = "/" + "/".join(quote(name) for name in names)
    return f"{where}?{urlencode(given, quote_via=quote)}" if given else where


def metadata_headers(metadata: Metadata) -> dict[str, str | None]:
    """Return the headers that set metadata."""
    return {f"x-ms-meta-{name}": value for name, value in metadata}


def policies_xml(policies: Iterable[Policy]) -> str:
    """Return the body that sets access policies."""
    return f"<SignedIdentifiers>{''.join(map(_policy, policies))}</SignedIdentifiers>"


def read_pages(account: Account, place: str, **options: object) -> None:
    """Read a list page by page to its end."""
    marker: str | None = None
    for _ in range(MOST_PAGES):
        answer = account.request("GET", path(place, **options, marker=marker))
        marker = document(answer.text).findtext("NextMarker")
        if not marker:
            return


def _policy(policy: Policy) -> str:
    terms: Mapping[str, Any] = {"Start": policy.start, "Expiry": policy.expiry, "Permission": policy.permission}
    written = "".join(f"<{name}>{value}</{name}>" for name, value in terms.items() if value is not None)
    return f"<SignedIdentifier><Id>{policy.id}</Id><AccessPolicy>{written}</AccessPolicy></SignedIdentifier>"
