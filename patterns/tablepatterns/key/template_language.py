"""The texts that a template can write, as a finite automaton, and whether two templates can write the same one.

A literal and a format of fixed width are a chain of states, one for each character. Text is a state that stays where
it is. Text that a separator ends is the automaton that looks for the separator: the field ends where it first occurs,
as `Field.write` and `Field.read` have it.

Two templates can write the same text if their automata can be moved to their ends by the same characters. Where a
format takes fewer texts than its characters allow, such as the months of a date, this says that they can meet: it may
be wrong in that direction only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Final

from ..limits import FORBIDDEN_IN_KEYS


@dataclass(frozen=True)
class Characters:
    """A set of characters: those listed, or all others."""

    listed: frozenset[str]
    excludes: bool = False

    def meets(self, characters: Characters) -> bool:
        if self.excludes and characters.excludes:
            return True
        if characters.excludes:
            return bool(self.listed - characters.listed)
        return bool(characters.listed - self.listed) if self.excludes else bool(self.listed & characters.listed)

    def without(self, characters: Iterable[str]) -> Characters:
        excluded = frozenset(characters)
        return Characters(self.listed | excluded if self.excludes else self.listed - excluded, self.excludes)


def one_of(characters: Iterable[str]) -> Characters:
    return Characters(frozenset(characters))


DIGIT: Final = one_of("0123456789")
HEX: Final = one_of("0123456789abcdef")
KEY_TEXT: Final = Characters(
    frozenset(character for character in map(chr, range(256)) if re.match(FORBIDDEN_IN_KEYS, character)), True
)
"""The characters that a PartitionKey or RowKey can contain."""


class Automaton:
    """A nondeterministic finite automaton, built from left to right. State 0 is the start, the newest is the end."""

    def __init__(self) -> None:
        self._moves: list[list[tuple[Characters, int]]] = [[]]

    @property
    def end(self) -> int:
        return len(self._moves) - 1

    def add_literal(self, text: str) -> None:
        self.add_fixed([one_of(character) for character in text])

    def add_fixed(self, characters: Iterable[Characters]) -> None:
        for character_set in characters:
            state = self.end
            self._moves[state].append((character_set, self._new()))

    def add_text(self, characters: Characters) -> None:
        self._moves[self.end].append((characters, self.end))

    def add_text_until(self, characters: Characters, separator: str) -> None:
        """Add any number of characters up to where the separator first occurs, and the separator."""
        separator_characters = sorted(set(separator))
        states = [self.end, *(self._new() for _ in separator)]
        # In state n, the text so far ends with the first n characters of the separator. The next character leads to the
        # state of what the text ends with then; one that the separator lacks leads back to the first state
        for length, state in enumerate(states[:-1]):
            self._moves[state].append((characters.without(separator_characters), states[0]))
            for character in separator_characters:
                text = separator[:length] + character
                # How much of the separator the text ends with
                next_length = next(n for n in range(len(text), -1, -1) if text.endswith(separator[:n]))
                self._moves[state].append((one_of(character), states[next_length]))

    def _new(self) -> int:
        self._moves.append([])
        return self.end

    def meets(self, automaton: Automaton) -> bool:
        # The pairs of states that the same text can lead to, found from the pair of starts
        pairs = {(0, 0)}
        pending = [(0, 0)]
        while pending:
            one, other = pending.pop()
            if (one, other) == (self.end, automaton.end):
                return True
            for move, other_move in product(self._moves[one], automaton._moves[other]):
                pair = move[1], other_move[1]
                if pair not in pairs and move[0].meets(other_move[0]):
                    pairs.add(pair)
                    pending.append(pair)
        return False
