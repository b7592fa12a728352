"""Errors of the services: the exception, and the exact code and message of each error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Final


class ServiceError(Exception):
    """The service rejects a request; nothing has changed."""

    def __init__(self, error_message: ErrorMessage) -> None:
        self.error_message = error_message
        self.code = error_message.code
        self.message = error_message.text
        super().__init__(f"{self.code}: {self.message}")


class TransactionError(ServiceError):
    """The service rejects an entity group transaction; none of its operations was applied.

    `message` starts with `<index>:` wherever the service writes that prefix: always, except if the only operation of a
    transaction is rejected by the storage.
    """

    def __init__(self, error_message: ErrorMessage, *, index: int, operations: int) -> None:
        super().__init__(error_message)
        self.index = index
        self.prefixed = operations > 1 or not error_message.storage
        if self.prefixed:
            self.message = f"{index}:{error_message.text}"


@dataclass(frozen=True, slots=True)
class ErrorMessage:
    """The HTTP status, the code and the message of an error.

    :param storage: whether the storage of a partition reports it, rather than the front end before it: in a transaction
        of one operation, the message then has no index
    :param details: names and values that the response has in addition to the message
    """

    status: int
    code: str
    text: str
    storage: bool = False
    details: tuple[tuple[str, str], ...] = ()

    def format(self, **values: object) -> ErrorMessage:
        return replace(self, code=self.code.format(**values), text=self.text.format(**values))

    def with_details(self, **details: object) -> ErrorMessage:
        """Return this message with more details, or with other values of its own."""
        values = dict(self.details) | {name: str(value) for name, value in details.items()}
        return replace(self, details=tuple(values.items()))


def _error(text: str, *, storage: bool = False) -> ErrorMessage:
    """Return the error of a line with its status, its code and its message."""
    status_and_code, _, message = text.partition(": ")
    status, code = status_and_code.split()
    return ErrorMessage(int(status), code, message, storage)


_storage_error = partial(_error, storage=True)

# -- Tables

TABLE_NOT_FOUND = _error("404 TableNotFound: The table specified does not exist.")
TABLE_ALREADY_EXISTS = _error("409 TableAlreadyExists: The table specified already exists.")
TABLE_BEING_DELETED = _error("409 TableBeingDeleted: The specified table is being deleted. Try operation later.")

# -- Entities

RESOURCE_NOT_FOUND = _storage_error("404 ResourceNotFound: The specified resource does not exist.")
ENTITY_ALREADY_EXISTS = _storage_error("409 EntityAlreadyExists: The specified entity already exists.")
UPDATE_CONDITION_NOT_SATISFIED = _storage_error(
    "412 UpdateConditionNotSatisfied: The update condition specified in the request was not satisfied."
)
ENTITY_TOO_LARGE = _storage_error("400 EntityTooLarge: The entity is larger than the maximum size permitted.")

# -- Properties

PROPERTIES_NEED_VALUE = _error(
    "400 PropertiesNeedValue: The values are not specified for all properties in the entity."
)
PROPERTY_NAME_INVALID = _error("400 PropertyNameInvalid: The property name is invalid.")
PROPERTY_NAME_TOO_LONG = _error("400 PropertyNameTooLong: The property name exceeds the maximum allowed length (255).")
PROPERTY_VALUE_TOO_LARGE = _storage_error(
    "400 PropertyValueTooLarge: The property value exceeds the maximum allowed size (64KB). If the property value is a"
    " string, it is UTF-16 encoded and the maximum number of characters should be 32K or less."
)
DUPLICATE_PROPERTIES = _error("400 DuplicatePropertiesSpecified: A property is specified more than one time.")
TOO_MANY_PROPERTIES = _error(
    "400 TooManyProperties: The entity contains more properties than allowed. Each entity can include up to 252 "
    "properties to store data. Each entity also has 3 system properties."
)

# -- Requests

INVALID_URI = _error("400 InvalidUri: The requested URI does not represent any resource on the server.")
KEY_COUNT = _error(
    "400 InvalidInput: The number of keys specified in the URI does not match number of key properties for the "
    "resource."
)
UNSUPPORTED_VERB = _error("405 UnsupportedHttpVerb: The resource doesn't support specified Http Verb.")

INVALID_INPUT = _error("400 InvalidInput: One of the request inputs is not valid.")
OUT_OF_RANGE_INPUT = _error("400 OutOfRangeInput: One of the request inputs is out of range.")
PARAMETER_OUT_OF_RANGE = _error("400 OutOfRangeInput: The '{name}' parameter of value '{value}' is out of range.")
QUERY_SYNTAX = _error("400 InvalidInput: Bad Request - Error in query syntax.")
FILTER_SYNTAX = _error("400 InvalidInput: Syntax error at position {position} in '{filter}'.")
ETAG_INVALID = _error(
    "400 InvalidInput: The etag value '{etag}' specified in one of the request headers is not valid. Please make sure "
    "only one etag value is specified and is valid."
)
IF_NONE_MATCH = _error("400 InvalidInput: If-None-Match HTTP header cannot be specified for {verb} operations.")
NOT_IMPLEMENTED = _error("501 NotImplemented: The requested operation is not implemented on the specified resource.")
MEDIA_TYPE_NOT_SUPPORTED = _error("415 MediaTypeNotSupported: None of the provided media types are supported")
ATOM_NOT_SUPPORTED = _error("415 AtomFormatNotSupported: Atom format is not supported.")
REQUEST_BODY_TOO_LARGE = _error(
    "413 RequestBodyTooLarge: The request body is too large and exceeds the maximum permissible limit."
)
INVALID_XML_VALUE = _error("400 InvalidXmlNodeValue: The value for one of the XML nodes is not in the correct format.")
INVALID_XML_DOCUMENT = _error("400 InvalidXmlDocument: XML specified is not syntactically valid.").with_details(
    LineNumber=0, LinePosition=0, Reason=""
)
MISSING_XML_NODE = _error("400 MissingRequiredXmlNode: An XML node that's mandatory for this request is not specified.")
INVALID_QUERY_PARAMETER_VALUE = _error(
    "400 InvalidQueryParameterValue: Value for one of the query parameters specified in the request URI is invalid."
)
MUTUALLY_EXCLUSIVE_PARAMETERS = _error(
    "400 MutuallyExclusiveQueryParameters: Mutually exclusive query parameters are specified in the request URI."
)
OUT_OF_RANGE_QUERY_PARAMETER_VALUE = _error(
    "400 OutOfRangeQueryParameterValue: One of the query parameters specified in the request URI is outside the "
    "permissible range."
)
MISSING_QUERY_PARAMETER = _error(
    "400 MissingRequiredQueryParameter: A query parameter that's mandatory for this request is not specified."
)
# The service spells it so
RESOURCE_NAME_CHARACTERS = _error("400 InvalidResourceName: The specifed resource name contains invalid characters.")
RESOURCE_NAME_LENGTH = _error(
    "400 OutOfRangeInput: The specified resource name length is not within the permissible limits."
)

# -- Metadata

EMPTY_METADATA_KEY = _error("400 EmptyMetadataKey: The key for one of the metadata key-value pairs is empty.")
INVALID_METADATA = _error(
    "400 InvalidMetadata: The metadata specified is invalid. It has characters that are not permitted."
)
METADATA_TOO_LARGE = _error("400 MetadataTooLarge: The metadata specified exceeds the maximum permissible limit (8KB).")

# -- Queues

QUEUE_NOT_FOUND = _error("404 QueueNotFound: The specified queue does not exist.")
QUEUE_ALREADY_EXISTS = _error("409 QueueAlreadyExists: The specified queue already exists.")
QUEUE_BEING_DELETED = _error("409 QueueBeingDeleted: The specified queue is being deleted.")
MESSAGE_NOT_FOUND = _error("404 MessageNotFound: The specified message does not exist.")
POP_RECEIPT_MISMATCH = _error(
    "400 PopReceiptMismatch: The specified pop receipt did not match the pop receipt for a dequeued message."
)
INVALID_MARKER = _error("400 InvalidMarker: The specified marker is invalid.")

# -- Entity group transactions

DUPLICATE_ROW = _error(
    "400 InvalidDuplicateRow: The batch request contains multiple changes with same row key. An entity can appear only"
    " once in a batch request."
)
DIFFERENT_PARTITIONS = _error(
    "400 CommandsInBatchActOnDifferentPartitions: All commands in a batch must operate on same entity group."
)
TOO_MANY_OPERATIONS = _error(
    "400 InvalidInput: The batch request operation exceeds the maximum 100 changes per change set."
)

CORS_PREFLIGHT_FAILURE = _error(
    "403 CorsPreflightFailure: CORS not enabled or no matching rule found for this request."
)

# -- Throttling and timeouts

SERVER_BUSY = _error("503 ServerBusy: The server is busy.")
OVER_ACCOUNT_LIMIT = _error("503 ServerBusy: Operations per second is over the account limit.")
OPERATION_TIMED_OUT = _error("500 OperationTimedOut: Operation could not be completed within the specified time.")

# -- Authentication and authorization

AUTHENTICATION_FAILED = _error(
    "403 AuthenticationFailed: Server failed to authenticate the request. Make sure the value of Authorization header "
    "is formed correctly including the signature."
)
NO_AUTHENTICATION_INFORMATION = _error(
    "401 NoAuthenticationInformation: Server failed to authenticate the request. Please refer to the information in "
    "the www-authenticate header."
)
AUTHORIZATION_FAILURE = _error("403 AuthorizationFailure: This request is not authorized to perform this operation.")
_NOT_USING: Final = "This request is not authorized to perform this operation using this"
AUTHORIZATION_PERMISSION_MISMATCH = _error(f"403 AuthorizationPermissionMismatch: {_NOT_USING} permission.")
AUTHORIZATION_RESOURCE_TYPE_MISMATCH = _error(f"403 AuthorizationResourceTypeMismatch: {_NOT_USING} resource type.")
AUTHORIZATION_SERVICE_MISMATCH = _error(f"403 AuthorizationServiceMismatch: {_NOT_USING} service.")
WRITES_NOT_ALLOWED = _error("403 InsufficientAccountPermissions: Write operations are not allowed.")
INVALID_TOKEN = replace(NO_AUTHENTICATION_INFORMATION, code="InvalidAuthenticationInfo")
PROTOCOL_MISMATCH = _error(f"403 AuthorizationProtocolMismatch: {_NOT_USING} protocol.")
SOURCE_IP_MISMATCH = _error(f"403 AuthorizationSourceIPMismatch: {_NOT_USING} source IP {{address}}.")

# -- Containers and blobs

CONTAINER_NOT_FOUND = _error("404 ContainerNotFound: The specified container does not exist.")
CONTAINER_ALREADY_EXISTS = _error("409 ContainerAlreadyExists: The specified container already exists.")
CONTAINER_BEING_DELETED = _error(
    "409 ContainerBeingDeleted: The specified container is being deleted. Try operation later."
)
BLOB_NOT_FOUND = _error("404 BlobNotFound: The specified blob does not exist.")
BLOB_ALREADY_EXISTS = _error("409 BlobAlreadyExists: The specified blob already exists.")
INVALID_BLOB_TYPE = _error("409 InvalidBlobType: The blob type is invalid for this operation.")
UNAUTHORIZED_OVERWRITE = _error(
    "403 UnauthorizedBlobOverwrite: This request is not authorized to perform blob overwrites."
)
CURRENT_VERSION_NOT_DELETED = _error(
    "403 OperationNotAllowedOnRootBlob: The specified operation is not allowed on root blob."
)
SNAPSHOTS_PRESENT = _error("409 SnapshotsPresent: This operation is not permitted because the blob has snapshots.")

# -- Headers and tags

INVALID_HEADER = _error("400 InvalidHeaderValue: The value for one of the HTTP headers is not in the correct format.")
MISSING_HEADER = _error("400 MissingRequiredHeader: An HTTP header that's mandatory for this request is not specified.")
INVALID_LEASE_DURATION = INVALID_HEADER.with_details(HeaderName="x-ms-lease-duration")
INVALID_BREAK_PERIOD = INVALID_HEADER.with_details(HeaderName="x-ms-lease-break-period")
INVALID_CONTENT_LENGTH = INVALID_HEADER.with_details(HeaderName="Content-Length")
INVALID_TAGS = _error("400 InvalidTag: The specified tags are invalid.")

# -- Checksums

_INVALID: Final = "The {0} value specified in the request is invalid. {0} value must be {1} bits and base64 encoded."
_MISMATCH: Final = "The {0} value specified in the request did not match with the {0} value calculated by the server."
INVALID_MD5 = _error(f"400 InvalidMd5: {_INVALID.format('MD5', 128)}")
MD5_MISMATCH = _error(f"400 Md5Mismatch: {_MISMATCH.format('MD5')}")
INVALID_CRC64 = _error(f"400 InvalidCrc64: {_INVALID.format('CRC64', 64)}")
CRC64_MISMATCH = _error(f"400 Crc64Mismatch: {_MISMATCH.format('CRC64')}")
BOTH_CHECKSUMS = _error(
    "400 BothCrc64AndMd5HeaderPresent: Both x-ms-content-crc64 header and Content-MD5 header are present."
)
BOTH_RANGE_CHECKSUMS = _error(
    "400 BothCrc64AndMd5RangeHeaderPresent: Both x-ms-range-get-content-crc64 header and x-ms-range-get-content-md5 "
    "header are present."
)

# -- Conditions

_UNMET: Final = "condition specified using HTTP conditional header(s) is not met."
CONDITION_NOT_MET = _error(f"412 ConditionNotMet: The {_UNMET}")
NOT_MODIFIED = replace(CONDITION_NOT_MET, status=304)
SOURCE_CONDITION_NOT_MET = _error(f"412 SourceConditionNotMet: The source {_UNMET}")
TARGET_CONDITION_NOT_MET = _error(f"412 TargetConditionNotMet: The target {_UNMET}")
UNSATISFIABLE_CONDITION = _error(
    "400 UnsatisfiableCondition: The request includes an unsatisfiable condition for this operation."
)
CONDITIONS_NOT_SUPPORTED = _error("400 ConditionHeadersNotSupported: Condition headers are not supported.")
MULTIPLE_CONDITIONS = _error("400 MultipleConditionHeadersNotSupported: Multiple condition headers are not supported.")
INVALID_RANGE = _error("416 InvalidRange: The range specified is invalid for the current size of the resource.")

# -- Blocks

INVALID_BLOB_OR_BLOCK = _error("400 InvalidBlobOrBlock: The specified blob or block content is invalid.")
INVALID_BLOCK_LIST = _error("400 InvalidBlockList: The specified block list is invalid.")
BLOCK_LIST_TOO_LONG = _error("400 BlockListTooLong: The block list may not contain more than 50,000 blocks.")
_TOO_MANY: Final = "409 BlockCountExceedsLimit: The {} block count cannot exceed the maximum limit of {} blocks."
TOO_MANY_UNCOMMITTED_BLOCKS = _error(_TOO_MANY.format("uncommitted", "100,000"))
TOO_MANY_BLOCKS = _error(_TOO_MANY.format("committed", "50,000"))
APPEND_POSITION_NOT_MET = _error(
    "412 AppendPositionConditionNotMet: The append position condition specified was not met."
)
MAX_SIZE_NOT_MET = _error("412 MaxBlobSizeConditionNotMet: The max blob size condition specified was not met.")
BLOB_IS_SEALED = _error("409 BlobIsSealed: The blob is sealed and its contents cannot be modified.")
BLOB_ARCHIVED = _error("409 BlobArchived: This operation is not permitted on an archived blob.")

# -- Copies

CANNOT_VERIFY_COPY_SOURCE = _error("400 CannotVerifyCopySource: Could not verify copy source.")
"""The response has the message of the source instead."""
NO_PENDING_COPY = _error("409 NoPendingCopyOperation: There is currently no pending copy operation.")

# -- Leases; {resource} is blob or container, and {kind} the same capitalized

LEASE_ALREADY_PRESENT = _error("409 LeaseAlreadyPresent: There is already a lease present.")
LEASE_NOT_PRESENT = _error("409 LeaseNotPresentWithLeaseOperation: There is currently no lease on the {resource}.")
LEASE_ID_MISMATCH = _error(
    "409 LeaseIdMismatchWithLeaseOperation: The lease ID specified did not match the lease ID for the {resource}."
)
LEASE_ID_MISSING = _error(
    "412 LeaseIdMissing: There is currently a lease on the {resource} and no lease ID was specified in the request."
)
LEASE_LOST = _error("412 LeaseLost: A lease ID was specified, but the lease for the {resource} has expired.")
_MATCHED: Final = "The lease ID matched, but the"
_BREAKING: Final = f"{_MATCHED} lease is currently in breaking state and cannot be"
LEASE_IS_BREAKING = _error(f"409 LeaseIsBreakingAndCannotBeAcquired: {_BREAKING} acquired until it is broken.")
LEASE_CANNOT_BE_CHANGED = _error(f"409 LeaseIsBreakingAndCannotBeChanged: {_BREAKING} changed.")
LEASE_IS_BROKEN = _error(
    f"409 LeaseIsBrokenAndCannotBeRenewed: {_MATCHED} lease has been broken explicitly and cannot be renewed."
)
INFINITE_LEASE_REQUIRED = _error(
    f"412 InfiniteLeaseDurationRequired: {_MATCHED} specified lease must be an infinite-duration lease."
)
USED_LEASE_NOT_PRESENT = replace(LEASE_NOT_PRESENT, status=412, code="LeaseNotPresentWith{kind}Operation")
USED_LEASE_MISMATCH = replace(LEASE_ID_MISMATCH, status=412, code="LeaseIdMismatchWith{kind}Operation")
