"""Standing: a design put on an account in memory, with entities of the declared shape."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from ...deriving.derived import Derived, Index
from ...entity_set import EntitySet
from ...key import Key
from ...recipes.data_series import DataSeries
from ...recipes.index_entities import IndexEntities
from ...recipes.partition_spread import PartitionSpread
from ...recipes.period_tables import PeriodTables
from ...recipes.summary import Summary
from ...storage import Storage
from ..declaring.declared import DeclaredSet, Design, Shape
from .building import Keeper, built
from .expecting import PERIOD_DAYS, World
from .keeping import BY_RECIPE, Kept, Plain, Spread
from .keeping_otherwise import Periods, Series, Wide
from .population import shrunk
from .referring import holds_copies, referring
from .sampling import Sample, bytes_of, sample, width_of

_MOST_BYTES: Final = 8_000_000
_MOST_TABLES: Final = 100
_MOST_PROPERTIES: Final = 4_000
"""So many properties are written at most by a recipe itself."""
_FEWEST: Final = 20
_YEAR: Final = 365.25


@dataclass(frozen=True)
class Stand:
    """A design on an account.

    :param declared: what is declared
    :param made: what was made of it
    :param kept: the sets, by their names
    :param samples: the entities of each, by its name
    """

    storage: Storage
    declared: World
    made: World
    kept: dict[str, Kept]
    samples: dict[str, Sample]


def stood(design: Design, storage: Storage, most: int) -> Stand:
    """Put a design on an account, with as many entities as are declared, or as may be made.

    :param most: how many entities of a set are made at most
    :raises BadDesign: the parts of a set cannot work together
    :raises BadInput: declared values cannot be stored as they are
    """
    keepers = built(design, storage)
    kept = {name: _kept(storage, keeper) for name, keeper in keepers.items()}
    shapes = {each.name: _sample_shape(each, kept[each.name], most) for each in design.sets}
    tables = {each.name: _tables(each) for each in design.sets}
    fewer = {name: min(number, _MOST_TABLES) for name, number in tables.items()}
    samples = dict[str, Sample]()
    for each in design.sets:
        span = timedelta(days=_span(each) * fewer[each.name] / tables[each.name])
        keys = [each.key, *(key for via in each.derived if (key := _layout(each, via)) is not None)]
        samples[each.name] = sample(f"{design.name}\n{each.name}", shapes[each.name], keys, span=span)
    samples = referring(design, samples)
    for each in sorted(design.sets, key=holds_copies):
        kept[each.name].load(samples[each.name].stored)
    declared = World(design, {each.name: each.shape for each in design.sets}, tables)
    return Stand(storage, declared, World(design, shapes, fewer), kept, samples)


def _layout(declared: DeclaredSet, via: Derived) -> Key | None:
    """Return the key of derived rows, which is made of fields of the entities."""
    match via:
        case Index():
            return via.key
        case IndexEntities():
            return via.layout(declared.key)
        case Summary():
            return via.layout
        case _:
            return None


def _kept(storage: Storage, keeper: Keeper) -> Kept:
    match keeper:
        case EntitySet():
            return Plain(storage, keeper)
        case PartitionSpread():
            return Spread(storage, keeper)
        case PeriodTables():
            return Periods(storage, keeper)
        case DataSeries():
            return Series(storage, keeper)
        case _:
            return Wide(storage, keeper)


def _sample_shape(declared: DeclaredSet, kept: Kept, most: int) -> Shape:
    most = min(most, max(_FEWEST, _MOST_BYTES // max(1, bytes_of(declared.shape))))
    if kept.needs_recipe:
        most = min(most, BY_RECIPE, max(_FEWEST, _MOST_PROPERTIES // width_of(declared)))
    return shrunk(declared.shape, most)


def _span(declared: DeclaredSet) -> float:
    """Return how many days ago the oldest entity came."""
    if declared.retention is not None:
        return declared.retention.days
    growth = declared.shape.growth
    return _YEAR if growth <= 0 else max(1.0, min(10 * _YEAR, declared.shape.count / growth * _YEAR))


def _tables(declared: DeclaredSet) -> int:
    if declared.pattern != "period_tables":
        return 1
    return max(1, round(_span(declared) / PERIOD_DAYS[str(declared.settings.get("period", "day"))]))
