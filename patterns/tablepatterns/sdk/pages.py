"""Read entities through the SDK's client, but not through its deserializer.

The SDK's call takes a `raw_response_hook`. The hook reads the entities of the response and gives the SDK one with the
continuation token and no entities, so that pages, retries and errors stay the SDK's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

from azure.core.exceptions import ResponseNotReadError

from ..entity import Entity, received
from ..filters import Filter
from .call import SimpleResponse, all_of, first_page, settled
from .page_body import entities_of, entity_of

_OK: Final = 200
_NO_ENTITIES: Final = b'{"value":[]}'
_NO_PROPERTIES: Final = b"{}"
_CONTINUATION: Final = ("x-ms-continuation-NextPartitionKey", "x-ms-continuation-NextRowKey")

T = TypeVar("T")


class ResponseReader(Generic[T]):
    """A response hook that reads the result of a call itself.

    :param read: reads the body of a response; returns None if the SDK has to read it
    :param empty: the body that the SDK gets instead
    :param hook: the client's own hook, which this one calls
    """

    def __init__(self, read: Callable[[bytes], T | None], empty: bytes, hook: Callable[[Any], None] | None) -> None:
        self._read = read
        self._empty = empty
        self._hook = hook
        self.found: T | None = None
        """The result; None if the SDK has to read the response."""

    def __call__(self, response: Any) -> None:
        """Read a response."""
        if self._hook is not None:
            self._hook(response)
        answer = response.http_response
        if answer.status_code != _OK:
            return
        try:
            self.found = self._read(answer.content)
        except ResponseNotReadError:
            return
        if self.found is not None:
            token = {name: answer.headers[name] for name in _CONTINUATION if name in answer.headers}
            response.http_response = SimpleResponse(answer.request, _OK, answer.reason, token, self._empty)


async def read_entity(
    client: Any,
    partition_key: str,
    row_key: str,
    *,
    select: Sequence[str] | None,
    hook: Callable[[Any], None] | None,
) -> Entity:
    """Return one entity.

    :param client: the SDK's client of the table
    :param hook: the client's `raw_response_hook`, if any
    """
    reader = ResponseReader(entity_of, _NO_PROPERTIES, hook)
    options: dict[str, Any] = {"select": list(select)} if select else {}
    found = await settled(client.get_entity(partition_key, row_key, raw_response_hook=reader, **options))
    return received(found) if reader.found is None else reader.found


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
    :param hook: the client's `raw_response_hook`, if any
    """
    reader = ResponseReader(entities_of, _NO_ENTITIES, hook)
    options: dict[str, Any] = {"results_per_page": size, "raw_response_hook": reader}
    if select:
        options["select"] = list(select)
    queried = client.list_entities(**options) if where is None else client.query_entities(str(where), **options)
    pages = queried.by_page(token)
    found = await all_of(await first_page(pages))
    entities = tuple(map(received, found) if reader.found is None else reader.found)
    # The SDK's pager is a cycle of references and keeps the reader until the garbage is collected
    reader.found = None
    return entities, pages.continuation_token
