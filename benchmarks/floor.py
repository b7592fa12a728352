"""The floor: what a call costs in the SDK alone, over a transport that has its answer ready."""

from __future__ import annotations

from typing import Any

from azure.core.pipeline.transport import HttpTransport
from azure.core.rest import HttpRequest, HttpResponse

from tablepatterns.engine.responses import EngineResponse
from tablepatterns.engine.rest.message import Response
from tablepatterns.engine.transport import EngineTransport


class Recorder(EngineTransport):
    """The engine's transport, which keeps its answers."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.answers: list[Response] = []

    def send(self, request: HttpRequest, **kwargs: Any) -> HttpResponse:
        response = super().send(request, **kwargs)
        self.answers.append(Response(response.status_code, dict(response.headers), response.content, response.reason))
        return response


class Floor(HttpTransport[HttpRequest, HttpResponse]):
    """A transport that gives one recorded answer to every request, in a response of the engine's class."""

    def __init__(self, answer: Response) -> None:
        self._answer = answer

    def send(self, request: HttpRequest, **kwargs: Any) -> HttpResponse:
        return EngineResponse(request, self._answer)

    def open(self) -> None:
        """Do nothing: there is no connection."""

    def close(self) -> None:
        """Do nothing: there is no connection."""

    def __exit__(self, *args: object) -> None:
        self.close()
