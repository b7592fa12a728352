"""What the code of an actor has received, apart for each of its concurrent calls."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Final, NamedTuple, TypeAlias

from .digest import digest_of

Strand: TypeAlias = tuple[int, ...]
"""Which of an actor's concurrent calls it is, and of the calls within that one; empty for the actor itself."""

Place: TypeAlias = tuple[tuple[Strand, bytes], ...]


class History(NamedTuple):
    """What an actor has received. Its behavior depends on it.

    :param named_digests: the digest of what each call received, with timestamps by their names
    :param exact_digests: the digest of exactly what each call received, and when
    :param turns: how often each call, or a call within it, has continued
    """

    named_digests: Mapping[Strand, bytes]
    exact_digests: Mapping[Strand, bytes]
    turns: Mapping[Strand, int]

    @property
    def position(self) -> list[tuple[Strand, bytes]]:
        """Equal for histories after which the actor behaves the same, apart from the names of timestamps."""
        return sorted(self.named_digests.items())


NO_HISTORY: Final = History({}, {}, {})


class Learner:
    """Adds to a history what the running code receives."""

    def __init__(self, name: str, before: History = NO_HISTORY) -> None:
        self.has_crashed = False
        self.locks = 0
        """How many locks the code has taken."""
        self._name = name
        self._strand: Strand = ()
        self._named_digests, self._exact_digests = dict(before.named_digests), dict(before.exact_digests)
        self._turns = dict(before.turns)

    @property
    def history(self) -> History:
        """The history, which later additions do not change."""
        return History({**self._named_digests}, {**self._exact_digests}, {**self._turns})

    @property
    def place(self) -> Place:
        """Equal only for histories after which the actor sends exactly the same."""
        return tuple(sorted(self._exact_digests.items()))

    def receive(self, strand: Strand, value: object) -> None:
        self._exact_digests[strand] = digest_of(self._exact_digests.get(strand), value)

    def learn(self, value: object, strand: Strand | None = None) -> None:
        """Add something that a call learned, by default the running one."""
        strand = self._strand if strand is None else strand
        self._named_digests[strand] = digest_of(self._named_digests.get(strand), value)

    def note_order(self, index: int) -> None:
        """Distinguish the order in which calls of the running code continued; that at an index was the last."""
        for digests in (self._named_digests, self._exact_digests):
            within = [strand for strand in digests if strand[: len(self._strand)] == self._strand]
            digests[self._strand] = digest_of(index, sorted((strand, digests.pop(strand)) for strand in within))

    @contextmanager
    def within(self, index: int) -> Generator[None, None, None]:
        """Attribute what is learned to one of the concurrent calls of the running code."""
        outer, self._strand = self._strand, (*self._strand, index + 1)
        yield
        self._strand = outer

    def turn(self) -> str:
        """Return a name for what runs until the next turn: equal in every order of independent calls."""
        number = self._turns.get(self._strand, 0)
        self._turns[self._strand] = number + 1
        return f"{'.'.join([self._name, *map(str, self._strand)])}, step {number}"
