"""Explored: an export beside a writer, with crashes and lost responses."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.table_states import op
from tablepatterns import EntitySet, Key
from tablepatterns_explore import World, explore
from tablepatterns_transfer import Export, TableTransfer

UNCHANGED = {"1", "3", "5"}
CHANGED = "4"
PAGES_OF_TWO = 0.2


@pytest.fixture
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp())
    yield path / "export"
    shutil.rmtree(path)


def explored(folder: Path, **faults: int) -> Any:
    """Explore an export of five rows in pages of two, while another program changes, deletes and inserts some."""

    def actors(world: World) -> list[Any]:
        shutil.rmtree(folder, ignore_errors=True)
        world.engine.tables.create("Staff")
        for number in range(1, 6):
            world.engine.tables.apply("Staff", op("insert", f"p{number // 4}", f"{number}", Age=0))
        rows = EntitySet(world.storage, "Staff", Key("{Partition}", "{Row}"))

        async def write() -> None:
            four = await rows.get(Partition="p1", Row=CHANGED)
            await rows.merge(four, {"Age": 1})
            await rows.delete(await rows.get(Partition="p0", Row="2"))
            await rows.insert({"Partition": "p1", "Row": "6", "Age": 0})
            await rows.merge(four, {"Age": 2})

        return [TableTransfer(world.storage, "Staff").export(folder, max_per_second=PAGES_OF_TWO), write()]

    def check(world: World) -> None:
        if not (folder / "manifest.json").exists():
            # The process died: the next one continues
            world.run(TableTransfer(world.storage, "Staff").export(folder, max_per_second=PAGES_OF_TWO))
        rows = [*Export.open(folder).all_rows()]
        ages = {row["RowKey"]: row["Age"] for row in rows}
        assert len(ages) == len(rows)
        assert ages.keys() >= UNCHANGED | {CHANGED}
        assert ages.keys() <= UNCHANGED | {CHANGED, "2", "6"}
        assert {row: age for row, age in ages.items() if row != CHANGED and age} == {}
        assert ages[CHANGED] in (0, 1, 2)

    return explore(actors, invariant=check, **faults)


@pytest.mark.parametrize(
    "faults", [{}, {"crashes": 1, "preemptions": 1}, {"lost_responses": 1, "preemptions": 1}], ids=str
)
@pytest.mark.few(2)
def test_each_unchanged_row_is_exported_once_and_others_as_they_were(folder: Path, faults: dict[str, int]) -> None:
    result = explored(folder, **faults)
    assert result.exhaustive
    assert result.states > 100
