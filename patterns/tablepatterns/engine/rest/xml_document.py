"""XML from the wire, which is parsed without entities or external references, and XML for it."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Final, TypeVar
from xml.etree.ElementTree import ParseError

from defusedxml.ElementTree import fromstring

from ..refusal import Refusal
from ..texts import INVALID_XML_DOCUMENT

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

PROLOGUE: Final = '<?xml version="1.0" encoding="utf-8"?>'
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_NOT_XML: Final = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BOOLEANS: Final = {"true": True, "false": False}
_NUMBER: Final = re.compile(r"-?\d{1,9}", re.ASCII)
_Value = TypeVar("_Value")


def read_document(body: bytes, root: str) -> Element:
    """Return the root of a document.

    :raises Refusal: InvalidXmlDocument where it is no XML, has another root, or has a document type
    """
    try:
        element: Element = fromstring(body, forbid_dtd=True)
    except (ParseError, ValueError, LookupError) as error:
        raise Refusal(INVALID_XML_DOCUMENT) from error
    if element.tag != root:
        raise Refusal(INVALID_XML_DOCUMENT)
    return element


def child(parent: Element | None, name: str, read: Callable[[str], _Value]) -> _Value | None:
    """Return what a child element says, None where it is missing or empty.

    :raises Refusal: InvalidXmlDocument where `read` makes nothing of it
    """
    text = "" if parent is None else (parent.findtext(name) or "").strip()
    if not text:
        return None
    try:
        return read(text)
    except (KeyError, ValueError) as error:
        raise Refusal(INVALID_XML_DOCUMENT) from error


def boolean(text: str) -> bool:
    """Return the boolean that a text says."""
    return _BOOLEANS[text.lower()]


def number(text: str) -> int:
    """Return the integer that a text says."""
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    return int(text)


def write_document(root: str) -> bytes:
    """Return a document as the service sends it, with a byte order mark.

    :param root: the root element, written
    """
    return _BYTE_ORDER_MARK + (PROLOGUE + root).encode()


def element(name: str, *content: str) -> str:
    """Return an element with elements, or with text that is already escaped, in it."""
    return f"<{name}>{''.join(content)}</{name}>" if any(content) else f"<{name} />"


def optional(name: str, value: object | None) -> str:
    """Return an element with a value as its text, or nothing where there is no value."""
    return "" if value is None else element(name, xml_text(_spelled(value)))


def xml_text(text: str) -> str:
    """Return a text as the content of an element; what XML cannot say becomes a question mark."""
    # A parser would take a bare carriage return for a line feed
    return _NOT_XML.sub("?", escape(text, quote=False)).replace("\r", "&#xD;")


def _spelled(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
