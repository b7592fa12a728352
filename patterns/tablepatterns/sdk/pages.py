"""Query pages of entities through the SDK's client, but not through its deserializer.

The SDK's call takes a `raw_response_hook`. The hook reads the entities of the response and gives the SDK one with the
same headers and no entities, so that continuation tokens, retries and errors stay the SDK's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from azure.core.exceptions import ResponseNotReadError

from ..entity import Entity, received
from ..filters import Filter
from .batch import SimpleResponse
from .call import all_of, first_page
from .page_body import entities_of

_OK: Final = 200
_EMPTY: Final = b'{"value":[]}'


class PageReader:
    """Given to a query as its response hook, it takes the entities out of the response.

    :param hook: the hook whose place it takes
    """

    def __init__(self, hook: Callable[[Any], None] | None) -> None:
        self._hook = hook
        self.entities: list[Entity] | None = None
        """The entities of the page; None if the SDK has to read the response."""

    def __call__(self, response: Any) -> None:
        """Take the entities out of a response."""
        if self._hook is not None:
            self._hook(response)
        answer = response.http_response
        if answer.status_code != _OK:
            return
        try:
            self.entities = entities_of(answer.content)
        except ResponseNotReadError:
            return
        if self.entities is not None:
            response.http_response = SimpleResponse(answer.request, _OK, answer.reason, answer.headers, _EMPTY)


async def query_page(
    client: Any,
    where: Filter | None,
    *,
    size: int,
    token: Mapping[str, str | None] | None,
    select: Sequence[str] | None,
    hook: Callable[[Any], None] | None,
) -> tuple[tuple[Entity, ...], Mapping[str, str | None] | None]:
    """Return the entities of one page, and the SDK's continuation token, or None at the end.

    :param client: the SDK's client of the table
    :param hook: the `raw_response_hook` that the client was made with, if any
    """
    reader = PageReader(hook)
    options: dict[str, Any] = {"results_per_page": size, "raw_response_hook": reader}
    if select:
        options["select"] = list(select)
    queried = client.list_entities(**options) if where is None else client.query_entities(str(where), **options)
    pages = queried.by_page(token)
    found = await all_of(await first_page(pages))
    entities = tuple(map(received, found) if reader.entities is None else reader.entities)
    # The SDK's pager is a cycle of references and keeps the reader until the garbage is collected
    reader.entities = None
    return entities, pages.continuation_token
