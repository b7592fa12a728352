"""The service's exact codes and messages: SDKs match some of them."""

from __future__ import annotations

import pytest

from tablepatterns_engine import errors
from tablepatterns_engine.errors import ErrorMessage, ServiceError, TransactionError

EXACT = [
    (errors.TABLE_NOT_FOUND, "TableNotFound", "The table specified does not exist."),
    (errors.TABLE_ALREADY_EXISTS, "TableAlreadyExists", "The table specified already exists."),
    (errors.TABLE_BEING_DELETED, "TableBeingDeleted", "The specified table is being deleted. Try operation later."),
    (
        errors.RESOURCE_NAME_LENGTH,
        "OutOfRangeInput",
        "The specified resource name length is not within the permissible limits.",
    ),
    (errors.RESOURCE_NOT_FOUND, "ResourceNotFound", "The specified resource does not exist."),
    (errors.ENTITY_ALREADY_EXISTS, "EntityAlreadyExists", "The specified entity already exists."),
    (
        errors.UPDATE_CONDITION_NOT_SATISFIED,
        "UpdateConditionNotSatisfied",
        "The update condition specified in the request was not satisfied.",
    ),
    (errors.ENTITY_TOO_LARGE, "EntityTooLarge", "The entity is larger than the maximum size permitted."),
    (
        errors.PROPERTIES_NEED_VALUE,
        "PropertiesNeedValue",
        "The values are not specified for all properties in the entity.",
    ),
    (errors.PROPERTY_NAME_INVALID, "PropertyNameInvalid", "The property name is invalid."),
    (
        errors.PROPERTY_NAME_TOO_LONG,
        "PropertyNameTooLong",
        "The property name exceeds the maximum allowed length (255).",
    ),
    (
        errors.PROPERTY_VALUE_TOO_LARGE,
        "PropertyValueTooLarge",
        "The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 "
        "encoded and the maximum number of characters should be 32K or less.",
    ),
    (
        errors.TOO_MANY_PROPERTIES,
        "TooManyProperties",
        "The entity contains more properties than allowed. Each entity can include up to 252 properties to store data. "
        "Each entity also has 3 system properties.",
    ),
    (errors.INVALID_INPUT, "InvalidInput", "One of the request inputs is not valid."),
    (errors.OUT_OF_RANGE_INPUT, "OutOfRangeInput", "One of the request inputs is out of range."),
    (errors.QUERY_SYNTAX, "InvalidInput", "Bad Request - Error in query syntax."),
    (
        errors.FILTER_SYNTAX.format(position=7, filter="aaa bbb ccc"),
        "InvalidInput",
        "Syntax error at position 7 in 'aaa bbb ccc'.",
    ),
    (
        errors.ETAG_INVALID.format(etag="x"),
        "InvalidInput",
        "The etag value 'x' specified in one of the request headers is not valid. Please make sure only one etag value "
        "is specified and is valid.",
    ),
    (
        errors.IF_NONE_MATCH.format(verb="PUT"),
        "InvalidInput",
        "If-None-Match HTTP header cannot be specified for PUT operations.",
    ),
    (
        errors.MEDIA_TYPE_NOT_SUPPORTED,
        "MediaTypeNotSupported",
        "None of the provided media types are supported",
    ),
    (
        errors.REQUEST_BODY_TOO_LARGE,
        "RequestBodyTooLarge",
        "The request body is too large and exceeds the maximum permissible limit.",
    ),
    (errors.INVALID_XML_DOCUMENT, "InvalidXmlDocument", "XML specified is not syntactically valid."),
    (
        errors.DUPLICATE_ROW,
        "InvalidDuplicateRow",
        "The batch request contains multiple changes with same row key. An entity can appear only once in a batch "
        "request.",
    ),
    (
        errors.DIFFERENT_PARTITIONS,
        "CommandsInBatchActOnDifferentPartitions",
        "All commands in a batch must operate on same entity group.",
    ),
    (
        errors.TOO_MANY_OPERATIONS,
        "InvalidInput",
        "The batch request operation exceeds the maximum 100 changes per change set.",
    ),
    (
        errors.AUTHORIZATION_FAILURE,
        "AuthorizationFailure",
        "This request is not authorized to perform this operation.",
    ),
    (
        errors.RESOURCE_NAME_CHARACTERS,
        "InvalidResourceName",
        "The specifed resource name contains invalid characters.",
    ),
    (errors.EMPTY_METADATA_KEY, "EmptyMetadataKey", "The key for one of the metadata key-value pairs is empty."),
    (
        errors.INVALID_METADATA,
        "InvalidMetadata",
        "The metadata specified is invalid. It has characters that are not permitted.",
    ),
    (
        errors.METADATA_TOO_LARGE,
        "MetadataTooLarge",
        "The metadata specified exceeds the maximum permissible limit (8KB).",
    ),
    (errors.QUEUE_NOT_FOUND, "QueueNotFound", "The specified queue does not exist."),
    (errors.QUEUE_ALREADY_EXISTS, "QueueAlreadyExists", "The specified queue already exists."),
    (errors.MESSAGE_NOT_FOUND, "MessageNotFound", "The specified message does not exist."),
    (
        errors.POP_RECEIPT_MISMATCH,
        "PopReceiptMismatch",
        "The specified pop receipt did not match the pop receipt for a dequeued message.",
    ),
    (errors.WRITES_NOT_ALLOWED, "InsufficientAccountPermissions", "Write operations are not allowed."),
    (errors.INVALID_URI, "InvalidUri", "The requested URI does not represent any resource on the server."),
    (
        errors.KEY_COUNT,
        "InvalidInput",
        "The number of keys specified in the URI does not match number of key properties for the resource.",
    ),
    (errors.UNSUPPORTED_VERB, "UnsupportedHttpVerb", "The resource doesn't support specified Http Verb."),
    (
        errors.MISSING_HEADER,
        "MissingRequiredHeader",
        "An HTTP header that's mandatory for this request is not specified.",
    ),
    (
        errors.INVALID_TOKEN,
        "InvalidAuthenticationInfo",
        "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.",
    ),
    (
        errors.PROTOCOL_MISMATCH,
        "AuthorizationProtocolMismatch",
        "This request is not authorized to perform this operation using this protocol.",
    ),
    (
        errors.SOURCE_IP_MISMATCH.format(address="10.0.0.1"),
        "AuthorizationSourceIPMismatch",
        "This request is not authorized to perform this operation using this source IP 10.0.0.1.",
    ),
]


@pytest.mark.parametrize(("message", "code", "text"), EXACT, ids=[code for _, code, _ in EXACT])
def test_a_message_is_exactly_that_of_the_service(message: ErrorMessage, code: str, text: str) -> None:
    assert (message.code, message.text) == (code, text)


def test_a_value_with_braces_is_quoted_as_it_is() -> None:
    assert errors.PARAMETER_OUT_OF_RANGE.format(name="RowKey", value="{name}").text == (
        "The 'RowKey' parameter of value '{name}' is out of range."
    )


def test_an_error_shows_code_and_text() -> None:
    assert str(ServiceError(errors.RESOURCE_NOT_FOUND)) == "ResourceNotFound: The specified resource does not exist."


@pytest.mark.parametrize(
    ("message", "operations", "prefixed"),
    [
        (errors.UPDATE_CONDITION_NOT_SATISFIED, 1, False),
        (errors.RESOURCE_NOT_FOUND, 1, False),
        (errors.ENTITY_ALREADY_EXISTS, 1, False),
        (errors.PROPERTY_VALUE_TOO_LARGE, 1, False),
        (errors.TABLE_NOT_FOUND, 1, True),
        (errors.PARAMETER_OUT_OF_RANGE.format(name="RowKey", value="a/b"), 1, True),
        (errors.RESOURCE_NOT_FOUND, 2, True),
    ],
)
def test_only_what_the_storage_rejects_of_a_single_operation_has_no_index(
    message: ErrorMessage, operations: int, prefixed: bool
) -> None:
    error = TransactionError(message, index=0, operations=operations)
    assert error.prefixed is prefixed
    assert error.message == ("0:" if prefixed else "") + message.text
