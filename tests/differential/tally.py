"""How much was compared, and how often the comparison looked away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from differential.exclusions import EXCUSES, WITHHELD


class Tally:
    """Counts operations by kind, and by name the exclusions that were applied to them."""

    def __init__(self) -> None:
        self.operations: Counter[str] = Counter()
        self.exclusions: Counter[str] = Counter()

    def copy(self) -> Tally:
        """Return what was counted so far."""
        tally = Tally()
        tally.operations, tally.exclusions = self.operations.copy(), self.exclusions.copy()
        return tally

    def kinds(self) -> str:
        """Return how many operations of each kind there were."""
        return ", ".join(f"{count:,} {kind}" for kind, count in self.operations.most_common())

    def applied(self) -> Iterator[tuple[int, str, str]]:
        """Yield how often each exclusion was applied, its name and its reason, the most frequent first."""
        reasons = {each.name: each.reason for each in WITHHELD} | {each.name: each.reason for each in EXCUSES}
        for name in sorted(reasons, key=lambda name: -self.exclusions[name]):
            yield self.exclusions[name], name, reasons[name]

    def lines(self) -> Iterator[str]:
        """Yield what is told at the end of a run."""
        yield f"{self.operations.total():,} operations: {self.kinds()}"
        for count, name, reason in self.applied():
            yield f"{count:7,} x {name}: {reason}"
