"""What a caller can see of a call of the SDK, and a transport with unusual responses."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import requests
from azure.core.exceptions import HttpResponseError
from azure.core.pipeline.transport import HttpTransport
from azure.core.rest._requests_basic import RestRequestsTransportResponse
from urllib3.response import HTTPResponse

ODD_ERROR = b'{"odata.error":{"code":"InvalidInput","message":{"lang":"en","value":"1:Odd."},"innererror":{}}}'


def seen(error: Any) -> tuple[Any, ...]:
    """Return what a caller can see of an error, without what differs from request to request."""
    response, code = getattr(error, "response", None), getattr(error, "error_code", None)
    summary = (response.status_code, response.reason, steady(response.text())) if response else None
    index, details = getattr(error, "index", None), getattr(error, "additional_info", None)
    text = steady(str(error)), steady(error.message)
    status, reason = getattr(error, "status_code", None), getattr(error, "reason", None)
    return type(error), status, reason, code, type(code), index, details, text, summary


def steady(text: str) -> str:
    """Return a text without the id and the time of a request."""
    return re.sub(r"(RequestId|Time):[^\n\\\"]*", "", text)


def noted(text: str, headers: Any) -> tuple[list[str], list[str]]:
    """Return a text and headers without what differs from call to call, and without their order."""
    own = r"((x-ms-client-request-id|x-ms-request-id|x-ms-date|Date|Authorization|ETag)'?: )[^\\\n]+"
    value = r'("(?:WriteId|odata.etag|Timestamp)": ?)"(\\"|[^"])+"'
    text = steady(re.sub(value, r"\1", re.sub(own, r"\1", text, flags=re.IGNORECASE)))
    text = re.sub(r"(changeset|batch\w*|response)_[0-9a-f-]{36}", r"\1", text)
    return sorted(text.splitlines()), sorted(name.lower() for name in headers)


def ended(call: Callable[[], Any]) -> Any:
    """Return what a caller can see of a call's error, or that there was none."""
    try:
        found: list[Any] = call()
    except HttpResponseError as error:
        return seen(error)
    except Exception as error:  # noqa: BLE001 - the SDK lets many kinds of errors through
        return type(error), str(error)
    return [each.get("etag") if isinstance(each, dict) else each for each in found]


class OddTransport(HttpTransport[Any, Any]):
    """Answers every request with the same unusual response, as the SDK's socket transport would."""

    def __init__(self, status: int, kind: str, content: bytes) -> None:
        self.odd = status, kind, content

    def send(self, request: Any, **options: Any) -> Any:
        status, kind, content = self.odd
        kind_of_response: Any = RestRequestsTransportResponse
        received = requests.Response()
        received.status_code, received.reason = status, "Odd"
        received.headers["Content-Type"] = kind
        received.raw = HTTPResponse(io.BytesIO(content), preload_content=False)
        return kind_of_response(request=request, internal_response=received)

    def sleep(self, duration: float) -> None: ...

    def open(self) -> None: ...

    def close(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...
