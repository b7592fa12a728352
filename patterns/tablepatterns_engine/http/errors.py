"""Response bodies of errors."""

from __future__ import annotations

from ..errors import ServiceError
from .call import AnyCall
from .headers import seven_digits
from .message import Response
from .xml import element, optional, write_document


def stamped_message(error: ServiceError, call: AnyCall) -> str:
    """Return the text of an error as responses state it, with the id and the time of the request."""
    return f"{error.message}\nRequestId:{call.id}\nTime:{seven_digits(call.now)}"


def storage_error(call: AnyCall, error: ServiceError) -> Response:
    """Return an error of the Queue or the Blob service, with its details."""
    code, message = optional("Code", error.code), optional("Message", stamped_message(error, call))
    details = [optional(name, value) for name, value in error.error_message.details]
    headers = {"Content-Type": "application/xml", "x-ms-error-code": error.code}
    body = write_document(element("Error", code, message, *details))
    return Response(error.error_message.status, headers, body, error.message)
