"""The Blob service's REST interface: a request in, a response out, a line in the ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from ....edm import Ticks
from ....limits import MAX_PUT_BLOB_BYTES, MIB
from ... import texts
from ...account import Engine
from ...blob_texts import NOT_MODIFIED
from ...refusal import Refusal
from ..api import Api, Service
from ..message import Request, Response
from ..refusals import Refusals
from ..service_operations import get_properties, get_statistics
from ..tokens import TrustTokens
from . import changes, reads, writes
from . import container_operations as containers
from .account_operations import get_account, set_properties
from .authorization import BlobAuthorization
from .batch import run_batch
from .call import BlobCall
from .copy_sources import SourceRefusal
from .leases import lease_blob, lease_container
from .ranges import RangeRefusal

_Handler: TypeAlias = Callable[[BlobCall], Response]

_MAX_BODY: Final = MAX_PUT_BLOB_BYTES + MIB
"""The largest blob that can be written as a whole, and what a structured body adds to it."""


def _refuse_unknown(call: BlobCall) -> Response:
    """Refuse what the service does and the engine does not: page blobs, searches by tag, and the like."""
    raise Refusal(texts.NOT_IMPLEMENTED)


_HANDLERS: Final[Mapping[tuple[str, str], _Handler]] = {
    ("account", "GET"): get_account,
    ("account", "HEAD"): get_account,
    ("properties", "GET"): get_properties,
    ("properties", "PUT"): set_properties,
    ("stats", "GET"): get_statistics,
    ("containers", "GET"): containers.list_containers,
    ("container", "PUT"): containers.create_container,
    ("container", "DELETE"): containers.delete_container,
    ("container", "GET"): containers.get_properties,
    ("container", "HEAD"): containers.get_properties,
    ("container metadata", "GET"): containers.get_metadata,
    ("container metadata", "HEAD"): containers.get_metadata,
    ("container metadata", "PUT"): containers.set_metadata,
    ("container acl", "GET"): containers.get_access,
    ("container acl", "HEAD"): containers.get_access,
    ("container acl", "PUT"): containers.set_access,
    ("container lease", "PUT"): lease_container,
    ("blobs", "GET"): reads.list_blobs,
    ("batch", "POST"): run_batch,
    ("blob", "GET"): reads.get_blob,
    ("blob", "HEAD"): reads.get_properties,
    ("blob", "PUT"): changes.put,
    ("blob", "DELETE"): changes.delete_blob,
    ("metadata", "GET"): reads.get_metadata,
    ("metadata", "HEAD"): reads.get_metadata,
    ("metadata", "PUT"): changes.set_metadata,
    ("headers", "PUT"): changes.set_headers,
    ("lease", "PUT"): lease_blob,
    ("snapshot", "PUT"): changes.take_snapshot,
    ("block", "PUT"): writes.put_block,
    ("block list", "GET"): reads.get_block_list,
    ("block list", "PUT"): writes.put_block_list,
    ("append block", "PUT"): writes.append_block,
    ("seal", "PUT"): writes.seal,
    ("copy", "PUT"): changes.abort_copy,
    ("tier", "PUT"): changes.set_tier,
    ("tags", "GET"): reads.get_tags,
    ("tags", "PUT"): changes.set_tags,
    **{(kind, verb): _refuse_unknown for kind in ("unknown", "search") for verb in ("GET", "PUT", "POST", "DELETE")},
    ("delegation key", "POST"): _refuse_unknown,
}


def _refuse(call: BlobCall, refusal: Refusal) -> Response:
    response = Refusals(call.id, call.now).of_storage(refusal)
    if refusal.answer is NOT_MODIFIED:
        return Response(304, {"x-ms-error-code": refusal.code}, reason=refusal.message)
    if isinstance(refusal, SourceRefusal):
        response.status = refusal.status
        response.headers |= refusal.headers
    if isinstance(refusal, RangeRefusal):
        response.headers["Content-Range"] = f"bytes */{refusal.size}"
    return response


class BlobApi(Api[BlobCall]):
    """Answer requests to the Blob service of one account; threads may share it.

    Every request gets an answer: what is malformed, forbidden or unknown gets the service's refusal.

    >>> api = BlobApi(Engine("contoso"))
    >>> response = api.answer(Request("GET", "https://contoso.blob.core.windows.net/?comp=list", {}))
    >>> response.status, response.headers["x-ms-error-code"]
    (401, 'NoAuthenticationInformation')

    :param engine: the account
    :param trust_tokens: whether bearer tokens over https are accepted as the owner's; "checked" accepts a JWT for this
        account or for Azure Storage that has not expired, without verifying its signature
    """

    def __init__(self, engine: Engine, *, trust_tokens: TrustTokens = False) -> None:
        authorization = BlobAuthorization(engine, trust_tokens=trust_tokens)

        def call(engine: Engine, request: Request, id: str, now: Ticks) -> BlobCall:  # noqa: A002
            return BlobCall(engine, request, id, now, authorization.permit)

        service = Service(BlobCall.service, call, _HANDLERS, _refuse, max_body=_MAX_BODY)
        super().__init__(engine, service, authorization)

    def _default_version(self) -> str:
        return self._engine.blobs.get_service_properties().default_version or super()._default_version()
