"""The service's codes and texts, letter for letter: SDKs match some of them."""

from __future__ import annotations

import pytest

from tablepatterns.engine import errors as texts
from tablepatterns.engine.errors import Answer, Refusal, TransactionRefusal

EXACT = [
    (texts.TABLE_NOT_FOUND, "TableNotFound", "The table specified does not exist."),
    (texts.TABLE_ALREADY_EXISTS, "TableAlreadyExists", "The table specified already exists."),
    (texts.TABLE_BEING_DELETED, "TableBeingDeleted", "The specified table is being deleted. Try operation later."),
    (texts.TABLE_NAME_CHARACTERS, "InvalidResourceName", "The specifed resource name contains invalid characters."),
    (
        texts.RESOURCE_NAME_LENGTH,
        "OutOfRangeInput",
        "The specified resource name length is not within the permissible limits.",
    ),
    (texts.RESOURCE_NOT_FOUND, "ResourceNotFound", "The specified resource does not exist."),
    (texts.ENTITY_ALREADY_EXISTS, "EntityAlreadyExists", "The specified entity already exists."),
    (
        texts.UPDATE_CONDITION_NOT_SATISFIED,
        "UpdateConditionNotSatisfied",
        "The update condition specified in the request was not satisfied.",
    ),
    (texts.ENTITY_TOO_LARGE, "EntityTooLarge", "The entity is larger than the maximum size permitted."),
    (
        texts.PROPERTIES_NEED_VALUE,
        "PropertiesNeedValue",
        "The values are not specified for all properties in the entity.",
    ),
    (texts.PROPERTY_NAME_INVALID, "PropertyNameInvalid", "The property name is invalid."),
    (
        texts.PROPERTY_NAME_TOO_LONG,
        "PropertyNameTooLong",
        "The property name exceeds the maximum allowed length (255).",
    ),
    (
        texts.PROPERTY_VALUE_TOO_LARGE,
        "PropertyValueTooLarge",
        "The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 "
        "encoded and the maximum number of characters should be 32K or less.",
    ),
    (
        texts.TOO_MANY_PROPERTIES,
        "TooManyProperties",
        "The entity contains more properties than allowed. Each entity can include up to 252 properties to store data. "
        "Each entity also has 3 system properties.",
    ),
    (texts.INVALID_INPUT, "InvalidInput", "One of the request inputs is not valid."),
    (texts.OUT_OF_RANGE_INPUT, "OutOfRangeInput", "One of the request inputs is out of range."),
    (texts.QUERY_SYNTAX, "InvalidInput", "Bad Request - Error in query syntax."),
    (
        texts.FILTER_SYNTAX.of(position=7, filter="aaa bbb ccc"),
        "InvalidInput",
        "Syntax error at position 7 in 'aaa bbb ccc'.",
    ),
    (
        texts.ETAG_INVALID.of(etag="x"),
        "InvalidInput",
        "The etag value 'x' specified in one of the request headers is not valid. Please make sure only one etag value "
        "is specified and is valid.",
    ),
    (
        texts.IF_NONE_MATCH.of(verb="PUT"),
        "InvalidInput",
        "If-None-Match HTTP header cannot be specified for PUT operations.",
    ),
    (
        texts.MEDIA_TYPE_NOT_SUPPORTED,
        "MediaTypeNotSupported",
        "None of the provided media types are supported",
    ),
    (
        texts.REQUEST_BODY_TOO_LARGE,
        "RequestBodyTooLarge",
        "The request body is too large and exceeds the maximum permissible limit.",
    ),
    (texts.INVALID_XML_DOCUMENT, "InvalidXmlDocument", "XML specified is not syntactically valid."),
    (
        texts.DUPLICATE_ROW,
        "InvalidDuplicateRow",
        "The batch request contains multiple changes with same row key. An entity can appear only once in a batch "
        "request.",
    ),
    (
        texts.DIFFERENT_PARTITIONS,
        "CommandsInBatchActOnDifferentPartitions",
        "All commands in a batch must operate on same entity group.",
    ),
    (
        texts.TOO_MANY_OPERATIONS,
        "InvalidInput",
        "The batch request operation exceeds the maximum 100 changes per change set.",
    ),
    (
        texts.AUTHORIZATION_FAILURE,
        "AuthorizationFailure",
        "This request is not authorized to perform this operation.",
    ),
    (
        texts.RESOURCE_NAME_CHARACTERS,
        "InvalidResourceName",
        "The specified resource name contains invalid characters.",
    ),
    (texts.EMPTY_METADATA_KEY, "EmptyMetadataKey", "The key for one of the metadata key-value pairs is empty."),
    (
        texts.INVALID_METADATA,
        "InvalidMetadata",
        "The metadata specified is invalid. It has characters that are not permitted.",
    ),
    (
        texts.METADATA_TOO_LARGE,
        "MetadataTooLarge",
        "The metadata specified exceeds the maximum permissible limit (8KB).",
    ),
    (texts.QUEUE_NOT_FOUND, "QueueNotFound", "The specified queue does not exist."),
    (texts.QUEUE_ALREADY_EXISTS, "QueueAlreadyExists", "The specified queue already exists."),
    (texts.MESSAGE_NOT_FOUND, "MessageNotFound", "The specified message does not exist."),
    (
        texts.POP_RECEIPT_MISMATCH,
        "PopReceiptMismatch",
        "The specified pop receipt did not match the pop receipt for a dequeued message.",
    ),
    (texts.WRITES_NOT_ALLOWED, "InsufficientAccountPermissions", "Write operations are not allowed."),
]


@pytest.mark.parametrize(("answer", "code", "text"), EXACT, ids=[code for _, code, _ in EXACT])
def test_an_answer_is_the_services_letter_for_letter(answer: Answer, code: str, text: str) -> None:
    assert (answer.code, answer.text) == (code, text)


def test_a_value_with_braces_is_quoted_as_it_is() -> None:
    assert texts.PARAMETER_OUT_OF_RANGE.of(name="RowKey", value="{name}").text == (
        "The 'RowKey' parameter of value '{name}' is out of range."
    )


def test_a_refusal_shows_code_and_text() -> None:
    assert str(Refusal(texts.RESOURCE_NOT_FOUND)) == "ResourceNotFound: The specified resource does not exist."


@pytest.mark.parametrize(
    ("answer", "operations", "prefixed"),
    [
        (texts.UPDATE_CONDITION_NOT_SATISFIED, 1, False),
        (texts.RESOURCE_NOT_FOUND, 1, False),
        (texts.ENTITY_ALREADY_EXISTS, 1, False),
        (texts.PROPERTY_VALUE_TOO_LARGE, 1, False),
        (texts.TABLE_NOT_FOUND, 1, True),
        (texts.PARAMETER_OUT_OF_RANGE.of(name="RowKey", value="a/b"), 1, True),
        (texts.RESOURCE_NOT_FOUND, 2, True),
    ],
)
def test_only_what_the_storage_refuses_of_a_single_operation_has_no_index(
    answer: Answer, operations: int, prefixed: bool
) -> None:
    refusal = TransactionRefusal(answer, index=0, operations=operations)
    assert refusal.prefixed is prefixed
    assert refusal.message == ("0:" if prefixed else "") + answer.text
