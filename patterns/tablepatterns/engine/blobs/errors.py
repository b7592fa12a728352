"""Every answer of the Blob service that is not a success and that no other service gives, word for word."""

from __future__ import annotations

from typing import Final

from ..errors import Answer

# -- Containers and blobs

CONTAINER_NOT_FOUND: Final = Answer("ContainerNotFound", "The specified container does not exist.")
CONTAINER_ALREADY_EXISTS: Final = Answer("ContainerAlreadyExists", "The specified container already exists.")
CONTAINER_BEING_DELETED: Final = Answer("ContainerBeingDeleted", "The specified container is being deleted.")
BLOB_NOT_FOUND: Final = Answer("BlobNotFound", "The specified blob does not exist.")
BLOB_ALREADY_EXISTS: Final = Answer("BlobAlreadyExists", "The specified blob already exists.")
BLOB_NAME_LENGTH: Final = Answer("InvalidUri", "The requested URI does not represent any resource on the server.")
INVALID_BLOB_TYPE: Final = Answer("InvalidBlobType", "The blob type is invalid for this operation.")
UNAUTHORIZED_OVERWRITE: Final = Answer(
    "UnauthorizedBlobOverwrite", "This request is not authorized to perform blob overwrites."
)
SNAPSHOTS_PRESENT: Final = Answer("SnapshotsPresent", "This operation is not permitted because the blob has snapshots.")

# -- Headers and tags

INVALID_HEADER: Final = Answer(
    "InvalidHeaderValue", "The value for one of the HTTP headers is not in the correct format."
)
MISSING_HEADER: Final = Answer(
    "MissingRequiredHeader", "An HTTP header that's mandatory for this request is not specified."
)
INVALID_LEASE_DURATION: Final = INVALID_HEADER.about(HeaderName="x-ms-lease-duration")
INVALID_BREAK_PERIOD: Final = INVALID_HEADER.about(HeaderName="x-ms-lease-break-period")
INVALID_CONTENT_LENGTH: Final = INVALID_HEADER.about(HeaderName="Content-Length")
INVALID_TAGS: Final = Answer("InvalidTag", "The specified tags are invalid.")

# -- Checksums

INVALID_MD5: Final = Answer(
    "InvalidMd5", "The MD5 value specified in the request is invalid. MD5 value must be 128 bits and base64 encoded."
)
MD5_MISMATCH: Final = Answer(
    "Md5Mismatch",
    "The MD5 value specified in the request did not match with the MD5 value calculated by the server.",
)
INVALID_CRC64: Final = Answer(
    "InvalidCrc64",
    "The CRC64 value specified in the request is invalid. CRC64 value must be 64 bits and base64 encoded.",
)
CRC64_MISMATCH: Final = Answer(
    "Crc64Mismatch",
    "The CRC64 value specified in the request did not match with the CRC64 value calculated by the server.",
)
BOTH_CHECKSUMS: Final = Answer(
    "BothCrc64AndMd5HeaderPresent", "Both x-ms-content-crc64 header and Content-MD5 header are present."
)

# -- Conditions

CONDITION_NOT_MET: Final = Answer(
    "ConditionNotMet", "The condition specified using HTTP conditional header(s) is not met."
)
NOT_MODIFIED: Final = Answer(CONDITION_NOT_MET.code, CONDITION_NOT_MET.text)
"""The same words for a read, whose status is another."""
SOURCE_CONDITION_NOT_MET: Final = Answer(
    "SourceConditionNotMet", "The source condition specified using HTTP conditional header(s) is not met."
)
TARGET_CONDITION_NOT_MET: Final = Answer(
    "TargetConditionNotMet", "The target condition specified using HTTP conditional header(s) is not met."
)
UNSATISFIABLE_CONDITION: Final = Answer(
    "UnsatisfiableCondition", "The request includes an unsatisfiable condition for this operation."
)
CONDITIONS_NOT_SUPPORTED: Final = Answer("ConditionHeadersNotSupported", "Condition headers are not supported.")
MULTIPLE_CONDITIONS: Final = Answer(
    "MultipleConditionHeadersNotSupported", "Multiple condition headers are not supported."
)
INVALID_RANGE: Final = Answer("InvalidRange", "The range specified is invalid for the current size of the resource.")

# -- Blocks

INVALID_BLOB_OR_BLOCK: Final = Answer("InvalidBlobOrBlock", "The specified blob or block content is invalid.")
INVALID_BLOCK_LIST: Final = Answer("InvalidBlockList", "The specified block list is invalid.")
BLOCK_LIST_TOO_LONG: Final = Answer("BlockListTooLong", "The block list may not contain more than 50,000 blocks.")
TOO_MANY_UNCOMMITTED_BLOCKS: Final = Answer(
    "BlockCountExceedsLimit", "The uncommitted block count cannot exceed the maximum limit of 100,000 blocks."
)
TOO_MANY_BLOCKS: Final = Answer(
    "BlockCountExceedsLimit", "The committed block count cannot exceed the maximum limit of 50,000 blocks."
)
APPEND_POSITION_NOT_MET: Final = Answer(
    "AppendPositionConditionNotMet", "The append position condition specified was not met."
)
MAX_SIZE_NOT_MET: Final = Answer("MaxBlobSizeConditionNotMet", "The max blob size condition specified was not met.")
BLOB_IS_SEALED: Final = Answer(
    "BlobIsSealed",
    "The specified blob is sealed, and its contents can't be modified unless the blob is re-created after a delete.",
)
BLOB_ARCHIVED: Final = Answer("BlobArchived", "This operation is not permitted on an archived blob.")

# -- Copies

CANNOT_VERIFY_COPY_SOURCE: Final = Answer("CannotVerifyCopySource", "Could not verify copy source.")
"""What the source itself answers takes the place of the text."""
NO_PENDING_COPY: Final = Answer("NoPendingCopyOperation", "There is currently no pending copy operation.")

# -- Leases; the resource is a blob or a container

LEASE_ALREADY_PRESENT: Final = Answer("LeaseAlreadyPresent", "There is already a lease present.")
LEASE_NOT_PRESENT: Final = Answer("LeaseNotPresentWithLeaseOperation", "There is currently no lease on the {resource}.")
LEASE_ID_MISMATCH: Final = Answer(
    "LeaseIdMismatchWithLeaseOperation", "The lease ID specified did not match the lease ID for the {resource}."
)
LEASE_ID_MISSING: Final = Answer(
    "LeaseIdMissing", "There is currently a lease on the {resource} and no lease ID was specified in the request."
)
LEASE_LOST: Final = Answer("LeaseLost", "A lease ID was specified, but the lease for the {resource} has expired.")
LEASE_IS_BREAKING: Final = Answer(
    "LeaseIsBreakingAndCannotBeAcquired",
    "The lease ID matched, but the lease is currently in breaking state and cannot be acquired until it is broken.",
)
LEASE_CANNOT_BE_CHANGED: Final = Answer(
    "LeaseIsBreakingAndCannotBeChanged",
    "The lease ID matched, but the lease is currently in breaking state and cannot be changed.",
)
LEASE_IS_BROKEN: Final = Answer(
    "LeaseIsBrokenAndCannotBeRenewed",
    "The lease ID matched, but the lease has been broken explicitly and cannot be renewed.",
)
INFINITE_LEASE_REQUIRED: Final = Answer(
    "InfiniteLeaseDurationRequired",
    "The lease ID matched, but the specified lease must be an infinite-duration lease.",
)
BLOB_LEASE_NOT_PRESENT: Final = Answer("LeaseNotPresentWithBlobOperation", "There is currently no lease on the blob.")
BLOB_LEASE_MISMATCH: Final = Answer(
    "LeaseIdMismatchWithBlobOperation", "The lease ID specified did not match the lease ID for the blob."
)
CONTAINER_LEASE_NOT_PRESENT: Final = Answer(
    "LeaseNotPresentWithContainerOperation", "There is currently no lease on the container."
)
CONTAINER_LEASE_MISMATCH: Final = Answer(
    "LeaseIdMismatchWithContainerOperation", "The lease ID specified did not match the lease ID for the container."
)
