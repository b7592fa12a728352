"""What the client of a grant can and cannot access, as the service decides."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from azure.core.credentials import AzureSasCredential
from azure.core.exceptions import HttpResponseError

from conformance.deviations import POLICIES, SAS_RANGES
from support.employees import by_email, employees_of, jones
from tablepatterns import EntitySet, Key, at_least, between, connect, prefix
from tablepatterns.errors import BadDesign, BadInput, BadKey, LimitExceeded
from tablepatterns.recipes.grant import AccessPolicies, KeyScope, grant
from tablepatterns.recipes.index_entities import IndexEntity
from tablepatterns.recipes.inter_partition_index import InterPartitionIndex
from tablepatterns.recipes.summary import Summary
from tablepatterns_engine.account import Engine

HOUR = timedelta(hours=1)
NOTES = Key("{User}", "{Note:06d}")
DOCUMENTS = Key("{Site}", "{Owner}_{Document}")


def notes_of(storage: Any, table: str, **options: Any) -> Any:
    return EntitySet(storage, table, NOTES, **options)


def note(user: str, number: int = 1) -> dict[str, Any]:
    return {"User": user, "Note": number, "Text": f"by {user}"}


def hourly_grant(storage: Any, subject: Any, permissions: str | None = "r", **options: Any) -> Any:
    return grant(storage, subject, permissions, **{"expires": HOUR, **options})


def held(backend: Any, storage: Any, grant: Any) -> Any:
    """Return the account as the holder of a grant sees it."""
    return backend.connect(credential=grant.credential) if storage.engine else backend.connect(grant.url)


class Refused:
    """A context in which the service refuses a request with 403."""

    def __enter__(self) -> None:
        self._raises = pytest.raises(HttpResponseError)
        self._found = self._raises.__enter__()

    def __exit__(self, *error: Any) -> bool:
        caught = bool(self._raises.__exit__(*error))
        assert self._found.value.status_code == 403
        return caught


# ------------------------------------------------------------------ what a holder may reach


@pytest.mark.guide("G-339", "G-344", "G-346")
async def test_a_whole_table_is_the_default(backend: Any, storage: Any, table_name: str) -> None:
    notes = notes_of(storage, table_name)
    for user in ("ann", "bob"):
        await notes.insert(note(user))
    theirs = notes_of(held(backend, storage, hourly_grant(storage, notes, "raud")), table_name)
    assert [each["User"] async for each in theirs.scan()] == ["ann", "bob"]
    await theirs.insert(note("cid"))
    await theirs.update(lambda found: found.update(Text="changed"), User="ann", Note=1)
    await theirs.delete(note("bob"), force=True)
    assert [each["Text"] async for each in notes.scan()] == ["changed", "by cid"]


@pytest.mark.guide("G-343")
@pytest.mark.parametrize("letters", ["r", "a", "u", "d"])
async def test_a_holder_may_do_what_the_permissions_say_and_nothing_else(
    backend: Any, storage: Any, table_name: str, letters: str
) -> None:
    notes = notes_of(storage, table_name)
    entity = await notes.insert(note("ann"))
    theirs = notes_of(held(backend, storage, hourly_grant(storage, notes, letters)), table_name)
    calls = {
        "r": lambda: theirs.get(User="ann", Note=1),
        "a": lambda: theirs.insert(note("ann", 2)),
        "u": lambda: theirs.replace(entity),
        "d": lambda: theirs.delete(entity),
    }
    for letter, call in calls.items():
        if letter in letters:
            await call()
        else:
            with Refused():
                await call()
    assert (await notes.get(User="ann", Note=1) is None) == (letters == "d")
    assert (await notes.get(User="ann", Note=2) is None) == (letters != "a")


@SAS_RANGES
@pytest.mark.guide("G-345", "G-346", "G-347")
async def test_a_user_reaches_nothing_but_the_users_own_partition(backend: Any, storage: Any, table_name: str) -> None:
    notes = notes_of(storage, table_name)
    for user in ("an", "ann", "anna", "bob"):
        await notes.insert(note(user))
    mine = hourly_grant(storage, notes, "raud", within={"User": "ann"})
    theirs = notes_of(held(backend, storage, mine), table_name)
    assert [each["User"] async for each in theirs.scan()] == ["ann"]
    await theirs.insert(note("ann", 2))
    for user in ("an", "anna", "bob"):
        assert [each async for each in theirs.range(User=user)] == []
        for call in (theirs.get(User=user, Note=1), theirs.insert(note(user, 2)), theirs.insert_or_replace(note(user))):
            with Refused():
                await call
    assert [(each["User"], each["Note"]) async for each in notes.scan()] == [
        ("an", 1),
        ("ann", 1),
        ("ann", 2),
        ("anna", 1),
        ("bob", 1),
    ]


@SAS_RANGES
@pytest.mark.guide("G-340", "G-341")
@pytest.mark.parametrize(
    ("reach", "inside"),
    [
        (KeyScope("ann", "bob"), [("ann", 1), ("ann", 2), ("bob", 1), ("bob", 2)]),
        (KeyScope("bob"), [("bob", 1), ("bob", 2), ("cid", 1), ("cid", 2)]),
        (KeyScope("ann", "bob", "000002", "000001"), [("ann", 2), ("bob", 1)]),
    ],
    ids=["partitions", "from a partition", "partitions and rows"],
)
async def test_a_reach_may_be_of_several_partitions(
    backend: Any, storage: Any, table_name: str, reach: KeyScope, inside: list[Any]
) -> None:
    notes = notes_of(storage, table_name)
    for user in ("ann", "bob", "cid"):
        for number in (1, 2):
            await notes.insert(note(user, number))
    theirs = notes_of(held(backend, storage, hourly_grant(storage, table_name, within=reach)), table_name)
    assert [(each["User"], each["Note"]) async for each in theirs.scan()] == inside
    with Refused():
        await theirs.get(User="aaa", Note=1)


@SAS_RANGES
@pytest.mark.guide("G-341")
@pytest.mark.parametrize(
    ("within", "inside"),
    [
        ({"Site": "hq", "Owner": "ann"}, ["ann_a", "ann_b"]),
        ({"Site": "hq", "Owner": "ann", "Document": prefix("a")}, ["ann_a"]),
        ({"Site": "hq", "Owner": "ann", "Document": "b"}, ["ann_b"]),
        ({"Site": "hq", "Owner": "ann", "Document": at_least("b")}, ["ann_b"]),
    ],
    ids=["known", "prefix", "one row", "from"],
)
async def test_rows_of_a_partition_are_reached_and_not_the_end_of_the_range(
    backend: Any, storage: Any, table_name: str, within: dict[str, Any], inside: list[str]
) -> None:
    documents = EntitySet(storage, table_name, DOCUMENTS)
    for owner, document in (("an", "x"), ("ann", "a"), ("ann", "b"), ("ann0", "a"), ("anna", "a")):
        await documents.insert({"Site": "hq", "Owner": owner, "Document": document})
    theirs = EntitySet(held(backend, storage, hourly_grant(storage, documents, within=within)), table_name, DOCUMENTS)
    assert [each.row_key async for each in theirs.scan()] == inside


# ------------------------------------------------------------------ time


async def test_a_token_ends_with_its_time(backend: Any, storage: Any, engine: Engine, table_name: str) -> None:
    notes = notes_of(storage, table_name)
    await notes.insert(note("ann"))
    handed_out = AzureSasCredential(hourly_grant(storage, notes).token)
    theirs = notes_of(backend.connect(credential=handed_out), table_name)
    assert await theirs.get(User="ann", Note=1)
    engine.clock.advance(3601)
    with Refused():
        await theirs.get(User="ann", Note=1)


@pytest.mark.guide("G-349")
async def test_a_token_is_kept_and_renewed_before_it_expires(storage: Any, engine: Engine, table_name: str) -> None:
    mine = hourly_grant(storage, table_name)
    first = mine.token
    engine.clock.advance(2600)
    assert mine.token == first
    engine.clock.advance(200)
    second = mine.token
    assert second != first
    assert second == mine.token
    assert mine.expires_at - storage.now() > HOUR - timedelta(seconds=2)


@pytest.mark.guide("G-349")
async def test_a_credential_renews_itself(backend: Any, storage: Any, engine: Engine, table_name: str) -> None:
    notes = notes_of(storage, table_name)
    await notes.insert(note("ann"))
    theirs = notes_of(held(backend, storage, hourly_grant(storage, notes)), table_name)
    for _ in range(5):
        assert await theirs.get(User="ann", Note=1)
        engine.clock.advance(3000)


# ------------------------------------------------------------------ policies


@POLICIES
@pytest.mark.guide("G-363")
@pytest.mark.owns_account("a stored policy takes up to 30 seconds until it is known everywhere")
async def test_a_policy_can_be_changed_and_revoked(backend: Any, storage: Any, table_name: str) -> None:
    notes, policies = notes_of(storage, table_name), AccessPolicies(storage, table_name)
    await policies.put("others", "r")
    await policies.put("phones", "r")
    mine = hourly_grant(storage, notes, None, policy="phones", within={"User": "ann"})
    theirs = notes_of(held(backend, storage, mine), table_name)
    await notes.insert(note("ann"))
    assert await theirs.get(User="ann", Note=1)
    with Refused():
        await theirs.insert(note("ann", 2))
    await policies.put("phones", "ar")
    await theirs.insert(note("ann", 2))
    assert await policies.revoke("phones")
    with Refused():
        await theirs.get(User="ann", Note=1)
    assert await policies.names() == ["others"]
    assert not await policies.revoke("phones")


@POLICIES
@pytest.mark.owns_account("a stored policy takes up to 30 seconds until it is known everywhere")
async def test_a_table_has_five_policies_and_no_more(storage: Any, table_name: str) -> None:
    policies = AccessPolicies(storage, table_name)
    for number in range(5):
        await policies.put(f"policy{number}", "r")
    with pytest.raises(LimitExceeded, match="at most 5"):
        await policies.put("another", "r")
    await policies.put("policy1", "ra")
    assert len(await policies.names()) == 5


# ------------------------------------------------------------------ what would not keep others out


def test_copies_of_other_entities_are_kept_out() -> None:
    storage = connect()
    by_owner = InterPartitionIndex(Key("{Owner}", "owner_{Site}"), name="by owner")
    documents = EntitySet(storage, "Documents", Key("{Site}", "doc_{Document}"), derived=[by_owner])
    with pytest.raises(BadDesign, match="by owner"):
        hourly_grant(storage, documents, within={"Site": "hq"})
    assert hourly_grant(storage, documents, within={"Site": "hq", "Document": "a"})
    apart = InterPartitionIndex(Key("owner_{Owner}", "owner_{Site}"))
    numbered = EntitySet(connect(), "Documents", Key("{Site:06d}", "doc_{D}"), derived=[apart])
    assert hourly_grant(storage, numbered, within={"Site": 1})


def test_lists_and_totals_that_could_be_in_the_range_are_rejected() -> None:
    storage = connect()
    one = {"Department": "Sales", "EmployeeId": between(1, 5)}
    for derived in (IndexEntity("LastName"), Summary(Key("{Department}", "department"))):
        assert hourly_grant(storage, employees_of(storage, "Staff", derived), within=one)
    mixed = IndexEntity("LastName", key=Key("{Department}", "empid_{LastName}"))
    with pytest.raises(BadDesign, match="could be in"):
        hourly_grant(storage, employees_of(storage, "Staff", mixed), within=one)


def test_rows_of_other_sets_are_kept_out() -> None:
    storage = connect()
    employees = employees_of(storage, "Staff")
    departments = EntitySet(storage, "Staff", Key("{Department}", "Department"))
    other = EntitySet(storage, "Other", Key("{Department}", "Department"))
    sales = {"Department": "Sales"}
    with pytest.raises(BadDesign, match="excluded set"):
        hourly_grant(storage, employees, within=sales, excluding=[departments])
    with pytest.raises(BadDesign, match="excluded set"):
        hourly_grant(storage, "Staff", excluding=[departments])
    assert hourly_grant(storage, employees, within=sales, excluding=[other])
    one = {**sales, "EmployeeId": between(1, 5)}
    assert hourly_grant(storage, employees, within=one, excluding=[departments])
    with pytest.raises(BadDesign, match="email_"):
        hourly_grant(
            storage,
            departments,
            within=sales,
            excluding=[
                EntitySet(
                    storage,
                    "Others",
                    Key("{A}", "{B}"),
                    derived=[InterPartitionIndex(Key("{Email}", "email_{A}"), table="Staff")],
                )
            ],
        )


async def test_a_partition_of_a_set_may_be_written_with_its_copies(
    backend: Any, engine: Engine, storage: Any, table_name: str
) -> None:
    employees = employees_of(storage, table_name)
    mine = hourly_grant(storage, employees, "raud", within={"Department": "Sales"})
    theirs = employees_of(held(backend, storage, mine), table_name)
    await employees.create_table()
    await theirs.insert(jones())
    assert (await employees.find(by_email, Department="Sales", Email="jonesj@contoso.com"))["EmployeeId"] == 223
    with Refused():
        await theirs.insert(jones(Department="Marketing"))


def test_write_permission_requires_all_derived_rows_in_the_range() -> None:
    storage = connect()
    one = {"Department": "Sales", "EmployeeId": 223}
    with pytest.raises(BadDesign, match="outside the granted range"):
        hourly_grant(storage, employees_of(storage, "Staff"), "u", within=one)
    assert hourly_grant(storage, employees_of(storage, "Staff"), "r", within=one)
    by_mail = InterPartitionIndex(Key("email_{Department}", "{Email}"))
    with pytest.raises(BadDesign, match="outside the granted range"):
        hourly_grant(storage, EntitySet(storage, "Others", Key("empid_{Department}", "{Id}"), derived=[by_mail]), "ra")
    with pytest.raises(BadDesign, match="outside the granted range"):
        hourly_grant(storage, employees_of(storage, "Staff"), None, policy="phones", within=one)


# ------------------------------------------------------------------ what is refused, and what is not shown


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"permissions": ""}, BadInput),
        ({"permissions": "rw"}, BadInput),
        ({"permissions": None}, BadInput),
        ({"permissions": "r", "policy": "phones"}, BadInput),
        ({"expires": timedelta(0)}, BadInput),
        ({"expires": timedelta(seconds=1.9)}, BadInput),
        ({"expires": timedelta.max}, BadInput),
        ({"within": {"Note": 1}}, BadKey),
        ({"within": {"User": prefix("a")}}, BadKey),
        ({"within": {"User": ""}}, BadInput),
        ({"subject": "Notes", "within": {"User": "ann"}}, BadInput),
    ],
    ids=str,
)
def test_invalid_grants_are_rejected(options: dict[str, Any], error: type[Exception]) -> None:
    storage = connect()
    with pytest.raises(error):
        grant(storage, **{"subject": notes_of(storage, "Notes"), "expires": HOUR, **options})


def test_only_an_account_with_the_key_can_grant() -> None:
    somebody = connect("https://a.table.core.windows.net", credential=AzureSasCredential("sig=x"))
    with somebody, pytest.raises(BadDesign, match="key"):
        hourly_grant(somebody, "Notes")


@pytest.mark.guide("G-348")
async def test_no_key_is_in_a_token_and_no_token_in_a_repr(storage: Any, table_name: str) -> None:
    mine = hourly_grant(storage, table_name, "r")
    key = storage.target.credential.named_key.key
    assert key not in mine.url
    signature = mine.token.split("sig=")[1].split("&")[0]
    for shown in (repr(mine), str(mine), f"{mine}", repr(mine.credential)):
        assert signature not in shown
        assert key not in shown
    assert "se=" in mine.token


def test_the_protocol_is_that_of_the_account() -> None:
    with connect("azurite") as emulator, connect() as storage:
        assert "spr=https&" in hourly_grant(storage, "Notes").token
        assert "spr=https%2Chttp" in hourly_grant(emulator, "Notes").token
