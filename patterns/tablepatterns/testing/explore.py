"""Explore every schedule of actors that share an account, with a crash or a lost response at every request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from random import Random
from time import perf_counter
from typing import TypeVar

from azure.data.tables.aio import TableClient

from ..recipe import finish
from ..sdk.batch import is_supported
from .explorer.actor import in_event_loop
from .explorer.choice import Chance, line_of, parse
from .explorer.scenario import Check, Errors, Make, Scenario
from .explorer.search import Bound, Explored, Search, shrink
from .explorer.story import Found, attempt, go_to_end, story_of
from .explorer.world import World

__all__ = ["Counterexample", "Explored", "World", "explore", "replay"]

T = TypeVar("T")


class Counterexample(AssertionError):
    """A schedule with which something is wrong; its text tells the story, and how to see it again.

    :param found: the schedule, and what is wrong
    """

    def __init__(self, found: Found) -> None:
        self.schedule = line_of(found.choices)
        """The schedule in one line, for `replay`."""
        self.faults, self.preemptions, self.steps = found.cost
        super().__init__(story_of(found))


def explore(
    make: Make,
    *,
    invariant: Check | None = None,
    always: Check | None = None,
    expected: Errors = (),
    kills: int = 0,
    lost: int = 0,
    stalls: Sequence[float] = (),
    preemptions: int | None = None,
    latency: float = 30,
    steps: int = 1000,
    schedules: int = 100_000,
    samples: int = 0,
    seed: int = 0,
) -> Explored:
    """Step actors that share an account in every order, and check that all is well in each.

    An actor is a coroutine, on recipes or on the SDK's own aio clients. It is stepped from one storage request to the
    next, without an event loop. Schedules with the fewest faults come first, of those the ones with the fewest
    preemptions, so that what is found is as simple as it gets.

    Guarantees: within the bound every schedule is tried, unless it can only repeat what was tried; `exhaustive` says
    whether there were fewer than `schedules` of them. The same call finds the same, whatever ids and back-off the
    actors draw. Does not: step what waits for anything but requests, `sleep` and `together` of the account; see what
    actors tell one another past the account, so that they had better not.

    Cost: nothing outside the process; one or two milliseconds for each request of each schedule.

    >>> from tablepatterns import EntitySet, Key
    >>> def two_visitors(world: World) -> list[Coroutine[Any, Any, Any]]:
    ...     pages = EntitySet(world.storage, "Pages", Key("{Site}", "{Page}"))
    ...     world.run(pages.insert({"Site": "docs", "Page": "home", "Visits": 0}))
    ...     def visit(page: Entity) -> None:
    ...         page["Visits"] += 1
    ...     return [pages.update(visit, Site="docs", Page="home") for _ in range(2)]
    >>> def both_counted(world: World) -> bool:
    ...     return world.engine.tables.get("Pages", "docs", "home").properties["Visits"] == 2
    >>> print(explore(two_visitors, invariant=both_counted))
    every schedule within the bound: 4 to the end, 1 to a known state

    :param make: makes the actors of one schedule, in a new `World`: a list, whose actors are called A, B and so on, or
        a dict of actors by name. What the actors share beforehand is made here, with `world.run`
    :param invariant: what must hold of the world when all actors have ended; it raises or returns False if it does not
    :param always: what must hold at every step
    :param expected: the errors with which an actor may end. Any other is a counterexample, except that of the network
        when the actor's own answer was lost
    :param kills: how many actors may die, before a request or after it was carried out
    :param lost: how many answers may be lost, of requests that may change something: the connection breaks, or the
        answer is 500 and the SDK sends the request again
    :param stalls: pauses in seconds, each of which may befall everybody once, at any point: leases and visibility
        timeouts run out
    :param preemptions: how often the turn may pass from an actor that could go on; None for as often as it likes
    :param latency: for how many seconds a request may take, while others sleep and wake
    :param steps: how many choices a schedule may have; a longer one is left, and `exhaustive` is False
    :param schedules: how many to try at most
    :param samples: how many schedules to draw at random besides, with any number of preemptions
    :param seed: what they are drawn with
    :raises Counterexample: something is wrong with a schedule; its text tells the story
    :raises BadInput: a number is out of its range, there is no actor, or the actors do not do the same when a schedule
        is repeated

    Guide: concurrency; eventually consistent transactions; retries.
    """
    scenario = Scenario(make, invariant, always, expected)
    bound = Bound(kills, lost, tuple(stalls), preemptions, latency, steps)

    def search(chance: Chance) -> Explored:
        begun, searching = perf_counter(), Search(scenario, bound, chance)
        try:
            exhaustive = searching.exhaust(schedules)
            for number in range(samples):
                searching.sample(Random(f"{seed}, {number}"))  # noqa: S311 - schedules to be repeated, not secrets
        except Found as found:
            raise Counterexample(shrink(found, scenario, chance)) from found.violation.cause
        return searching.explored(exhaustive, perf_counter() - begun)

    return _stepping(search)


def replay(
    make: Make,
    schedule: str,
    *,
    invariant: Check | None = None,
    always: Check | None = None,
    expected: Errors = (),
) -> World:
    """Carry out one schedule, and return the world as it is then; after the last step each actor goes on to its end.

    | written | what happens                                                                  |
    |---------|-------------------------------------------------------------------------------|
    | `A`     | A's request is carried out and answered, and A goes on to its next one        |
    | `A*`    | it is carried out, but the connection breaks before the answer comes          |
    | `A?`    | it is carried out, but answered with 500, so that the SDK sends it again      |
    | `A!`    | A dies before the request is sent                                             |
    | `A+!`   | it is carried out, and A dies before the answer comes                         |
    | `>`     | the clock moves to when the first sleeper wakes, while all requests take long |
    | `>60`   | everybody stalls for 60 seconds                                               |

    Of requests that A makes together, `A.1` is the first.

    :param make: the actors, as `explore` takes them
    :param schedule: the line of a counterexample
    :param invariant: as for `explore`, like the others
    :raises Counterexample: something is wrong
    :raises BadInput: the line is no schedule, or not one of these actors
    """
    scenario, choices = Scenario(make, invariant, always, expected), parse(schedule)

    def repeat(chance: Chance) -> World:
        try:
            with attempt(scenario, chance) as run:
                for choice in choices:
                    run.check_always()
                    run.take(choice)
                go_to_end(run)
        except Found as found:
            raise Counterexample(found) from found.violation.cause
        return run.world

    return _stepping(repeat)


def _stepping(work: Callable[[Chance], T]) -> T:
    """Return what is worked out where coroutines can be stepped: in a thread without a running event loop."""
    if not in_event_loop():
        return _with_idle_loop(work)
    # A notebook runs its cells in one
    with ThreadPoolExecutor(1) as elsewhere:
        return elsewhere.submit(copy_context().run, _with_idle_loop, work).result()


def _with_idle_loop(work: Callable[[Chance], T]) -> T:
    """Keep an event loop at hand, for the futures in which azure-core prepares transactions."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        # Before the first run: it is found out once in a process, and would draw ids in that run alone
        finish(is_supported(TableClient))
        with Chance() as chance:
            return work(chance)
    finally:
        asyncio.set_event_loop(None)
        loop.close()
