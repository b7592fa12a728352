"""The conditions and headers of operations on blobs and containers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias
from uuid import UUID

from differential.account import Known

Version: TypeAlias = Literal["any", "fresh", "stale", "never"]
Moment: TypeAlias = Literal["past", "future"]

LEASES = {"a": str(UUID(int=0xA)), "b": str(UUID(int=0xB))}
"""The ids of leases."""
NEVER = '"0x8D0000000000000"'
"""The ETag of no version that there can be."""

_AGES: dict[Version, int] = {"fresh": 0, "stale": 1}
_MOMENTS: dict[Moment, str] = {"past": "Mon, 01 Jan 2001 00:00:00 GMT", "future": "Fri, 01 Jan 2100 00:00:00 GMT"}


class Place(NamedTuple):
    """Where a blob is."""

    container: str
    blob: str


@dataclass(frozen=True)
class Terms:
    """Conditions and a lease; what is None is not asked for."""

    match: Version | None = None
    none_match: Version | None = None
    modified_since: Moment | None = None
    unmodified_since: Moment | None = None
    lease: str | None = None

    def headers(self, where: Place | str, known: Known, prefix: str = "") -> dict[str, str | None]:
        """Return the headers that say so on one of the accounts, each of which has ETags of its own.

        :param where: the blob or the container that the ETags are of
        :param prefix: what the names of the headers begin with
        """

        def etag(version: Version | None) -> str | None:
            if version in _AGES:
                return known(("etag", where), _AGES[version]) or NEVER
            return {"any": "*", "never": NEVER}.get(version or "")

        said = {
            f"{prefix}If-Match": etag(self.match),
            f"{prefix}If-None-Match": etag(self.none_match),
            f"{prefix}If-Modified-Since": self.modified_since and _MOMENTS[self.modified_since],
            f"{prefix}If-Unmodified-Since": self.unmodified_since and _MOMENTS[self.unmodified_since],
            "x-ms-lease-id": self.lease and LEASES[self.lease],
        }
        return {name: value for name, value in said.items() if value is not None}


NO_TERMS = Terms()


@dataclass(frozen=True)
class Lease:
    """One of the five actions on a lease.

    :param id: the lease that is meant
    :param proposed: the lease that is wanted
    :param seconds: the duration of an acquired one, or the time until a broken one is gone
    """

    action: Literal["acquire", "renew", "change", "release", "break"]
    id: str | None = None
    proposed: str | None = None
    seconds: int | None = None

    def headers(self) -> dict[str, str | None]:
        """Return the headers that ask for it."""
        seconds = "x-ms-lease-duration" if self.action == "acquire" else "x-ms-lease-break-period"
        said = {
            "x-ms-lease-action": self.action,
            "x-ms-lease-id": self.id and LEASES[self.id],
            "x-ms-proposed-lease-id": self.proposed and LEASES[self.proposed],
            seconds: None if self.seconds is None else str(self.seconds),
        }
        return {name: value for name, value in said.items() if value is not None}


@dataclass(frozen=True)
class ContentHeaders:
    """What a blob says of its content; what is None is not said."""

    content_type: str | None = None
    encoding: str | None = None
    language: str | None = None
    disposition: str | None = None
    cache_control: str | None = None

    def headers(self) -> dict[str, str | None]:
        """Return the headers that set it."""
        said = {
            "type": self.content_type,
            "encoding": self.encoding,
            "language": self.language,
            "disposition": self.disposition,
        }
        written: dict[str, str | None] = {f"x-ms-blob-content-{name}": value for name, value in said.items() if value}
        if self.cache_control:
            written["x-ms-blob-cache-control"] = self.cache_control
        return written


NO_HEADERS = ContentHeaders()
