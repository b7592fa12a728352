"""The bodies of answers that are no success: JSON and XML for tables, XML for settings, XML for queues and blobs."""

from __future__ import annotations

from json.encoder import encode_basestring_ascii as quoted
from typing import Final

from ...edm import Ticks
from ..refusal import Refusal
from .formats import Level
from .message import Response
from .moments import seven_digits
from .status import status_of
from .xml_document import PROLOGUE, element, optional, write_document, xml_text

_NAMESPACE: Final = "http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"


class Refusals:
    """Writes refusals that carry one request's id and time.

    :param request_id: the id that the answer's header carries too
    """

    __slots__ = ("_stamp",)

    def __init__(self, request_id: str, moment: Ticks) -> None:
        self._stamp = f"\nRequestId:{request_id}\nTime:{seven_digits(moment)}"

    def in_json(self, refusal: Refusal) -> Response:
        """Return a refusal as the entity and table operations give it to clients that ask for JSON."""
        message = f'"message":{{"lang":"en-US","value":{quoted(refusal.message + self._stamp)}}}'
        body = f'{{"odata.error":{{"code":"{refusal.code}",{message}}}}}'
        return Response(status_of(refusal.code), {"Content-Type": Level.MINIMAL.value}, body.encode())

    def in_xml(self, refusal: Refusal) -> Response:
        """Return a refusal as the entity and table operations give it to all others."""
        body = f'{PROLOGUE}<error xmlns="{_NAMESPACE}">{self._elements(refusal, "")}</error>'
        return Response(status_of(refusal.code), {"Content-Type": "application/xml;charset=utf-8"}, body.encode())

    def of_service(self, refusal: Refusal) -> Response:
        """Return a refusal as access policies, service properties and statistics give it."""
        body = f'{PROLOGUE}<m:error xmlns:m="{_NAMESPACE}">{self._elements(refusal, "m:")}</m:error>'
        headers = {"Content-Type": "application/xml", "x-ms-error-code": refusal.code}
        return Response(status_of(refusal.code), headers, body.encode(), refusal.message)

    def of_storage(self, refusal: Refusal) -> Response:
        """Return a refusal as the Queue and the Blob service give it, with its details."""
        code, message = optional("Code", refusal.code), optional("Message", refusal.message + self._stamp)
        details = [optional(name, value) for name, value in refusal.answer.details]
        headers = {"Content-Type": "application/xml", "x-ms-error-code": refusal.code}
        body = write_document(element("Error", code, message, *details))
        return Response(status_of(refusal.code), headers, body, refusal.message)

    def _elements(self, refusal: Refusal, prefix: str) -> str:
        message = xml_text(refusal.message + self._stamp)
        return (
            f'<{prefix}code>{refusal.code}</{prefix}code><{prefix}message xml:lang="en-US">{message}</{prefix}message>'
        )
