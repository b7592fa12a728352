"""A list of containers in XML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from ....edm import Ticks
from ...container import ContainerProperties
from ...leases import State
from ..moments import http_date
from ..xml_document import element, optional
from .blob_headers import duration_of
from .list_xml import metadata_element, name_element, repeated, write_list

_OPTIONS: Final = {"prefix": "Prefix", "marker": "Marker", "maxresults": "MaxResults"}


def write_containers(
    containers: Iterable[ContainerProperties], base: str, query: Mapping[str, str], following: str, now: Ticks
) -> bytes:
    """Return a page of the list of containers as a document."""
    with_metadata = "metadata" in query.get("include", "").split(",")
    items = (_container(each, now, with_metadata) for each in containers)
    return write_list(base, None, repeated(query, _OPTIONS), items, "Containers", following)


def _container(container: ContainerProperties, now: Ticks, with_metadata: bool) -> str:
    state = container.lease.state(now)
    properties = [
        optional("Last-Modified", http_date(container.modified)),
        optional("Etag", container.etag),
        optional("LeaseStatus", "locked" if state.locked else "unlocked"),
        optional("LeaseState", state.value),
        optional("LeaseDuration", duration_of(container.lease) if state is State.LEASED else None),
        optional("PublicAccess", container.access.value or None),
        optional("HasImmutabilityPolicy", False),
        optional("HasLegalHold", False),
    ]
    metadata = metadata_element(container.metadata) if with_metadata else ""
    return element("Container", name_element(container.name), element("Properties", *properties), metadata)
