"""Referring: entities of a sample that hold copies refer to entities that are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...recipes.denormalize import Denormalize, Filled
from ..declaring.declared import DeclaredSet, Design
from .sampling import Fields, Sample


def holds_copies(declared: DeclaredSet) -> bool:
    """Whether entities of a set refer to others, which must be there first."""
    return any(isinstance(each, Filled) for each in declared.derived)


def referring_fields(declared: DeclaredSet) -> set[str]:
    """Return the fields by which entities of a set refer to others, and those that are copied."""
    return {name for each in declared.derived if isinstance(each, Filled) for name in each.reads}


def referring(design: Design, samples: Mapping[str, Sample]) -> dict[str, Sample]:
    """Return the samples, in which who refers to another refers to one that is stored, or to none.

    :param samples: the entities of each set, by its name
    """
    found = dict(samples)
    for declared in design.sets:
        for filled in declared.derived:
            source = _source(design, filled.name) if isinstance(filled, Filled) else None
            if source is not None:
                of, copies = source
                there = found[of.name].stored
                made = found[declared.name]
                found[declared.name] = Sample(
                    [_referring(each, at, of, copies, there) for at, each in enumerate(made.stored)],
                    [_referring(each, at, of, copies, there) for at, each in enumerate(made.spare)],
                    made.ranks,
                )
    return found


def _source(design: Design, name: str) -> tuple[DeclaredSet, Denormalize] | None:
    """Return the set that copies come from, and how."""
    for declared in design.sets:
        for each in declared.derived:
            if isinstance(each, Denormalize) and name == f"{each.name} filled":
                return declared, each
    return None


def _referring(fields: Fields, at: int, of: DeclaredSet, copies: Denormalize, there: Sequence[Fields]) -> Fields:
    same = [name for name in of.key.fields if name not in copies.refers]
    near = [each for each in there if all(each.get(name) == fields.get(name) for name in same)]
    kept = {name: value for name, value in fields.items() if name not in copies.refers.values()}
    if near:
        chosen = near[at % len(near)]
        kept |= {held: chosen[name] for name, held in copies.refers.items()}
    return kept
