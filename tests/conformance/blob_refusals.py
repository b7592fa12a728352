"""The refusals of the Blob service, word for word; those that queues have too are in `queue_refusals`."""

from __future__ import annotations

from conformance.refusals import Refusal

NO_CONTAINER = Refusal(404, "ContainerNotFound", "The specified container does not exist.")
CONTAINER_EXISTS = Refusal(409, "ContainerAlreadyExists", "The specified container already exists.")
NO_BLOB = Refusal(404, "BlobNotFound", "The specified blob does not exist.")
BLOB_EXISTS = Refusal(409, "BlobAlreadyExists", "The specified blob already exists.")
WRONG_KIND = Refusal(409, "InvalidBlobType", "The blob type is invalid for this operation.")
SNAPSHOTS_PRESENT = Refusal(409, "SnapshotsPresent", "This operation is not permitted because the blob has snapshots.")
ARCHIVED = Refusal(409, "BlobArchived", "This operation is not permitted on an archived blob.")

UNMET = Refusal(412, "ConditionNotMet", "The condition specified using HTTP conditional header(s) is not met.")
SOURCE_UNMET = Refusal(
    412, "SourceConditionNotMet", "The source condition specified using HTTP conditional header(s) is not met."
)
TARGET_UNMET = Refusal(
    412, "TargetConditionNotMet", "The target condition specified using HTTP conditional header(s) is not met."
)
MANY_CONDITIONS = Refusal(400, "MultipleConditionHeadersNotSupported", "Multiple condition headers are not supported.")
OUT_OF_BLOB = Refusal(416, "InvalidRange", "The range specified is invalid for the current size of the resource.")

WRONG_MD5 = Refusal(
    400,
    "Md5Mismatch",
    "The MD5 value specified in the request did not match with the MD5 value calculated by the server.",
)
NO_MD5 = Refusal(
    400,
    "InvalidMd5",
    "The MD5 value specified in the request is invalid. MD5 value must be 128 bits and base64 encoded.",
)
WRONG_CRC64 = Refusal(
    400,
    "Crc64Mismatch",
    "The CRC64 value specified in the request did not match with the CRC64 value calculated by the server.",
)

BAD_HEADER = Refusal(400, "InvalidHeaderValue", "The value for one of the HTTP headers is not in the correct format.")
NO_HEADER = Refusal(400, "MissingRequiredHeader", "An HTTP header that's mandatory for this request is not specified.")
BAD_BLOCK = Refusal(400, "InvalidBlobOrBlock", "The specified blob or block content is invalid.")
BAD_BLOCK_LIST = Refusal(400, "InvalidBlockList", "The specified block list is invalid.")
OTHER_POSITION = Refusal(412, "AppendPositionConditionNotMet", "The append position condition specified was not met.")
TOO_LARGE = Refusal(412, "MaxBlobSizeConditionNotMet", "The max blob size condition specified was not met.")
SEALED = Refusal(
    409,
    "BlobIsSealed",
    "The specified blob is sealed, and its contents can't be modified unless the blob is re-created after a delete.",
)
OVERWRITES = Refusal(403, "UnauthorizedBlobOverwrite", "This request is not authorized to perform blob overwrites.")
NO_PENDING_COPY = Refusal(409, "NoPendingCopyOperation", "There is currently no pending copy operation.")

ALREADY_LEASED = Refusal(409, "LeaseAlreadyPresent", "There is already a lease present.")
LEASE_MISSING = Refusal(
    412, "LeaseIdMissing", "There is currently a lease on the blob and no lease ID was specified in the request."
)
OTHER_LEASE = Refusal(
    412, "LeaseIdMismatchWithBlobOperation", "The lease ID specified did not match the lease ID for the blob."
)
NO_LEASE = Refusal(412, "LeaseNotPresentWithBlobOperation", "There is currently no lease on the blob.")
CONTAINER_LEASE_MISSING = Refusal(
    412,
    "LeaseIdMissing",
    "There is currently a lease on the container and no lease ID was specified in the request.",
)
OTHER_CONTAINER_LEASE = Refusal(
    412,
    "LeaseIdMismatchWithContainerOperation",
    "The lease ID specified did not match the lease ID for the container.",
)
INFINITE_REQUIRED = Refusal(
    412,
    "InfiniteLeaseDurationRequired",
    "The lease ID matched, but the specified lease must be an infinite-duration lease.",
)
