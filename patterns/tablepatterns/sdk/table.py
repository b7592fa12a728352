"""One table as recipes use it, and how writes whose response was lost are recognized."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar
from uuid import uuid4

from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError, ServiceResponseError
from azure.data.tables import TableAccessPolicy, generate_table_sas

from .. import limits
from ..entity import MAX_WRITE_IDS, STALE_ETAG, Entity, WriteId, WriteIds, entity_of_keys
from ..errors import (
    BadDesign,
    BadInput,
    BadTableName,
    EntityAlreadyExists,
    EntityChanged,
    OutcomeUnknown,
    TooMuchContention,
)
from ..filters import Filter
from ..filters.bounds import Interval, KeyBounds, key_bounds
from .call import ACCEPTED, CONNECTION_LOST, AmbiguousResponse, CallHook, first_page, settled
from .errors import code_of, lacks_table, missing, raise_classified, translated
from .operation import ANY, Operation, check_transaction, inserted, weak_etag
from .page_token import EntityPage, PageQuery, Position

if TYPE_CHECKING:
    from .account_sender import AccountSender

_NO_TABLE: Final = EntityPage((), None)
"""The page of a table that does not exist."""


T = TypeVar("T")

_ATTEMPTS = 3
_ATTEMPTS_TO_OVERWRITE = 10
"""How many times an unconditional write is retried after a lost response, conditional on the row just read."""


@dataclass(frozen=True)
class Page(Generic[T]):
    """A part of a query's results, and the token that continues it; the last page has none.

    A page may hold fewer entities than asked for, even none, and still be followed by others.

    :param items: the entities
    :param token: the continuation token; None on the last page

    Guide: large result sets and continuation tokens.
    """

    items: tuple[T, ...]
    token: str | None


class Table:
    """One table of an account, over an SDK `TableClient`, sync or async.

    A table that does not exist reads as empty, and the first write creates it.

    :param hook: the client's `raw_response_hook`, if any; writes use their own hook, which calls it
    """

    def __init__(self, client: Any, hook: Callable[[Any], None] | None, requests: AccountSender) -> None:
        self._client = client
        self._hook = hook
        self._requests = requests
        self._sender: Any = None

    @property
    def name(self) -> str:
        """The table's name, as given."""
        return str(self._client.table_name)

    async def create(self) -> bool:
        """Create the table; return False if it existed already. Cost: 1 transaction.

        After a lost response, False is returned even if this call created it.
        """
        try:
            await self._created()
        except ResourceExistsError as error:
            if code_of(error) != "TableAlreadyExists":
                raise
            return False
        except (HttpResponseError, ValueError) as error:
            if isinstance(error, HttpResponseError) and (error.status_code not in (400, 404) or not code_of(error)):
                raise_classified(error)
            # The documentation does not agree on which of the two the service returns for a reserved name
            raise BadTableName("table name", self.name, "the service rejects the name", "choose another") from error
        return True

    async def _created(self) -> None:
        for _ in range(_ATTEMPTS - 1):
            with suppress(*CONNECTION_LOST):
                await settled(self._client.create_table())
                return
        await settled(self._client.create_table())

    async def drop(self) -> None:
        """Delete the table with its entities; does nothing if there is none. Cost: 1 transaction."""
        try:
            await settled(self._client.delete_table())
        except HttpResponseError as error:
            raise_classified(error)

    @property
    def service_address(self) -> str:
        """The URL of the account's Table service."""
        return str(self._client.url).partition("?")[0]

    def signed(self, **terms: Any) -> str:
        """Return a shared access signature, by the terms of `azure.data.tables.generate_table_sas`. Cost: nothing."""
        credential = self._client.credential
        if not isinstance(credential, AzureNamedKeyCredential):
            rule = "a signature needs the account's key, and this connection does not have it"
            raise BadDesign("credential", type(credential).__name__, rule, "connect with the account's key")
        return generate_table_sas(credential, self.name, **terms)

    async def service_time(self) -> datetime | None:
        """Return the time by the clock that sets Timestamps; None if the table does not exist. Cost: 1 transaction."""
        hook = CallHook(self._hook)
        query = {"results_per_page": 1, "select": ["PartitionKey"], "raw_response_hook": hook}
        try:
            await first_page(self._client.list_entities(**query).by_page())
        except ResourceNotFoundError as error:
            if code_of(error) == "TableNotFound":
                return None
            raise
        except HttpResponseError as error:
            raise_classified(error)
        return parsedate_to_datetime(hook.response.headers["Date"])

    async def policies(self) -> dict[str, TableAccessPolicy | None]:
        """Return the stored access policies by name. Cost: 1 transaction."""
        try:
            policies: dict[str, TableAccessPolicy | None] = await settled(self._client.get_table_access_policy())
        except ResourceNotFoundError:
            return {}
        except HttpResponseError as error:
            raise_classified(error)
        return policies

    async def put_policies(self, policies: Mapping[str, TableAccessPolicy | None]) -> None:
        """Replace all stored access policies. Cost: 1 transaction; 2 more if the table must be created first."""
        try:
            try:
                await settled(self._client.set_table_access_policy(policies))
            except ResourceNotFoundError:
                await self.create()
                await settled(self._client.set_table_access_policy(policies))
        except HttpResponseError as error:
            raise_classified(error)

    async def get(self, partition_key: str, row_key: str, select: Sequence[str] | None = None) -> Entity | None:
        """Read one entity by its keys, or None. Cost: 1 transaction, a point query."""
        names = [*dict.fromkeys(("PartitionKey", "RowKey", *select))] if select else None
        try:
            sender = self._sender or await self._new_sender()
            entity = await self._requests.read_entity(self._client, sender, partition_key, row_key, select=names)
        except HttpResponseError as error:
            if isinstance(error, ResourceNotFoundError) and code_of(error):
                return None
            raise_classified(error)
        if entity.row_key != row_key or entity.partition_key != partition_key:
            bounds = KeyBounds(Interval(partition_key, upper=partition_key), Interval(row_key, upper=row_key))
            self._check_received(entity, bounds)
        return entity

    async def page(
        self, where: Filter | None, *, size: int, token: str | None = None, select: Sequence[str] | None = None
    ) -> Page[Entity]:
        """Read a page of 1 to 1,000 entities, from the token of an earlier page on. Cost: 1 transaction."""
        if not 1 <= size <= limits.MAX_PAGE_ENTITIES:
            rule = f"a page has 1 to {limits.MAX_PAGE_ENTITIES} entities"
            raise BadInput("size", size, rule, "ask for smaller pages, and continue with their tokens")
        start = Position.parse(token, self.name, where) if token else None
        page = await self.read_page(PageQuery(where, size, start, select))
        return Page(tuple(page.entities), page.next.text(self.name, where) if page.next else None)

    async def read_page(self, query: PageQuery) -> EntityPage:
        """Read one page of a query as `page` does, with positions in place of tokens. Cost: 1 transaction."""
        try:
            page = await self._requests.query_page(self._client, self._sender or await self._new_sender(), query)
        except HttpResponseError as error:
            if isinstance(error, ResourceNotFoundError) and code_of(error) == "TableNotFound":
                return _NO_TABLE
            raise_classified(error)
        if page.entities and query.where is not None:
            # If the response belongs to another request, all its entities are wrong, so checking two is enough
            bounds = key_bounds(query.where)
            for entity in (page.entities[0], page.entities[-1]):
                self._check_received(entity, bounds)
        return page

    def _check_received(self, entity: Entity, bounds: KeyBounds) -> None:
        """Check that a response belongs to this request, and not to one of another process."""
        partition_key, row_key = entity.partition_key, entity.row_key
        if partition_key is None or row_key is None or bounds.contains(partition_key, row_key):
            return
        text = f"table {self.name!r}: the response holds the entity {entity.key!r}, which was not asked for"
        raise ServiceResponseError(f"{text}; do not share a transport between processes, call connect() in each")

    async def query(self, where: Filter | None, *, select: Sequence[str] | None = None) -> AsyncIterator[Entity]:
        """Yield every entity that matches, page by page. Cost: 1 transaction per page of up to 1,000."""
        query = PageQuery(where, limits.MAX_PAGE_ENTITIES, None, select)
        while True:
            page = await self.read_page(query)
            for entity in page.entities:
                yield entity
            if page.next is None:
                return
            query = query._replace(start=page.next)

    async def submit(self, *operations: Operation) -> list[Entity]:
        """Execute all operations in one entity group transaction, or none of them; return what is stored then.

        Each entity returned has its keys, its new ETag and Timestamp; a deleted one has no ETag. A missing table is
        created first.

        A write whose response was lost is sent again only on conditions that keep it from being executed twice, and
        recognized by its id in the rows: docs/decisions/0003-every-write-carries-an-id.md. An entity that was changed
        since gets an ETag that matches no row, so the next conditional write raises `EntityChanged`. A repeated delete
        that finds no entity counts as successful.

        Cost: 1 transaction; after a lost response 1 more per attempt, and 1 for each row to read back.

        :raises BadInput: the operations cannot be one transaction; nothing was sent
        :raises EntityAlreadyExists: an entity to be inserted exists
        :raises EntityChanged: an entity changed since the ETag was read
        :raises EntityNotFound: an entity to be replaced, merged or deleted does not exist
        :raises TransactionFailed: the service rejected it for another reason; `index` is that of the operation
        :raises OutcomeUnknown: a response was lost, and the row does not show whether the write was made
        :raises TooMuchContention: after a lost response, other writers changed the entity during every attempt
        """
        for operation in operations:
            if operation.etag is not None and not operation.etag.startswith(('W/"', ANY)):
                operations = tuple(map(_with_weak_etag, operations))
                break
        check_transaction(operations)
        if not operations:
            return []
        write_id = uuid4().bytes
        for operation in operations:
            if operation.is_conditional:
                return await self._repeated(operations, write_id)
        return await self._sent_once(operations, write_id)

    async def _repeated(self, operations: Sequence[Operation], write_id: WriteId) -> list[Entity]:
        """Send a transaction until a response comes; its conditions keep it from being executed twice."""
        lost_responses, is_created = 0, False
        while True:
            hook = CallHook(self._hook)
            try:
                return await self._send(operations, write_id, hook)
            except CONNECTION_LOST:
                lost_responses += 1
                if lost_responses == _ATTEMPTS:
                    raise
            except HttpResponseError as error:
                if not is_created and lacks_table(error, operations):
                    await self.create()
                    is_created = True
                    continue
                if lost_responses or hook.was_repeated:
                    rows = await self._own_work(operations, write_id, error)
                    if rows:
                        return rows
                failure = translated(error, operations)
                raise failure from (None if failure is error else error)

    async def _sent_once(
        self, operations: Sequence[Operation], write_id: WriteId, *, has_table: bool = False
    ) -> list[Entity]:
        """Send a transaction without a condition, and not again while it may have been executed.

        Another writer may have changed the row since, and a retry would overwrite that. So after a lost response, the
        rows are read, and the retry is conditional on them.
        """
        try:
            return await self._send(operations, write_id, CallHook(self._hook, sends_once=True))
        except (*CONNECTION_LOST, AmbiguousResponse) as error:
            return await self._after_lost_response(operations, write_id, error)
        except HttpResponseError as error:
            if has_table or not lacks_table(error, operations):
                failure = translated(error, operations)
                raise failure from (None if failure is error else error)
        await self.create()
        return await self._sent_once(operations, write_id, has_table=True)

    async def _after_lost_response(
        self, operations: Sequence[Operation], write_id: WriteId, error: Exception
    ) -> list[Entity]:
        from .write_outcome import WriteOutcome, outcome_of_overwriting

        rows = await self._rows(operations)
        outcome = outcome_of_overwriting(operations, write_id, rows)
        if outcome is WriteOutcome.UNKNOWN:
            raise _unknown(operations) from error
        if outcome is WriteOutcome.MADE:
            return _read_back(operations, rows, write_id)
        overtaken: EntityAlreadyExists | EntityChanged | None = None
        started_at = monotonic()
        for _ in range(_ATTEMPTS_TO_OVERWRITE):
            conditional = [operation.on(row) for operation, row in zip(operations, rows, strict=True)]
            try:
                return await self._repeated(conditional, write_id)
            except (EntityAlreadyExists, EntityChanged) as refused:
                overtaken = refused
            rows = await self._rows(operations)
        raise TooMuchContention(_ATTEMPTS_TO_OVERWRITE, monotonic() - started_at, overtaken) from overtaken

    async def _rows(self, operations: Sequence[Operation]) -> list[Entity | None]:
        return [await self.get(*operation.key) for operation in operations]

    async def _send(self, operations: Sequence[Operation], write_id: WriteId, hook: CallHook) -> list[Entity]:
        all_write_ids = _new_write_ids(operations, write_id)
        sender = self._sender or await self._new_sender()
        try:
            etags = await self._requests.submit(self._client, sender, operations, all_write_ids, hook)
        except (HttpResponseError, UnicodeDecodeError) as error:
            raise_classified(error, hook.response)
        except ValueError as error:
            if hook.status != ACCEPTED:
                raise
            raise ServiceResponseError("the response to a transaction is incomplete: it has no parts") from error
        if len(etags) != len(operations):
            raise ServiceResponseError("the response to a transaction is incomplete: parts are missing")
        if len(operations) == 1:
            if hook.status == 404:
                # The SDK reports the deletion of a missing entity as a success
                not_found: Any = ResourceNotFoundError(response=hook.response)
                not_found.error_code = code_of(not_found)
                if not not_found.error_code:
                    raise not_found
                if not hook.was_repeated:
                    raise missing(operations[0], not_found)
            etags = [hook.etag]
        return list(map(_written_entity, operations, etags, all_write_ids))

    async def _new_sender(self) -> Any:
        self._sender = await self._requests.get()
        return self._sender

    async def _own_work(
        self, operations: Sequence[Operation], write_id: WriteId, error: HttpResponseError
    ) -> list[Entity] | None:
        """Return what an earlier attempt of this transaction wrote; None if the conflict is with another writer."""
        if error.status_code not in (404, 409, 412):
            return None
        from .write_outcome import WriteOutcome, outcome_of

        rows = await self._rows(operations)
        outcome = outcome_of(operations, write_id, rows)
        if outcome is WriteOutcome.UNKNOWN:
            raise _unknown(operations, error) from error
        return None if outcome is WriteOutcome.NOT_MADE else _read_back(operations, rows, write_id)


def _unknown(operations: Sequence[Operation], error: HttpResponseError | None = None) -> OutcomeUnknown:
    text = f"the response to a write of {operations[0].key} was lost, and the write may have succeeded; "
    return OutcomeUnknown(text + "read the entity to see whether it has the change", error)


def _read_back(operations: Sequence[Operation], rows: Sequence[Entity | None], write_id: WriteId) -> list[Entity]:
    """Return what a transaction whose response was lost wrote, from its current rows.

    A row that has changed since gets an ETag that matches no row: with its newest, the caller's next conditional write
    would overwrite a change that the caller has not seen.
    """
    from .write_outcome import is_newest

    etags = [
        row.etag if row is not None and is_newest(write_id, operation, row) else STALE_ETAG
        for operation, row in zip(operations, rows, strict=True)
    ]
    return list(map(_written_entity, operations, etags, _new_write_ids(operations, write_id)))


def _new_write_ids(operations: Sequence[Operation], write_id: WriteId) -> list[WriteIds]:
    """Return the write ids that each write stores in its row; none if the row has no room."""
    first = inserted(write_id)
    return [
        (first if operation.kind == "insert" else write_id, *operation.write_ids)[:MAX_WRITE_IDS]
        if operation.has_room
        else ()
        for operation in operations
    ]


def _with_weak_etag(operation: Operation) -> Operation:
    return operation if operation.etag is None else replace(operation, etag=weak_etag(operation.etag))


def _written_entity(operation: Operation, etag: str | None, write_ids: WriteIds) -> Entity:
    if operation.kind == "delete" or etag is None:
        return entity_of_keys(*operation.key, None, ())
    return entity_of_keys(operation.partition_key, operation.row_key, etag, write_ids)
