"""The account, and the properties of the Blob service."""

from __future__ import annotations

from typing import Final

from ... import texts
from ...refusal import Refusal
from .. import service_operations
from ..access import WRITE_SERVICE
from ..message import Response
from ..xml_document import boolean, child, read_document
from .call import BlobCall
from .needs import ACCOUNT

_NOT_HERE: Final = ("DeleteRetentionPolicy", "StaticWebsite")


def get_account(call: BlobCall) -> Response:
    """Return what kind of account this is."""
    call.begin("GetAccountInformation", ACCOUNT)
    call.reach_state()
    kind = {"x-ms-sku-name": "Standard_RAGRS", "x-ms-account-kind": "StorageV2", "x-ms-is-hns-enabled": "false"}
    return Response(200, kind)


def set_properties(call: BlobCall) -> Response:
    """Replace the properties of the service that the request names; deleted blobs cannot be kept.

    :raises Refusal: NotImplemented for what would have an effect that the engine does not have
    """
    call.begin("SetBlobServiceProperties", WRITE_SERVICE)
    root = read_document(call.request.body, "StorageServiceProperties")
    if any(child(root.find(name), "Enabled", boolean) for name in _NOT_HERE):
        raise Refusal(texts.NOT_IMPLEMENTED)
    return service_operations.set_properties(call)
