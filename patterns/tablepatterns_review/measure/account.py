"""Create a design's sets on an in-memory account of sample entities."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Final

from azure.core.exceptions import HttpResponseError

from tablepatterns.errors import TablePatternsError
from tablepatterns.recipes.archive.archive import Archive
from tablepatterns.storage import Storage, connect

from ..design.distribution import scaled_results
from ..design.model import DeclaredSet, Design, Moves, Shape
from ..design.writes import archive_set
from ..kinds import kind_of
from ..kinds.kind import SampleSet
from ..kinds.recipes import SetRecipe, archive_of, create_sets, holds_copies, number_of_tables, oldest_days, rejection
from ..plans.estimate import SizedDesign
from .sample import FEW_VALUES, Sample, bytes_of, referring, sample, shrunk, width_of, without
from .writes import archive_now, inactive

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
class SampleDesign(SizedDesign):
    """A design with as few entities as its sample and no rates, and how old the oldest entity of each set is."""

    spans: Mapping[str, timedelta]

    def part(self, names: Collection[str]) -> SampleDesign:
        tables = {name: self.tables[name] for name in names}
        return SampleDesign(self.design.part(names), tables, {name: self.spans[name] for name in names})


def declared_sizes(design: Design) -> SizedDesign:
    return SizedDesign(design, {declared_set.name: number_of_tables(declared_set) for declared_set in design.sets})


def sample_design(
    design: Design, most: int, *, fewest_values: int = FEW_VALUES, most_tables: int = _MOST_TABLES
) -> SampleDesign:
    """Return a design with up to `most` entities and `most_tables` tables per set, and some values per field."""
    with connect() as storage:
        sample_sets = _sample_sets(design, storage, create_sets(design, storage))
    sampled_sets = (_sampled(of, sample_sets[of.name], most, fewest_values) for of in design.sets)
    tables = declared_sizes(design).tables
    fewer = {name: min(number, most_tables) for name, number in tables.items()}
    spans = {of.name: timedelta(days=oldest_days(of) * fewer[of.name] / tables[of.name]) for of in design.sets}
    return SampleDesign(Design(design.name, tuple(sampled_sets)), fewer, spans)


def _sampled(declared_set: DeclaredSet, sample_set: SampleSet, most: int, fewest_values: int) -> DeclaredSet:
    shape = _sample_shape(declared_set, sample_set, most, fewest_values)
    queries = (scaled_results(query, declared_set.shape, shape) for query in declared_set.queries)
    return replace(
        declared_set,
        shape=replace(shape, growth=0.0, moves=Moves()),
        queries=tuple(replace(query, rate=0.0, peak=None) for query in queries),
        writes=tuple(replace(write, rate=0.0, peak=None, writers=1) for write in declared_set.writes),
        access=(),
        archive=declared_set.archive and replace(declared_set.archive, rate=None, peak=None, count=0),
    )


def _sample_sets(design: Design, storage: Storage, keepers: Mapping[str, SetRecipe]) -> dict[str, SampleSet]:
    return {of.name: kind_of(of).sample(keepers[of.name], storage) for of in design.sets}


@dataclass(frozen=True)
class SampleAccount:
    """The sets of a design on an account, with sample entities; all by the name of the set.

    :param made: the design with the number of sample entities
    :param rejected: why the entities of a set cannot be stored
    """

    storage: Storage
    made: SampleDesign
    kept: dict[str, SampleSet]
    samples: dict[str, Sample]
    rejected: dict[str, str]
    archives: dict[str, Archive[Storage]]


def set_up(of: SampleDesign, storage: Storage, *, readable: bool = False) -> SampleAccount:
    """Create the sets of a design with sample entities; if `readable`, texts are named after their fields."""
    design = of.design
    recipes = create_sets(design, storage)
    sample_sets = _sample_sets(design, storage, recipes)
    samples = {
        declared_set.name: sample(
            f"{design.name}\n{declared_set.name}",
            declared_set.shape,
            declared_set.keys,
            span=of.spans[declared_set.name],
            is_wide=kind_of(declared_set).is_wide,
            large=declared_set.in_blobs(),
            readable=readable,
        )
        for declared_set in design.sets
    }
    samples = _without_archived(design, referring(design, samples))
    possible_archives = {of.name: archive_of(storage, of, recipes) for of in design.sets}
    archives = {name: archive for name, archive in possible_archives.items() if archive is not None}
    rejected: dict[str, str] = {}
    for declared_set in sorted(design.sets, key=holds_copies):
        name = declared_set.name
        # An entity that cannot be stored is a finding, not the end of the review
        if (reason := rejection(partial(sample_sets[name].load, samples[name].stored))) is not None:
            rejected[name] = reason
    for declared_set in design.sets:
        name = declared_set.name
        if any(query.archived for query in declared_set.queries) and name not in rejected:
            # Queries of the archive have an entity to read
            with suppress(TablePatternsError, HttpResponseError):
                sample_sets[name].insert(samples[name].spare[-1])
                archive_now(storage, archives[name], sample_sets[name].key_of(samples[name].spare[-1]))
    return SampleAccount(storage, of, sample_sets, samples, rejected, archives)


def _without_archived(design: Design, samples: Mapping[str, Sample]) -> dict[str, Sample]:
    """Return samples in which no archive has the entities that a review archives."""
    samples_by_set = dict(samples)
    for declared_set in design.sets:
        target = archive_set(design, declared_set)
        if target is not None:
            sample = samples[declared_set.name]
            moved = [*inactive(sample.stored), *sample.spare]
            keys = [{name: fields[name] for name in declared_set.key.fields} for fields in moved]
            samples_by_set[target.name] = without(samples_by_set[target.name], keys)
    return samples_by_set


def _sample_shape(declared_set: DeclaredSet, sample_set: SampleSet, most: int, fewest_values: int) -> Shape:
    size = max(1, bytes_of(declared_set.shape))
    most = min(most, max(_FEWEST if size < _LARGE else _VERY_FEW, _MOST_BYTES // size))
    if sample_set.needs_recipe:
        fewest = _FEWEST if width_of(declared_set) < _MOST_PROPERTIES else _VERY_FEW
        most = min(most, _BY_RECIPE, max(fewest, _MOST_PROPERTIES // width_of(declared_set)))
    return shrunk(declared_set.shape, most, declared_set.key.fields, fewest_values)
