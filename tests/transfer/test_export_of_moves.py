"""Chains of exports beside a move to new keys: the last one restores each table as it is, in every phase."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tablepatterns import EntitySet, IntraPartitionIndex, Key, Phase, Rekey, connect
from tablepatterns.errors import BadInput, EntityAlreadyExists, EntityNotFound, RekeyNotReady, TooMuchContention
from tablepatterns.jobs import verify
from tablepatterns_engine.account import Engine
from tablepatterns_transfer import TableTransfer, compare_exports

BY_ID = Key("{Department}", "{EmployeeId:06d}")
BY_EMAIL = Key("{Email}", "employee")
BY_AGE = IntraPartitionIndex(Key("{Department}", "age_{Age:03d}_{EmployeeId:06d}"), name="by_age")
REFUSED = (BadInput, EntityAlreadyExists, EntityNotFound, RekeyNotReady, TooMuchContention)
"""What a write or a change of the phase may answer, which changes nothing."""
EXPORTS = 5
LONGER_THAN_CLOCKS_DIFFER = 1_000


def old_set(storage: Any, name: str = "Staff") -> Any:
    return EntitySet(storage, name, BY_ID, derived=[BY_AGE])


def new_set(storage: Any, name: str = "StaffByEmail") -> Any:
    return EntitySet(storage, name, BY_EMAIL)


class Program:
    """A program that writes people, and an operator who changes the phase, both at random; some calls crash."""

    def __init__(self, engine: Engine, seed: int) -> None:
        self.chance = random.Random(seed)
        self.left: int | None = None
        storage = connect(engine, raw_request_hook=self.count, raw_response_hook=self.count)
        self.move = Rekey(old_set(storage), new_set(storage), refresh=1, max_pause=2, longest_stall=3_600)
        self.phases: set[Phase] = set()

    def count(self, _: object) -> None:
        """Crash before a request, or before its response."""
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise SystemExit

    def act(self) -> None:
        self.left = self.chance.randrange(24) if self.chance.random() < 0.2 else None
        with suppress(SystemExit, *REFUSED):
            if self.chance.random() < 0.3:
                self.operate()
            else:
                self.write()
        self.left = None

    def write(self) -> None:
        entities = self.move.entities
        keys = {"Department": self.chance.choice("ab"), "EmployeeId": self.chance.randrange(5)}
        email = f"{self.chance.randrange(12)}@contoso.com"
        entity = entities.get(keys)
        if entity is None:
            entities.insert(keys | {"Email": email, "Age": 30})
            return
        match self.chance.randrange(4):
            case 0:
                entities.delete(entity)
            case 1:
                entities.merge(entity, {"Age": self.chance.randrange(99)})
            case 2:
                entities.replace(entity | {"Email": email})
            case _:
                entities.rename(entity, EmployeeId=self.chance.randrange(5, 8))

    def operate(self) -> None:
        phase = self.move.status().phase
        self.phases.add(phase)
        calls = {
            Phase.COPYING: [self.move.copy, self.move.repair, self.move.verify, self.move.cut_over],
            Phase.CUT_OVER: [self.move.repair, self.move.verify, self.move.roll_back, self.move.commit],
            Phase.COMMITTED: [self.move.clean_up],
        }.get(phase, [self.move.cut_over, self.move.roll_back])
        self.chance.choice(calls)()


@pytest.mark.parametrize("seed", [1, 2, 3, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(4, 100))])
def test_a_chain_of_exports_beside_a_move_restores_each_table(tmp_path: Path, seed: int) -> None:
    engine = Engine()
    program, is_last = Program(engine, seed), False

    def beside(_: object) -> None:
        if not is_last and program.chance.random() < 0.25:
            program.act()

    storage = connect(engine, raw_response_hook=beside)
    program.move.old_set.create_table()
    program.move.new_set.create_table()
    transfers: dict[str, Any] = {
        "rows": TableTransfer(storage, "Staff"),
        "old": TableTransfer(storage, old_set(storage)),
        "new": TableTransfer(storage, new_set(storage)),
    }
    for number in range(EXPORTS):
        is_last = number == EXPORTS - 1
        for _ in range(5):
            program.act()
        for name, transfer in transfers.items():
            since = tmp_path / f"{name}{number - 1}" if number else None
            transfer.export(tmp_path / f"{name}{number}", since=since)
        engine.clock.advance(program.chance.choice((1, 60, LONGER_THAN_CLOCKS_DIFFER)))
    last = EXPORTS - 1
    for name, transfer in transfers.items():
        transfer.export(tmp_path / f"{name} whole")
        assert compare_exports(tmp_path / f"{name} whole", tmp_path / f"{name}{last}").are_none
        assert transfer.compare(tmp_path / f"{name}{last}").are_none
    restored = connect()
    copies = {"old": old_set(restored), "new": new_set(restored)}
    for name, copy in copies.items():
        TableTransfer(restored, copy).restore(tmp_path / f"{name}{last}")
        source = transfers[name].entity_set
        assert [dict(entity) for entity in copy.scan()] == [dict(entity) for entity in source.scan()]
    assert verify(copies["old"], BY_AGE).is_clean
