"""Lists of queues in XML, and the markers at which they go on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...queues import Listed
from ...refusal import Refusal
from ...texts import INVALID_MARKER
from ..xml_document import element, optional, write_document, xml_text


def read_marker(marker: str, account: str) -> str:
    """Return the name at which a page begins, "" where no marker says so.

    :raises Refusal: InvalidMarker where it is no marker of this account
    """
    if not marker:
        return ""
    empty, owner, name = (*marker.split("/", 2), "", "")[:3]
    if empty or owner != account or not name:
        raise Refusal(INVALID_MARKER)
    return name


def write_list(
    queues: Iterable[Listed], base: str, query: Mapping[str, str], account: str, following: str | None
) -> bytes:
    """Return a page of queues.

    :param base: the account's endpoint
    :param query: the options of the request, which the answer repeats
    :param following: the name at which the next page begins, None on the last
    """
    with_metadata = "metadata" in query.get("include", "").split(",")
    asked = [
        optional("Prefix", query.get("prefix")),
        optional("Marker", query.get("marker")),
        optional("MaxResults", query.get("maxresults")),
    ]
    found = element("Queues", *(_queue(queue, with_metadata) for queue in queues))
    marker = element("NextMarker", "" if following is None else f"/{account}/{following}")
    endpoint = xml_text(f"{base}/").replace('"', "&quot;")
    content = "".join([*asked, found, marker])
    return write_document(f'<EnumerationResults ServiceEndpoint="{endpoint}">{content}</EnumerationResults>')


def _queue(queue: Listed, with_metadata: bool) -> str:
    metadata = element("Metadata", *(optional(*pair) for pair in queue.metadata.items())) if with_metadata else ""
    return element("Queue", optional("Name", queue.name), metadata)
