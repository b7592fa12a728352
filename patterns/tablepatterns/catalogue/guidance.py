"""The catalogue's entries on the guide's advice that is no pattern: how to read, to write, and to guard a change."""

from __future__ import annotations

from typing import Final

from .entry import CatalogueEntry

GUIDANCE: Final = (
    CatalogueEntry(
        name="retrieving_entities",
        title="Retrieving entities",
        summary="give both keys, or a PartitionKey and a range of RowKeys",
        kind="guidance",
        guide="Retrieving entities",
        concerns=("lookup", "order"),
        problem="A query reads far more than it returns if its keys are not given.",
        solution="Ask with both keys (point query), or with the PartitionKey and a range of RowKeys. Take pages with a "
        "token, and only the properties you need.",
        keys="Given in the query: both, or the PartitionKey and a range of RowKeys",
        classes=("EntitySet", "Page", "QueryClass", "explain", "parse", "prop"),
        modules=(),
        guarantee="`EntitySet.query` refuses a scan unless it is allowed by name; *take n* gives exactly n, or all.",
        limits=("A request returns at most 1,000 entities and runs for at most five seconds.",),
        cost="`get` 1, a page of `range` 1, `take(10)` 1 of however many.",
        use_when=("Always: think of the queries first.",),
        avoid_when=("A property without an index must be searched often: give it one of the indexes.",),
        trade_offs=(
            "RowKeys combined with `or` are a partition scan: ask a point query for each.",
            "A page may have fewer entities than asked for, and a token for the rest.",
            "A token can be stored, so that work goes on after a crash.",
        ),
    ),
    CatalogueEntry(
        name="modifying_entities",
        title="Modifying entities",
        summary="make every write conditional on what was read",
        kind="guidance",
        guide="Modifying entities",
        concerns=("modification", "consistency"),
        problem="Of two who change one entity, the later overwrites the earlier.",
        solution="Make every write conditional on the ETag of what was read, and read again where it was refused.",
        keys="Both keys are needed to update or delete",
        classes=("EntitySet",),
        modules=(),
        guarantee="An update is made exactly once, whoever dies and whichever answer is lost.",
        limits=("Of a write whose answer was lost and that others have built on, nobody can tell: `OutcomeUnknown`.",),
        cost="`insert` 1, `replace` 1, `delete` 1; `update` 2 while nobody else writes the entity.",
        use_when=("Always, unless the last writer is to win.",),
        avoid_when=("Many writers change one entity at once: spread it.",),
        trade_offs=("Consider how the design affects concurrency and updates.",),
    ),
    CatalogueEntry(
        name="merge_or_replace",
        title="Merge or replace",
        summary="merge a few properties, replace whole entities",
        kind="guidance",
        guide="Merge or replace",
        concerns=("modification",),
        problem="A replace removes each property that is not sent; a merge leaves it.",
        solution="Replace a whole entity; merge a few properties of a large one.",
        keys="Both keys are needed",
        classes=("EntitySet",),
        modules=(),
        guarantee="`replace` and `merge` are different words, and both are conditional on what was read.",
        limits=("A merge cannot remove a property.",),
        cost="`replace` 1, `merge` 1; `insert_or_replace` 1 where nothing is derived.",
        use_when=("Merge: few properties of a large entity change.", "Replace: the entity is what you have in hand."),
        avoid_when=("Merge: properties are encrypted.",),
        trade_offs=("A merge sends less data.",),
    ),
    CatalogueEntry(
        name="verify_and_repair",
        title="Fill, verify and repair",
        summary="build, check and mend indexes and copies while writers go on",
        kind="guidance",
        guide="Eventually consistent transactions pattern",
        concerns=("consistency",),
        problem="A table with entities gets a new index, or a program wrote past the set: derived rows are missing, "
        "stale or orphaned.",
        solution="`EntitySet.backfill` builds what is derived, `verify` reports what differs, `repair` mends it, and "
        "writers go on meanwhile.",
        keys="Those of the set and of what it derives",
        classes=("Drift",),
        modules=(),
        guarantee="Copies equal entities in the end, while a writer goes on and whoever dies. What is mended is not "
        "left as it was.",
        limits=(
            "Writers must declare what is being built.",
            "What a writer changes after it was looked at is left to that writer's own message.",
        ),
        cost="A transaction for each page of rows read, and a few for each row that is looked at or mended.",
        use_when=("An index is added to a table with entities.", "A process stalled beyond its lease, or died often."),
        avoid_when=("Nothing is derived of the entities.",),
        trade_offs=("It is hard and expensive to change a design later: think of the queries first.",),
    ),
)
