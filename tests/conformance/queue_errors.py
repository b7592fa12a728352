"""The exact errors of the Queue service."""

from __future__ import annotations

from conformance.service_errors import ServiceError

# The service misspells the text, which Azurite does not; `tests/engine/test_error_messages.py` has it
NAME_CHARACTERS = ServiceError(400, "InvalidResourceName")
NAME_LENGTH = ServiceError(
    400, "OutOfRangeInput", "The specified resource name length is not within the permissible limits."
)
QUEUE_EXISTS = ServiceError(409, "QueueAlreadyExists", "The specified queue already exists.")
NO_QUEUE = ServiceError(404, "QueueNotFound", "The specified queue does not exist.")
NO_MESSAGE = ServiceError(404, "MessageNotFound", "The specified message does not exist.")
OTHER_RECEIPT = ServiceError(
    400, "PopReceiptMismatch", "The specified pop receipt did not match the pop receipt for a dequeued message."
)
INVALID_METADATA = ServiceError(
    400, "InvalidMetadata", "The metadata specified is invalid. It has characters that are not permitted."
)
EMPTY_METADATA_KEY = ServiceError(400, "EmptyMetadataKey", "The key for one of the metadata key-value pairs is empty.")
METADATA_TOO_LARGE = ServiceError(
    400, "MetadataTooLarge", "The metadata specified exceeds the maximum permissible limit (8KB)."
)
INVALID_MARKER = ServiceError(400, "InvalidMarker", "The specified marker is invalid.")

BAD_OPTION = ServiceError(
    400,
    "InvalidQueryParameterValue",
    "Value for one of the query parameters specified in the request URI is invalid.",
)
OUT_OF_RANGE = ServiceError(
    400,
    "OutOfRangeQueryParameterValue",
    "One of the query parameters specified in the request URI is outside the permissible range.",
)
MISSING_OPTION = ServiceError(
    400,
    "MissingRequiredQueryParameter",
    "A query parameter that's mandatory for this request is not specified.",
)
BAD_XML = ServiceError(400, "InvalidXmlDocument", "XML specified is not syntactically valid.")
NO_NODE = ServiceError(400, "MissingRequiredXmlNode", "An XML node that's mandatory for this request is not specified.")
BODY_TOO_LARGE = ServiceError(
    413, "RequestBodyTooLarge", "The request body is too large and exceeds the maximum permissible limit."
)

# Azurite has another text for it
NOT_AUTHENTIC = ServiceError(403, "AuthenticationFailed")
NOT_PERMITTED = ServiceError(
    403,
    "AuthorizationPermissionMismatch",
    "This request is not authorized to perform this operation using this permission.",
)
WRONG_LEVEL = ServiceError(
    403,
    "AuthorizationResourceTypeMismatch",
    "This request is not authorized to perform this operation using this resource type.",
)
READ_ONLY = ServiceError(403, "InsufficientAccountPermissions", "Write operations are not allowed.")
