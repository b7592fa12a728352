"""Archive targets: the content and the names of blobs and files."""

from __future__ import annotations

import os
import stat
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.archive_moves import ID, KEYS, Work, jones
from support.examples import examples
from tablepatterns import EntitySet, Int64, Key, Ticks, connect
from tablepatterns.errors import BadInput, LimitExceeded
from tablepatterns.recipes.archive.archive import Archive
from tablepatterns.recipes.archive.stores import BlobArchive, FileArchive, name_of
from tablepatterns.recipes.worker import Report, Worker
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
    assert folder not in ("", ".", "..", "%lock")
    assert not folder.endswith((".", " "))
    assert name.endswith(".json")


@pytest.mark.parametrize("key", ["", ".", "..", "a.", "a ", "%_", "%lock", "a/b", "COM1"])
async def test_odd_keys_make_files_too(tmp_path: Any, key: str) -> None:
    files = FileArchive(tmp_path)
    assert await files.insert((key, key), {"N": 1})
    assert dict((await files.get((key, key))).properties) == {"N": 1}  # type: ignore[union-attr]
    assert {path.parent.parent for path in tmp_path.rglob("*.json")} == {tmp_path}


@pytest.mark.parametrize("keys", [("Sales", "{}"), ("{}", "Jones")], ids=["row", "partition"])
async def test_a_name_that_no_folder_takes_is_rejected(tmp_path: Any, keys: tuple[str, str]) -> None:
    files = FileArchive(tmp_path)
    longest, beyond = (tuple(key.format(text) for key in keys) for text in ("x" * 246, "x" * 247))
    assert await files.insert(longest, {"N": 1})  # type: ignore[arg-type]
    for word in (files.insert(beyond, {"N": 1}), files.get(beyond)):  # type: ignore[arg-type]
        with pytest.raises(LimitExceeded, match="a file's name has at most 246"):
            await word


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such rights")
def test_files_are_for_their_owner_only_and_folders_that_were_there_keep_their_rights(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir(mode=0o755)
    there.chmod(0o755)
    before = os.umask(0)
    try:
        with connect() as storage:
            staff = EntitySet(storage, "Staff", Key("{Department}", "empid_{EmployeeId:06d}"))
            archive = Archive(staff, FileArchive(there / "one" / "two"))
            archive.archive(staff.insert({"Department": "Sales", "EmployeeId": 223}))
            assert Worker(storage, [archive]).drain().handled == 1
    finally:
        os.umask(before)
    made = {path: stat.S_IMODE(path.stat().st_mode) for path in there.rglob("*")}
    assert {mode for path, mode in made.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in made.items() if path.is_file()} == {0o600}
    assert len(made) >= 5
    assert stat.S_IMODE(there.stat().st_mode) == 0o755
