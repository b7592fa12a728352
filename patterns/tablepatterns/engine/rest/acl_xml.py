"""Stored access policies in XML."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...edm import Ticks
from ..policies import AccessPolicy
from ..refusal import Refusal
from ..texts import INVALID_XML_DOCUMENT
from .moments import seven_digits
from .xml_document import child, element, optional, read_document, write_document

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def read_policies(body: bytes) -> list[AccessPolicy]:
    """Return the policies in the body of a request; an empty body has none.

    :raises Refusal: InvalidXmlDocument
    """
    if not body.strip():
        return []
    return [_read_policy(item) for item in read_document(body, "SignedIdentifiers").findall("SignedIdentifier")]


def write_policies(policies: Iterable[AccessPolicy]) -> bytes:
    """Return the policies as a document."""
    return write_document(element("SignedIdentifiers", *map(_written, policies)))


def _read_policy(item: Element) -> AccessPolicy:
    name = child(item, "Id", str)
    if name is None:
        raise Refusal(INVALID_XML_DOCUMENT)
    terms = item.find("AccessPolicy")
    return AccessPolicy(
        name, child(terms, "Start", Ticks.parse), child(terms, "Expiry", Ticks.parse), child(terms, "Permission", str)
    )


def _written(policy: AccessPolicy) -> str:
    terms = [
        optional("Start", _moment(policy.start)),
        optional("Expiry", _moment(policy.expiry)),
        optional("Permission", policy.permission),
    ]
    policy_element = element("AccessPolicy", *terms) if any(terms) else ""
    return element("SignedIdentifier", optional("Id", policy.id), policy_element)


def _moment(moment: Ticks | None) -> str | None:
    return None if moment is None else seven_digits(moment)
