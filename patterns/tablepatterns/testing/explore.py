"""Explore every schedule of actors that share an account, with a crash or a lost response at every request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from time import perf_counter
from typing import TypeVar

from azure.data.tables.aio import TableClient

from ..recipe import finish
from ..sdk.batch import is_supported
from .explorer.choice import Chance, line_of, parse
from .explorer.code import Unrepeatable
from .explorer.ready_loop import ready_loop
from .explorer.scenario import Check, Errors, Make, Scenario
from .explorer.search import Bound, Explored, Search, follow, shrink
from .explorer.story import Found, attempt, go_to_end, story_of
from .explorer.world import World

__all__ = ["Counterexample", "Explored", "World", "explore", "replay"]

T = TypeVar("T")


class Counterexample(AssertionError):
    """A schedule with which something is wrong. Its text tells the story, and how to replay it.

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
    """Run actors that share an account in every order of their requests, and check the account in each.

    An actor is a coroutine that uses recipes or the SDK's own aio clients. It is stepped from one storage request to
    the next, without an event loop. Schedules with the fewest faults come first, of those the ones with the fewest
    preemptions, so that the counterexample found is the simplest.

    Within the bound, every schedule is tried unless it can only repeat what was tried. `exhaustive` says whether there
    were fewer than `schedules` of them. The same call finds the same, whatever ids and back-off the actors draw. An
    actor may await only requests, and `sleep` and `gather` of the account. What it learns without a request, such as
    from a list that another actor appends to, does not make a state a new one. Exploring such actors is slower.

    Cost: nothing outside the process; less than a millisecond for each request of each schedule.

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

    :param make: returns the actors of a `World`: a list, whose actors are called A, B and so on, or a dict of actors by
        name. It also prepares what they share, with `world.run`. It is called whenever new actors are needed
    :param invariant: what must hold of the world when all actors have ended; it raises or returns False if it does not.
        States in which it sees the same are checked once
    :param always: what must hold at every step
    :param expected: the errors with which an actor may end. Any other is a counterexample, except an error of the
        network when the actor's own response was lost
    :param kills: how many actors may crash, before a request or after it was carried out
    :param lost: how many responses may be lost, of requests that may change something: the connection breaks, or the
        response is 500 and the SDK sends the request again
    :param stalls: pauses in seconds. Each may stall all actors once, at any point: leases and visibility timeouts
        expire
    :param preemptions: how often an actor that could continue may lose its turn; None for any number of times
    :param latency: how many seconds a request may take while other actors sleep and wake
    :param steps: how many choices a schedule may have; a longer one is abandoned, and `exhaustive` is False
    :param schedules: how many to try at most
    :param samples: how many schedules to draw at random in addition, with any number of preemptions
    :param seed: the seed that they are drawn with
    :raises Counterexample: something is wrong with a schedule; its text tells the story
    :raises BadInput: a number is out of its range, there is no actor, or the actors do not do the same when a schedule
        is repeated

    Guide: concurrency; eventually consistent transactions; retries.
    """
    scenario = Scenario(make, invariant, always, expected)
    bound = Bound(kills, lost, tuple(stalls), preemptions, latency, steps)

    def search(chance: Chance, *, shares: bool = True) -> Explored:
        begun, searching = perf_counter(), Search(scenario, bound, chance, shares=shares)
        try:
            exhaustive = searching.exhaust(schedules)
            for number in range(samples):
                searching.sample(Random(f"{seed}, {number}"))  # noqa: S311 - schedules to be repeated, not secrets
        except Unrepeatable:
            return search(chance, shares=False)
        except Found as found:
            world = World(chance)
            repeated = follow(found.choices, scenario, world) if shares else found
            if repeated is None:
                return search(chance, shares=False)
            raise Counterexample(shrink(repeated, scenario, world)) from repeated.violation.cause
        finally:
            searching.close()
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
    """Run one schedule and return its world. After the last step each actor runs to its end.

    | written | what happens                                                                         |
    |---------|--------------------------------------------------------------------------------------|
    | `A`     | A's request is carried out and answered, and A continues to its next one             |
    | `A*`    | it is carried out, but the connection breaks before the response arrives             |
    | `A?`    | it is carried out, but the response is 500, so that the SDK sends it again           |
    | `A!`    | A crashes before the request is sent                                                 |
    | `A+!`   | it is carried out, and A crashes before the response arrives                         |
    | `>`     | the clock moves to when the first sleeper wakes, while all requests take long        |
    | `>60`   | all actors stall for 60 seconds                                                      |

    Of concurrent requests of A, `A.1` is the first.

    :param make: the actors, as `explore` takes them
    :param schedule: the line of a counterexample
    :param invariant: as for `explore`, like the others
    :raises Counterexample: something is wrong
    :raises BadInput: the line is no schedule, or not one of these actors
    """
    scenario, choices = Scenario(make, invariant, always, expected), parse(schedule)

    def repeat(chance: Chance) -> World:
        try:
            with attempt(scenario, World(chance)) as run:
                for choice in choices:
                    run.check_always()
                    run.take(choice)
                go_to_end(run)
        except Found as found:
            raise Counterexample(found) from found.violation.cause
        return run.world

    return _stepping(repeat)


def _stepping(work: Callable[[Chance], T]) -> T:
    """Run the work where coroutines can be stepped, in a cell of a notebook too, which runs in an event loop."""
    # The loop is for the futures in which azure-core prepares transactions
    with ready_loop():
        # Before the first run: it is found out once in a process, and would draw ids in that run alone
        finish(is_supported(TableClient))
        with Chance() as chance:
            return work(chance)
