"""The error that a service answers with, and the exact code and message of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final


class Refusal(Exception):
    """A request that the service refuses; nothing has changed.

    >>> from tablepatterns.engine.errors import TABLE_NOT_FOUND
    >>> raise Refusal(TABLE_NOT_FOUND)
    Traceback (most recent call last):
        ...
    tablepatterns.engine.errors.Refusal: TableNotFound: The table specified does not exist.

    :param answer: the service's code and text, from `texts`
    """

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.code = answer.code
        self.message = answer.text
        super().__init__(f"{self.code}: {self.message}")


class TransactionRefusal(Refusal):
    """An entity group transaction that the service refuses; none of its operations was applied.

    `message` is the exact text, with the prefix `<index>:` in front where the service writes one: always, except for
    what the storage of a transaction of a single operation refuses.

    >>> from tablepatterns.engine.errors import ENTITY_ALREADY_EXISTS
    >>> TransactionRefusal(ENTITY_ALREADY_EXISTS, index=3, operations=4).message
    '3:The specified entity already exists.'
    >>> TransactionRefusal(ENTITY_ALREADY_EXISTS, index=0, operations=1).message
    'The specified entity already exists.'

    :param answer: the service's code and text, from `texts`
    :param index: the position of the operation that failed
    :param operations: the number of operations in the transaction
    """

    def __init__(self, answer: Answer, *, index: int, operations: int) -> None:
        super().__init__(answer)
        self.index = index
        self.prefixed = operations > 1 or not answer.storage
        if self.prefixed:
            self.message = f"{index}:{answer.text}"


@dataclass(frozen=True, slots=True)
class Answer:
    """A code and a text of the service.

    `storage` tells what the storage of a partition finds from what the front end finds before it gets there: a
    transaction of one operation reports the former without an index. `details` names what exactly is wrong, for the
    answers that say so beside their text.
    """

    code: str
    text: str
    storage: bool = False
    details: tuple[tuple[str, str], ...] = ()

    def of(self, **values: object) -> Answer:
        """Return this answer with its placeholders filled in.

        >>> PARAMETER_OUT_OF_RANGE.of(name="RowKey", value="a/b").text
        "The 'RowKey' parameter of value 'a/b' is out of range."
        """
        return replace(self, text=self.text.format(**values))

    def about(self, **details: object) -> Answer:
        """Return this answer with details, behind those that it has.

        >>> INVALID_QUERY_PARAMETER_VALUE.about(QueryParameterName="popreceipt").details
        (('QueryParameterName', 'popreceipt'),)
        """
        return replace(self, details=self.details + tuple((name, str(value)) for name, value in details.items()))


# -- Tables

TABLE_NOT_FOUND: Final = Answer("TableNotFound", "The table specified does not exist.")
TABLE_ALREADY_EXISTS: Final = Answer("TableAlreadyExists", "The table specified already exists.")
TABLE_BEING_DELETED: Final = Answer("TableBeingDeleted", "The specified table is being deleted. Try operation later.")
TABLE_NAME_CHARACTERS: Final = Answer("InvalidResourceName", "The specifed resource name contains invalid characters.")

# -- Entities

RESOURCE_NOT_FOUND: Final = Answer("ResourceNotFound", "The specified resource does not exist.", storage=True)
ENTITY_ALREADY_EXISTS: Final = Answer("EntityAlreadyExists", "The specified entity already exists.", storage=True)
UPDATE_CONDITION_NOT_SATISFIED: Final = Answer(
    "UpdateConditionNotSatisfied",
    "The update condition specified in the request was not satisfied.",
    storage=True,
)
ENTITY_TOO_LARGE: Final = Answer(
    "EntityTooLarge", "The entity is larger than the maximum size permitted.", storage=True
)

# -- Properties

PROPERTIES_NEED_VALUE: Final = Answer(
    "PropertiesNeedValue", "The values are not specified for all properties in the entity."
)
PROPERTY_NAME_INVALID: Final = Answer("PropertyNameInvalid", "The property name is invalid.")
PROPERTY_NAME_TOO_LONG: Final = Answer(
    "PropertyNameTooLong", "The property name exceeds the maximum allowed length (255)."
)
PROPERTY_VALUE_TOO_LARGE: Final = Answer(
    "PropertyValueTooLarge",
    "The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 "
    "encoded and the maximum number of characters should be 32K or less.",
    storage=True,
)
DUPLICATE_PROPERTIES: Final = Answer("DuplicatePropertiesSpecified", "A property is specified more than one time.")
TOO_MANY_PROPERTIES: Final = Answer(
    "TooManyProperties",
    "The entity contains more properties than allowed. Each entity can include up to 252 properties to store data. "
    "Each entity also has 3 system properties.",
)

# -- Inputs

INVALID_INPUT: Final = Answer("InvalidInput", "One of the request inputs is not valid.")
OUT_OF_RANGE_INPUT: Final = Answer("OutOfRangeInput", "One of the request inputs is out of range.")
PARAMETER_OUT_OF_RANGE: Final = Answer("OutOfRangeInput", "The '{name}' parameter of value '{value}' is out of range.")
QUERY_SYNTAX: Final = Answer("InvalidInput", "Bad Request - Error in query syntax.")
FILTER_SYNTAX: Final = Answer("InvalidInput", "Syntax error at position {position} in '{filter}'.")
ETAG_INVALID: Final = Answer(
    "InvalidInput",
    "The etag value '{etag}' specified in one of the request headers is not valid. Please make sure only one etag "
    "value is specified and is valid.",
)
IF_NONE_MATCH: Final = Answer("InvalidInput", "If-None-Match HTTP header cannot be specified for {verb} operations.")
NOT_IMPLEMENTED: Final = Answer(
    "NotImplemented", "The requested operation is not implemented on the specified resource."
)
MEDIA_TYPE_NOT_SUPPORTED: Final = Answer("MediaTypeNotSupported", "None of the provided media types are supported")
ATOM_NOT_SUPPORTED: Final = Answer("AtomFormatNotSupported", "Atom format is not supported.")
REQUEST_BODY_TOO_LARGE: Final = Answer(
    "RequestBodyTooLarge", "The request body is too large and exceeds the maximum permissible limit."
)
INVALID_XML_DOCUMENT: Final = Answer("InvalidXmlDocument", "XML specified is not syntactically valid.")
MISSING_XML_NODE: Final = Answer(
    "MissingRequiredXmlNode", "An XML node that's mandatory for this request is not specified."
)
INVALID_QUERY_PARAMETER_VALUE: Final = Answer(
    "InvalidQueryParameterValue", "Value for one of the query parameters specified in the request URI is invalid."
)
OUT_OF_RANGE_QUERY_PARAMETER_VALUE: Final = Answer(
    "OutOfRangeQueryParameterValue",
    "One of the query parameters specified in the request URI is outside the permissible range.",
)
MISSING_QUERY_PARAMETER: Final = Answer(
    "MissingRequiredQueryParameter", "A query parameter that's mandatory for this request is not specified."
)
RESOURCE_NAME_CHARACTERS: Final = Answer(
    "InvalidResourceName", "The specified resource name contains invalid characters."
)
RESOURCE_NAME_LENGTH: Final = Answer(
    "OutOfRangeInput", "The specified resource name length is not within the permissible limits."
)

# -- Metadata

EMPTY_METADATA_KEY: Final = Answer("EmptyMetadataKey", "The key for one of the metadata key-value pairs is empty.")
INVALID_METADATA: Final = Answer(
    "InvalidMetadata", "The metadata specified is invalid. It has characters that are not permitted."
)
METADATA_TOO_LARGE: Final = Answer(
    "MetadataTooLarge", "The metadata specified exceeds the maximum permissible limit (8KB)."
)

# -- Queues

QUEUE_NOT_FOUND: Final = Answer("QueueNotFound", "The specified queue does not exist.")
QUEUE_ALREADY_EXISTS: Final = Answer("QueueAlreadyExists", "The specified queue already exists.")
QUEUE_BEING_DELETED: Final = Answer("QueueBeingDeleted", "The specified queue is being deleted.")
MESSAGE_NOT_FOUND: Final = Answer("MessageNotFound", "The specified message does not exist.")
POP_RECEIPT_MISMATCH: Final = Answer(
    "PopReceiptMismatch", "The specified pop receipt did not match the pop receipt for a dequeued message."
)
INVALID_MARKER: Final = Answer("InvalidMarker", "The specified marker is invalid.")

# -- Entity group transactions

DUPLICATE_ROW: Final = Answer(
    "InvalidDuplicateRow",
    "The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.",
)
DIFFERENT_PARTITIONS: Final = Answer(
    "CommandsInBatchActOnDifferentPartitions", "All commands in a batch must operate on same entity group."
)
TOO_MANY_OPERATIONS: Final = Answer(
    "InvalidInput", "The batch request operation exceeds the maximum 100 changes per change set."
)

# -- Want of capacity or of time

SERVER_BUSY: Final = Answer("ServerBusy", "The server is busy.")
OVER_ACCOUNT_LIMIT: Final = Answer("ServerBusy", "Operations per second is over the account limit.")
OPERATION_TIMED_OUT: Final = Answer("OperationTimedOut", "Operation could not be completed within the specified time.")

# -- Authentication and authorization

AUTHENTICATION_FAILED: Final = Answer(
    "AuthenticationFailed",
    "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly "
    "including the signature.",
)
NO_AUTHENTICATION_INFORMATION: Final = Answer(
    "NoAuthenticationInformation",
    "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.",
)
AUTHORIZATION_FAILURE: Final = Answer(
    "AuthorizationFailure", "This request is not authorized to perform this operation."
)
AUTHORIZATION_PERMISSION_MISMATCH: Final = Answer(
    "AuthorizationPermissionMismatch",
    "This request is not authorized to perform this operation using this permission.",
)
AUTHORIZATION_RESOURCE_TYPE_MISMATCH: Final = Answer(
    "AuthorizationResourceTypeMismatch",
    "This request is not authorized to perform this operation using this resource type.",
)
AUTHORIZATION_SERVICE_MISMATCH: Final = Answer(
    "AuthorizationServiceMismatch", "This request is not authorized to perform this operation using this service."
)
WRITES_NOT_ALLOWED: Final = Answer("InsufficientAccountPermissions", "Write operations are not allowed.")
