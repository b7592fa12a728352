"""Recounting: the totals of a partition, added up anew while writers go on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from ..contention import Overtaken
from ..entity import Entity
from ..errors import EntityAlreadyExists, EntityChanged, EntityNotFound
from ..key import Key
from ..reading.question import range_filter
from ..words.table import Table
from .derived import Keys, Shape
from .shared_kinds import Totals
from .shared_rows import merging


async def recounted(table: Table, key: Key, totals: Totals, partition: Mapping[str, object]) -> list[Keys]:
    """Bring the totals of a partition in line with its entities; return the keys of the rows that were not.

    The rows are read first. Whoever changes what an entity adds changes a row in the same transaction, so that a row
    which is still as it was read holds what was added up.

    :param partition: the values of the fields of the PartitionKey
    :raises Overtaken: a row has changed meanwhile
    """
    rows: dict[Keys, Entity] = {}
    async for row in table.query(range_filter(totals.layout.range(partition))):
        keys = row["PartitionKey"], row["RowKey"]
        if totals.layout.matches(*keys) and not key.matches(*keys):
            rows[keys] = row
    shape = Shape(key)
    found: defaultdict[Keys, list[tuple[int, ...]]] = defaultdict(list)
    async for row in table.query(range_filter(key.range(partition))):
        if shape.fits(row):
            for keys, part in totals.part(key, shape.entity(row)).items():
                found[keys].append(part)
    wrong: list[Keys] = []
    for keys in {**rows, **found}:
        total = tuple(map(sum, zip(*found[keys], strict=True))) or (0,) * len(totals.held(None))
        if total != totals.held(rows.get(keys)):
            await _write(table, totals, keys, rows.get(keys), total)
            wrong.append(keys)
    return wrong


async def _write(table: Table, totals: Totals, keys: Keys, row: Entity | None, total: tuple[int, ...]) -> None:
    try:
        await table.submit(merging(keys, row, totals.named(total)))
    except (EntityAlreadyExists, EntityChanged, EntityNotFound) as error:
        raise Overtaken from error
