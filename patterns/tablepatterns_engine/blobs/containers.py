"""The containers of one account: the rules of creating, changing, leasing and deleting them."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from tablepatterns.edm import Ticks
from tablepatterns.limits import MAX_PAGE_BLOBS

from .. import errors
from ..clock import Clock
from ..collections import OrderedMap
from ..errors import ServiceError
from ..resources import AccessPolicy, Deletions, check_policies, check_resource_name, checked_metadata
from .conditions import NO_TERMS, Terms, check_write
from .leases import Action
from .listing import checked_page_limit
from .state import Container, ContainerProperties, PublicAccess

_PERMISSIONS: Final = "racwdxyltmeopif"
_SPECIAL_NAMES: Final = frozenset({"$root", "$web", "$logs"})


class Containers:
    """The containers of one account. Every method is atomic, and a rejected call changes nothing."""

    def __init__(self, clock: Clock, lock: threading.RLock) -> None:
        self._clock = clock
        self._lock = lock
        self._containers: OrderedMap[Container] = OrderedMap()
        self.deletions = Deletions(clock, errors.CONTAINER_BEING_DELETED)

    def create(
        self, name: str, metadata: Mapping[str, str] | None = None, access: PublicAccess = PublicAccess.NONE
    ) -> ContainerProperties:
        _check_name(name)
        checked = checked_metadata(metadata or {})
        with self._lock:
            if self._containers.get(name) is not None:
                raise ServiceError(errors.CONTAINER_ALREADY_EXISTS)
            self.deletions.check(name)
            properties = ContainerProperties(name, self._clock.stamp(), checked, access)
            self._containers[name] = Container(properties)
        return properties

    def delete(self, name: str, terms: Terms = NO_TERMS) -> None:
        """Delete a container with its blobs immediately; its name is free once the deletion has finished.

        Until then it can be deleted again, without an effect.
        """
        with self._lock:
            if self.deletions.is_running(name):
                return
            properties = self.find(name).properties
            check_write(terms, properties)
            properties.lease.check_write(terms.lease, self._clock.now(), "container")
            del self._containers[name]
            self.deletions.begin(name)

    def get(self, name: str, terms: Terms = NO_TERMS) -> ContainerProperties:
        with self._lock:
            properties = self.find(name).properties
            properties.lease.check_read(terms.lease, self._clock.now(), "container")
        return properties

    def public_access(self, name: str) -> PublicAccess:
        """Return a container's public access; none if it does not exist."""
        with self._lock:
            container = self._containers.get(name)
        return PublicAccess.NONE if container is None else container.properties.access

    def set_metadata(self, name: str, metadata: Mapping[str, str], terms: Terms = NO_TERMS) -> ContainerProperties:
        return self._change(name, terms, metadata=checked_metadata(metadata))

    def set_access(
        self, name: str, access: PublicAccess, policies: Sequence[AccessPolicy], terms: Terms = NO_TERMS
    ) -> ContainerProperties:
        check_policies(policies, _PERMISSIONS)
        return self._change(name, terms, access=access, policies=tuple(policies))

    def lease(self, name: str, action: Action, terms: Terms = NO_TERMS) -> tuple[ContainerProperties, Ticks]:
        """Execute an action on the lease of a container; return its properties, and the time of the action."""
        with self._lock:
            container, now = self.find(name), self._clock.now()
            properties = container.properties
            check_write(terms, properties)
            container.properties = replace(properties, lease=action.on(properties.lease, now, "container"))
            return container.properties, now

    def page(
        self, prefix: str = "", start: str = "", limit: int = MAX_PAGE_BLOBS
    ) -> tuple[list[ContainerProperties], str | None]:
        """Return a page of containers sorted by name, never more than 5,000, and the first name of the next page."""
        with self._lock:
            containers, following = self._containers.page(prefix, start, checked_page_limit(limit))
            return [container.properties for container in containers], following

    def find(self, name: str) -> Container:
        """Return the data of a container; the caller holds the lock."""
        _check_name(name)
        container = self._containers.get(name)
        if container is None:
            raise ServiceError(errors.CONTAINER_NOT_FOUND)
        return container

    def _change(self, name: str, terms: Terms, **changes: Any) -> ContainerProperties:
        with self._lock:
            container = self.find(name)
            properties = container.properties
            check_write(terms, properties)
            properties.lease.check_read(terms.lease, self._clock.now(), "container")
            container.properties = replace(properties, modified=self._clock.stamp(), **changes)
            return container.properties


@lru_cache(maxsize=4096)
def _check_name(name: str) -> None:
    if name not in _SPECIAL_NAMES:
        check_resource_name(name)
