"""The refusals of the Queue service, word for word."""

from __future__ import annotations

from conformance.refusals import Refusal

NAME_CHARACTERS = Refusal(400, "InvalidResourceName", "The specified resource name contains invalid characters.")
NAME_LENGTH = Refusal(
    400, "OutOfRangeInput", "The specified resource name length is not within the permissible limits."
)
QUEUE_EXISTS = Refusal(409, "QueueAlreadyExists", "The specified queue already exists.")
NO_QUEUE = Refusal(404, "QueueNotFound", "The specified queue does not exist.")
NO_MESSAGE = Refusal(404, "MessageNotFound", "The specified message does not exist.")
OTHER_RECEIPT = Refusal(
    400, "PopReceiptMismatch", "The specified pop receipt did not match the pop receipt for a dequeued message."
)
INVALID_METADATA = Refusal(
    400, "InvalidMetadata", "The metadata specified is invalid. It has characters that are not permitted."
)
EMPTY_METADATA_KEY = Refusal(400, "EmptyMetadataKey", "The key for one of the metadata key-value pairs is empty.")
METADATA_TOO_LARGE = Refusal(
    400, "MetadataTooLarge", "The metadata specified exceeds the maximum permissible limit (8KB)."
)
INVALID_MARKER = Refusal(400, "InvalidMarker", "The specified marker is invalid.")

BAD_OPTION = Refusal(
    400,
    "InvalidQueryParameterValue",
    "Value for one of the query parameters specified in the request URI is invalid.",
)
OUT_OF_RANGE = Refusal(
    400,
    "OutOfRangeQueryParameterValue",
    "One of the query parameters specified in the request URI is outside the permissible range.",
)
MISSING_OPTION = Refusal(
    400,
    "MissingRequiredQueryParameter",
    "A query parameter that's mandatory for this request is not specified.",
)
BAD_XML = Refusal(400, "InvalidXmlDocument", "XML specified is not syntactically valid.")
NO_NODE = Refusal(400, "MissingRequiredXmlNode", "An XML node that's mandatory for this request is not specified.")
BODY_TOO_LARGE = Refusal(
    413, "RequestBodyTooLarge", "The request body is too large and exceeds the maximum permissible limit."
)

# Azurite has another text for it
NOT_AUTHENTIC = Refusal(403, "AuthenticationFailed")
NOT_PERMITTED = Refusal(
    403,
    "AuthorizationPermissionMismatch",
    "This request is not authorized to perform this operation using this permission.",
)
WRONG_LEVEL = Refusal(
    403,
    "AuthorizationResourceTypeMismatch",
    "This request is not authorized to perform this operation using this resource type.",
)
READ_ONLY = Refusal(403, "InsufficientAccountPermissions", "Write operations are not allowed.")
