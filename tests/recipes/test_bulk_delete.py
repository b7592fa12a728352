"""Delete the entities that match a filter, 100 at a time, except those that changed in between."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from azure.core.exceptions import ServiceRequestError

from support.guarantees import explore_guarantee
from support.logins import BY_MOMENT, NOON, login
from tablepatterns import BulkLoad, EntitySet, IntraPartitionIndex, Key, QueryClass, below, connect, prop
from tablepatterns.errors import BadFilter, BadInput, BadKey, BadToken, EntityNotFound, OutcomeUnknown
from tablepatterns.jobs import Workers
from tablepatterns.recipes.bulk_delete import BulkDelete, Deleted
from tablepatterns_engine.account import Engine
from tablepatterns_engine.tables.service import Operation
from tablepatterns_explore import Counterexample, World

OLD = prop("Old") == True  # noqa: E712
ANYWHERE = QueryClass.TABLE_SCAN


async def with_logins(storage: Any, table: str, users: int, each: int, **options: Any) -> Any:
    """Return a set with so many sign-ins of so many users, all but the last of each user old."""
    logins = EntitySet(storage, table, options.pop("key", BY_MOMENT), **options)
    await BulkLoad(logins).load(
        login(NOON + timedelta(seconds=number), f"user{user}", Number=number, Old=number < each - 1)
        for user in range(users)
        for number in range(each)
    )
    return logins


async def numbers(logins: Any) -> list[int]:
    return [entity["Number"] async for entity in logins.scan()]


@pytest.mark.guide("G-223")
async def test_old_entities_go_in_transactions_of_their_partition(
    storage: Any, engine: Engine, table_name: str
) -> None:
    logins = await with_logins(storage, table_name, users=3, each=151)
    with engine.ledger.span() as span:
        done = await BulkDelete(logins).delete(OLD, allow=ANYWHERE)
    assert done == Deleted(entities=450, transactions=6, left=0)
    assert await numbers(logins) == [150] * 3
    with engine.ledger.span() as single:
        for entity in [each async for each in logins.scan()]:
            await logins.delete(entity)
    assert span.totals.requests / 450 < single.totals.requests / 3 / 10


@pytest.mark.guide("G-223")
async def test_only_the_entities_of_the_key_range_are_deleted(storage: Any, table_name: str) -> None:
    logins = await with_logins(storage, table_name, users=2, each=8)
    early = below(NOON + timedelta(seconds=3))
    deletion = BulkDelete(logins)
    assert await deletion.delete(User="user0", At=early) == Deleted(3, 1, 0)
    assert sorted(await numbers(logins)) == sorted([*range(3, 8), *range(8)])
    scan = QueryClass.PARTITION_SCAN
    assert await deletion.delete(prop("Number") > 5, {"User": "user0"}, allow=scan) == Deleted(2, 1, 0)
    assert await deletion.delete({"User": "user1"}) == Deleted(8, 1, 0)
    assert sorted(await numbers(logins)) == [3, 4, 5]


async def test_fields_that_do_not_make_a_range_are_rejected_before_any_request(engine: Engine) -> None:
    deletion = BulkDelete(EntitySet(connect(engine), "Logins", BY_MOMENT))
    with pytest.raises(BadInput, match="a filter or key fields"):
        deletion.delete()
    for fields in ({"At": NOON}, {"User": "jo", "Number": 1}):
        with pytest.raises(BadKey):
            deletion.delete(fields)
    assert engine.ledger.totals.requests == 0


@pytest.mark.guide("G-223")
async def test_it_is_the_same_on_every_backend(storage: Any, table_name: str) -> None:
    logins = await with_logins(storage, table_name, users=2, each=8)
    only_one = (prop("PartitionKey") == "user1") & OLD
    assert await BulkDelete(logins).delete(only_one, allow=QueryClass.PARTITION_SCAN) == Deleted(7, 1, 0)
    assert await numbers(logins) == [*range(8), 7]
    assert await BulkDelete(logins).delete(only_one, allow=QueryClass.PARTITION_SCAN) == Deleted()


async def test_derived_rows_go_too_and_count_towards_the_hundred(storage: Any, engine: Engine, table_name: str) -> None:
    index = IntraPartitionIndex(Key("{User}", "number_{Number:06d}"))
    logins = await with_logins(
        storage, table_name, users=1, each=121, key=Key("{User}", "at_{At:ticks}"), derived=[index]
    )
    assert await BulkDelete(logins).delete(OLD, allow=ANYWHERE) == Deleted(entities=120, transactions=3, left=0)
    assert len(engine.tables.query(table_name).entities) == 2


async def test_a_scan_is_rejected_unless_it_is_allowed(storage: Any, engine: Engine, table_name: str) -> None:
    with engine.ledger.span() as span, pytest.raises(BadFilter):
        await BulkDelete(EntitySet(storage, table_name, BY_MOMENT)).delete(OLD)
    assert span.totals.requests == 0


async def test_entities_that_changed_in_between_are_left(storage: Any, engine: Engine, table_name: str) -> None:
    logins = await with_logins(storage, table_name, users=1, each=41)

    def row(number: int) -> tuple[str, str]:
        return BY_MOMENT.format({"User": "user0", "At": NOON + timedelta(seconds=number)})

    meanwhile = [Operation("replace", *row(7), {"Number": 7, "Old": False}), Operation("delete", *row(31))]

    class Meddled(EntitySet[Any]):
        """Others write between the reading and the deleting."""

        def deleting(self, entity: Any) -> Any:
            while meanwhile:
                engine.tables.apply(table_name, meanwhile.pop())
            return super().deleting(entity)

    done = await BulkDelete(Meddled(storage, table_name, BY_MOMENT)).delete(OLD, allow=ANYWHERE)
    assert (done.entities, done.left) == (38, 2)
    assert await numbers(logins) == [7, 40]


async def test_it_keeps_its_pace(storage: Any, engine: Engine, table_name: str) -> None:
    logins = await with_logins(storage, table_name, users=5, each=4)
    before = engine.clock.now()
    # 15 entities, of which a transaction deletes up to 3
    assert await BulkDelete(logins, max_per_second=4).delete(OLD, allow=ANYWHERE) == Deleted(15, 5)
    assert 3.5 <= (engine.clock.now() - before) / 10_000_000 < 3.75


async def test_what_an_error_left_the_next_call_deletes(storage: Any, engine: Engine, table_name: str) -> None:
    logins = await with_logins(storage, table_name, users=3, each=5)
    with engine.faults.refuse_connection(operation="Transaction", after=1), pytest.raises(ServiceRequestError):
        await BulkDelete(logins).delete(OLD, allow=ANYWHERE)
    assert await numbers(logins) == [4, *range(5), *range(5)]
    assert await BulkDelete(logins).delete(OLD, allow=ANYWHERE) == Deleted(8, 2, 0)


async def test_an_interrupted_deletion_is_continued_by_its_token(storage: Any, engine: Engine, table_name: str) -> None:
    logins = await with_logins(storage, table_name, users=3, each=501)
    reports: list[Deleted] = []
    # A lower rate has smaller pages
    deletion = BulkDelete(logins, max_per_second=119.9)
    assert await deletion.delete(OLD, allow=ANYWHERE, progress=reports.append) == Deleted(1_500, 15)
    assert [report.token is None for report in reports] == [False, False, True]
    await BulkLoad(logins).load(login(NOON, user, Number=7, Old=True) for user in ("a", "user2"))
    with engine.ledger.span() as span:
        assert await deletion.delete(OLD, allow=ANYWHERE, resume=reports[0].token) == Deleted(1, 1)
    assert span.totals.requests == 2
    with pytest.raises(BadToken):
        await deletion.delete(prop("Number") > 3, allow=ANYWHERE, resume=reports[0].token)


@pytest.mark.parametrize("seconds", [0.0, 30.0])
def test_workers_delete_the_same(table_name: str, seconds: float) -> None:
    logins = EntitySet(connect(), table_name, BY_MOMENT)
    BulkLoad(logins).load(
        login(NOON + timedelta(seconds=number), f"user{number % 7}", Old=number % 3 > 0) for number in range(3_000)
    )
    deleted = BulkDelete(logins).delete(OLD, allow=ANYWHERE, workers=Workers(3, seconds=seconds))
    assert (deleted.entities, deleted.left) == (2_000, 0)
    assert [entity["Old"] for entity in logins.scan()] == [False] * 1_000


# -- explored: one deletes, and another renews an entity that was found


class Unconditional(EntitySet[Any]):
    """It deletes whatever is stored."""

    def deleting(self, entity: Any) -> Any:
        write = super().deleting(entity)
        return replace(write, source=None)


def a_deleter_and_a_renewal(world: World, kind: type[EntitySet[Any]] = EntitySet) -> dict[str, Any]:
    logins = kind(world.storage, "Logins", BY_MOMENT)
    keys = [{"User": "jo", "At": NOON + timedelta(seconds=number)} for number in range(2)]
    world.run(logins.table.submit(*(logins.inserting({**each, "Old": True}).primary() for each in keys)))
    return {
        "deleter": BulkDelete(logins).delete(OLD, allow=ANYWHERE),
        "renewal": logins.update(lambda entity: entity.update(Old=False), **keys[1]),
    }


def what_was_renewed_is_there(world: World) -> None:
    stored = [row.properties["Old"] for row in world.engine.tables.query("Logins").entities]
    if "renewal" in world.returned:
        assert False in stored, "an entity was deleted that was not old any more"
    if "deleter" in world.returned and "renewal" in world.raised:
        assert stored == []


@pytest.mark.guide("G-223")
@pytest.mark.guarantee("BulkDelete", "an entity that another writer changed in between is not deleted")
def test_entities_changed_in_between_are_never_deleted() -> None:
    for faults in ({"crashes": 1}, {"lost_responses": 1}):
        result = explore_guarantee(
            a_deleter_and_a_renewal,
            invariant=what_was_renewed_is_there,
            # A renewal whose response was lost, and whose row was deleted since, may have succeeded
            expected=(EntityNotFound, OutcomeUnknown),
            preemptions=1,
            **faults,
        )
        assert result.states > 10


def test_an_unconditional_delete_deletes_a_changed_entity() -> None:
    with pytest.raises(Counterexample, match="not old any more"):
        explore_guarantee(
            partial(a_deleter_and_a_renewal, kind=Unconditional),
            invariant=what_was_renewed_is_there,
            expected=EntityNotFound,
        )
