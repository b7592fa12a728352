"""One step of a schedule, and deterministic random choices."""

from __future__ import annotations

import os
import random
import re
import threading
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import shake_128
from typing import Any, Final, Literal, TypeAlias
from unittest.mock import patch

from tablepatterns.errors import BadInput

Kind: TypeAlias = Literal["go", "lose", "time out", "crash", "crash after", "wake", "stall"]

_MARKS: Final[dict[Kind, str]] = {"go": "", "lose": "*", "time out": "?", "crash": "!", "crash after": "+!"}
_KINDS: Final[dict[str, Kind]] = {mark: kind for kind, mark in _MARKS.items()}
_ACTOR: Final = re.compile(r"(?P<label>[A-Za-z_]\w*(?:\.\d+)*)(?P<mark>|\*|\?|\+?!)", re.ASCII)
_STALL: Final = re.compile(r">(?P<seconds>\d+(?:\.\d+)?)", re.ASCII)
_FORMS: Final = "write A, A*, A?, A!, A+!, > or >60, with a name of an actor in place of A, and blanks between"


@dataclass(frozen=True)
class Choice:
    """One step of a schedule; `replay` says how each kind is written.

    :param label: the actor that it happens to, and which of the requests made together
    :param seconds: the duration of a stall
    """

    kind: Kind
    label: str = ""
    seconds: float = 0

    @property
    def actor(self) -> str:
        """The name of the actor that takes the turn, "" for the clock."""
        return self.label.split(".")[0]

    @property
    def is_fault(self) -> bool:
        """Whether it is a crash, a lost response, or a stall."""
        return self.kind not in ("go", "wake")

    def __str__(self) -> str:
        if self.kind == "stall":
            return f">{self.seconds:.7f}".rstrip("0").rstrip(".")
        return ">" if self.kind == "wake" else self.label + _MARKS[self.kind]


def line_of(choices: Iterable[Choice]) -> str:
    """Return a schedule as a line of text.

    >>> line_of([Choice("go", "A"), Choice("crash after", "B"), Choice("stall", seconds=60)])
    'A B+! >60'
    """
    return " ".join(map(str, choices))


def parse(line: str) -> list[Choice]:
    return [_choice(word) for word in line.split()]


def _choice(word: str) -> Choice:
    if word == ">":
        return Choice("wake")
    if match := _STALL.fullmatch(word):
        return Choice("stall", seconds=float(match["seconds"]))
    if match := _ACTOR.fullmatch(word):
        return Choice(_KINDS[match["mark"]], match["label"])
    raise BadInput("schedule", word, "it is not a step of a schedule", _FORMS)


class Chance:
    """In a `with` block, the source of `random`, of `uuid4` and of new generators for `threads`, at first this one.

    The same actor draws the same ids and the same back-off at the same of its steps, whatever the others do. So a
    schedule can be repeated, and two schedules that lead to the same state are seen to.
    """

    def __init__(self) -> None:
        self.threads = {threading.get_ident()}
        """The threads whose draws are repeatable, of which one runs at a time."""
        self._system = os.urandom
        self._former = random.getstate()
        self._who = ""
        self._draw_count = 0
        self._patches = ExitStack()

    def turn_to(self, who: str) -> None:
        """Seed the source for an actor's next draws, whatever was drawn before."""
        self._who, self._draw_count = who, 0
        random.seed(who)

    def _bytes(self, size: int, /) -> bytes:
        if threading.get_ident() not in self.threads:
            return self._system(size)
        self._draw_count += 1
        return shake_128(f"{self._who}, {self._draw_count}".encode()).digest(size)

    def __enter__(self) -> Chance:
        original_init = random.Random.__init__

        def init_with_seed(generator: random.Random, x: Any = None) -> None:
            # The retries of the storage SDKs make a generator of their own, which asks the system past `os`
            original_init(generator, self._bytes(16) if x is None else x)

        self._patches.enter_context(patch.object(os, "urandom", self._bytes))
        self._patches.enter_context(patch.object(random.Random, "__init__", init_with_seed))
        return self

    def __exit__(self, *error: object) -> None:
        self._patches.close()
        random.setstate(self._former)
