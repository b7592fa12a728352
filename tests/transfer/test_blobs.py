"""Blobs of large properties: exported as they are, restored where the addresses are read, and never missing."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from support.crashing_client import Crash, Crashed, CrashingTransport
from support.maintained_set import BY_ID, KINDS, person
from support.worker_sets import killing, pictured_staff, pictured_table, restored_pictures, served
from tablepatterns import (
    EncryptedProperties,
    EntitySet,
    Key,
    LargeProperties,
    LargePropertyStore,
    LocalKey,
    PartitionSpread,
    aio,
    connect,
)
from tablepatterns.cli.main import main
from tablepatterns.errors import BadInput, BadKey, EntityAlreadyExists, RangesFailed
from tablepatterns.jobs import Workers, verify
from tablepatterns_engine.account import Engine
from tablepatterns_engine.transport import AioEngineTransport
from tablepatterns_transfer import BadExport, Export, TableTransfer

PEOPLE = 30
STORED = 160
DAY = 86_400


def pictured(storage: Any, *, table: str = "Staff", container: str = "pictures", keys: Any = ()) -> Any:
    """Return a set with photos in blobs, which are encrypted if there are keys, and an index with all fields."""
    mappings: list[Any] = [LargeProperties(["Photo", "Text"], container=container, above=100)]
    mappings += [EncryptedProperties(["Photo"], keys=keys)] if keys else []
    return EntitySet(storage, table, BY_ID, derived=[KINDS["near"]], mappings=mappings)


def photo(number: int) -> bytes:
    return bytes([number]) * (5 if number % 3 == 2 else 3_000)


def fill(entities: Any) -> None:
    for number in range(PEOPLE):
        text = "é" * 1_000 if number % 3 == 0 else "short"
        entities.insert(person(number, Department=f"D{number % 4}", Photo=photo(number), Text=text))


def check(entities: Any) -> None:
    """Check that a set has all people, with their photos, by the key and by the index."""
    assert sorted(entity["EmployeeId"] for entity in entities.scan()) == list(range(PEOPLE))
    for number in range(PEOPLE):
        values = {"Department": f"D{number % 4}", "Email": f"{number}@contoso.com"}
        by_key = entities.get(Department=values["Department"], EmployeeId=number)
        by_email = entities.find(entities.derived[0], values)
        assert by_key["Photo"] == by_email["Photo"] == photo(number)
    assert verify(entities, entities.derived[0]).is_clean
    store = LargePropertyStore(entities)
    entities.account.engine.clock.advance(2 * DAY)
    assert store.verify().is_clean


KEYS = [LocalKey("key", bytes(32))]


@pytest.mark.parametrize("keys", [(), KEYS], ids=["plain", "encrypted"])
@pytest.mark.parametrize("place", ["folder", "container:backups/monday"])
@pytest.mark.parametrize("container", ["others", pytest.param("pictures", marks=pytest.mark.nightly)])
@pytest.mark.few(2)
def test_a_set_is_restored_with_its_blobs(tmp_path: Path, keys: Any, place: str, container: str) -> None:
    source, folder = pictured(connect(), keys=keys), tmp_path / "new"
    fill(source)
    transfer = TableTransfer(source.account, source)
    to = folder if place == "folder" else place
    manifest = transfer.export(to, with_blobs=True, workers=Workers(2, seconds=0.0))
    assert manifest.rows == 2 * PEOPLE
    assert sum(len(file.blobs) for file in manifest.files) == 20 + 10
    assert transfer.compare(to).are_none
    account = source.account if place != "folder" else connect()
    if place != "folder":
        source.drop_table()
        source.account.blobs.get_container_client("pictures").delete_container()
    target = pictured(account, container=container, keys=keys)
    restoring = TableTransfer(account, target)
    assert restoring.restore(to).written == 2 * PEOPLE
    check(target)
    assert restoring.restore(to).written == 0
    assert restoring.compare(to).are_none


def test_stored_bytes_are_copied_as_they_are(tmp_path: Path) -> None:
    source = pictured(connect(), keys=KEYS)
    fill(source)
    TableTransfer(source.account, source).export(tmp_path / "new", with_blobs=True)
    container = source.account.blobs.get_container_client("pictures")
    stored = {blob.name: container.download_blob(blob.name).readall() for blob in container.list_blobs()}
    files = Export.open(tmp_path / "new").blob_files()
    assert {name: path.read_bytes() for name, (path, _) in files.items()} == stored
    assert all(photo(number) not in content for content in stored.values() for number in (0, 1))
    assert {entry.content_type for _, entry in files.values()} == {
        "application/octet-stream",
        "text/plain; charset=utf-8",
    }


def test_blobs_are_restored_to_another_table_of_the_same_account(tmp_path: Path) -> None:
    source = pictured(connect())
    fill(source)
    TableTransfer(source.account, source).export(tmp_path / "new", with_blobs=True)
    target = pictured(source.account, table="Copy")
    TableTransfer(source.account, target).restore(tmp_path / "new")
    check(target)
    check(source)
    # By the name of a table, the container is that of the export
    elsewhere = connect()
    TableTransfer(elsewhere, "Third").restore(tmp_path / "new")
    check(pictured(elsewhere, table="Third"))


def test_an_export_of_changes_has_the_blobs_of_what_changed(tmp_path: Path) -> None:
    source = pictured(connect())
    fill(source)
    source.account.engine.clock.advance(DAY)
    transfer = TableTransfer(source.account, source)
    transfer.export(tmp_path / "monday", with_blobs=True)
    source.account.engine.clock.advance(DAY)
    source.update(lambda fields: fields.update(Photo=b"new" * 100), Department="D0", EmployeeId=0)
    source.delete(source.get(Department="D1", EmployeeId=1))
    changes = transfer.export(tmp_path / "tuesday", with_blobs=True, since=tmp_path / "monday")
    assert (changes.rows, sum(len(file.blobs) for file in changes.files)) == (2, 2)
    assert changes.deleted is not None
    assert changes.deleted.rows == 2
    target = pictured(connect(), container="others")
    TableTransfer(target.account, target).restore(tmp_path / "tuesday")
    assert {entity["EmployeeId"] for entity in target.scan()} == {*range(PEOPLE)} - {1}
    assert target.get(Department="D0", EmployeeId=0)["Photo"] == b"new" * 100
    assert LargePropertyStore(target).verify().is_clean
    for other in ({}, {"with_blobs": True, "select": ["Photo"]}):
        with pytest.raises(BadInput, match="that export"):
            transfer.export(tmp_path / "wednesday", since=tmp_path / "monday", **other)


def change_at_random(entities: Any, chance: random.Random) -> None:
    """Insert, delete, change and rename people, whose photos are in blobs or not."""
    for _ in range(chance.randrange(1, 5)):
        keys = {"Department": chance.choice("ab"), "EmployeeId": chance.randrange(6)}
        email, size = f"{chance.random()}@contoso.com", chance.choice((5, 200, 300))
        picture = bytes([chance.randrange(256)]) * size
        entity = entities.get(**keys)
        if entity is None:
            entities.insert(person(0, **keys, Email=email, Photo=picture, Text="short"))
            continue
        match chance.randrange(4):
            case 0:
                entities.delete(entity)
            case 1:
                with suppress(EntityAlreadyExists):
                    entities.rename(entity, EmployeeId=chance.randrange(6, 9))
            case 2:
                entities.merge(entity, {"Age": chance.randrange(9)})
            case _:
                entities.replace(entity | {"Photo": picture})


@pytest.mark.parametrize("seed", [1, 2, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(3, 40))])
def test_a_chain_of_changes_beside_writers_is_restored_with_its_blobs(tmp_path: Path, seed: int) -> None:
    chance, source, writes = random.Random(seed), pictured(connect()), 0

    def write(_: object) -> None:
        nonlocal writes
        if not is_last and chance.random() < 0.25:
            change_at_random(source, chance)
            writes += 1

    exports: list[Path] = []
    for number in range(4):
        for _ in range(3):
            change_at_random(source, chance)
        is_last = number == 3
        beside = pictured(connect(source.account.engine, raw_response_hook=write))
        latest = tmp_path / str(number)
        since = exports[-1] if exports else None
        TableTransfer(beside.account, beside).export(latest, with_blobs=True, since=since)
        exports.append(latest)
        source.account.engine.clock.advance(chance.choice((1, 60, DAY)))
    target = pictured(connect(), table=chance.choice(("Staff", "Copy")), container="others")
    TableTransfer(target.account, target).restore(exports[-1])
    by_key = [{(row["Department"], row["EmployeeId"]): dict(row) for row in of.scan()} for of in (source, target)]
    assert writes
    assert by_key[0] == by_key[1]
    assert verify(target, target.derived[0]).is_clean
    assert LargePropertyStore(target).verify().is_clean


def test_a_blob_that_is_missing_fails_the_export_with_its_key(tmp_path: Path) -> None:
    source = pictured(connect())
    fill(source)
    container = source.account.blobs.get_container_client("pictures")
    (name,) = (blob.name for blob in container.list_blobs() if "id_000007/Photo" in blob.name)
    content = container.download_blob(name).readall()
    container.delete_blob(name)
    transfer = TableTransfer(source.account, source)
    with pytest.raises(RangesFailed, match=r"Photo of the entity .*'empid_D3', 'id_000007'.* does not exist"):
        transfer.export(tmp_path / "new", with_blobs=True, workers=Workers(1, seconds=0.0))
    with pytest.raises(BadExport, match="no manifest"):
        Export.open(tmp_path / "new")
    container.upload_blob(name, content)
    transfer.export(tmp_path / "new", with_blobs=True, workers=Workers(1, seconds=0.0))
    assert not [*(tmp_path / "new").rglob("*.partial")]
    target = pictured(connect())
    TableTransfer(target.account, target).restore(tmp_path / "new")
    check(target)


class CountingTransport(AioEngineTransport):
    """Counts the reads of blobs that are in flight at a time."""

    reading = most = 0

    async def send(self, request: Any, **options: Any) -> Any:
        is_read = request.method == "GET" and "/pictures/" in request.url
        self.reading += is_read
        self.most = max(self.most, self.reading)
        await asyncio.sleep(0)
        try:
            return await super().send(request, **options)
        finally:
            self.reading -= is_read


def test_a_few_blobs_of_a_range_are_copied_at_a_time(tmp_path: Path) -> None:
    source = pictured(connect())
    fill(source)
    transport = CountingTransport(source.account.engine)

    async def export() -> None:
        async with aio.connect(source.account.engine, transport=transport) as storage:
            entities = pictured(storage)
            await TableTransfer(storage, entities).export(tmp_path / "new", with_blobs=True)

    asyncio.run(export())
    assert transport.most == 4
    target = pictured(connect())
    TableTransfer(target.account, target).restore(tmp_path / "new")
    check(target)


def test_a_blob_of_another_entity_is_not_exported(tmp_path: Path) -> None:
    """A client that may write one row must not get the values of others into its export."""
    source = pictured(connect())
    fill(source)
    client = source.account.tables.get_table_client("Staff")
    address = client.get_entity("empid_D0", "id_000000")["Photo"]
    client.upsert_entity({"PartitionKey": "empid_D0", "RowKey": "id_000500", "Photo": address})
    TableTransfer(source.account, source).export(tmp_path / "new", with_blobs=True)
    assert sum(len(file.blobs) for file in Export.open(tmp_path / "new").manifest.files) == 30


@pytest.mark.parametrize("damage", ["missing", "edited", "swapped"])
def test_a_damaged_blob_is_rejected_before_anything_is_written(tmp_path: Path, damage: str) -> None:
    source = pictured(connect())
    fill(source)
    TableTransfer(source.account, source).export(tmp_path / "new", with_blobs=True)
    one, other = sorted((tmp_path / "new" / "blobs").iterdir())[:2]
    if damage == "missing":
        one.unlink()
    elif damage == "edited":
        one.write_bytes(b"x" + one.read_bytes()[1:])
    else:
        content = one.read_bytes()
        one.write_bytes(other.read_bytes() + b"1")
        other.write_bytes(content)
    target = pictured(connect())
    with pytest.raises(BadExport):
        TableTransfer(target.account, target).restore(tmp_path / "new")
    assert not [*target.account.tables.list_tables()]
    assert not [*target.account.blobs.list_containers()]


def test_what_cannot_be_restored_is_rejected_first(tmp_path: Path) -> None:
    source = pictured(connect(), keys=KEYS)
    fill(source)
    transfer = TableTransfer(source.account, source)
    with pytest.raises(BadInput, match="leave one out"):
        transfer.export(tmp_path / "new", with_blobs=True, decrypt=True)
    with pytest.raises(BadInput, match="LargeProperties"):
        TableTransfer(source.account, "Staff").export(tmp_path / "new", with_blobs=True)
    transfer.export(tmp_path / "new", with_blobs=True)
    target, encrypted = connect(), EncryptedProperties(["Photo"], keys=KEYS)
    others = {
        "only in a table Staff": pictured(target, table="Copy", keys=KEYS),
        "LargeProperties": EntitySet(target, "Staff", BY_ID, mappings=[encrypted]),
        "the same large properties": EntitySet(
            target, "Staff", BY_ID, mappings=[encrypted, LargeProperties(["Photo"], container="pictures")]
        ),
    }
    for text, entity_set in others.items():
        with pytest.raises(BadInput, match=text):
            TableTransfer(target, entity_set).restore(tmp_path / "new")
    assert not [*target.tables.list_tables()]


@pytest.mark.parametrize("at", [1, 3, 20, 60, *(pytest.param(at, marks=pytest.mark.nightly) for at in (2, 9, 37))])
@pytest.mark.few(2)
def test_an_import_that_was_killed_anywhere_is_run_again(tmp_path: Path, at: int) -> None:
    source, engine = pictured(connect()), Engine()
    fill(source)
    TableTransfer(source.account, source).export(tmp_path / "new", with_blobs=True)
    dying = connect(engine, transport=CrashingTransport(engine, Crash(at=at, after=True)))
    with pytest.raises(Crashed):
        TableTransfer(dying, pictured(dying, container="others")).restore(tmp_path / "new")
    target = pictured(connect(engine), container="others")
    TableTransfer(target.account, target).restore(tmp_path / "new")
    check(target)


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    with served(monkeypatch) as engine:
        pictures = pictured_staff()
        for number in range(STORED):
            pictures.insert(person(number, Department=f"D{number % 20}", Photo=bytes([number % 250]) * 500))
        yield engine


@pytest.mark.parametrize("kills", [1, pytest.param(4, marks=pytest.mark.nightly)])
def test_processes_that_die_export_and_import_blobs(account: Engine, tmp_path: Path, kills: int) -> None:
    reports: list[Any] = []
    with killing(seed=8, every=0.3, most=kills) as killed:
        shared = Workers(2, source=pictured_table, seconds=0.0)
        pictured_table().export(tmp_path / "new", with_blobs=True, workers=shared, progress=reports.append)
    assert killed
    manifest = Export.open(tmp_path / "new").manifest
    names = {name for file in manifest.files for name in file.names}
    contents = {
        path.relative_to(tmp_path / "new").as_posix() for path in (tmp_path / "new").rglob("*") if path.is_file()
    }
    assert contents == {"manifest.json", *names}
    assert sum(len(file.blobs) for file in manifest.files) == STORED
    with killing(seed=9, every=0.3, most=kills) as killed:
        restored_pictures().restore(tmp_path / "new", workers=Workers(2, source=restored_pictures))
    assert killed
    assert restored_pictures().compare(tmp_path / "new").are_none
    assert LargePropertyStore(restored_pictures().entity_set).verify().is_clean


def test_the_command_exports_blobs(account: Engine, tmp_path: Path) -> None:
    arguments = ["export", "support.worker_sets:pictured_staff", "--to", str(tmp_path / "new"), "--with-blobs"]
    result = CliRunner().invoke(main, [*arguments, "--json"])
    assert (result.exit_code, json.loads(result.stdout)["rows"]) == (0, STORED)
    restoring = ["import", str(tmp_path / "new"), "--to", "Restored", "--storage", "env"]
    assert CliRunner().invoke(main, restoring).exit_code == 0
    with gzip.open(next((tmp_path / "new" / "rows").iterdir())) as file:
        assert b"/pictures/staff/" in file.readline()


async def test_an_async_account_exports_blobs(tmp_path: Path) -> None:
    async with aio.connect() as storage:
        photos = LargeProperties(["Photo"], container="pictures", above=9)
        pictures = EntitySet(storage, "Staff", BY_ID, mappings=[photos])
        await pictures.insert(person(1, Photo=bytes(50)))
        manifest = await TableTransfer(storage, pictures).export(tmp_path / "new", with_blobs=True)
        assert len(manifest.files[0].blobs) == 1
        await pictures.drop_table()
        await storage.container("pictures").drop()
        await TableTransfer(storage, pictures).restore(tmp_path / "new")
        assert (await pictures.get(Department="Sales", EmployeeId=1))["Photo"] == bytes(50)


def test_rows_of_other_buckets_are_rejected_with_their_blobs(tmp_path: Path) -> None:
    photos = LargeProperties(["Photo"], container="pictures", above=100)

    def staff(buckets: int) -> Any:
        key = Key("{Department}", "{EmployeeId:06d}")
        return PartitionSpread(
            connect(),
            "Staff",
            key,
            buckets=buckets,
            factory=lambda account, table, spread: EntitySet(account, table, spread, mappings=[photos]),
        )

    source, target = staff(8), staff(2)
    for number in range(20):
        source.insert({"Department": "Sales", "EmployeeId": number, "Photo": photo(number)})
    TableTransfer(source.account, source.entity_set).export(tmp_path / "new", with_blobs=True)
    with pytest.raises(BadKey, match=r"pass placed\(entity\)"):
        TableTransfer(target.account, target.entity_set).restore(tmp_path / "new")
    assert not list(target.scan())
