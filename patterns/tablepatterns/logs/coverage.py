"""Coverage: what a blob of a log may hold, told in its metadata, so that a reader can leave it alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from .entry import LogEntry, moment_of, moment_text
from .names import HOUR, hour_of

_INSTANT: Final = timedelta(microseconds=1)
_LEVELS_LENGTH: Final = 1000


@dataclass(frozen=True)
class Coverage:
    """No entry of the blob is earlier than `first`, later than `last`, or of a level that is not among `levels`.

    :param first: when the first entry was logged
    :param last: when the last one was, or may be
    """

    first: datetime
    last: datetime
    levels: frozenset[str]

    @classmethod
    def ahead_of(cls, first: datetime, last: datetime, levels: Collection[str], ahead: timedelta) -> Coverage:
        """Return the coverage of such entries and of later ones: up to `ahead` later, in the same hour."""
        return cls(first, min(last + min(ahead, HOUR), hour_of(last) + HOUR - _INSTANT), frozenset(levels))

    def metadata(self) -> dict[str, str]:
        """Return it as the blob's metadata; so many levels that they get long are left out."""
        told = {"first": moment_text(self.first), "last": moment_text(self.last)}
        levels = ",".join(sorted(self.levels))
        return told | ({"levels": levels} if len(levels) <= _LEVELS_LENGTH else {})

    def widened(self, other: Coverage, last: datetime) -> Coverage:
        """Return what covers other entries too, and ends later only if `last`, the last of them, does."""
        reach = self.last if last <= self.last else other.last
        return Coverage(min(self.first, other.first), reach, self.levels | other.levels)

    def up_to(self, last: datetime) -> Coverage:
        """Return the coverage of a blob that gets no more entries."""
        return replace(self, last=last)


@dataclass(frozen=True)
class Wanted:
    """Which entries a reader asks for.

    :param levels: their levels; None for any
    """

    earliest: datetime
    latest: datetime
    levels: frozenset[str] | None

    def misses(self, metadata: Mapping[str, str]) -> bool:
        """Whether no entry of a blob can be asked for; one that does not say what it holds may hold anything."""
        first, last, levels = _told(metadata, "first"), _told(metadata, "last"), metadata.get("levels")
        return (
            (last is not None and last < self.earliest)
            or (first is not None and first > self.latest)
            or (self.levels is not None and levels is not None and self.levels.isdisjoint(levels.split(",")))
        )

    def takes(self, entry: LogEntry) -> bool:
        """Whether an entry is asked for."""
        return self.earliest <= entry.at <= self.latest and (self.levels is None or entry.level in self.levels)

    def opening(self, metadata: Mapping[str, str], hour: datetime) -> datetime:
        """Return an instant that no entry asked for of a blob of that hour is earlier than."""
        return max(_told(metadata, "first") or hour, self.earliest)


def _told(metadata: Mapping[str, str], name: str) -> datetime | None:
    try:
        return moment_of(metadata.get(name, ""))
    except ValueError:
        return None
