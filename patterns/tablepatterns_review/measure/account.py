"""Create a design's sets on an in-memory account of sample entities."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache, partial
from typing import Any, Final, TypeAlias, cast

from azure.core.exceptions import HttpResponseError

from tablepatterns.entity_set.derived import Derived
from tablepatterns.entity_set.entity_set import EntitySet
from tablepatterns.errors import (
    BadDesign,
    EntityAlreadyExists,
    EntityNotFound,
    TablePatternsError,
    message_of,
    one_line,
)
from tablepatterns.recipes.archive.archive import Archive
from tablepatterns.recipes.archive.stores import BlobArchive
from tablepatterns.recipes.data_series import DataSeries
from tablepatterns.recipes.denormalize import CopiedFields
from tablepatterns.recipes.encrypted_properties.keys import LocalKey
from tablepatterns.recipes.partition_spread.partition_spread import PartitionSpread
from tablepatterns.recipes.period_tables.period_tables import PeriodTables
from tablepatterns.recipes.wide_entity.wide_entity import WideEntity
from tablepatterns.storage import Storage, connect

from ..design.archives import archive_set
from ..design.model import YEAR_DAYS, DeclaredSet, Design, Moves, Shape
from ..kinds import KINDS, kind_of
from ..kinds.kind import Plan, SampleSet
from .sample import (
    FEW_VALUES,
    Sample,
    bytes_of,
    holds_copies,
    referring,
    sample,
    scaled_results,
    shrunk,
    width_of,
    without,
)
from .scaling import SizedDesign
from .writes import archive_now, inactive

SetRecipe: TypeAlias = (
    EntitySet[Storage]
    | PartitionSpread[Storage]
    | PeriodTables[Storage, EntitySet[Storage]]
    | DataSeries[Storage, Any]
    | WideEntity[Storage]
)
"""A recipe that stores the entities of a set."""


@cache
def sample_key() -> LocalKey:
    """Return the key that encrypts the sample entities of a review.

    It is created when a design encrypts: in a browser, other designs are reviewed without the package cryptography.
    """
    return LocalKey("review", bytes(range(32)))


def create_sets(design: Design, storage: Storage) -> dict[str, SetRecipe]:
    """Create the sets of a design on an account; return them by name.

    :param design: the design
    :param storage: the account
    :raises BadDesign: the parts of a set cannot work together
    """
    made: dict[str, SetRecipe] = {}
    for declared in sorted(design.sets, key=holds_copies):
        plan = Plan.of(declared)
        made[declared.name] = recipe_of_set(storage, plan, [_bound(declared, each, made) for each in plan.derived])
    return {declared.name: made[declared.name] for declared in design.sets}


def archive_of(account: Storage, declared: DeclaredSet, made: Mapping[str, SetRecipe]) -> Archive[Storage] | None:
    """Return what archives the entities of a set; None if it has no archive.

    :param made: the sets of the design on this account, by name
    :raises BadDesign: entities could not be moved there, or not back
    """
    policy, source = declared.archive, made[declared.name]
    if policy is None:
        return None
    target = made.get(policy.to) if policy.to is not None else BlobArchive(account, policy.container or "")
    if target is None:
        raise BadDesign("to", policy.to, "the design has no such set", "name the set that holds archived entities")
    for each in (source, target):
        if not isinstance(each, (EntitySet, BlobArchive)):
            rule = f"entities are moved between sets of the EntitySet, and this is a {type(each).__name__}"
            raise BadDesign("archive", policy.place, rule, "use the pattern entity_set or log_tail for both sets")
    return Archive(cast("EntitySet[Storage]", source), cast("EntitySet[Storage]", target))


def recipe_of_set(account: Storage, plan: Plan, derived: Sequence[Derived]) -> SetRecipe:
    """Return the recipe that stores the entities of a set.

    :param derived: the derived data, whose sources are on the same account
    :raises BadDesign: the pattern is unknown, or its parts cannot work together
    """
    kind = KINDS.get(plan.pattern)
    if kind is None:
        raise BadDesign("pattern", plan.pattern, "no set uses it", f"use one of {', '.join(KINDS)}")
    recipe: SetRecipe = kind.make(account, plan, derived)
    return recipe


def _bound(declared: DeclaredSet, derived: Derived, made: Mapping[str, SetRecipe]) -> Derived:
    """Return derived data whose source is on this account: copies refer to the set that they are filled from."""
    copies = declared.profile(derived).filled_from
    if copies is None:
        return derived
    for source in made.values():
        if isinstance(copies, CopiedFields) and isinstance(source, EntitySet) and copies in source.derived:
            return copies.filled_from(source)
    rule = "the design has no set to copy from"
    raise BadDesign("derived", derived.name, rule, "declare CopiedFields for that set too")


_BY_RECIPE: Final = 150
"""The number of entities written through the recipes, if their rows cannot be computed."""
_MOST_BYTES: Final = 8_000_000
_MOST_TABLES: Final = 100
_MOST_PROPERTIES: Final = 4_000
"""The maximum number of properties that are written through the recipe."""
_FEWEST: Final = 20
_VERY_FEW: Final = 3
_LARGE: Final = 1_000_000
"""The size in bytes from which an entity is expensive to generate."""


@dataclass(frozen=True)
class SampleDesign:
    """A design with as few entities as its sample: all that measuring reads, so equal ones have equal costs.

    :param design: the design, with the number of entities of the sample, and without rates, growth and readers
    :param tables: the number of period tables of each set, by its name
    :param spans: the age of the oldest entity of each set, by its name
    """

    design: Design
    tables: Mapping[str, int]
    spans: Mapping[str, timedelta]

    def part(self, names: Collection[str]) -> SampleDesign:
        """Return the sample of some sets, by their names."""
        sets = tuple(each for each in self.design.sets if each.name in names)
        tables = {each.name: self.tables[each.name] for each in sets}
        return SampleDesign(
            replace(self.design, sets=sets), tables, {each.name: self.spans[each.name] for each in sets}
        )

    @property
    def sizes(self) -> SizedDesign:
        """The number of entities and tables of each set."""
        return SizedDesign(self.design, {each.name: each.shape for each in self.design.sets}, self.tables)


def declared_sizes(design: Design) -> SizedDesign:
    """Return the declared number of entities and tables of each set."""
    return SizedDesign(
        design, {each.name: each.shape for each in design.sets}, {each.name: _tables(each) for each in design.sets}
    )


def sample_design(design: Design, most: int, *, fewest_values: int = FEW_VALUES) -> SampleDesign:
    """Return a design with the declared number of entities, up to `most`.

    :param most: the maximum number of entities per set
    :param fewest_values: the minimum number of different values that a field keeps in a sample
    :raises BadDesign: the parts of a set cannot work together
    """
    with connect() as storage:
        kept = _sample_sets(design, storage, create_sets(design, storage))
    tables = {each.name: _tables(each) for each in design.sets}
    fewer = {name: min(number, _MOST_TABLES) for name, number in tables.items()}
    return SampleDesign(
        Design(design.name, tuple(_sampled(each, kept[each.name], most, fewest_values) for each in design.sets)),
        fewer,
        {each.name: timedelta(days=_span(each) * fewer[each.name] / tables[each.name]) for each in design.sets},
    )


def _sampled(declared: DeclaredSet, kept: SampleSet, most: int, fewest_values: int) -> DeclaredSet:
    shape = _sample_shape(declared, kept, most, fewest_values)
    queries = (scaled_results(each, declared.shape, shape) for each in declared.queries)
    return replace(
        declared,
        shape=replace(shape, growth=0.0, moves=Moves()),
        queries=tuple(replace(each, rate=0.0, peak=None) for each in queries),
        writes=tuple(replace(each, rate=0.0, peak=None, writers=1) for each in declared.writes),
        access=(),
        archive=declared.archive and replace(declared.archive, rate=None, peak=None, count=0),
    )


def _sample_sets(design: Design, storage: Storage, keepers: Mapping[str, SetRecipe]) -> dict[str, SampleSet]:
    return {each.name: kind_of(each).sample(keepers[each.name], storage) for each in design.sets}


@dataclass(frozen=True)
class SampleAccount:
    """The sets of a design on an account, with sample entities.

    :param made: the design with the number of sample entities
    :param kept: the sets, by name
    :param samples: the entities of each set, by its name
    :param rejected: why the entities of a set cannot be stored, by its name
    :param archives: what archives the entities of a set, by its name
    """

    storage: Storage
    made: SizedDesign
    kept: dict[str, SampleSet]
    samples: dict[str, Sample]
    rejected: dict[str, str]
    archives: dict[str, Archive[Storage]]


def set_up(of: SampleDesign, storage: Storage, *, readable: bool = False) -> SampleAccount:
    """Create the sets of a design on an account, with sample entities.

    :param readable: whether texts are named after their fields
    :raises BadDesign: the parts of a set cannot work together
    :raises BadInput: declared values cannot be stored
    """
    design = of.design
    keepers = create_sets(design, storage)
    kept = _sample_sets(design, storage, keepers)
    samples = {each.name: _sample_of(of, each, readable) for each in design.sets}
    samples = _without_archived(design, referring(design, samples))
    rejected = dict[str, str]()
    for each in sorted(design.sets, key=holds_copies):
        # An entity that cannot be stored is a finding, not the end of the review
        if (reason := rejection(partial(kept[each.name].load, samples[each.name].stored))) is not None:
            rejected[each.name] = reason
    archives = {each.name: made for each in design.sets if (made := archive_of(storage, each, keepers)) is not None}
    for each in design.sets:
        if any(query.archived for query in each.queries) and each.name not in rejected:
            _archive_one(storage, kept[each.name], samples[each.name], archives[each.name])
    return SampleAccount(storage, of.sizes, kept, samples, rejected, archives)


def _sample_of(of: SampleDesign, declared: DeclaredSet, readable: bool) -> Sample:
    keys = [declared.key, *(profile.key for _, profile in declared.profiles() if profile.key and profile.finder)]
    return sample(
        f"{of.design.name}\n{declared.name}",
        declared.shape,
        keys,
        span=of.spans[declared.name],
        is_wide=kind_of(declared).is_wide,
        large=declared.in_blobs(),
        readable=readable,
    )


def _archive_one(storage: Storage, kept: SampleSet, made: Sample, archive: Archive[Storage]) -> None:
    """Archive an entity, so that queries of the archive have one to read."""
    with suppress(TablePatternsError, HttpResponseError):
        kept.insert(made.spare[-1])
        archive_now(storage, archive, kept.key_of(made.spare[-1]))


def _without_archived(design: Design, samples: Mapping[str, Sample]) -> dict[str, Sample]:
    """Return samples in which no archive has the entities that a review archives."""
    found = dict(samples)
    for each in design.sets:
        target = archive_set(design, each)
        if target is not None:
            made, names = samples[each.name], each.key.fields
            moved = [*inactive(made.stored), *made.spare]
            found[target.name] = without(found[target.name], [{name: of[name] for name in names} for of in moved])
    return found


def rejection(call: Callable[[], object]) -> str | None:
    """Make a call; return the reason if the recipe or the service rejects it, else None.

    :raises EntityAlreadyExists: the key exists
    :raises EntityNotFound: the entity does not exist
    """
    try:
        call()
    except (EntityAlreadyExists, EntityNotFound):
        raise
    except (TablePatternsError, HttpResponseError) as error:
        return one_line(message_of(error))
    return None


def _sample_shape(declared: DeclaredSet, kept: SampleSet, most: int, fewest_values: int) -> Shape:
    size = max(1, bytes_of(declared.shape))
    most = min(most, max(_FEWEST if size < _LARGE else _VERY_FEW, _MOST_BYTES // size))
    if kept.needs_recipe:
        fewest = _FEWEST if width_of(declared) < _MOST_PROPERTIES else _VERY_FEW
        most = min(most, _BY_RECIPE, max(fewest, _MOST_PROPERTIES // width_of(declared)))
    return shrunk(declared.shape, most, declared.key.fields, fewest_values)


def _span(declared: DeclaredSet) -> float:
    """Return the age of the oldest entity in days."""
    if declared.retention is not None:
        return declared.retention.days
    if declared.archive is not None and declared.archive.after_days is not None:
        return declared.archive.after_days
    growth = declared.shape.growth
    return YEAR_DAYS if growth <= 0 else max(1.0, min(10 * YEAR_DAYS, declared.shape.count / growth * YEAR_DAYS))


def _tables(declared: DeclaredSet) -> int:
    return kind_of(declared).tables(declared, _span(declared))
