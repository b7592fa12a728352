"""Service properties and statistics in XML."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...edm import Ticks
from ..properties import CorsRule, Logging, Metrics, Retention, ServiceProperties
from .moments import http_date
from .xml_document import boolean, child, element, number, optional, read_document, write_document

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def read_properties(body: bytes, present: ServiceProperties) -> ServiceProperties:
    """Return the properties after a request to set some of them; what it does not name stays.

    :raises Refusal: InvalidXmlDocument
    """
    root = read_document(body, "StorageServiceProperties")
    logging, hour, minute, cors = (root.find(name) for name in ("Logging", "HourMetrics", "MinuteMetrics", "Cors"))
    return replace(
        present,
        logging=present.logging if logging is None else _read_logging(logging),
        hour_metrics=present.hour_metrics if hour is None else _read_metrics(hour),
        minute_metrics=present.minute_metrics if minute is None else _read_metrics(minute),
        default_version=child(root, "DefaultServiceVersion", str) or present.default_version,
        cors=present.cors if cors is None else tuple(map(_read_rule, cors.findall("CorsRule"))),
    )


def write_properties(properties: ServiceProperties) -> bytes:
    """Return all properties as a document."""
    return write_document(
        element(
            "StorageServiceProperties",
            _logging(properties.logging),
            _metrics("HourMetrics", properties.hour_metrics),
            _metrics("MinuteMetrics", properties.minute_metrics),
            element("Cors", *map(_rule, properties.cors)),
            optional("DefaultServiceVersion", properties.default_version),
        )
    )


def write_statistics(last_sync: Ticks) -> bytes:
    """Return the state of the geo-replication as a document: it is always live."""
    replication = element("GeoReplication", optional("Status", "live"), optional("LastSyncTime", http_date(last_sync)))
    return write_document(element("StorageServiceStats", replication))


def _read_logging(item: Element) -> Logging:
    return Logging(
        version=child(item, "Version", str) or "1.0",
        read=child(item, "Read", boolean) or False,
        write=child(item, "Write", boolean) or False,
        delete=child(item, "Delete", boolean) or False,
        retention=_read_retention(item.find("RetentionPolicy")),
    )


def _read_metrics(item: Element) -> Metrics:
    return Metrics(
        version=child(item, "Version", str) or "1.0",
        enabled=child(item, "Enabled", boolean) or False,
        include_apis=child(item, "IncludeAPIs", boolean),
        retention=_read_retention(item.find("RetentionPolicy")),
    )


def _read_retention(item: Element | None) -> Retention:
    return Retention(child(item, "Enabled", boolean) or False, child(item, "Days", number))


def _read_rule(item: Element) -> CorsRule:
    return CorsRule(
        allowed_origins=_listed(item, "AllowedOrigins"),
        allowed_methods=_listed(item, "AllowedMethods"),
        allowed_headers=_listed(item, "AllowedHeaders"),
        exposed_headers=_listed(item, "ExposedHeaders"),
        max_age_in_seconds=child(item, "MaxAgeInSeconds", number) or 0,
    )


def _listed(item: Element, name: str) -> tuple[str, ...]:
    text = child(item, name, str)
    return () if text is None else tuple(text.split(","))


def _logging(logging: Logging) -> str:
    return element(
        "Logging",
        optional("Version", logging.version),
        optional("Read", logging.read),
        optional("Write", logging.write),
        optional("Delete", logging.delete),
        _retention(logging.retention),
    )


def _metrics(name: str, metrics: Metrics) -> str:
    return element(
        name,
        optional("Version", metrics.version),
        optional("Enabled", metrics.enabled),
        optional("IncludeAPIs", metrics.include_apis),
        _retention(metrics.retention),
    )


def _retention(retention: Retention) -> str:
    return element("RetentionPolicy", optional("Enabled", retention.enabled), optional("Days", retention.days))


def _rule(rule: CorsRule) -> str:
    return element(
        "CorsRule",
        optional("AllowedOrigins", ",".join(rule.allowed_origins)),
        optional("AllowedMethods", ",".join(rule.allowed_methods)),
        optional("AllowedHeaders", ",".join(rule.allowed_headers)),
        optional("ExposedHeaders", ",".join(rule.exposed_headers)),
        optional("MaxAgeInSeconds", rule.max_age_in_seconds),
    )
