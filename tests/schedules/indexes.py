"""Secondary indexes whose copies are not written in one transaction."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from schedules.schedule import schedule
from support.employees import BY_EMAIL, BY_ID
from tablepatterns import EntitySet
from tablepatterns_explore import World, explore

JONES = {"Department": "Sales", "EmployeeId": 223, "Email": "jonesj@contoso.com"}


@schedule("intra_partition_index")
def a_copy_after_its_primary() -> object:
    """The copy is written in a second request, without the library."""

    def hire(world: World) -> list[Coroutine[Any, Any, None]]:
        employees = EntitySet(world.storage, "Employees", BY_ID)
        copies = EntitySet(world.storage, "Employees", BY_EMAIL)
        world.run(employees.create_table())

        async def insert() -> None:
            await employees.insert(JONES)
            await copies.insert(JONES)

        return [insert()]

    def found_by_email(world: World) -> None:
        rows = [entity.row_key for entity in world.engine.tables.query("Employees").entities]
        assert len(rows) != 1, f"of the two rows there is only {rows[0]}"

    return explore(hire, invariant=found_by_email, crashes=1)
