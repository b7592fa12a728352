"""Story: a schedule that went wrong, line by line, for those who read it."""

from __future__ import annotations

from .attempt import Found
from .choice import line_of

_WIDEST = 88


def story_of(found: Found) -> str:
    """Return who did what, what came of it, what is wrong then, and how to see it again."""
    cause = found.violation.cause
    # What pytest adds to an assertion is told with the cause itself
    said = next(iter(str(cause).splitlines()), type(cause).__name__)
    wrong = f"{found.violation.what}: {said}"
    faults, preemptions, _ = found.cost
    cost = f"{_counted(faults, 'fault')}, {_counted(preemptions, 'preemption')}"
    again = f"to see it again: replay(make, {line_of(found.choices)!r}, ...)"
    return "\n".join([wrong, "", *_table(found), "", f"{found.endings}; {cost}", again])


def _table(found: Found) -> list[str]:
    doing = [_cut(event.what) for event in found.events]
    names = max((len(event.who) for event in found.events), default=0)
    width = max((len(what) for what, event in zip(doing, found.events, strict=True) if event.outcome), default=0)
    return [
        f"  {event.who:<{names}}  {what:<{width}}  {event.outcome}".rstrip()
        for what, event in zip(doing, found.events, strict=True)
    ]


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def _counted(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"
