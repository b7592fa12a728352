"""Comparable responses, for all services: errors, parts, and XML documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeAlias, cast
from xml.etree.ElementTree import Element

from defusedxml.ElementTree import fromstring

from conformance.raw import Answer
from conformance.service_errors import service_error_in

Compared: TypeAlias = "Mapping[str, Any]"
"""All that was heard of an operation, without what must differ between two accounts."""

_NUMBER = re.compile(r"(\d+):")
_CODE = "x-ms-error-code"


class Rejected(NamedTuple):
    """How a request was rejected, without the text.

    :param number: that of the operation of a transaction which the text says it is about
    """

    status: int
    code: str | None
    number: int | None = None


def rejected(answer: Answer) -> Rejected:
    """Return what an error says; the answer to a HEAD has its code in a header only."""
    response = SimpleNamespace(status_code=answer.status, text=lambda: answer.text)
    said = service_error_in(cast("BaseException", SimpleNamespace(response=response)))
    number = _NUMBER.match(said.text or "")
    return Rejected(
        answer.status, said.code if answer.text else answer.headers.get(_CODE), int(number[1]) if number else None
    )


def parts_in(compared: Compared) -> Iterator[Any]:
    """Yield the answers to an operation, those to the parts of a batch one by one."""
    for whole in compared.get("answers", ()):
        yield from whole.get("parts", [whole]) if isinstance(whole, dict) else [whole]


def document(text: str) -> Element:
    """Return a document in XML."""
    found: Element = fromstring(text.lstrip("\ufeff"))
    return found


def members(element: Element) -> dict[str, Any]:
    """Return the attributes and the children of an element, by name; of children with one name a list."""
    found: dict[str, Any] = {f"@{name}": value for name, value in element.attrib.items()}
    for child in element:
        value = members(child) if len(child) or child.attrib else child.text or ""
        if child.tag in found:
            earlier = found[child.tag]
            value = [*(earlier if isinstance(earlier, list) else [earlier]), value]
        found[child.tag] = value
    return found
