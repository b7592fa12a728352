"""Large properties: what is stored in a blob or in the row, read back, and rejected."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from azure.data.tables import EdmType, EntityProperty
from hypothesis import given
from hypothesis import strategies as st

from support.employees import BY_ID
from support.large_staff import JONES, LIMIT, blobs_of, container_of, no_container_is_left, row_of, staff_of  # noqa: F401
from tablepatterns import BulkLoad, EntityGroupTransaction, EntitySet, IntraPartitionIndex, Key, prop
from tablepatterns.errors import (
    BadDesign,
    BadFilter,
    BadInput,
    BadProperty,
    EntityAlreadyExists,
    LargeValueMissing,
    LimitExceeded,
)
from tablepatterns.recipes.large_properties.large_properties import BlobName, LargeProperties, Upload, escaped

PHOTO = bytes(range(256)) * 300


# -- what goes to a blob


@pytest.mark.guide("G-244", "G-245")
@pytest.mark.parametrize(
    ("value", "is_inline"),
    [
        (b"p" * LIMIT, True),
        (b"p" * (LIMIT + 1), False),
        ("r" * (LIMIT // 2), True),
        ("r" * (LIMIT // 2 + 1), False),
        ("🛫" * (LIMIT // 4), True),
        ("🛫" * (LIMIT // 4 + 1), False),
        ("", True),
        (b"", True),
        (7, True),
    ],
    ids=lambda value: None if isinstance(value, bool) else f"{type(value).__name__} of {len(str(value))}",
)
async def test_a_value_beyond_the_limit_of_a_property_goes_to_a_blob_and_others_stay(
    storage: Any, table_name: str, value: Any, is_inline: bool
) -> None:
    staff = staff_of(storage, table_name)
    await staff.insert({**JONES, "Photo": value})
    assert ((await row_of(storage, table_name))["Photo"] == value) is is_inline
    assert len(await blobs_of(storage, table_name)) == (not is_inline)
    assert (await staff.get(**JONES))["Photo"] == value


@pytest.mark.guide("G-243")
async def test_the_largest_values_go_to_blobs_where_the_entity_would_be_too_large(
    storage: Any, table_name: str
) -> None:
    staff = staff_of(storage, table_name)
    fields = {f"Note{number}": "n" * 32_000 for number in range(15)}
    entity = {**JONES, **fields, "Photo": b"p" * 60_000, "Report": "r" * 31_000}
    await staff.insert(entity)
    row = await row_of(storage, table_name)
    (report,) = await blobs_of(storage, table_name)
    assert (row["Photo"], row["Report"].split("/")[-1]) == (b"p" * 60_000, report.split("/")[-1])
    assert await staff.get(**JONES) == entity


@pytest.mark.guide("G-243")
async def test_the_property_holds_the_link_and_the_name_says_whose_it_is(storage: Any, table_name: str) -> None:
    await staff_of(storage, table_name).insert({**JONES, "Photo": PHOTO, "Report": "r" * LIMIT})
    photo, report = await blobs_of(storage, table_name)
    row = await row_of(storage, table_name)
    container = storage.container(container_of(table_name))
    assert (row["Photo"], row["Report"]) == (container.blob_url(photo), container.blob_url(report))
    assert await container.download(photo) == PHOTO
    name = BlobName.parse(photo)
    assert name == BlobName(table_name.lower(), ("Sales", "empid_000223"), "Photo", name.id if name else "", False)
    assert report.endswith(".txt")


async def test_a_smaller_limit_can_be_chosen(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name, above=0)
    await staff.insert({**JONES, "Photo": b"p", "Report": ""})
    assert len(await blobs_of(storage, table_name)) == 1
    assert await staff.get(**JONES) == {**JONES, "Photo": b"p", "Report": ""}


async def test_what_reads_like_an_address_comes_back_as_the_text_it_was(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    await staff.insert({**JONES, "Photo": PHOTO})
    link = (await row_of(storage, table_name))["Photo"]
    for text in (link, link.replace("https", "http"), link.replace(container_of(table_name), "elsewhere"), link[:-1]):
        for value in (text, EntityProperty(text, EdmType.STRING)):
            await staff.insert_or_replace({**JONES, "Photo": value})
            assert (await staff.get(**JONES))["Photo"] == text


@pytest.mark.parametrize("value", ["naïve 🛫 \ud800" * LIMIT, "\r\n\0" * LIMIT, b"\xff\xfe" * LIMIT])
async def test_a_large_value_comes_back_as_it_was(storage: Any, table_name: str, value: Any) -> None:
    staff = staff_of(storage, table_name)
    await staff.insert({**JONES, "Report": value})
    assert (await staff.get(**JONES))["Report"] == value


async def test_a_large_value_whose_type_is_stated_goes_to_a_blob_too(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    await staff.insert({**JONES, "Photo": EntityProperty(PHOTO, EdmType.BINARY)})
    assert (await staff.get(**JONES))["Photo"] == PHOTO
    with pytest.raises(BadProperty, match=r"the value is not a Edm\.String"):
        await staff.insert_or_replace({**JONES, "Photo": EntityProperty(b"p", EdmType.STRING)})


# -- writing and reading


async def test_merges_turn_small_to_large_and_back_exactly(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    entity = await staff.insert({**JONES, "Photo": b"small", "Report": "r" * LIMIT, "Age": 34})
    for change in ({"Photo": PHOTO}, {"Photo": b"small again"}, {"Report": "short"}, {"Age": 35}, {"Photo": PHOTO}):
        await staff.merge(entity, change)
        assert entity == await staff.get(**JONES)
    await staff.insert_or_merge({**JONES, "Photo": b"", "Age": 36})
    assert await staff.get(**JONES) == {**JONES, "Photo": b"", "Report": "short", "Age": 36}


async def test_a_blob_is_never_overwritten(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    entity = await staff.insert({**JONES, "Photo": PHOTO})
    (first,) = await blobs_of(storage, table_name)
    entity["Photo"] = PHOTO[::-1]
    await staff.replace(entity)
    await staff.delete(entity)
    await staff.insert({**JONES, "Photo": PHOTO})
    assert len(await blobs_of(storage, table_name)) == 3
    assert await storage.container(container_of(table_name)).download(first) == PHOTO


@pytest.mark.guide("G-246")
async def test_what_it_costs(storage: Any, engine: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    await staff.insert({**JONES, "EmployeeId": 1, "Photo": PHOTO})
    costs: dict[str, int] = {}
    held: list[Any] = [None]
    for word, call in [
        ("insert", lambda: staff.insert({**JONES, "Photo": PHOTO, "Age": 34})),
        ("get", lambda: staff.get(**JONES)),
        ("get without", lambda: staff.take(1, select=["Age"], **JONES)),
        ("merge other", lambda: staff.merge(held[0], {"Age": 35})),
        ("merge what stays", lambda: staff.merge(held[0], {"Photo": PHOTO})),
        ("merge", lambda: staff.merge(held[0], {"Photo": PHOTO[1:]})),
        ("replace what stays", lambda: staff.replace(held[0])),
        ("replace", lambda: staff.replace(held[0] | {"Photo": PHOTO})),
        ("delete", lambda: staff.delete(held[0])),
    ]:
        with engine.ledger.span() as span:
            found = await call()
        held[0] = found if word in ("insert", "get", "replace") else held[0]
        costs[word] = span.totals.requests
    assert costs == {
        "insert": 2,
        "get": 2,
        "get without": 1,
        "merge other": 1,
        "merge what stays": 1,
        "merge": 2,
        "replace what stays": 1,
        "replace": 2,
        "delete": 1,
    }


async def test_a_transaction_of_many_large_values_is_small(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    changes = [staff.inserting({**JONES, "EmployeeId": number, "Photo": PHOTO * 10}) for number in range(6)]
    await EntityGroupTransaction(storage, table_name).commit(*changes)
    assert [len(found["Photo"]) async for found in staff.range(Department="Sales")] == [768_000] * 6


async def test_a_bulk_load_takes_large_values_and_knows_them_when_it_is_resumed(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    tokens: list[str] = []
    entities = [{**JONES, "EmployeeId": number, "Photo": PHOTO} for number in range(3)]
    await BulkLoad(staff).load(entities, progress=lambda progress: tokens.append(progress.token))
    assert [found["Photo"] async for found in staff.range(Department="Sales")] == [PHOTO] * 3
    loaded = await BulkLoad(staff).load(entities, resume=tokens[0])
    assert (loaded.entities, loaded.already_stored) == (3, 3)


# -- files and chunks


async def test_a_file_is_uploaded_from_where_it_stands_each_time(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    file = BytesIO(b"header" + PHOTO)
    file.seek(6)
    entity = await staff.insert({**JONES, "Photo": Upload(file, content_type="image/jpeg")})
    await staff.replace(entity)
    assert len(await blobs_of(storage, table_name)) == 2
    assert (await staff.get(**JONES))["Photo"] == PHOTO


async def test_chunks_are_uploaded_and_come_back_as_bytes(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    await staff.insert({**JONES, "Photo": Upload(iter([b"one", b"two"]))})
    await staff.insert({**JONES, "EmployeeId": 224, "Photo": Upload([b"one", b"two"])})
    assert [found["Photo"] async for found in staff.range(Department="Sales")] == [b"onetwo", b"onetwo"]


async def test_chunks_that_are_spent_are_rejected_and_nothing_has_changed(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    entity = await staff.insert({**JONES, "Photo": Upload(iter([PHOTO]))})
    with pytest.raises(BadProperty, match="its chunks were sent already"):
        await staff.replace(entity)
    twice = Upload(iter([PHOTO]))
    with pytest.raises(BadProperty, match="its chunks were sent already"):
        await staff.insert({**JONES, "EmployeeId": 1, "Photo": twice, "Report": twice})
    assert await staff.get(**{**JONES, "EmployeeId": 1}) is None
    await staff.merge(entity, {"Age": 35})
    assert (await staff.get(**JONES))["Photo"] == PHOTO


async def test_a_transaction_that_is_tried_again_sends_its_values_once(
    storage: Any, engine: Any, table_name: str
) -> None:
    staff = staff_of(storage, table_name)
    await staff.insert({**JONES, "EmployeeId": 1, "Photo": PHOTO})
    write = await staff.inserting({**JONES, "Photo": Upload(iter([PHOTO])), "Report": "r" * LIMIT}).encoded()
    with engine.ledger.span() as span:
        for action in write.before * 2:
            await action()
    sent = sorted(record.operation for record in span.records)
    assert sent == ["CreateContainer", "PutBlob", "PutBlock", "PutBlockList"]


async def test_chunks_that_were_rejected_before_they_were_sent_are_not_spent(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    upload = Upload(iter([PHOTO]))
    with pytest.raises(BadProperty):
        await staff.insert({**JONES, "Photo": upload, "Age": [34]})
    assert await blobs_of(storage, table_name) == []
    await staff.insert({**JONES, "Photo": upload})
    assert (await staff.get(**JONES))["Photo"] == PHOTO


async def test_a_file_that_is_given_as_it_is_is_rejected(storage: Any, table_name: str) -> None:
    for value in (BytesIO(PHOTO), iter([PHOTO])):
        with pytest.raises(BadProperty, match=r"pass Upload\(value\)"):
            await staff_of(storage, table_name).insert({**JONES, "Photo": value})
    for content in (PHOTO, "text", 7):
        with pytest.raises(BadProperty, match="it must be a file"):
            Upload(content)  # type: ignore[arg-type]


# -- what is refused


async def test_nothing_is_uploaded_before_everything_was_checked(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    with pytest.raises(BadInput):
        await staff.insert({**JONES, "Photo": PHOTO, "Age": [34]})
    with pytest.raises(LimitExceeded):
        await staff.insert({**JONES, "Photo": PHOTO, "Note": "n" * LIMIT})
    assert await blobs_of(storage, table_name) == []


async def test_an_insert_that_is_rejected_leaves_the_entity_as_it_was(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    await staff.insert({**JONES, "Photo": PHOTO})
    with pytest.raises(EntityAlreadyExists):
        await staff.insert({**JONES, "Photo": PHOTO[::-1]})
    assert (await staff.get(**JONES))["Photo"] == PHOTO


async def test_a_blob_that_is_not_there_is_reported(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    await staff.insert({**JONES, "Photo": PHOTO})
    (name,) = await blobs_of(storage, table_name)
    await storage.container(container_of(table_name)).delete(name)
    with pytest.raises(LargeValueMissing, match=r"Photo of the entity .*'empid_000223'.* should be in the blob"):
        await staff.get(**JONES)


async def test_a_table_and_its_blobs_may_move_to_another_account(storage: Any, table_name: str) -> None:
    staff = staff_of(storage, table_name)
    await staff.insert({**JONES, "Photo": PHOTO})
    (name,) = await blobs_of(storage, table_name)
    plain = EntitySet(storage, table_name, BY_ID)
    for base in ("https://other.blob.core.windows.net", "http://127.0.0.1:10000/other"):
        await plain.insert_or_replace({**JONES, "Photo": f"{base}/{container_of(table_name)}/{name}"})
        assert (await staff.get(**JONES))["Photo"] == PHOTO


async def test_an_address_in_another_container_is_reported(storage: Any, table_name: str) -> None:
    await staff_of(storage, table_name).insert({**JONES, "Photo": PHOTO})
    with pytest.raises(LargeValueMissing, match="not in 'photos'"):
        await staff_of(storage, table_name, container="photos").get(**JONES)


async def test_what_is_invalid_is_rejected_when_it_is_declared(storage: Any, table_name: str) -> None:
    with pytest.raises(BadInput, match="lower-case"):
        LargeProperties(["Photo"], container="Photos")
    for above in (-1, LIMIT + 1):
        with pytest.raises(BadDesign, match="at most 65536 bytes"):
            LargeProperties(["Photo"], container="photos", above=above)
    with pytest.raises(BadDesign, match="system properties cannot be in blobs"):
        LargeProperties(["RowKey"], container="photos")
    with pytest.raises(BadDesign, match="nothing can be derived from it"):
        staff_of(storage, table_name, derived=[IntraPartitionIndex(Key("{Department}", "report_{Report}"))])
    with pytest.raises(BadFilter, match="no condition on it can match"):
        await staff_of(storage, table_name).take(1, Department="Sales", where=prop("Report") == "r")


# -- names


@given(key=st.tuples(st.text(), st.text()), field=st.text(min_size=1), is_text=st.booleans())
def test_a_name_says_whose_value_a_blob_holds_whatever_the_keys(
    key: tuple[str, str], field: str, is_text: bool
) -> None:
    name = BlobName("staff", key, field, "0" * 32, is_text)
    assert BlobName.parse(str(name)) == name
    assert str(name).isascii()


@pytest.mark.parametrize("name", ["", "staff/a/b/Photo/0.bin", "staff/a/~ZZ/Photo/" + "0" * 32 + ".bin", "x/~41/~/P/"])
def test_other_names_are_not_taken_for_those_of_large_values(name: str) -> None:
    assert BlobName.parse(name) is None
    assert BlobName.parse(f"staff/a/~41/Photo/{'0' * 32}.bin") is None


async def test_keys_with_every_sign_that_a_key_may_have(storage: Any, table_name: str) -> None:
    large = LargeProperties(["Photo"], container=container_of(table_name))
    staff = EntitySet(storage, table_name, Key("{A}", "{B}"), mappings=[large])
    for key in ({"A": "", "B": ""}, {"A": ". ~%&'+=:@$é🛫", "B": ".."}):
        await staff.insert({**key, "Photo": PHOTO})
        assert (await staff.get(**key))["Photo"] == PHOTO


async def test_keys_that_are_too_long_for_the_name_of_a_blob_are_rejected_in_time(
    storage: Any, table_name: str
) -> None:
    large = LargeProperties(["Photo"], container=container_of(table_name))
    staff = EntitySet(storage, table_name, Key("{A}", "{B}"), mappings=[large])
    room = 1024 - len(f"{table_name}/{escaped('a' * 500)}//Photo/{'0' * 32}.bin.orphan")
    await staff.insert({"A": "a" * 500, "B": "b" * room, "Photo": PHOTO})
    with pytest.raises(LimitExceeded, match="use shorter keys"):
        await staff.insert({"A": "a" * 500, "B": "b" * (room + 1), "Photo": PHOTO})
    await staff.insert({"A": "a" * 500, "B": "b" * (room + 1), "Photo": b"small"})
