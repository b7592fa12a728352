"""Leases of blobs and containers: the five states, the five actions, and which reads and writes they allow.

A lease is immutable: an action returns a new one. Its state depends on the time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, Literal, TypeAlias
from uuid import UUID, uuid4

from tablepatterns.edm import Ticks
from tablepatterns.limits import LEASE_MAX_DURATION, LEASE_MIN_DURATION, MAX_BREAK_PERIOD

from .. import errors
from ..clock import SECOND
from ..errors import ErrorMessage, ServiceError

INFINITE: Final = -1
"""The duration of a lease that never expires."""


class State(Enum):
    AVAILABLE = "available"
    LEASED = "leased"
    EXPIRED = "expired"
    BREAKING = "breaking"
    BROKEN = "broken"

    @property
    def locked(self) -> bool:
        return self in (State.LEASED, State.BREAKING)


Resource: TypeAlias = Literal["blob", "container"]
"""What is leased."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease; without an id, there is none.

    :param duration: the requested number of seconds, or `INFINITE`
    :param ends: when it expires or the break completes; None for never
    """

    id: UUID | None = None
    duration: int = 0
    ends: Ticks | None = None
    breaking: bool = False

    def state(self, now: Ticks) -> State:
        if self.id is None:
            return State.AVAILABLE
        runs = self.ends is None or now < self.ends
        if self.breaking:
            return State.BREAKING if runs else State.BROKEN
        return State.LEASED if runs else State.EXPIRED

    def seconds_left(self, now: Ticks) -> int:
        """Return the remaining seconds of a lease that ends, rounded up."""
        return 0 if self.ends is None else max(0, -((now - self.ends) // SECOND))

    def after_write(self, now: Ticks) -> Lease:
        """Return the lease after a write to its resource, which clears the id of an inactive lease."""
        return self if self.state(now).locked else NO_LEASE

    def check_read(self, id: UUID | None, now: Ticks, resource: Resource) -> None:  # noqa: A002 - what the service calls it
        """Reject a read with a lease id unless it is that of the active lease."""
        if id is None:
            return
        state = self.state(now)
        if state in (State.EXPIRED, State.BROKEN):
            raise _error(errors.LEASE_LOST, resource)
        if not state.locked:
            raise _error(errors.USED_LEASE_NOT_PRESENT, resource)
        if id != self.id:
            raise _error(errors.USED_LEASE_MISMATCH, resource)

    def check_write(self, id: UUID | None, now: Ticks, resource: Resource) -> None:  # noqa: A002 - what the service calls it
        """Reject a write without the id of the active lease, or with an id if there is none."""
        if id is None and self.state(now).locked:
            raise _error(errors.LEASE_ID_MISSING, resource)
        self.check_read(id, now, resource)


NO_LEASE: Final = Lease()


@dataclass(frozen=True, slots=True)
class Acquire:
    """Acquire the lease for 15 to 60 seconds or `INFINITE`, or one's own again with another duration."""

    duration: int
    proposed: UUID | None = None

    def on(self, lease: Lease, now: Ticks, resource: Resource) -> Lease:
        if self.duration != INFINITE and not LEASE_MIN_DURATION <= self.duration <= LEASE_MAX_DURATION:
            raise ServiceError(errors.INVALID_LEASE_DURATION.with_details(HeaderValue=self.duration))
        state = lease.state(now)
        if state.locked and self.proposed != lease.id:
            raise ServiceError(errors.LEASE_ALREADY_PRESENT)
        if state is State.BREAKING:
            raise ServiceError(errors.LEASE_IS_BREAKING)
        return Lease(self.proposed or uuid4(), self.duration, _end(now, self.duration))


@dataclass(frozen=True, slots=True)
class Renew:
    """Renew the lease, even an expired one, unless the resource was written in between."""

    id: UUID

    def on(self, lease: Lease, now: Ticks, resource: Resource) -> Lease:
        _check_id(lease, self.id, resource)
        if lease.breaking:
            raise ServiceError(errors.LEASE_IS_BROKEN)
        return replace(lease, ends=_end(now, lease.duration))


@dataclass(frozen=True, slots=True)
class Change:
    """Change the id of the lease; this is idempotent."""

    id: UUID
    proposed: UUID

    def on(self, lease: Lease, now: Ticks, resource: Resource) -> Lease:
        state = lease.state(now)
        if not state.locked:
            raise _error(errors.LEASE_NOT_PRESENT, resource)
        if lease.id not in (self.id, self.proposed):
            raise _error(errors.LEASE_ID_MISMATCH, resource)
        if state is State.BREAKING:
            raise ServiceError(errors.LEASE_CANNOT_BE_CHANGED)
        return replace(lease, id=self.proposed)


@dataclass(frozen=True, slots=True)
class Release:
    """Release the lease, so that others can acquire it immediately."""

    id: UUID

    def on(self, lease: Lease, now: Ticks, resource: Resource) -> Lease:
        _check_id(lease, self.id, resource)
        return NO_LEASE


@dataclass(frozen=True, slots=True)
class Break:
    """Break any active lease, immediately or after a period in which it cannot be acquired.

    :param period: at most this many seconds, up to 60; None for the rest of the lease, which is 0 for an infinite one
    """

    period: int | None = None

    def on(self, lease: Lease, now: Ticks, resource: Resource) -> Lease:
        if self.period is not None and not 0 <= self.period <= MAX_BREAK_PERIOD:
            raise ServiceError(errors.INVALID_BREAK_PERIOD.with_details(HeaderValue=self.period))
        if lease.id is None:
            raise _error(errors.LEASE_NOT_PRESENT, resource)
        ends = now if lease.ends is None and self.period is None else lease.ends
        if self.period is not None:
            asked = Ticks(now + self.period * SECOND)
            ends = asked if ends is None else min(ends, asked)
        return replace(lease, ends=ends, breaking=True)


Action: TypeAlias = Acquire | Renew | Change | Release | Break


def _error(message: ErrorMessage, resource: Resource) -> ServiceError:
    return ServiceError(message.format(resource=resource, kind=resource.capitalize()))


def _end(now: Ticks, duration: int) -> Ticks | None:
    return None if duration == INFINITE else Ticks(now + duration * SECOND)


def _check_id(lease: Lease, id: UUID, resource: Resource) -> None:  # noqa: A002 - what the service calls it
    if lease.id != id:
        raise _error(errors.LEASE_ID_MISMATCH, resource)
