"""The number of comparisons, and how often each exclusion applied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from differential.exclusions import Exclusions


class Tally:
    """Counts operations by kind, and by name the exclusions that were applied to them.

    :param known: all exclusions there are, also those that were not applied
    """

    def __init__(
        self,
        known: Exclusions,
        operations: Mapping[str, int] | None = None,
        exclusions: Mapping[str, int] | None = None,
    ) -> None:
        self.operations = Counter(operations or {})
        self.exclusions = Counter(exclusions or {})
        self._known = known

    def copy(self) -> Tally:
        """Return what was counted so far."""
        return Tally(self._known, self.operations, self.exclusions)

    def kinds(self) -> str:
        """Return how many operations of each kind there were."""
        return ", ".join(f"{count:,} {kind}" for kind, count in self.operations.most_common())

    def applied(self) -> Iterator[tuple[int, str, str]]:
        """Yield how often each exclusion was applied, its name and its reason, the most frequent first."""
        for each in sorted(self._known, key=lambda each: -self.exclusions[each.name]):
            yield self.exclusions[each.name], each.name, each.reason

    def lines(self) -> Iterator[str]:
        """Yield the lines printed at the end of a run."""
        yield f"{self.operations.total():,} operations: {self.kinds()}"
        for count, name, reason in self.applied():
            yield f"{count:7,} x {name}: {reason}"
