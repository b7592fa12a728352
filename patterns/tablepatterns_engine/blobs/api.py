"""The REST interface of the Blob service: authorize a request, run its operation, write the ledger record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import Final

from tablepatterns.limits import MAX_PUT_BLOB_BYTES, MIB

from .. import errors
from ..errors import ServiceError
from ..http import service_properties
from ..http.api import Service
from ..http.authorization import Authorization
from ..http.call import AnyCall
from ..http.headers import parse_flag, parse_int32
from ..http.message import Response
from ..http.permissions import WRITE_SERVICE, Need, Permit
from ..http.service_properties import get_statistics, reject_unsupported
from ..http.shared_key import storage_texts
from ..http.xml import check_children, child, element, optional, read_document, storage_error
from . import container_api, read_api, write_api
from .body import InvalidRangeError
from .call import ACCOUNT, LIST_BLOBS, READ, READ_CONTAINER, BlobAccess, BlobCall, InvalidRevisionError
from .container_api import lease_blob, lease_container, run_batch
from .state import PublicAccess
from .write_api import CopySourceError

_NOT_HERE: Final[Mapping[str, Set[str]]] = {
    "DeleteRetentionPolicy": {"Enabled", "Days", "AllowPermanentDelete"},
    "StaticWebsite": {"Enabled", "IndexDocument", "ErrorDocument404Path", "DefaultIndexDocumentPath"},
}
"""The elements of properties that can only be disabled."""
_FIRST_WITH_NAMESPACE: Final = "2019-07-07"
_DISABLED: Final = (
    element("DeleteRetentionPolicy", optional("Enabled", False), optional("AllowPermanentDelete", False)),
    element("StaticWebsite", optional("Enabled", False)),
)


def get_account(call: BlobCall) -> Response:
    call.begin("GetAccountInformation", ACCOUNT)
    call.reach_state()
    kind = {"x-ms-sku-name": "Standard_RAGRS", "x-ms-account-kind": "StorageV2"}
    namespace = {"x-ms-is-hns-enabled": "false"} if call.version >= _FIRST_WITH_NAMESPACE else {}
    return Response(200, {**kind, **namespace})


def set_properties(call: BlobCall) -> Response:
    """Replace the properties of the service that the request names; deleted blobs cannot be kept."""
    call.begin("SetBlobServiceProperties", WRITE_SERVICE)
    root = read_document(call.request.body, "StorageServiceProperties")
    for name, elements in _NOT_HERE.items():
        node = root.find(name)
        check_children(node, elements)
        is_enabled = child(node, "Enabled", parse_flag)
        if node is not None and is_enabled is None:
            raise ServiceError(errors.MISSING_XML_NODE)
        child(node, "Days", parse_int32)
        if is_enabled or child(node, "AllowPermanentDelete", parse_flag):
            raise ServiceError(errors.NOT_IMPLEMENTED)
    return service_properties.set_properties(call, {*_NOT_HERE, "DefaultServiceVersion"})


@dataclass(frozen=True)
class PublicPermit(Permit):
    """What anyone may do with a public container or its blobs."""

    access: PublicAccess

    def check(self, need: Need, resource: str = "") -> None:
        """Allow only reading blobs and, if the container is public, its properties and its list."""
        of_container = need in (LIST_BLOBS, READ_CONTAINER) and self.access is PublicAccess.CONTAINER
        if need is not READ and not of_container:
            raise ServiceError(errors.NO_AUTHENTICATION_INFORMATION)


class BlobAuthorization(Authorization):
    """Determines what the sender of a request may do; without a credential, only public access."""

    __slots__ = ()

    def permit(self, call: AnyCall) -> Permit:
        if "authorization" not in call.request.headers and "sig" not in call.address.query:
            access = call.settings.containers.public_access(call.resource)
            if access is not PublicAccess.NONE:
                return PublicPermit(access)
        return super().permit(call)


_WRITES: Final = frozenset(
    f"{name}{suffix}" for name in ("PutBlob", "PutBlock", "AppendBlock", "CopyBlob") for suffix in ("", "FromURL")
) | {"PutBlockList", "AppendBlobSeal", "SnapshotBlob", "DeleteBlob"}.union(
    f"SetBlob{name}" for name in ("Properties", "Metadata", "Tags", "Tier")
)
_MAX_BODY: Final = MAX_PUT_BLOB_BYTES + MIB
"""The largest blob that can be written as a whole, and what a structured body adds to it."""


_HANDLERS: Final[Mapping[tuple[str, str], Callable[[BlobCall], Response]]] = {
    ("account", "GET"): get_account,
    ("account", "HEAD"): get_account,
    ("properties", "GET"): lambda call: service_properties.get_properties(call, *_DISABLED),
    ("properties", "PUT"): set_properties,
    ("stats", "GET"): get_statistics,
    ("containers", "GET"): container_api.list_containers,
    ("container", "PUT"): container_api.create_container,
    ("container", "DELETE"): container_api.delete_container,
    ("container", "GET"): container_api.get_properties,
    ("container", "HEAD"): container_api.get_properties,
    ("container metadata", "GET"): container_api.get_metadata,
    ("container metadata", "HEAD"): container_api.get_metadata,
    ("container metadata", "PUT"): container_api.set_metadata,
    ("container acl", "GET"): container_api.get_access,
    ("container acl", "HEAD"): container_api.get_access,
    ("container acl", "PUT"): container_api.set_access,
    ("container lease", "PUT"): lease_container,
    ("blobs", "GET"): read_api.list_blobs,
    ("batch", "POST"): run_batch,
    ("blob", "GET"): read_api.get_blob,
    ("blob", "HEAD"): read_api.get_properties,
    ("blob", "PUT"): write_api.put,
    ("blob", "DELETE"): write_api.delete_blob,
    ("metadata", "GET"): read_api.get_metadata,
    ("metadata", "HEAD"): read_api.get_metadata,
    ("metadata", "PUT"): write_api.set_metadata,
    ("headers", "PUT"): write_api.set_headers,
    ("lease", "PUT"): lease_blob,
    ("snapshot", "PUT"): write_api.take_snapshot,
    ("block", "PUT"): write_api.put_block,
    ("block list", "GET"): read_api.get_block_list,
    ("block list", "PUT"): write_api.put_block_list,
    ("append block", "PUT"): write_api.append_block,
    ("seal", "PUT"): write_api.seal,
    ("copy", "PUT"): write_api.abort_copy,
    ("tier", "PUT"): write_api.set_tier,
    ("tags", "GET"): read_api.get_tags,
    ("tags", "PUT"): write_api.set_tags,
    **{(kind, verb): reject_unsupported for kind in ("unknown", "search") for verb in ("GET", "PUT", "POST", "DELETE")},
    ("delegation key", "POST"): reject_unsupported,
}


def _write_error(call: BlobCall, error: ServiceError) -> Response:
    response = storage_error(call, error)
    if isinstance(error, CopySourceError):
        response.status = error.status
        response.headers |= error.headers
    if response.status == 304:
        return Response(304, {"x-ms-error-code": error.code}, reason=error.message)
    if isinstance(error, InvalidRevisionError):
        del response.headers["x-ms-error-code"]
    if isinstance(error, InvalidRangeError):
        response.headers["Content-Range"] = f"bytes */{error.size}"
    return response


BLOBS: Final = Service(
    BlobCall.service,
    BlobCall,
    _HANDLERS,
    _write_error,
    BlobAccess,
    storage_texts,
    BlobAuthorization,
    max_body=_MAX_BODY,
    writes=_WRITES,
)
