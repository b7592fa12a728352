"""What lists of containers and lists of blobs have in common in XML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import quote

from ..xml_document import element, optional, write_document, xml_text

_NOT_XML: Final = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_list(
    base: str, container: str | None, asked: Iterable[str], items: Iterable[str], kind: str, following: str
) -> bytes:
    """Return a list as a document.

    :param base: the account's endpoint
    :param container: whose blobs are listed, None for a list of containers
    :param asked: the options of the request, which the answer repeats
    :param kind: what the items together are called
    :param following: the marker of the next page, "" on the last
    """
    owner = "" if container is None else f' ContainerName="{_attribute(container)}"'
    found = "".join([*asked, element(kind, *items), element("NextMarker", xml_text(following))])
    return write_document(
        f'<EnumerationResults ServiceEndpoint="{_attribute(base)}/"{owner}>{found}</EnumerationResults>'
    )


def repeated(query: Mapping[str, str], names: Mapping[str, str]) -> list[str]:
    """Return the options of a request as elements, as far as they are there."""
    return [optional(name, query.get(option)) for option, name in names.items()]


def name_element(name: str) -> str:
    """Return a name as an element; one that XML cannot say is percent-encoded, and says so.

    >>> name_element("a&b"), name_element("a" + chr(1))
    ('<Name>a&amp;b</Name>', '<Name Encoded="true">a%01</Name>')
    """
    if _NOT_XML.search(name):
        return f'<Name Encoded="true">{quote(name)}</Name>'
    return f"<Name>{xml_text(name)}</Name>"


def metadata_element(metadata: Mapping[str, str]) -> str:
    """Return metadata as an element."""
    return element("Metadata", *(optional(*pair) for pair in metadata.items()))


def _attribute(text: str) -> str:
    return xml_text(text).replace('"', "&quot;")
