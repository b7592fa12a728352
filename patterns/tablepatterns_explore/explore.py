"""Explore every schedule of actors that share an account, with a crash or a lost response at every request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from time import perf_counter
from typing import TypeVar

from azure.data.tables import TableClient as SyncTableClient
from azure.data.tables.aio import TableClient

from tablepatterns.recipe import finish
from tablepatterns.sdk.account_sender import AccountSender

from .choice import Chance, line_of, parse
from .code import Unrepeatable
from .request_points import ready_loop
from .run import ScheduleFailure, attempt, describe_failure, run_to_end
from .scenario import Check, Errors, MakeActors, Scenario
from .search import Bound, Explored, Search
from .world import World

T = TypeVar("T")


class Counterexample(AssertionError):
    """A schedule that breaks a condition. Its text lists the requests, and how to replay them."""

    def __init__(self, failure: ScheduleFailure) -> None:
        self.schedule = line_of(failure.choices)
        """The schedule in one line, for `replay`."""
        self.faults, self.preemptions, self.steps = failure.cost
        super().__init__(describe_failure(failure))


def explore(
    make: MakeActors,
    *,
    invariant: Check | None = None,
    always: Check | None = None,
    expected: Errors = (),
    crashes: int = 0,
    lost_responses: int = 0,
    stalls: Sequence[float] = (),
    preemptions: int | None = None,
    latency: float = 30,
    steps: int = 1000,
    schedules: int = 100_000,
    samples: int = 0,
    seed: int = 0,
) -> Explored:
    """Run actors that share an account in every order of their requests, and check the account after each.

    An actor is a coroutine that uses recipes or the SDK's async clients, or a plain function without parameters that
    uses them on the world's `sync_storage`. It is stepped from one storage request to the next, without an event loop.
    A plain function runs in a thread, only one at a time, and sends its concurrent calls one after another.
    Schedules with the fewest faults run first, then those with the fewest preemptions, so the counterexample is the
    simplest.

    Within the bound, every schedule is tried unless it would only repeat others. The search is deterministic, even if
    the actors use random ids and backoff. An actor may await only requests, and `sleep` and `gather` of the account.
    Information that it gets without a request, such as from a list that another actor appends to, makes the search
    slower.

    Cost: no requests outside the process; less than a millisecond for each request of each schedule.

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
    every schedule within the bound: 4 schedules run, 1 pruned (state already seen)

    :param make: returns the actors of a `World`: a list, whose actors are named A, B and so on, or a dict by name. It
        also prepares what they share, with `world.run`, or once for all schedules with `world.prepare`. It is called
        whenever new actors are needed
    :param invariant: checks the world when all actors have ended; it raises or returns False if a condition is broken.
        Equal states are checked once
    :param always: checks the world at every step
    :param expected: the errors with which an actor may end. Any other is a counterexample, except a network error
        after the actor's own response was lost
    :param crashes: how many actors may crash, before a request or after it was executed
    :param lost_responses: how many responses to writes may be lost: the connection breaks, or the response is 500 and
        the SDK retries
    :param stalls: pauses in seconds. Each may stall all actors once, at any point: leases and visibility timeouts
        expire
    :param preemptions: how often an actor that could continue may be preempted; None for no limit
    :param latency: how many seconds a request may take while other actors sleep and wake
    :param steps: the maximum number of choices in a schedule; a longer one is abandoned, and `exhaustive` is False
    :param schedules: the maximum number of schedules
    :param samples: how many schedules to sample at random in addition, with any number of preemptions
    :param seed: the seed for the samples
    :raises Counterexample: a schedule breaks a condition; the text lists its requests
    :raises BadInput: a number is out of range, there is no actor, or the actors behave differently when a schedule is
        repeated

    Guide: concurrency; eventually consistent transactions; retries.
    """
    scenario = Scenario(make, invariant, always, expected)
    bound = Bound(crashes, lost_responses, tuple(stalls), preemptions, latency, steps)

    def run_search(chance: Chance, *, shares_actors: bool = True, merges_orders: bool = True) -> Explored:
        start_seconds = perf_counter()
        search = Search(scenario, bound, chance, shares_actors=shares_actors, merges_orders=merges_orders)
        try:
            exhaustive = search.exhaust(schedules)
            for number in range(samples):
                search.sample(Random(f"{seed}, {number}"))  # noqa: S311 - schedules to be repeated, not secrets
        except Unrepeatable:
            return run_search(chance, shares_actors=search.has_merged, merges_orders=False)
        except ScheduleFailure as failure:
            minimal = search.shrink(failure)
            if minimal is None:
                return run_search(chance, shares_actors=search.has_merged, merges_orders=False)
            raise Counterexample(minimal) from minimal.cause
        finally:
            search.close()
        return search.result(exhaustive, perf_counter() - start_seconds)

    return _run_stepping(run_search)


def replay(
    make: MakeActors,
    schedule: str,
    *,
    invariant: Check | None = None,
    always: Check | None = None,
    expected: Errors = (),
) -> World:
    """Run one schedule and return its world. After the last step, each actor runs to its end.

    | notation | what happens                                                                |
    |----------|-----------------------------------------------------------------------------|
    | `A`      | A's request is executed and answered, and A continues to its next one       |
    | `A*`     | it is executed, but the connection breaks before the response arrives       |
    | `A?`     | it is executed, but the response is 500, so the SDK retries                 |
    | `A!`     | A crashes before the request is sent                                        |
    | `A+!`    | it is executed, and A crashes before the response arrives                   |
    | `>`      | the clock advances to when the first sleeper wakes; pending requests wait   |
    | `>60`    | all actors stall for 60 seconds                                             |

    If A has several requests at once, `A.1` is the first.

    :param make: the actors, as for `explore`
    :param schedule: the schedule of a counterexample
    :param invariant: as for `explore`, like the other parameters
    :raises Counterexample: the schedule breaks a condition
    :raises BadInput: the text is not a schedule, or not one of these actors
    """
    scenario, choices = Scenario(make, invariant, always, expected), parse(schedule)

    def repeat(chance: Chance) -> World:
        try:
            with attempt(scenario, World(chance)) as run:
                for choice in choices:
                    run.check_always()
                    run.take(choice)
                run_to_end(run)
        except ScheduleFailure as failure:
            raise Counterexample(failure) from failure.cause
        run.world.snapshots.fill()
        return run.world

    return _run_stepping(repeat)


def _run_stepping(work: Callable[[Chance], T]) -> T:
    """Run the work where coroutines can be stepped, even in a notebook, whose cells run in an event loop."""
    # The loop is for the futures in which azure-core prepares transactions
    with ready_loop():
        # Before the first run: this is determined once per process, and would use random ids in that run only
        finish(AccountSender.is_supported(TableClient))
        finish(AccountSender.is_supported(SyncTableClient))
        with Chance() as chance:
            return work(chance)
