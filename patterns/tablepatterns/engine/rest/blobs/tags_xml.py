"""Tags in XML, and in a header."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl

from ...blob_texts import INVALID_TAGS
from ...refusal import Refusal
from ...texts import INVALID_XML_DOCUMENT
from ..xml_document import element, read_document, write_document, xml_text


def read_tags(body: bytes) -> dict[str, str]:
    """Return the tags in the body of a request.

    :raises Refusal: InvalidXmlDocument; InvalidTag for a name that comes twice
    """
    found: list[tuple[str, str]] = []
    for tag in read_document(body, "Tags").findall("TagSet/Tag"):
        name = tag.findtext("Key")
        if name is None:
            raise Refusal(INVALID_XML_DOCUMENT)
        found.append((name, tag.findtext("Value") or ""))
    return _once(found)


def read_tags_header(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the tags in the header of a write, which looks like a query.

    :raises Refusal: InvalidTag
    """
    text = headers.get("x-ms-tags")
    if not text:
        return {}
    try:
        return _once(parse_qsl(text, keep_blank_values=True, strict_parsing=True))
    except ValueError as error:
        raise Refusal(INVALID_TAGS) from error


def write_tags(tags: Mapping[str, str]) -> bytes:
    """Return tags as a document."""
    return write_document(tags_element(tags))


def tags_element(tags: Mapping[str, str]) -> str:
    """Return tags as an element."""
    found = [element("Tag", element("Key", xml_text(name)), element("Value", xml_text(tags[name]))) for name in tags]
    return element("Tags", element("TagSet", *found))


def _once(tags: list[tuple[str, str]]) -> dict[str, str]:
    found = dict(tags)
    if len(found) < len(tags):
        raise Refusal(INVALID_TAGS)
    return found
