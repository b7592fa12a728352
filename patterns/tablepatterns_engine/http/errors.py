"""HTTP status and response body of each error, of a service."""

from __future__ import annotations

from json.encoder import encode_basestring_ascii as quoted
from typing import Final

from tablepatterns.edm import Ticks

from ..errors import ServiceError
from ..tables.json import Level
from .headers import seven_digits
from .message import Response
from .xml import PROLOGUE, element, optional, write_document, xml_text

_STATUSES: Final = {
    "NoAuthenticationInformation": 401,
    "InvalidAuthenticationInfo": 401,
    "AuthenticationFailed": 403,
    "AuthorizationFailure": 403,
    "AuthorizationPermissionMismatch": 403,
    "AuthorizationResourceTypeMismatch": 403,
    "AuthorizationServiceMismatch": 403,
    "AuthorizationProtocolMismatch": 403,
    "AuthorizationSourceIPMismatch": 403,
    "InsufficientAccountPermissions": 403,
    "UnauthorizedBlobOverwrite": 403,
    "ResourceNotFound": 404,
    "TableNotFound": 404,
    "QueueNotFound": 404,
    "MessageNotFound": 404,
    "ContainerNotFound": 404,
    "BlobNotFound": 404,
    "UnsupportedHttpVerb": 405,
    "EntityAlreadyExists": 409,
    "TableAlreadyExists": 409,
    "TableBeingDeleted": 409,
    "QueueAlreadyExists": 409,
    "QueueBeingDeleted": 409,
    "ContainerAlreadyExists": 409,
    "ContainerBeingDeleted": 409,
    "BlobAlreadyExists": 409,
    "BlobArchived": 409,
    "BlobIsSealed": 409,
    "BlockCountExceedsLimit": 409,
    "InvalidBlobType": 409,
    "LeaseAlreadyPresent": 409,
    "LeaseIdMismatchWithLeaseOperation": 409,
    "LeaseIsBreakingAndCannotBeAcquired": 409,
    "LeaseIsBreakingAndCannotBeChanged": 409,
    "LeaseIsBrokenAndCannotBeRenewed": 409,
    "LeaseNotPresentWithLeaseOperation": 409,
    "NoPendingCopyOperation": 409,
    "SnapshotsPresent": 409,
    "UpdateConditionNotSatisfied": 412,
    "AppendPositionConditionNotMet": 412,
    "ConditionNotMet": 412,
    "InfiniteLeaseDurationRequired": 412,
    "LeaseIdMismatchWithBlobOperation": 412,
    "LeaseIdMismatchWithContainerOperation": 412,
    "LeaseIdMissing": 412,
    "LeaseLost": 412,
    "LeaseNotPresentWithBlobOperation": 412,
    "LeaseNotPresentWithContainerOperation": 412,
    "MaxBlobSizeConditionNotMet": 412,
    "SourceConditionNotMet": 412,
    "TargetConditionNotMet": 412,
    "RequestBodyTooLarge": 413,
    "AtomFormatNotSupported": 415,
    "MediaTypeNotSupported": 415,
    "InvalidRange": 416,
    "OperationTimedOut": 500,
    "NotImplemented": 501,
    "ServerBusy": 503,
}


def status_of(code: str) -> int:
    """Return the status of a code; by default, 400 Bad Request."""
    return _STATUSES.get(code, 400)


_NAMESPACE: Final = "http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"


class ErrorWriter:
    """Writes error responses with a request's id and time.

    :param request_id: the id, which is in the response's header too
    """

    __slots__ = ("_stamp",)

    def __init__(self, request_id: str, moment: Ticks) -> None:
        self._stamp = f"\nRequestId:{request_id}\nTime:{seven_digits(moment)}"

    def in_json(self, error: ServiceError) -> Response:
        """Return the error of an entity or table operation for clients that ask for JSON."""
        message = f'"message":{{"lang":"en-US","value":{quoted(error.message + self._stamp)}}}'
        body = f'{{"odata.error":{{"code":"{error.code}",{message}}}}}'
        return Response(status_of(error.code), {"Content-Type": Level.MINIMAL.content_type}, body.encode())

    def in_xml(self, error: ServiceError) -> Response:
        """Return the error of an entity or table operation for other clients."""
        body = f'{PROLOGUE}<error xmlns="{_NAMESPACE}">{self._elements(error, "")}</error>'
        return Response(status_of(error.code), {"Content-Type": "application/xml;charset=utf-8"}, body.encode())

    def of_service(self, error: ServiceError) -> Response:
        """Return the error of an operation on access policies, service properties or statistics."""
        body = f'{PROLOGUE}<m:error xmlns:m="{_NAMESPACE}">{self._elements(error, "m:")}</m:error>'
        headers = {"Content-Type": "application/xml", "x-ms-error-code": error.code}
        return Response(status_of(error.code), headers, body.encode(), error.message)

    def of_storage(self, error: ServiceError) -> Response:
        """Return an error of the Queue or the Blob service, with its details."""
        code, message = optional("Code", error.code), optional("Message", error.message + self._stamp)
        details = [optional(name, value) for name, value in error.error_message.details]
        headers = {"Content-Type": "application/xml", "x-ms-error-code": error.code}
        body = write_document(element("Error", code, message, *details))
        return Response(status_of(error.code), headers, body, error.message)

    def _elements(self, error: ServiceError, prefix: str) -> str:
        message = xml_text(error.message + self._stamp)
        return f'<{prefix}code>{error.code}</{prefix}code><{prefix}message xml:lang="en-US">{message}</{prefix}message>'
