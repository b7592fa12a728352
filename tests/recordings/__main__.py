"""Replay recordings: `make recordings DIR=...`, with ARGS="--azurite --record" to record the figures in docs/data."""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Final

import tomlkit
from tools import DATA, ROOT

from recordings.backends import AZURITE_KEY, AzuriteBackend, Backend, EngineBackend
from recordings.comparison import LEVELS
from recordings.exchange import SERVICES, find_recordings
from recordings.facts import facts_of, write_facts
from recordings.replay import Result, replay
from support import azurite_server

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pytest brings it to Python 3.10

FIGURES: Final = DATA / "recordings.toml"
KNOWN: Final = tomllib.loads((Path(__file__).parent / "known.toml").read_text("utf-8"))["difference"]
Key = tuple[Path, int]


def main() -> int:
    parser = argparse.ArgumentParser(prog="make recordings", description="Replay recorded answers of the service.")
    parser.add_argument("folder", type=Path, help="a folder with recordings of the Azure SDKs, in YAML or JSON")
    parser.add_argument("--azurite", action="store_true", help="replay on Azurite, too; else its figures are kept")
    parser.add_argument("--record", action="store_true", help="write the figures and the facts that the project keeps")
    options = parser.parse_args()
    paths = find_recordings(options.folder)
    results = run(paths, EngineBackend)
    if not results:
        print(f"There are no recordings in {options.folder}; CONTRIBUTING.md says where to get them.", file=sys.stderr)
        return 1
    document = {"exchanges": len(results), "recordings": len(paths), **scope(results.values())}
    document["engine"] = figures(results.values())
    if options.azurite:
        others = run_azurite(paths)
        both = [key for key in results if not results[key].set_aside and not others[key].set_aside]
        document["common"] = {
            "engine": figures(results[key] for key in both),
            "azurite": figures(others[key] for key in both),
        }
    elif FIGURES.exists():
        document["common"] = tomllib.loads(FIGURES.read_text("utf-8"))["common"]
    explained, unexplained = explain(results.values())
    document["differences"] = explained
    print(tomlkit.dumps(document))
    for result in unexplained:
        print(result.recording, result.number, result.exchange.method, result.exchange.url, *result.differences[:3])
    if options.record:
        FIGURES.write_text(f"# Written by `make recordings`, with --record\n\n{tomlkit.dumps(document)}", "utf-8")
        write_facts(facts_of(results.values()))
    return int(bool(unexplained))


def run(paths: Sequence[Path], make_backend: Callable[[], Backend]) -> dict[Key, Result]:
    """Return the results of all recordings by file and by the number of the exchange."""
    return {(path, result.number): result for path in paths for result in replay(path, make_backend())}


def run_azurite(paths: Sequence[Path]) -> dict[Key, Result]:
    names = (f"rec{number}" for number in count())
    replayed = [path for path in paths if "session-records" not in path.parts]
    accounts = {f"rec{number}": AZURITE_KEY for number in range(2 * len(replayed))}
    with azurite_server.running(ROOT / ".azurite/recordings.log", accounts) as urls:
        return run(paths, lambda: AzuriteBackend(urls, names))


def scope(results: Iterable[Result]) -> dict[str, object]:
    reasons = Counter(result.set_aside for result in results if result.set_aside)
    return {"set_aside": [{"exchanges": number, "reason": reason} for reason, number in reasons.most_common()]}


def figures(results: Iterable[Result]) -> Mapping[str, Mapping[str, int]]:
    """Return, by service, how many exchanges are compared, and how many agree up to each level."""
    totals: dict[str, Counter[str]] = {service: Counter() for service in SERVICES}
    for result in results:
        if not result.set_aside:
            total = totals[result.exchange.service or ""]
            total["exchanges"] += 1
            for level, name in enumerate(LEVELS, 1):
                total[name] += result.level >= level
    return {service: dict(total) for service, total in totals.items()}


def explain(results: Iterable[Result]) -> tuple[list[dict[str, object]], list[Result]]:
    """Return how many exchanges differ for each known reason, and those without a reason."""
    counts: dict[str, int] = defaultdict(int)
    unexplained: list[Result] = []
    for result in results:
        if result.set_aside or not result.differences:
            continue
        reason = next((known["reason"] for known in KNOWN if _explains(known, result)), None)
        if reason is None:
            unexplained.append(result)
        else:
            counts[reason] += 1
    return [{"exchanges": number, "reason": reason} for reason, number in counts.items()], unexplained


def _explains(known: Mapping[str, str], result: Result) -> bool:
    if not re.search(known["recording"], result.recording):
        return False
    return all(re.search(known["place"], f"{found.kind} {found.place}") for found in result.differences)


if __name__ == "__main__":
    sys.exit(main())
