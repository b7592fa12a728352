"""A set imports, and continues, only exports of a set that stores its entities as it reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from tablepatterns import (
    EncryptedProperties,
    EntitySet,
    Key,
    LargeProperties,
    LocalKey,
    OneOf,
    PartitionSpread,
    Period,
    PeriodTables,
    connect,
)
from tablepatterns.errors import BadInput, BadKey, LoadInterrupted
from tablepatterns_engine.account import Engine
from tablepatterns_transfer import TableTransfer
from tablepatterns_transfer.manifest import Export

KEY = Key("{team}", "{number:03d}")
KEYS = LocalKey("payroll", bytes(32))


@dataclass
class Member:
    team: str
    number: int
    name: str = ""
    salary: int = 0


@dataclass
class Clerk(Member):
    desk: str = ""


def staff(storage: Any, *, key: Key = KEY, encrypted: tuple[str, ...] = (), **options: Any) -> Any:
    mappings: list[Any] = [EncryptedProperties(encrypted, keys=KEYS)] if encrypted else []
    if options.pop("large", False):
        mappings.append(LargeProperties(["name"], container="names"))
    return EntitySet(storage, "Staff", key, mappings=mappings, **options)


def renamed(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name != "title"} | {"name": fields.get("title", "lost")}


REJECTED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "its entities have the key": ({}, {"key": Key("{team}_{number:03d}", "one")}),
    r"\['salary'\] are encrypted, and in the set \[\]": ({"encrypted": ("salary",)}, {}),
    r"\['name', 'salary'\] are encrypted": ({"encrypted": ("name", "salary")}, {"encrypted": ("name",)}),
    "version 2 of the model, and the set has version 1": (
        {"model": Member, "versions": [(1, renamed)]},
        {"model": Member},
    ),
    "EntityType names the class .* 'Type' in the set": (
        {"model": OneOf(Member, Clerk)},
        {"model": OneOf(Member, Clerk, type_property="Type", resolver=lambda _: Member)},
    ),
    "EntityType names the class of its entities, and '' in the set": (
        {"model": OneOf(Member, Clerk)},
        {"model": Member},
    ),
    "the class Clerk, which the model of the set lacks": (
        {"model": OneOf(Member, Clerk)},
        {"model": OneOf(Member), "on_unrecognized": "skip"},
    ),
}
ACCEPTED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a newer version": (
        {"model": Member, "versions": [(1, dict)]},
        {"model": Member, "versions": [(1, dict), (2, dict)]},
    ),
    "further encryption": ({"encrypted": ("name",)}, {"encrypted": ("name", "salary")}),
    "a further class": ({"model": OneOf(Member)}, {"model": OneOf(Member, Clerk)}),
    "several classes in place of one": ({"model": Member}, {"model": OneOf(Member, Clerk, resolver=lambda _: Member)}),
    "no model": ({"model": OneOf(Member, Clerk)}, {}),
    "a model": ({}, {"model": Member}),
}


def filled(declaration: dict[str, Any]) -> Any:
    entities = staff(connect(), **declaration)
    for number, name in enumerate(("jones", "smith")):
        fields: dict[str, Any] = {"team": "sales", "number": number, "name": name, "salary": 100}
        entities.insert(Member(**fields) if "model" in declaration else fields)
    return entities


@pytest.mark.parametrize("text", REJECTED)
def test_a_set_that_would_read_other_entities_imports_nothing(tmp_path: Path, text: str) -> None:
    source = filled(REJECTED[text][0])
    TableTransfer(source.account, source).export(tmp_path / "new", decrypt=True)
    engine = Engine()
    storage = connect(engine)
    with pytest.raises(BadInput, match=text):
        TableTransfer(storage, staff(storage, **REJECTED[text][1])).restore(tmp_path / "new")
    assert not engine.ledger.records


@pytest.mark.parametrize("text", REJECTED)
def test_a_set_that_would_read_other_entities_continues_no_export(tmp_path: Path, text: str) -> None:
    source = filled(REJECTED[text][0])
    TableTransfer(source.account, source).export(tmp_path / "monday", decrypt=True)
    other = staff(connect(source.account.engine), **REJECTED[text][1])
    with pytest.raises(BadInput, match=text):
        TableTransfer(other.account, other).export(tmp_path / "tuesday", decrypt=True, since=tmp_path / "monday")
    assert not (tmp_path / "tuesday").exists()


def test_an_export_of_an_earlier_version_is_not_imported_unchecked(tmp_path: Path) -> None:
    source = filled({})
    TableTransfer(source.account, source).export(tmp_path / "new")
    manifest = Export.open(tmp_path / "new").manifest
    (tmp_path / "new" / "manifest.json").write_text(replace(manifest, form=None).text(), encoding="utf-8")
    storage = connect(Engine())
    with pytest.raises(BadInput, match="does not state how the set stored its entities"):
        TableTransfer(storage, staff(storage)).restore(tmp_path / "new")
    assert not storage.engine.ledger.records


@pytest.mark.parametrize("text", ACCEPTED)
def test_a_set_that_reads_the_same_entities_imports_them(tmp_path: Path, text: str) -> None:
    source = filled(ACCEPTED[text][0])
    TableTransfer(source.account, source).export(tmp_path / "new", decrypt=True)
    target = staff(connect(), **ACCEPTED[text][1])
    assert TableTransfer(target.account, target).restore(tmp_path / "new").written == 2
    names = [member.name if isinstance(member, Member) else member["name"] for member in target.scan()]
    assert names == ["jones", "smith"]


def test_rows_with_blobs_are_imported_where_the_same_fields_are_encrypted(tmp_path: Path) -> None:
    source = filled({"encrypted": ("salary",), "large": True})
    TableTransfer(source.account, source).export(tmp_path / "new", with_blobs=True)
    for encrypted in ((), ("salary", "desk")):
        other = staff(connect(), encrypted=encrypted, large=True)
        with pytest.raises(BadInput, match="are encrypted"):
            TableTransfer(other.account, other).restore(tmp_path / "new")
        assert not other.account.engine.ledger.records
    target = staff(connect(), encrypted=("salary",), large=True)
    TableTransfer(target.account, target).restore(tmp_path / "new")
    assert [member["salary"] for member in target.scan()] == [100, 100]


@pytest.mark.parametrize("model", [Member, OneOf(Member, Clerk)], ids=["one class", "several"])
@pytest.mark.parametrize("select", [["name"], ["name", "ModelVersion", "EntityType"]], ids=str)
def test_selected_fields_keep_their_class_and_version(tmp_path: Path, model: Any, select: list[str]) -> None:
    declaration: dict[str, Any] = {"model": model, "versions": [(1, renamed)]}
    source = filled(declaration)
    TableTransfer(source.account, source).export(tmp_path / "new", select=select)
    target = staff(connect(), **declaration)
    TableTransfer(target.account, target).restore(tmp_path / "new")
    assert [(type(member), member.name) for member in target.scan()] == [(Member, "jones"), (Member, "smith")]


def test_another_set_does_not_finish_an_interrupted_export(tmp_path: Path) -> None:
    source = filled({})

    def stop(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        TableTransfer(source.account, source).export(tmp_path / "new", progress=stop)
    other = staff(connect(source.account.engine), key=Key("{group}", "{number:03d}"))
    with pytest.raises(BadInput, match="it has another export"):
        TableTransfer(other.account, other).export(tmp_path / "new")
    assert TableTransfer(source.account, source).export(tmp_path / "new").rows == 2


def spread(buckets: int) -> Callable[[Any], Any]:
    return lambda storage: PartitionSpread(storage, "Staff", KEY, buckets=buckets, by=["number"]).entity_set


def day(number: int) -> Callable[[Any], Any]:
    def period_set(storage: Any) -> Any:
        key = Key("{team}", "{At:ticks}")
        days = PeriodTables(storage, "Logins", Period.DAY, factory=lambda on, table: EntitySet(on, table, key))
        return days.of(datetime(2026, 11, number, tzinfo=timezone.utc))

    return period_set


@pytest.mark.parametrize("sets", [(spread(4), spread(16)), (day(1), day(2))], ids=["spread", "period"])
def test_entities_are_imported_only_where_they_are_looked_for(tmp_path: Path, sets: Any) -> None:
    source, target = (of(connect()) for of in sets)
    for hour in range(8):
        source.insert({"team": "sales", "number": hour, "At": datetime(2026, 11, 1, hour, tzinfo=timezone.utc)})
    TableTransfer(source.account, source).export(tmp_path / "new")
    with pytest.raises(LoadInterrupted) as interrupted:
        TableTransfer(target.account, target).restore(tmp_path / "new")
    assert isinstance(interrupted.value.__cause__, BadKey)
    assert [*target.scan()] == []
