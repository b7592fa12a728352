"""The page on benchmarks and its charts, from the results in benchmarks/results."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import Any, Final

from benchmarks.case import AZURITE, ENGINE, ENGINE_LARGE, FLOOR
from benchmarks.charts import Group, bar_chart
from benchmarks.over_http import LIBRARY, SDK, TITLES, share
from benchmarks.results import Results, Series, read
from benchmarks.serve import SERVE, ServeResults, read_serve

from tools import ROOT
from tools.pages.data_file import DataFile
from tools.pages.markdown import introduction, page, table

PAGE: Final = "docs/benchmarks.md"
RESULTS: Final = ROOT / "benchmarks/results"
_PLACES: Final = {"constant": "constant transport", "engine": "in-memory engine", "Azurite": "Azurite, over HTTP"}


@dataclass(frozen=True)
class Chart:
    """One of the page's charts."""

    PAGE: str
    render: Callable[[], str]


def render() -> str:
    """Return the page."""
    return page(
        introduction("benchmarks"),
        *_throughput(),
        *_over_http(),
        *_recipes(),
        *_engine(),
        *_server(),
        *_startup(),
        *_explorer(),
        "## Environment",
        _environments(),
    )


# ------------------------------------------------------------------ transactions, pages and bulk loads


def speedup(case: str, kind: str = "cpu_ratio") -> float:
    """Return how many times the SDK's throughput the library has in a case."""
    return next(float(each[kind]) for each in _json("codec")["cases"] if each["case"] == case)


def _throughput() -> Iterator[str]:
    yield "## Transactions, pages and bulk loads"
    yield (
        "Entities per second of processor time, sent in transactions of 100 or read in pages of 1,000. The constant "
        "transport answers at once, so only the client is measured. On the in-memory engine the service's work counts "
        "too."
    )
    yield "![Entities per second of processor time](_static/benchmarks-throughput.svg){.drawing}"
    yield f"[All cases]({_linked(THROUGHPUT)}), also with threads, with asyncio, and by elapsed time."


def _throughput_rows() -> Iterator[tuple[str, ...]]:
    for each in _json("codec")["cases"]:
        per_second = f"{1 / each['sdk_cpu']:,.0f}", f"{1 / each['cpu']:,.0f}"
        yield _place(each["case"]), *per_second, f"{each['cpu_ratio']:.1f}", f"{each['wall_ratio']:.1f}"


def _place(case: str) -> str:
    for short, place in _PLACES.items():
        case = case.replace(f", {short},", f", {place},")
    return case


def throughput_chart() -> str:
    """Return the chart of transactions and pages of sync clients."""
    shown = [each for each in _json("codec")["cases"] if each["case"].endswith(", sync")]
    groups = [
        Group(
            _place(each["case"]).removesuffix(", sync"),
            (1 / each["sdk_cpu"], 1 / each["cpu"]),
            (f"{1 / each['sdk_cpu']:,.0f}", f"{1 / each['cpu']:,.0f} ({each['cpu_ratio']:.1f} x)"),
        )
        for each in shown
    ]
    return bar_chart("Entities per second of processor time, sync", ("SDK", "library"), groups)


# ------------------------------------------------------------------ single requests


def http_share(part: str, request: str) -> float:
    """Return the processor time of a request of the library over HTTP, as a share of the SDK's."""
    return share(_json("over_http")["parts"][part][request]).median


def _over_http() -> Iterator[str]:
    yield "## Single requests over HTTP"
    yield (
        "The processor time of a request of the library as a share of the SDK's: the lowest and the highest of "
        f"[each kind of request]({_linked(OVER_HTTP)}). A server in another process answers at once."
    )
    yield table(("", "library / SDK"), [(title, _shares(part)) for part, title in TITLES.items()])
    bare = _json("over_http")["parts"]["http"]["get"]
    clients = (f"{who} {1000 * median(bare[who]['cpu']):.2f} ms" for who in ("http.client", "urllib3", "requests"))
    yield f"The request of a read alone takes: {', '.join(clients)}."


def _shares(part: str) -> str:
    shares = sorted(http_share(part, request) for request in _json("over_http")["parts"][part])
    return f"{shares[0]:.2f} to {shares[-1]:.2f}"


def _over_http_rows() -> Iterator[tuple[str, ...]]:
    for part, title in TITLES.items():
        for request, sides in _json("over_http")["parts"][part].items():
            times = (f"{1000 * median(sides[who]['cpu']):.2f}" for who in (SDK, LIBRARY))
            yield f"{title}: {request}", *times, f"{http_share(part, request):.2f}"


# ------------------------------------------------------------------ recipes


def _recipes() -> Iterator[str]:
    yield "## Recipes"
    yield (
        "The processor time of one call of a recipe as a share of that of the same requests by the SDK's own clients, "
        "both on the in-memory engine."
    )
    yield "![Time of recipes as a share of that of the SDK](_static/benchmarks-recipes.svg){.drawing}"
    yield f"[The times of each call]({_linked(RECIPES)})."


def _recipe_rows() -> Iterator[tuple[str, ...]]:
    for case, recipe, bare in _calls():
        yield case, f"{1000 * median(bare.cpu):.2f}", f"{1000 * median(recipe.cpu):.2f}", f"{_ratio(recipe, bare):.2f}"


def recipes_chart() -> str:
    """Return the chart of calls of recipes."""
    groups = [Group(case, (_ratio(recipe, bare),), (f"{_ratio(recipe, bare):.2f}",)) for case, recipe, bare in _calls()]
    title = "Processor time of a recipe divided by that of the same requests with the SDK"
    return bar_chart(title, ("recipe / SDK; the line is the SDK",), groups, line=1)


def _calls() -> Iterator[tuple[str, Series, Series]]:
    for case, sides in _json("calls")["cases"].items():
        yield case, Series(**sides["recipe"]), Series(**sides["SDK"])


def _ratio(one: Series, other: Series) -> float:
    return median(above / below for above, below in zip(one.cpu, other.cpu, strict=True))


# ------------------------------------------------------------------ the engine, and its server


def _engine() -> Iterator[str]:
    tables = _rounds("tables")
    yield "## In-memory engine"
    yield (
        "The elapsed time of one call of the SDK on Azurite, over HTTP on the same machine, divided by that on the "
        f"engine. [Each call]({_linked(CALLS_ON_ENGINE)}), also compared with a transport that returns recorded "
        "responses."
    )
    yield "![Elapsed time on Azurite divided by that on the engine](_static/benchmarks-engine.svg){.drawing}"
    large = tables.loaded[ENGINE_LARGE].entities
    grown = max(tables.ratio(case, ENGINE_LARGE, ENGINE).median for case in ("range of 10", "$top=10"))
    yield (
        f"In a table of {large:,} entities, a query of 10 takes {grown:.2f} times what it takes in one of "
        f"{tables.loaded[ENGINE].entities:,}. An entity with five properties takes "
        f"{(tables.memory or 0) / large:,.0f} bytes."
    )


def _engine_rows() -> Iterator[tuple[str, ...]]:
    for results, case in _engine_cases():
        times = [f"{1000 * median(results.cases[case][who].cpu):,.2f}" for who in (FLOOR, ENGINE)]
        added, slower = results.ratio(case, ENGINE, FLOOR, cpu=True), results.ratio(case, AZURITE, ENGINE)
        yield case, *times, f"{added.median:.2f}", f"{slower.median:.1f}"


def engine_chart() -> str:
    """Return the chart of calls on the engine and on Azurite."""
    ratios = [(case, results.ratio(case, AZURITE, ENGINE).median) for results, case in _engine_cases()]
    groups = [Group(case, (ratio,), (f"{ratio:.1f}",)) for case, ratio in ratios]
    title = "Elapsed time of a call on Azurite divided by that on the in-memory engine"
    return bar_chart(title, ("Azurite / engine; the line is the engine",), groups, line=1)


def _engine_cases() -> Iterator[tuple[Results, str]]:
    for results in (_rounds("tables"), _rounds("objects")):
        for case, sides in results.cases.items():
            if AZURITE in sides and FLOOR in sides:
                yield results, case


def _server() -> Iterator[str]:
    served = _served()
    yield "## `tablepatterns serve`"
    yield (
        "Point reads over HTTP, by clients that keep their connections open. The 99th percentile is of the response "
        "time, in ms."
    )
    rows = [
        (
            f"{clients}",
            name,
            f"{median(rates.per_second):,.0f}",
            f"{1000 * median(rates.p99):.1f}",
            f"{served.ratio(clients):.1f} x" if name == SERVE else "",
        )
        for clients, by_server in served.rates.items()
        for name, rates in by_server.items()
    ]
    yield table(("clients", "server", "requests per second", "99th percentile", "times Azurite"), rows)


# ------------------------------------------------------------------ connecting, and where it was measured


def _startup() -> Iterator[str]:
    rounds = _json("startup")["rounds"]
    sdk, added = (1000 * median(each[side] for each in rounds) for side in (0, 1))
    yield "## Connecting in a new process"
    yield (
        f"Importing the SDK's three clients takes {sdk:.0f} ms of processor time; `import tablepatterns; connect()` "
        f"after it {added:.0f} ms more."
    )


def _explorer() -> Iterator[str]:
    yield "## Exploring schedules"
    yield (
        "The processor time in seconds that `explore` takes to try every schedule within a bound, without those that "
        "can only end as others do. `benchmarks/explorations.py` has the explorations, and the first version for "
        "comparison."
    )
    rows = list[tuple[str, ...]]()
    for name, versions in _json("explorer")["rounds"].items():
        (_, before), (tries, now) = (_explored(versions[version]) for version in ("compared", "this version"))
        rows.append((name, f"{tries:,}", f"{now:.2f}", f"{before / now:.0f} x"))
    yield table(("", "schedules", "seconds", "as fast as the first version"), rows)


def _explored(rounds: Sequence[tuple[int, float]]) -> tuple[int, float]:
    return rounds[0][0], median(seconds for _, seconds in rounds)


def _environments() -> str:
    """Return what all parts were measured with."""
    shared = "; ".join(f"{name} {value}" for name, value in _shared().items())
    return f"{shared}. [When each part was measured, and the load of the machine]({_linked(ENVIRONMENTS)})."


def _environment_rows() -> Iterator[tuple[str, ...]]:
    """Yield the facts in which the parts differ."""
    for part, facts in _facts().items():
        yield from ((part, name, value) for name, value in facts.items() if name not in _shared())


def _shared() -> Mapping[str, str]:
    first, *others = _facts().values()
    return {name: value for name, value in first.items() if all(each.get(name) == value for each in others)}


def _facts() -> Mapping[str, Mapping[str, str]]:
    """Return the environment of each part."""
    return {
        "transactions and pages": _json("codec")["environment"],
        "single requests": _json("over_http")["environment"],
        "recipes": _json("calls")["environment"],
        "tables": _rounds("tables").environment,
        "queues and blobs": _rounds("objects").environment,
        "server": _served().environment,
        "connecting": _json("startup")["environment"],
        "exploring": _json("explorer")["environment"],
    }


@cache
def _json(part: str) -> Any:
    return json.loads((RESULTS / f"{part}.json").read_text(encoding="utf-8"))


@cache
def _rounds(part: str) -> Results:
    return read(RESULTS / f"{part}.json")


@cache
def _served() -> ServeResults:
    return read_serve(RESULTS / "serve.json")


def _linked(file: DataFile) -> str:
    return file.PAGE.removeprefix("docs/")


def _file(name: str, heads: Sequence[str], rows: Callable[[], Iterator[tuple[str, ...]]]) -> DataFile:
    return DataFile(f"docs/data/benchmarks-{name}.tsv", ("Case", *heads), rows)


THROUGHPUT: Final = _file(
    "throughput",
    ("SDK, entities/s", "Library, entities/s", "Times the SDK", "In elapsed time"),
    _throughput_rows,
)
OVER_HTTP: Final = _file("http", ("SDK, ms", "Library, ms", "Library / SDK"), _over_http_rows)
RECIPES: Final = _file("recipes", ("SDK, ms", "Recipe, ms", "Recipe / SDK"), _recipe_rows)
CALLS_ON_ENGINE: Final = _file(
    "engine", ("Recorded, ms", "Engine, ms", "Engine / recorded", "Azurite / engine"), _engine_rows
)
ENVIRONMENTS: Final = DataFile("docs/data/benchmarks-environment.tsv", ("Part", "Fact", "Value"), _environment_rows)
FILES: Final = (THROUGHPUT, OVER_HTTP, RECIPES, CALLS_ON_ENGINE, ENVIRONMENTS)
CHARTS: Final = tuple(
    Chart(f"docs/_static/benchmarks-{name}.svg", draw)
    for name, draw in (("throughput", throughput_chart), ("recipes", recipes_chart), ("engine", engine_chart))
)
