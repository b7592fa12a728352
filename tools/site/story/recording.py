"""Record the stories: what both accounts contain after each event of a crash, and of a race of two writers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..playground.play import DESIGNS, LEASE, Playground, SteppedRace
from ..playground.process import KILL, SEND

Call = tuple[Any, ...]
"""The name of a method of the playground, and its arguments."""

_YEAR: Final = 365 * 86400
_NEW_EMAIL: Final = "annie@contoso.com"


@dataclass(frozen=True)
class Frame:
    """What a story shows after an event.

    :param text: what has happened, in two or three sentences
    :param sides: the state of both accounts, as the playground shows it
    :param calls: the calls that lead the playground to this state
    """

    text: str
    sides: dict[str, dict[str, Any]]
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True)
class Act:
    """The frames that a button plays."""

    button: str
    frames: tuple[Frame, ...]


Events = Sequence[tuple[str, Sequence[Call]]]

_CRASH: Final[Events] = (
    (
        "Ann changes her email address. The employee and the row that finds her by email are in different partitions, "
        "so no transaction covers both. tablepatterns first sends a message that names both rows; it is hidden for 60 "
        "seconds.",
        (
            ("begin", "change_email", {"EmployeeId": 152, "Email": _NEW_EMAIL}),
            ("decide", "plain", SEND),
            ("decide", "patterned", SEND),
            ("decide", "patterned", SEND),
        ),
    ),
    (
        "Both processes write the employee. Before that, tablepatterns reserves the new address, so that no other "
        "employee can take it.",
        (("decide", "plain", SEND), ("decide", "patterned", SEND), ("decide", "patterned", SEND)),
    ),
    (
        "Both processes are killed before they write the other row. The new address finds no employee.",
        (
            ("decide", "plain", KILL),
            ("decide", "patterned", KILL),
            ("read", "find_by_email", {"Email": _NEW_EMAIL}),
        ),
    ),
)
_REPAIR: Final[Events] = (
    (
        "After 60 seconds the message becomes visible, since no process has deleted it. A worker, on any machine, "
        "receives it.",
        (("advance", LEASE), ("work",), ("decide", "patterned", SEND)),
    ),
    (
        "The worker reads the employee again, and completes the row of the new address.",
        (("decide", "patterned", SEND), ("decide", "patterned", SEND), ("decide", "patterned", SEND)),
    ),
    (
        "It deletes the row of the old address, checks that the employee has not changed since, and deletes the "
        "message.",
        (("decide", "patterned", "finish"),),
    ),
    (
        "A year later, without the library, the new address still finds no employee, and the old one finds an employee "
        "who no longer has it. No error was raised, and nothing will repair it.",
        (("advance", _YEAR), ("read", "find_by_email", {"Email": _NEW_EMAIL})),
    ),
)

_RACE: Final = (
    ("Ten bolts are in stock. Ann's process reads the count.", 1, 1),
    ("Bob's process reads it, too.", 2, 2),
    ("Ann has booked five more: her process writes 15.", 3, 3),
    (
        "Bob has taken three of ten: his process writes 7. Without an ETag, that overwrites Ann. With it, the "
        "service answers 412, because the entity has changed since it was read.",
        4,
        4,
    ),
    ("tablepatterns reads the count again, and writes 12.", 4, 6),
)
"""An event, and how many requests each side has sent after it."""
_RACE_STEPS: Final = [(clerk, SEND) for clerk in ("ann", "bob", "ann", "bob", "bob", "bob")]


async def record_crash() -> tuple[Act, ...]:
    """Change an email in both accounts, kill both processes, and repair what can be repaired."""
    playground, calls = Playground(), [("choose", "employees")]
    await playground.choose("employees")
    try:
        return (
            Act("Crash it", await _play(playground, _CRASH, calls)),
            Act("Repair it", await _play(playground, _REPAIR, calls)),
        )
    finally:
        await playground.close()


async def _play(playground: Playground, events: Events, calls: list[Call]) -> tuple[Frame, ...]:
    """Return the frames after these events; their calls are added to those before them."""
    frames = []
    for text, steps in events:
        for method, *arguments in steps:
            await getattr(playground, method)(*arguments)
        calls += steps
        frames.append(Frame(text, playground.state()["sides"], tuple(calls)))
    return tuple(frames)


async def record_race() -> tuple[Act, ...]:
    """Let two processes change one count, with and without its ETag."""
    design = DESIGNS["stock"]
    races = {
        "plain": SteppedRace(design, "plain", _RACE_STEPS[:4]),
        "patterned": SteppedRace(design, "patterned", _RACE_STEPS),
    }
    frames = [
        Frame(
            text, {"plain": await races["plain"].after(plain), "patterned": await races["patterned"].after(patterned)}
        )
        for text, plain, patterned in _RACE
    ]
    return (Act("Next request", tuple(frames)),)
