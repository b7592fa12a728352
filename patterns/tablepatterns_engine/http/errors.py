"""Response bodies of errors."""

from __future__ import annotations

from collections.abc import Mapping
from json.encoder import encode_basestring_ascii as quoted
from typing import Final

from tablepatterns.edm import Ticks

from ..errors import ServiceError
from ..tables.json import Level, preference_of
from .headers import seven_digits
from .message import Response
from .xml import PROLOGUE, element, optional, write_document, xml_text

_STATES_PREFERENCE: Final = frozenset({400, 409})
"""The statuses of errors that repeat the preference of an insert."""
_NAMESPACE: Final = "http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"


class ErrorWriter:
    """Writes error responses with a request's id and time."""

    __slots__ = ("_stamp",)

    def __init__(self, request_id: str, moment: Ticks) -> None:
        self._stamp = f"\nRequestId:{request_id}\nTime:{seven_digits(moment)}"

    def in_json(self, error: ServiceError, headers: Mapping[str, str]) -> Response:
        """Return the error of an entity or table operation for clients that ask for JSON.

        :param headers: the headers of the request: the response repeats its level of metadata and its preference
        """
        message = f'"message":{{"lang":"en-US","value":{quoted(error.message + self._stamp)}}}'
        body = f'{{"odata.error":{{"code":"{error.code}",{message}}}}}'
        level = Level.NONE if "nometadata" in headers.get("accept", "") else Level.MINIMAL
        status, preference = error.error_message.status, preference_of(headers)
        applied = {"Preference-Applied": preference} if preference and status in _STATES_PREFERENCE else {}
        return Response(status, {**applied, "Content-Type": level.content_type}, body.encode())

    def in_xml(self, error: ServiceError) -> Response:
        """Return the error of an entity or table operation for other clients."""
        headers = {"Content-Type": "application/xml;charset=utf-8"}
        return Response(error.error_message.status, headers, self._document(error, "", "xmlns"))

    def of_service(self, error: ServiceError) -> Response:
        """Return the error of an operation on access policies, service properties or statistics."""
        headers = {"Content-Type": "application/xml", "x-ms-error-code": error.code}
        return Response(error.error_message.status, headers, self._document(error, "m:", "xmlns:m"), error.message)

    def of_storage(self, error: ServiceError) -> Response:
        """Return an error of the Queue or the Blob service, with its details."""
        code, message = optional("Code", error.code), optional("Message", error.message + self._stamp)
        details = [optional(name, value) for name, value in error.error_message.details]
        headers = {"Content-Type": "application/xml", "x-ms-error-code": error.code}
        body = write_document(element("Error", code, message, *details))
        return Response(error.error_message.status, headers, body, error.message)

    def _document(self, error: ServiceError, prefix: str, namespace: str) -> bytes:
        text = xml_text(error.message + self._stamp)
        content = f'<{prefix}code>{error.code}</{prefix}code><{prefix}message xml:lang="en-US">{text}</{prefix}message>'
        return f'{PROLOGUE}<{prefix}error {namespace}="{_NAMESPACE}">{content}</{prefix}error>'.encode()
