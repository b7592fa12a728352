"""Containers: list, create, delete, what they say of themselves, and who may read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ....limits import MAX_PAGE_BLOBS
from ...container import ContainerProperties, PublicAccess
from ..access import OWNER_ONLY
from ..acl_xml import read_policies, write_policies
from ..message import Response
from ..metadata import metadata_headers, read_metadata
from ..options import read_number, read_words
from .blob_headers import lease_headers, version_headers
from .call import BlobCall
from .container_xml import write_containers
from .header_values import word
from .markers import read_marker, write_marker
from .needs import CREATE_CONTAINER, DELETE_CONTAINER, LIST_CONTAINERS, READ_CONTAINER, WRITE_CONTAINER
from .terms import read_container_terms, read_lease

_ACCESS: Final = "x-ms-blob-public-access"
_INCLUDES: Final = frozenset({"metadata", "deleted", "system"})
"""There are no deleted containers and no containers of the system, so none are listed."""
_XML: Final = {"Content-Type": "application/xml"}


def list_containers(call: BlobCall) -> Response:
    """Return a page of the list of containers."""
    call.begin("ListContainers", LIST_CONTAINERS)
    query = call.address.query
    read_words(query, "include", _INCLUDES)
    start, _ = read_marker(query.get("marker", ""))
    limit = read_number(query, "maxresults", MAX_PAGE_BLOBS)
    containers, following = call.containers.page(query.get("prefix", ""), start, limit)
    call.notes.returned = len(containers)
    marker = "" if following is None else write_marker((following, 0))
    return Response(200, {**_XML}, write_containers(containers, call.address.base, query, marker, call.now))


def create_container(call: BlobCall) -> Response:
    """Create a container."""
    call.begin("CreateContainer", CREATE_CONTAINER)
    metadata, access = read_metadata(call.request), _read_access(call.request.headers)
    return Response(201, _version(call.containers.create(call.resource, metadata, access)))


def delete_container(call: BlobCall) -> Response:
    """Delete a container and all that is in it."""
    call.begin("DeleteContainer", DELETE_CONTAINER)
    call.containers.delete(call.resource, read_container_terms(call.request.headers))
    return Response(202, {})


def get_properties(call: BlobCall) -> Response:
    """Return what a container says of itself."""
    call.begin("GetContainerProperties", READ_CONTAINER)
    container = call.containers.get(call.resource, read_lease(call.request.headers))
    return Response(
        200,
        {
            **_version(container),
            **metadata_headers(container.metadata),
            **lease_headers(container.lease, call.now),
            **_public(container),
            "x-ms-has-immutability-policy": "false",
            "x-ms-has-legal-hold": "false",
        },
    )


def get_metadata(call: BlobCall) -> Response:
    """Return the metadata of a container."""
    call.begin("GetContainerMetadata", READ_CONTAINER)
    container = call.containers.get(call.resource, read_lease(call.request.headers))
    return Response(200, {**_version(container), **metadata_headers(container.metadata)})


def set_metadata(call: BlobCall) -> Response:
    """Replace the metadata of a container."""
    call.begin("SetContainerMetadata", WRITE_CONTAINER)
    terms = read_container_terms(call.request.headers)
    return Response(200, _version(call.containers.set_metadata(call.resource, read_metadata(call.request), terms)))


def get_access(call: BlobCall) -> Response:
    """Return what is public of a container, and its stored access policies."""
    call.begin("GetContainerACL", OWNER_ONLY)
    container = call.containers.get(call.resource, read_lease(call.request.headers))
    headers = {**_version(container), **_public(container), **_XML}
    return Response(200, headers, write_policies(container.policies))


def set_access(call: BlobCall) -> Response:
    """Replace what is public of a container, and its stored access policies."""
    call.begin("SetContainerACL", OWNER_ONLY)
    headers = call.request.headers
    policies, access = read_policies(call.request.body), _read_access(headers)
    return Response(
        200, _version(call.containers.set_access(call.resource, access, policies, read_container_terms(headers)))
    )


def _version(container: ContainerProperties) -> dict[str, str]:
    return version_headers(container.etag, container.modified)


def _public(container: ContainerProperties) -> Mapping[str, str]:
    return {_ACCESS: container.access.value} if container.access is not PublicAccess.NONE else {}


def _read_access(headers: Mapping[str, str]) -> PublicAccess:
    return word(headers, _ACCESS, PublicAccess) or PublicAccess.NONE
