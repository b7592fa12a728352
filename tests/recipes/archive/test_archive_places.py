"""Archive targets: the content and the names of blobs."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.archive_moves import ID, KEYS, Work, jones
from support.examples import examples
from tablepatterns import Archive, BlobArchive, Int64, Ticks
from tablepatterns.errors import BadInput, LimitExceeded
from tablepatterns.recipes.archive.stores import name_of
from tablepatterns.recipes.worker import Report
from tablepatterns.typed_json import decoded, encoded

TYPED = {
    "Text": "crème 🛫",
    "Small": 34,
    "Large": Int64(5),
    "Real": 5.0,
    "Endless": float("inf"),
    "Yes": True,
    "At": datetime(2014, 8, 22, 0, 50, 32, 123456, tzinfo=timezone.utc),
    "Tick": Ticks.parse("2014-08-22T00:50:32.1234567Z"),
    "Id": UUID(int=7),
    "Photo": b"\x00\xff",
}


async def test_every_type_comes_back_as_it_was(current: Any, archive: Any, work: Work) -> None:
    entity = await current.insert(jones(**TYPED))
    before = await current.get(**ID)
    await archive.archive(entity)
    await work(archive)
    found = await archive.get(**ID)
    assert found == before
    assert {name: type(value) for name, value in found.items() if name not in ("At", "Real")} == {
        name: type(value) for name, value in before.items() if name not in ("At", "Real")
    }
    await archive.restore(ID)
    assert await work(archive) == Report(received=1, handled=1)
    assert await current.get(**ID) == before
    assert await archive.get(**ID) is None


async def test_an_archived_blob_is_plain_json(storage: Any, current: Any, queue_name: str, work: Work) -> None:
    container = f"c{uuid4().hex}"
    archive: Any = Archive(current, BlobArchive(storage, container), queue=queue_name)
    await archive.archive(await current.insert(jones(Salary=Int64(5))))
    await work(archive)
    assert [blob.name async for blob in storage.container(container).blobs()] == ["Sales/empid_000456.json"]
    assert await storage.container(container).download("Sales/empid_000456.json") == (
        b'{"v":1,"PartitionKey":"Sales","RowKey":"empid_000456",'
        b'"properties":{"LastName":"Jones","Salary":"5","Salary@odata.type":"Edm.Int64"}}'
    )
    await storage.container(container).drop()


async def test_a_blob_that_another_program_overwrote_is_reported_and_kept(
    storage: Any, current: Any, queue_name: str, work: Work
) -> None:
    container = f"c{uuid4().hex}"
    archive: Any = Archive(current, BlobArchive(storage, container), queue=queue_name)
    await storage.container(container).upload("Sales/empid_000456.json", b"mine")
    with pytest.raises(BadInput, match="find out what overwrote it"):
        await archive.get(**ID)
    await archive.archive(await current.insert(jones()))
    assert (await work(archive, max_deliveries=1)).poisoned == 1
    assert await current.get(**ID) == jones()
    await storage.container(container).drop()


async def test_keys_too_long_for_the_name_of_a_blob_are_rejected(storage: Any) -> None:
    blobs = BlobArchive(storage, "former")
    with pytest.raises(LimitExceeded, match="1,024 characters"):
        await blobs.insert(("é" * 200, "x"), {})


async def test_what_is_not_as_it_was_read_is_not_touched(archive: Any) -> None:
    keys, store = KEYS, archive._there
    assert await store.insert(keys, {"N": 1})
    assert not await store.insert(keys, {"N": 2})
    old = await store.get(keys)
    assert await store.replace(keys, await store.get(keys), {"N": 1})
    assert not await store.replace(keys, old, {"N": 3})
    assert not await store.delete(keys, old)
    held = await store.get(keys)
    assert dict(held.properties) == {"N": 1}
    assert held.version != old.version
    assert await store.delete(keys, held)
    assert not await store.delete(keys, held)
    assert not await store.replace(keys, held, {"N": 4})
    assert await store.get(keys) is None


VALUES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.booleans(),
    st.integers(-(2**31), 2**31 - 1),
    st.integers(-(2**63), 2**63 - 1).map(Int64),
    st.floats(allow_nan=False),
    st.binary(),
    st.uuids(),
    st.integers(int(Ticks.parse("1601-01-01")), Ticks.MAX).map(Ticks).filter(lambda ticks: ticks % 10),
    st.datetimes(datetime(1601, 1, 1), timezones=st.just(timezone.utc)),
)
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,9}", fullmatch=True)
KEY_TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/\\#?"), max_size=20)


@examples(60)
@given(keys=st.tuples(KEY_TEXTS, KEY_TEXTS), properties=st.dictionaries(NAMES, VALUES, max_size=6))
def test_any_entity_reads_back_from_json_with_its_types(keys: tuple[str, str], properties: dict[str, Any]) -> None:
    found = decoded(encoded(keys, properties), keys, "it")
    assert found == properties
    assert {name: type(value) for name, value in found.items()} == {k: type(v) for k, v in properties.items()}
    with pytest.raises(BadInput, match="it"):
        decoded(encoded(keys, properties), (keys[0] + "x", keys[1]), "it")


def test_a_content_that_is_nested_too_deep_is_none_that_was_written() -> None:
    with pytest.raises(BadInput, match="it does not hold an archived entity"):
        decoded(b"[" * 30_000, ("a", "b"), "the file")


@given(some=st.tuples(KEY_TEXTS, KEY_TEXTS), others=st.tuples(KEY_TEXTS, KEY_TEXTS))
def test_no_two_keys_have_one_name_and_none_leaves_its_folder(some: tuple[str, str], others: tuple[str, str]) -> None:
    assert (name_of(some) == name_of(others)) == (some == others)
    folder, name = name_of(some).split("/")
    assert folder not in ("", ".", "..")
    assert not folder.endswith((".", " "))
    assert name.endswith(".json")
