"""Parse XML safely; read and write service properties and stored access policies; write errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import fields
from html import escape
from typing import TYPE_CHECKING, Final, TypeVar, cast
from xml.etree.ElementTree import ParseError

from defusedxml.ElementTree import fromstring

from tablepatterns.edm import Ticks
from tablepatterns.limits import MAX_RETENTION_DAYS

from .. import errors
from ..errors import ServiceError
from ..resources import AccessPolicy, CorsRule, Logging, Metrics, Retention, ServiceProperties
from .call import AnyCall
from .headers import http_date, parse_flag, parse_int32, seven_digits
from .message import Response

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

XML: Final = {"Content-Type": "application/xml"}
"""The headers of a response with a document."""
PROLOGUE: Final = '<?xml version="1.0" encoding="utf-8"?>'
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
NOT_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_Value = TypeVar("_Value")


def read_document(body: bytes, root: str) -> Element:
    try:
        element: Element = fromstring(body, forbid_dtd=True)
    except ParseError as error:
        line, column = error.position
        raise _invalid_at(line, column + 1, "Error parsing Xml content") from error
    except (ValueError, LookupError) as error:
        raise ServiceError(errors.INVALID_XML_DOCUMENT) from error
    if element.tag != root:
        raise ServiceError(errors.INVALID_XML_DOCUMENT)
    return element


def _invalid_at(line: int, position: int, reason: str) -> ServiceError:
    details = errors.INVALID_XML_DOCUMENT.with_details(LineNumber=line, LinePosition=position, Reason=reason)
    return ServiceError(details)


def child(parent: Element | None, name: str, read: Callable[[str], _Value]) -> _Value | None:
    """Return the text of a child element; None if it is missing or empty."""
    node = None if parent is None else parent.find(name)
    text = "" if node is None else text_of(node).strip()
    if not text:
        return None
    try:
        return read(text)
    except (KeyError, ValueError) as error:
        raise ServiceError(errors.INVALID_XML_DOCUMENT) from error


def text_of(node: Element) -> str:
    """Return the text of an element, which has no child elements."""
    if len(node):
        raise ServiceError(errors.INVALID_XML_DOCUMENT)
    return node.text or ""


def child_elements(parent: Element | None) -> Sequence[Element]:
    """Return the child elements of an element, which has no text beside them."""
    items = [] if parent is None else list(parent)
    texts = [] if parent is None else [parent.text, *(item.tail for item in items)]
    if any(text and text.strip() for text in texts):
        raise ServiceError(errors.INVALID_XML_DOCUMENT)
    return items


def check_children(parent: Element | None, names: Set[str]) -> None:
    """Reject child elements that are not known or not unique."""
    tags = [item.tag for item in child_elements(parent)]
    if not names >= set(tags) or len(set(tags)) < len(tags):
        raise ServiceError(errors.INVALID_XML_DOCUMENT)


def children(parent: Element | None, name: str) -> Sequence[Element]:
    """Return the elements of a list, which has no others."""
    items = child_elements(parent)
    if any(item.tag != name for item in items):
        raise ServiceError(errors.INVALID_XML_DOCUMENT)
    return items


def write_document(root: str) -> bytes:
    """Return a document with a byte order mark, as the service sends it."""
    return _BYTE_ORDER_MARK + (PROLOGUE + root).encode()


def element(name: str, *content: str) -> str:
    return f"<{name}>{''.join(content)}</{name}>" if any(content) else f"<{name} />"


def optional(name: str, value: object | None) -> str:
    """Return an element with a value, or an empty text without a value."""
    if value is None:
        return ""
    return element(name, xml_text(str(value).lower() if isinstance(value, bool) else str(value)))


def xml_text(text: str) -> str:
    """Return a text as the content of an element; what XML cannot say becomes a question mark."""
    # A parser would take a bare carriage return for a line feed
    return NOT_XML.sub("?", escape(text, quote=False)).replace("\r", "&#xD;")


_LIST_OPTIONS: Final = {"prefix": "Prefix", "marker": "Marker", "maxresults": "MaxResults"}


def write_list(
    base: str, kind: str, items: Iterable[str], query: Mapping[str, str], following: str, container: str | None = None
) -> bytes:
    """Return a list of queues, containers or blobs as a document.

    :param kind: the name of the element with the items
    :param query: the options of the request, which are in the response too
    :param following: the marker of the next page, "" on the last
    """
    owner, options = "", [optional(name, query.get(option)) for option, name in _LIST_OPTIONS.items()]
    if container is not None:
        owner = f' ContainerName="{_attribute(container)}"'
        options.append(optional("Delimiter", query.get("delimiter")))
    content = "".join([*options, element(kind, *items), element("NextMarker", xml_text(following))])
    return write_document(
        f'<EnumerationResults ServiceEndpoint="{_attribute(base)}/"{owner}>{content}</EnumerationResults>'
    )


def _attribute(text: str) -> str:
    return xml_text(text).replace('"', "&quot;")


def metadata_element(metadata: Mapping[str, str]) -> str:
    return element("Metadata", *(optional(*pair) for pair in metadata.items()))


_READERS: Final[Mapping[object, Callable[[str], object]]] = {
    "str": str,
    **dict.fromkeys(("bool", "bool | None"), parse_flag),
    **dict.fromkeys(("int", "int | None"), parse_int32),
    # The service puts prefixes of header names after whole names
    "tuple[str, ...]": lambda text: tuple(sorted(text.split(","), key=lambda name: name.endswith("*"))),
}
"""What reads the element of a field, by the field's type."""
_IRREGULAR_NAMES: Final = {"include_apis": "IncludeAPIs", "retention": "RetentionPolicy"}


def _element_name(name: str) -> str:
    return _IRREGULAR_NAMES.get(name) or name.title().replace("_", "")


def _read_fields(kind: Callable[..., _Value], item: Element) -> _Value:
    """Return a dataclass from an element with one child for each field, which only some fields need.

    A list may be empty, but not missing.
    """
    values: dict[str, object] = {}
    own_fields = fields(cast("type[Retention]", kind))
    check_children(item, {_element_name(field.name) for field in own_fields})
    is_complete = True
    for field in own_fields:
        node = item.find(_element_name(field.name))
        if field.type == "Retention":
            values |= {} if node is None else {field.name: _read_fields(Retention, node)}
        elif (value := child(item, _element_name(field.name), _READERS[field.type])) is not None:
            values[field.name] = value
        elif node is None or not field.type.startswith("tuple"):
            is_complete &= field.type.endswith("None")
    if not is_complete:
        raise ServiceError(errors.MISSING_XML_NODE)
    return kind(**values)


def _write_fields(name: str, values: Logging | Metrics | Retention | CorsRule) -> str:
    return element(
        name, *(_write_field(_element_name(field.name), getattr(values, field.name)) for field in fields(values))
    )


def _write_field(name: str, value: object) -> str:
    if isinstance(value, Retention):
        return _write_fields(name, value)
    return optional(name, ",".join(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else value)


_DAYS: Final = re.compile(rb"(?i)<Enabled>\s*true\s*</Enabled>\s*<Days>\s*(\d{1,9})\s*</Days>\s*</")


def _check_days(body: bytes) -> None:
    """Reject a retention outside 1 to 365 days, with the place at which the service notices it."""
    for policy in _DAYS.finditer(body):
        if not 1 <= int(policy[1]) <= MAX_RETENTION_DAYS:
            line, start = body.count(b"\n", 0, policy.end()) + 1, body.rfind(b"\n", 0, policy.end())
            reason = "Retention days must be greater than 0 and less than or equal to 365 days."
            raise _invalid_at(line, policy.end() - start, reason)


_PROPERTIES: Final = ("Logging", "HourMetrics", "MinuteMetrics", "Cors")


def read_properties(body: bytes, present: ServiceProperties, own: Set[str]) -> ServiceProperties:
    """Return the properties after a request to set some of them; what it does not name stays.

    :param own: the names of the properties that only this service has
    """
    root = read_document(body, "StorageServiceProperties")
    if body.rstrip().endswith(b"/>"):
        line, position = body.count(b"\n") + 1, len(body) - body.rfind(b"\n")
        reason = f"Error parsing Xml content: 'None' is an invalid XmlNodeType. Line {line}, position {position}."
        raise _invalid_at(line, position, reason)
    check_children(root, {*own, *_PROPERTIES})
    _check_days(body)
    logging, hour, minute, cors = map(root.find, _PROPERTIES)
    return ServiceProperties(
        logging=present.logging if logging is None else _read_fields(Logging, logging),
        hour_metrics=present.hour_metrics if hour is None else _read_fields(Metrics, hour),
        minute_metrics=present.minute_metrics if minute is None else _read_fields(Metrics, minute),
        cors=present.cors
        if cors is None
        else tuple(_read_fields(CorsRule, rule) for rule in children(cors, "CorsRule")),
        default_version=child(root, "DefaultServiceVersion", str) or present.default_version,
    )


def write_properties(properties: ServiceProperties, *elements: str) -> bytes:
    return write_document(
        element(
            "StorageServiceProperties",
            _write_fields("Logging", properties.logging),
            _write_fields("HourMetrics", properties.hour_metrics),
            _write_fields("MinuteMetrics", properties.minute_metrics),
            element("Cors", *(_write_fields("CorsRule", rule) for rule in properties.cors)),
            *elements,
            optional("DefaultServiceVersion", properties.default_version),
        )
    )


def write_statistics(last_sync: Ticks) -> bytes:
    replication = element("GeoReplication", optional("Status", "live"), optional("LastSyncTime", http_date(last_sync)))
    return write_document(element("StorageServiceStats", replication))


def read_policies(body: bytes) -> list[AccessPolicy]:
    """Return the policies in the body of a request; an empty body has none."""
    if not body.strip():
        return []
    return [_read_policy(item) for item in children(read_document(body, "SignedIdentifiers"), "SignedIdentifier")]


def write_policies(policies: Iterable[AccessPolicy]) -> bytes:
    return write_document(element("SignedIdentifiers", *map(_write_policy, policies)))


def _read_policy(item: Element) -> AccessPolicy:
    name, terms = child(item, "Id", str), item.find("AccessPolicy")
    check_children(item, {"Id", "AccessPolicy"})
    check_children(terms, {"Start", "Expiry", "Permission"})
    if name is None:
        raise ServiceError(errors.INVALID_XML_DOCUMENT)
    return AccessPolicy(
        name, child(terms, "Start", Ticks.parse), child(terms, "Expiry", Ticks.parse), child(terms, "Permission", str)
    )


def _write_policy(policy: AccessPolicy) -> str:
    terms = [
        optional("Start", _moment(policy.start)),
        optional("Expiry", _moment(policy.expiry)),
        optional("Permission", policy.permission),
    ]
    policy_element = element("AccessPolicy", *terms) if any(terms) else ""
    return element("SignedIdentifier", optional("Id", policy.id), policy_element)


def _moment(moment: Ticks | None) -> str | None:
    return None if moment is None else seven_digits(moment)


def stamped_message(error: ServiceError, call: AnyCall) -> str:
    """Return the text of an error as responses state it, with the id and the time of the request."""
    return f"{error.message}\nRequestId:{call.id}\nTime:{seven_digits(call.now)}"


def storage_error(call: AnyCall, error: ServiceError) -> Response:
    """Return an error of the Queue or the Blob service, with its details."""
    code, message = optional("Code", error.code), optional("Message", stamped_message(error, call))
    details = [optional(name, value) for name, value in error.error_message.details]
    headers = {**XML, "x-ms-error-code": error.code}
    body = write_document(element("Error", code, message, *details))
    return Response(error.error_message.status, headers, body, error.message)
