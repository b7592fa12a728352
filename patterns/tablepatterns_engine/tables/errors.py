"""Error responses of the Table service: in JSON, in XML, and those of its access policies and properties."""

from __future__ import annotations

from collections.abc import Mapping
from json.encoder import encode_basestring_ascii as quoted
from typing import Final

from ..errors import ServiceError
from ..http.errors import stamped_message
from ..http.message import Response
from ..http.xml import PROLOGUE, xml_text
from .call import TableCall
from .json import Level, preference_of

_STATES_PREFERENCE: Final = frozenset({400, 409})
"""The statuses of errors that repeat the preference of an insert."""
_NAMESPACE: Final = "http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"


def json_error(error: ServiceError, call: TableCall, headers: Mapping[str, str]) -> Response:
    """Return the error of an entity or table operation for clients that ask for JSON.

    :param headers: the headers of the request: the response repeats its level of metadata and its preference
    """
    message = f'"message":{{"lang":"en-US","value":{quoted(stamped_message(error, call))}}}'
    body = f'{{"odata.error":{{"code":"{error.code}",{message}}}}}'
    level = Level.NONE if "nometadata" in headers.get("accept", "") else Level.MINIMAL
    status, preference = error.error_message.status, preference_of(headers)
    applied = {"Preference-Applied": preference} if preference and status in _STATES_PREFERENCE else {}
    return Response(status, {**applied, "Content-Type": level.content_type}, body.encode())


def xml_error(error: ServiceError, call: TableCall) -> Response:
    """Return the error of an entity or table operation for other clients."""
    headers = {"Content-Type": "application/xml;charset=utf-8"}
    return Response(error.error_message.status, headers, _document(error, call, "", "xmlns"))


def settings_error(error: ServiceError, call: TableCall) -> Response:
    """Return the error of an operation on access policies, service properties or statistics."""
    headers = {"Content-Type": "application/xml", "x-ms-error-code": error.code}
    return Response(error.error_message.status, headers, _document(error, call, "m:", "xmlns:m"), error.message)


def _document(error: ServiceError, call: TableCall, prefix: str, namespace: str) -> bytes:
    text = xml_text(stamped_message(error, call))
    content = f'<{prefix}code>{error.code}</{prefix}code><{prefix}message xml:lang="en-US">{text}</{prefix}message>'
    return f'{PROLOGUE}<{prefix}error {namespace}="{_NAMESPACE}">{content}</{prefix}error>'.encode()
