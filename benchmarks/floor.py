"""The floor: the cost of a call in the SDK alone, over a transport with recorded responses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle
from random import Random
from typing import Any

from azure.core.pipeline.transport import HttpResponse as CoreResponse
from azure.core.pipeline.transport import HttpTransport
from azure.core.rest import HttpRequest, HttpResponse
from azure.core.utils import case_insensitive_dict

from tablepatterns_engine.account import Engine
from tablepatterns_engine.http.message import Response
from tablepatterns_engine.transport import EngineResponse, EngineTransport

from .case import FLOOR, C, Case, Entry, Place


class Recorder(EngineTransport):
    """The engine's transport, which records its responses."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.answers: list[Response] = []

    def send(self, request: HttpRequest, **kwargs: Any) -> HttpResponse:
        response = super().send(request, **kwargs)
        self.answers.append(Response(response.status_code, dict(response.headers), response.content, response.reason))
        return response


class SdkResponse(CoreResponse):
    """A response as azure-core reads it, with multipart bodies parsed by the email parser."""

    def __init__(self, request: Any, response: Response) -> None:
        super().__init__(request, None)
        self.status_code = response.status
        self.reason = response.reason
        self.headers = case_insensitive_dict(response.headers)
        self.content_type = self.headers.get("content-type")
        self._body = response.body

    def body(self) -> bytes:
        return self._body


class Floor(HttpTransport[HttpRequest, HttpResponse]):
    """A transport that returns the recorded responses of one call in turn.

    :param response: the class of the responses; the storage clients need more than azure-core's own class
    """

    def __init__(self, answers: Sequence[Response], response: Callable[[Any, Response], Any] = EngineResponse) -> None:
        self._answers = cycle(answers)
        self._response = response

    def send(self, request: HttpRequest, **kwargs: Any) -> HttpResponse:
        response: HttpResponse = self._response(request, next(self._answers))
        return response

    def open(self) -> None:
        """Do nothing: there is no connection."""

    def close(self) -> None:
        """Do nothing: there is no connection."""

    def __exit__(self, *args: object) -> None:
        self.close()


Transport = EngineTransport | Floor


def floor_of(
    case: Case[C],
    engine: Engine,
    place: Place[C],
    client: Callable[[Transport], C],
    response: Callable[[Any, Response], Any] = EngineResponse,
) -> Entry[C]:
    """Return the floor of a case, with the engine's responses to the call.

    :param client: create a client of the place over a transport
    :param response: the class of the responses
    """
    recorder = Recorder(engine)
    ask = case.ask(place, Random(0))
    case.check(case.call(client(recorder), ask))
    if case.after is not None:
        case.after(place, 1, 1)
    return Entry(case, FLOOR, client(Floor(recorder.answers, response)), place)
