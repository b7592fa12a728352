"""Known: everything that the rules may look at, and the few questions that several of them ask of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...entity_set.derived import Derived
from ..design.model import DeclaredSet, Design, Query, Write
from ..model import AccountLoad, Bill, Heat, InSight, Measured, Promise


@dataclass(frozen=True)
class Asked:
    """A query, with what it took."""

    of: DeclaredSet
    query: Query
    measured: Measured

    @property
    def via(self) -> Derived | None:
        """The derived data that answers it; None for the primary rows."""
        return next((each for each in self.of.derived if each.name == self.measured.via), None)


@dataclass(frozen=True)
class Done:
    """A write, with what it took."""

    of: DeclaredSet
    write: Write
    measured: Measured


@dataclass(frozen=True)
class Known:
    """A design, and what was measured and simulated of it."""

    design: Design
    measured: tuple[Measured, ...]
    heats: tuple[Heat, ...]
    account: AccountLoad
    in_sight: tuple[InSight, ...]
    bill: Bill
    promises: tuple[Promise, ...]

    def queries(self) -> Iterator[Asked]:
        """Hand out the queries, in the order of the design."""
        for each in self.measured:
            if isinstance(each.access, Query):
                yield Asked(each.of, each.access, each)

    def writes(self) -> Iterator[Done]:
        """Hand out the writes, in the order of the design."""
        for each in self.measured:
            if isinstance(each.access, Write):
                yield Done(each.of, each.access, each)

    def queries_of(self, declared: DeclaredSet) -> list[Asked]:
        """Return the queries of one set."""
        return [each for each in self.queries() if each.of.name == declared.name]

    def writes_of(self, declared: DeclaredSet) -> list[Done]:
        """Return the writes of one set."""
        return [each for each in self.writes() if each.of.name == declared.name]

    def writer(self, name: str) -> Done | None:
        """Return the write of this name; None if there is none."""
        return next((each for each in self.writes() if each.write.name == name), None)

    def entities_then(self, declared: DeclaredSet) -> float:
        """Return how many entities a set has at the end of the declared growth."""
        return declared.shape.count + declared.shape.growth * self.design.years
