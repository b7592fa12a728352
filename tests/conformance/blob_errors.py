"""The exact errors of the Blob service; those that queues share are in `queue_errors`."""

from __future__ import annotations

from conformance.service_errors import ServiceError

NO_CONTAINER = ServiceError(404, "ContainerNotFound", "The specified container does not exist.")
CONTAINER_EXISTS = ServiceError(409, "ContainerAlreadyExists", "The specified container already exists.")
NO_BLOB = ServiceError(404, "BlobNotFound", "The specified blob does not exist.")
BLOB_EXISTS = ServiceError(409, "BlobAlreadyExists", "The specified blob already exists.")
WRONG_KIND = ServiceError(409, "InvalidBlobType", "The blob type is invalid for this operation.")
SNAPSHOTS_PRESENT = ServiceError(
    409, "SnapshotsPresent", "This operation is not permitted because the blob has snapshots."
)
ARCHIVED = ServiceError(409, "BlobArchived", "This operation is not permitted on an archived blob.")

UNMET = ServiceError(412, "ConditionNotMet", "The condition specified using HTTP conditional header(s) is not met.")
SOURCE_UNMET = ServiceError(
    412, "SourceConditionNotMet", "The source condition specified using HTTP conditional header(s) is not met."
)
TARGET_UNMET = ServiceError(
    412, "TargetConditionNotMet", "The target condition specified using HTTP conditional header(s) is not met."
)
MANY_CONDITIONS = ServiceError(
    400, "MultipleConditionHeadersNotSupported", "Multiple condition headers are not supported."
)
OUT_OF_BLOB = ServiceError(416, "InvalidRange", "The range specified is invalid for the current size of the resource.")

WRONG_MD5 = ServiceError(
    400,
    "Md5Mismatch",
    "The MD5 value specified in the request did not match with the MD5 value calculated by the server.",
)
NO_MD5 = ServiceError(
    400,
    "InvalidMd5",
    "The MD5 value specified in the request is invalid. MD5 value must be 128 bits and base64 encoded.",
)
WRONG_CRC64 = ServiceError(
    400,
    "Crc64Mismatch",
    "The CRC64 value specified in the request did not match with the CRC64 value calculated by the server.",
)

BAD_HEADER = ServiceError(
    400, "InvalidHeaderValue", "The value for one of the HTTP headers is not in the correct format."
)
NO_HEADER = ServiceError(
    400, "MissingRequiredHeader", "An HTTP header that's mandatory for this request is not specified."
)
BAD_BLOCK = ServiceError(400, "InvalidBlobOrBlock", "The specified blob or block content is invalid.")
BAD_BLOCK_LIST = ServiceError(400, "InvalidBlockList", "The specified block list is invalid.")
OTHER_POSITION = ServiceError(
    412, "AppendPositionConditionNotMet", "The append position condition specified was not met."
)
TOO_LARGE = ServiceError(412, "MaxBlobSizeConditionNotMet", "The max blob size condition specified was not met.")
SEALED = ServiceError(
    409,
    "BlobIsSealed",
    "The blob is sealed and its contents cannot be modified.",
)
OVERWRITES = ServiceError(
    403, "UnauthorizedBlobOverwrite", "This request is not authorized to perform blob overwrites."
)
NO_PENDING_COPY = ServiceError(409, "NoPendingCopyOperation", "There is currently no pending copy operation.")

ALREADY_LEASED = ServiceError(409, "LeaseAlreadyPresent", "There is already a lease present.")
LEASE_MISSING = ServiceError(
    412, "LeaseIdMissing", "There is currently a lease on the blob and no lease ID was specified in the request."
)
OTHER_LEASE = ServiceError(
    412, "LeaseIdMismatchWithBlobOperation", "The lease ID specified did not match the lease ID for the blob."
)
NO_LEASE = ServiceError(412, "LeaseNotPresentWithBlobOperation", "There is currently no lease on the blob.")
CONTAINER_LEASE_MISSING = ServiceError(
    412,
    "LeaseIdMissing",
    "There is currently a lease on the container and no lease ID was specified in the request.",
)
OTHER_CONTAINER_LEASE = ServiceError(
    412,
    "LeaseIdMismatchWithContainerOperation",
    "The lease ID specified did not match the lease ID for the container.",
)
INFINITE_REQUIRED = ServiceError(
    412,
    "InfiniteLeaseDurationRequired",
    "The lease ID matched, but the specified lease must be an infinite-duration lease.",
)
