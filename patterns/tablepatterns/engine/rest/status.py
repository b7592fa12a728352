"""The HTTP status of each of the service's codes."""

from __future__ import annotations

from typing import Final

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
    "ContainerAlreadyExists": 409,
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
    """Return the status that goes with a code; every code without one of its own is a bad request."""
    return _STATUSES.get(code, 400)
