"""An error of a service: status, code and message."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, NamedTuple
from unittest.mock import ANY
from xml.etree import ElementTree


class ServiceError(NamedTuple):
    """An error; the text is without the lines that name the request and the time. What is left out may be anything."""

    status: int = ANY
    code: str | None = ANY
    text: str | None = ANY

    def at(self, index: int) -> ServiceError:
        """Return what a transaction says whose operation with this index is rejected."""
        return self._replace(text=f"{index}:{self.text}")


def service_error_in(error: BaseException | None) -> ServiceError:
    """Return the service's error from the SDK's exception, which may be one of Python's own."""
    while error is not None and getattr(error, "response", None) is None:
        error = error.__cause__ or error.__context__
    if error is None:
        raise AssertionError("the service was not asked")
    response: Any = error.response  # type: ignore[attr-defined]
    code, text = _said(response.text())
    return ServiceError(response.status_code, code, text and text.partition("\nRequestId:")[0])


def _said(body: str) -> tuple[str | None, str | None]:
    """Return the code and the text in the body of an error, whatever its format."""
    with suppress(json.JSONDecodeError):
        error = json.loads(body)["odata.error"]
        return error["code"], error["message"]["value"]
    with suppress(ElementTree.ParseError):
        root = ElementTree.fromstring(body.lstrip("\ufeff"))  # noqa: S314 - from the service that is under test
        members = {element.tag.rpartition("}")[2].lower(): element.text for element in root}
        return members.get("code"), members.get("message")
    return None, None
