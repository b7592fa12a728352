"""The properties of a service: logging, metrics and CORS rules, kept and returned but without effect."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..limits import MAX_CORS_RULES, MAX_RETENTION_DAYS
from .refusal import Refusal
from .texts import INVALID_XML_DOCUMENT
from .versions import is_version


@dataclass(frozen=True, slots=True)
class Retention:
    """How long logs or metrics are kept; `days` is None where retention is not enabled."""

    enabled: bool = False
    days: int | None = None


@dataclass(frozen=True, slots=True)
class Logging:
    """Which requests are logged."""

    version: str = "1.0"
    read: bool = False
    write: bool = False
    delete: bool = False
    retention: Retention = field(default_factory=Retention)


@dataclass(frozen=True, slots=True)
class Metrics:
    """Which metrics are collected; `include_apis` is None where metrics are not enabled."""

    version: str = "1.0"
    enabled: bool = False
    include_apis: bool | None = None
    retention: Retention = field(default_factory=Retention)


@dataclass(frozen=True, slots=True)
class CorsRule:
    """A rule for requests from browsers; every list may be empty."""

    allowed_origins: tuple[str, ...]
    allowed_methods: tuple[str, ...]
    allowed_headers: tuple[str, ...] = ()
    exposed_headers: tuple[str, ...] = ()
    max_age_in_seconds: int = 0


@dataclass(frozen=True, slots=True)
class ServiceProperties:
    """All properties of one service; a request that names only some of them is `dataclasses.replace` of these.

    :param default_version: what a request to the Blob service without a version is taken for
    """

    logging: Logging = field(default_factory=Logging)
    hour_metrics: Metrics = field(default_factory=Metrics)
    minute_metrics: Metrics = field(default_factory=Metrics)
    cors: tuple[CorsRule, ...] = ()
    default_version: str | None = None

    def check(self) -> None:
        """Refuse more than five CORS rules, a version that never was, or a retention that is not of 1 to 365 days.

        :raises Refusal: InvalidXmlDocument
        """
        if len(self.cors) > MAX_CORS_RULES or (self.default_version and not is_version(self.default_version)):
            raise Refusal(INVALID_XML_DOCUMENT)
        for kept in (self.logging.retention, self.hour_metrics.retention, self.minute_metrics.retention):
            if kept.enabled and not 1 <= (kept.days or 0) <= MAX_RETENTION_DAYS:
                raise Refusal(INVALID_XML_DOCUMENT)
