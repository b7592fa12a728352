"""Rules shared by tables, queues and blobs: names, parameters, metadata, service properties, access policies."""

from __future__ import annotations

import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tablepatterns import limits
from tablepatterns.edm import Ticks
from tablepatterns.errors import BadInput

from . import errors
from .clock import SECOND, Clock
from .errors import ErrorMessage, ServiceError
from .versions import is_version

_CHARACTERS: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def check_resource_name(name: str) -> None:
    """Reject a name that is not 3 to 63 lower-case letters, digits and single hyphens between them."""
    if not limits.QUEUE_NAME_MIN_LENGTH <= len(name) <= limits.QUEUE_NAME_MAX_LENGTH:
        raise ServiceError(errors.RESOURCE_NAME_LENGTH)
    if not _CHARACTERS.fullmatch(name):
        raise ServiceError(errors.RESOURCE_NAME_CHARACTERS)


def check_range(name: str, value: int, lowest: int, highest: int) -> None:
    """Reject a query parameter outside its range; the error has the range in its details."""
    if not lowest <= value <= highest:
        raise ServiceError(
            errors.OUT_OF_RANGE_QUERY_PARAMETER_VALUE.with_details(
                QueryParameterName=name, QueryParameterValue=value, MinimumAllowed=lowest, MaximumAllowed=highest
            )
        )


def invalid_parameter(name: str, value: object, reason: str | None = None) -> ServiceError:
    why = {} if reason is None else {"Reason": reason}
    return ServiceError(
        errors.INVALID_QUERY_PARAMETER_VALUE.with_details(QueryParameterName=name, QueryParameterValue=value, **why)
    )


_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
NOT_IN_HEADERS: Final = re.compile("[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
"""What no header can have; a client in this process is not stopped by HTTP."""


def checked_metadata(metadata: Mapping[str, str]) -> dict[str, str]:
    """Return a copy to store; reject names that are not identifiers, control characters, and more than 8 KiB."""
    if "" in metadata:
        raise ServiceError(errors.EMPTY_METADATA_KEY.with_details(MetadataValue=metadata[""]))
    if not all(map(_NAME.fullmatch, metadata)) or any(map(NOT_IN_HEADERS.search, metadata.values())):
        raise ServiceError(errors.INVALID_METADATA)
    size = sum(len(name) + len(value.encode("utf-8", "surrogatepass")) for name, value in metadata.items())
    if size > limits.MAX_METADATA_BYTES:
        raise ServiceError(errors.METADATA_TOO_LARGE)
    return dict(metadata)


def same_metadata(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Return whether both are equal, ignoring the case of names."""
    first, second = ({name.lower(): value for name, value in metadata.items()} for metadata in (one, other))
    return first == second


@dataclass(frozen=True, slots=True)
class Retention:
    """How long logs or metrics are kept; `days` is None if retention is not enabled."""

    enabled: bool = False
    days: int | None = None


@dataclass(frozen=True, slots=True)
class Logging:
    version: str = "1.0"
    read: bool = False
    write: bool = False
    delete: bool = False
    retention: Retention = field(default_factory=Retention)


@dataclass(frozen=True, slots=True)
class Metrics:
    version: str = "1.0"
    enabled: bool = False
    include_apis: bool | None = None
    retention: Retention = field(default_factory=Retention)


_METHODS: Final = frozenset({"DELETE", "GET", "HEAD", "MERGE", "POST", "OPTIONS", "PUT", "PATCH"})
_ANALYTICS_VERSIONS: Final = frozenset({"1.0", "2.0"})


@dataclass(frozen=True, slots=True)
class CorsRule:
    """A rule for requests from browsers; the lists of headers may be empty."""

    allowed_methods: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    allowed_headers: tuple[str, ...] = ()
    exposed_headers: tuple[str, ...] = ()
    max_age_in_seconds: int = 0

    def check(self) -> None:
        """Reject an unknown method, no origin, and lists with empty, too long or too many names."""
        lists = self.allowed_origins, self.allowed_headers, self.exposed_headers
        is_complete = self.allowed_methods and self.allowed_origins and all(map(all, lists))
        if not is_complete or self.max_age_in_seconds < 0 or not _METHODS.issuperset(self.allowed_methods):
            raise ServiceError(errors.INVALID_XML_VALUE)
        for names in lists:
            prefixes = sum(name.endswith("*") for name in names)
            has_long = any(len(name) > limits.MAX_CORS_NAME_LENGTH for name in names)
            if has_long or prefixes > limits.MAX_CORS_PREFIXES or len(names) - prefixes > limits.MAX_CORS_NAMES:
                raise ServiceError(errors.INVALID_XML_DOCUMENT)


@dataclass(frozen=True, slots=True)
class ServiceProperties:
    """All properties of one service; a request that has only some of them replaces those.

    :param default_version: the version of requests to the Blob service that do not state one
    """

    logging: Logging = field(default_factory=Logging)
    hour_metrics: Metrics = field(default_factory=Metrics)
    minute_metrics: Metrics = field(default_factory=Metrics)
    cors: tuple[CorsRule, ...] = ()
    default_version: str | None = None

    def check(self) -> None:
        """Reject more than five CORS rules, an unknown version, or a retention outside 1 to 365 days."""
        versions = {self.logging.version, self.hour_metrics.version, self.minute_metrics.version}
        if not versions <= _ANALYTICS_VERSIONS:
            raise ServiceError(errors.INVALID_XML_VALUE)
        for rule in self.cors:
            rule.check()
        if any(
            metrics.enabled and metrics.include_apis is None for metrics in (self.hour_metrics, self.minute_metrics)
        ):
            raise ServiceError(errors.MISSING_XML_NODE)
        if len(self.cors) > limits.MAX_CORS_RULES or (self.default_version and not is_version(self.default_version)):
            raise ServiceError(errors.INVALID_XML_DOCUMENT)
        for retention in (self.logging.retention, self.hour_metrics.retention, self.minute_metrics.retention):
            if retention.enabled and not 1 <= (retention.days or 0) <= limits.MAX_RETENTION_DAYS:
                raise ServiceError(errors.INVALID_XML_DOCUMENT)


MAX_POLICY_ID_LENGTH: Final = 64


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """A stored access policy, with permissions such as "raud"; the signature supplies the parts that are None."""

    id: str
    start: Ticks | None = None
    expiry: Ticks | None = None
    permission: str | None = None


def check_policies(policies: Sequence[AccessPolicy], letters: str) -> None:
    """Reject more than five policies, duplicate or long names, and permissions other than the service's `letters`."""
    names = {policy.id for policy in policies}
    if len(policies) > limits.MAX_ACCESS_POLICIES or len(names) < len(policies):
        raise ServiceError(errors.INVALID_XML_DOCUMENT)
    if any(len(name) > MAX_POLICY_ID_LENGTH for name in names):
        raise ServiceError(errors.INVALID_XML_DOCUMENT)
    if any(set(policy.permission or "") - set(letters) for policy in policies):
        raise ServiceError(errors.INVALID_XML_DOCUMENT)


class Settings(ABC):
    """What the state of every service has: service properties, and the access policies of its resources."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._properties = ServiceProperties()

    @abstractmethod
    def get_policies(self, name: str, /) -> Sequence[AccessPolicy]:
        """Return the stored access policies of a table, a queue or a container."""

    def get_service_properties(self) -> ServiceProperties:
        return self._properties

    def set_service_properties(self, properties: ServiceProperties) -> None:
        properties.check()
        self._properties = properties


class Deletions:
    """The reserved names of deleted resources of one service. Not thread-safe: the service's lock guards it."""

    def __init__(self, clock: Clock, answer: ErrorMessage) -> None:
        self._clock = clock
        self._answer = answer
        self._free_at: dict[str, Ticks] = {}
        self._seconds: float = 0

    @property
    def seconds(self) -> float:
        """How long a deletion takes; changing it does not affect deletions in progress."""
        return self._seconds

    @seconds.setter
    def seconds(self, seconds: float) -> None:
        if not seconds >= 0:
            raise BadInput("deletion_seconds", seconds, "a deletion takes 0 seconds or more", "give 0 to have none")
        self._seconds = seconds

    def begin(self, name: str) -> None:
        if self._seconds:
            now = self._clock.now()
            self._free_at = {resource: moment for resource, moment in self._free_at.items() if moment > now}
            self._free_at[name] = Ticks(now + round(self._seconds * SECOND))

    def is_running(self, name: str) -> bool:
        return self._free_at.get(name, Ticks(0)) > self._clock.now()

    def check(self, name: str) -> None:
        if self.is_running(name):
            raise ServiceError(self._answer)
