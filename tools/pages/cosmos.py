"""What the Cosmos DB Table API can serve, as a test finds it."""

from __future__ import annotations

from collections.abc import Iterator

from tools.pages.data_file import DataFile


def _designs() -> Iterator[tuple[str, str, str]]:
    from test_cosmos import DESIGNS

    yield from ((name, verdict, why) for name, (verdict, why, _) in sorted(DESIGNS.items()))


COSMOS = DataFile("docs/data/cosmos.tsv", ("Design", "Result", "Why"), _designs)
