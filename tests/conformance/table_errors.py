"""The exact errors of the Table service, including its spelling mistakes."""

from __future__ import annotations

from conformance.service_errors import ServiceError

TABLE_NAME_CHARACTERS = ServiceError(
    400, "InvalidResourceName", "The specifed resource name contains invalid characters."
)
TABLE_NAME_LENGTH = ServiceError(
    400, "OutOfRangeInput", "The specified resource name length is not within the permissible limits."
)
TABLE_EXISTS = ServiceError(409, "TableAlreadyExists", "The table specified already exists.")
NO_TABLE = ServiceError(404, "TableNotFound", "The table specified does not exist.")
NOT_FOUND = ServiceError(404, "ResourceNotFound", "The specified resource does not exist.")
EXISTS = ServiceError(409, "EntityAlreadyExists", "The specified entity already exists.")
CHANGED = ServiceError(
    412, "UpdateConditionNotSatisfied", "The update condition specified in the request was not satisfied."
)

INVALID_INPUT = ServiceError(400, "InvalidInput", "One of the request inputs is not valid.")
OUT_OF_RANGE = ServiceError(400, "OutOfRangeInput", "One of the request inputs is out of range.")
QUERY_SYNTAX = ServiceError(400, "InvalidInput", "Bad Request - Error in query syntax.")
KEY_COUNT = ServiceError(
    400,
    "InvalidInput",
    "The number of keys specified in the URI does not match number of key properties for the resource.",
)
NOT_IMPLEMENTED = ServiceError(
    501, "NotImplemented", "The requested operation is not implemented on the specified resource."
)
NO_SUCH_MEDIA_TYPE = ServiceError(415, "MediaTypeNotSupported", "None of the provided media types are supported")
BAD_XML = ServiceError(400, "InvalidXmlDocument", "XML specified is not syntactically valid.")
BAD_OPTION = ServiceError(
    400,
    "InvalidQueryParameterValue",
    "Value for one of the query parameters specified in the request URI is invalid.",
)

NEED_VALUE = ServiceError(400, "PropertiesNeedValue", "The values are not specified for all properties in the entity.")
PROPERTY_NAME_INVALID = ServiceError(400, "PropertyNameInvalid", "The property name is invalid.")
PROPERTY_NAME_TOO_LONG = ServiceError(
    400, "PropertyNameTooLong", "The property name exceeds the maximum allowed length (255)."
)
TOO_MANY_PROPERTIES = ServiceError(
    400,
    "TooManyProperties",
    "The entity contains more properties than allowed. Each entity can include up to 252 properties to store data. "
    "Each entity also has 3 system properties.",
)
VALUE_TOO_LARGE = ServiceError(
    400,
    "PropertyValueTooLarge",
    "The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 "
    "encoded and the maximum number of characters should be 32K or less.",
)
# The documents and the emulators have other texts for it
ENTITY_TOO_LARGE = ServiceError(400, "EntityTooLarge")
BODY_TOO_LARGE = ServiceError(
    413, "RequestBodyTooLarge", "The request body is too large and exceeds the maximum permissible limit."
)

DUPLICATE_ROW = ServiceError(
    400,
    "InvalidDuplicateRow",
    "The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.",
)
OTHER_PARTITION = ServiceError(
    400, "CommandsInBatchActOnDifferentPartitions", "All commands in a batch must operate on same entity group."
)
TOO_MANY_OPERATIONS = ServiceError(
    400, "InvalidInput", "The batch request operation exceeds the maximum 100 changes per change set."
)

NOT_AUTHENTIC = ServiceError(
    403,
    "AuthenticationFailed",
    "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly "
    "including the signature.",
)
NOT_AUTHORIZED = ServiceError(403, "AuthorizationFailure", "This request is not authorized to perform this operation.")
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


def value_out_of_range(name: str, value: str) -> ServiceError:
    """Return how a value of this property is rejected that no such property may have."""
    return ServiceError(400, "OutOfRangeInput", f"The '{name}' parameter of value '{value}' is out of range.")
