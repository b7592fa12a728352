"""How many points fit in one property, for a series that is always written as a whole."""

from __future__ import annotations

from array import array
from typing import Any

import pytest

from tablepatterns import EntitySet, Key
from tablepatterns.errors import LimitExceeded


@pytest.mark.guide("G-230")
async def test_8000_points_fit_in_one_property_and_9000_need_a_blob(storage: Any, table_name: str) -> None:
    series = EntitySet(storage, table_name, Key("{Employee}", "{Year:04d}"))
    jones: dict[str, Any] = {"Employee": "000223", "Year": 2014}
    entity = await series.insert(jones | {"Points": array("d", [0.5] * 8000).tobytes()})

    def change(entity: dict[str, Any]) -> None:
        points = array("d", entity["Points"])
        points[7999] = 1.5
        entity["Points"] = points.tobytes()

    await series.update(change, **jones)
    assert array("d", (await series.get(**jones))["Points"])[-2:] == array("d", [0.5, 1.5])
    with pytest.raises(LimitExceeded, match="blob"):
        await series.merge(entity, {"Points": array("d", [0.5] * 9000).tobytes()})
