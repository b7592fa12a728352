"""The catalogue's entries on what is kept twice so that one request reads it."""

from __future__ import annotations

from typing import Final

from .entry import CatalogueEntry

COPIES: Final = (
    CatalogueEntry(
        name="denormalize",
        title="Denormalization",
        summary="copy related data into one entity, so that one read gets it",
        kind="pattern",
        guide="Denormalization pattern",
        concerns=("consistency", "lookup"),
        problem="Normalised tables cost several round trips: one for the department, one for its manager.",
        solution="Copy what is wanted of the one entity into the other that refers to it, and keep the copies equal.",
        keys="None of its own; the copies lie in the entity that refers",
        classes=("CopiedFields",),
        modules=("denormalize",),
        guarantee="In the partition the copies change in one transaction with what they are copied from. Elsewhere "
        "they follow, and are right once the messages are worked off.",
        limits=(
            "Each entity is copied into at most one other.",
            "Copies elsewhere are late for a moment.",
            "It does not keep up with writes past the two sets.",
        ),
        cost="`replace` 2 where a copied field changes, or an entity comes to refer to another; else `replace` 1. "
        "Copies elsewhere take more, for the intent and what follows it.",
        use_when=("Related information is looked up often together.",),
        avoid_when=(
            "What is copied changes often, or is copied into many, each of which is written: look it up.",
            "The related entity is small and seldom changes: a cached look-up does without copies.",
        ),
        trade_offs=(
            "Storing data twice costs capacity; fewer requests usually outweigh it.",
            "The two copies must be kept consistent, with an entity group transaction where both are in one partition.",
        ),
        on_map=True,
    ),
    CatalogueEntry(
        name="summary",
        title="Summary",
        summary="keep counts and sums, so that an aggregate is one read",
        kind="pattern",
        guide="Denormalization pattern",
        concerns=("consistency", "lookup"),
        problem="The service has no aggregates: to count or to add up it must send every entity.",
        solution="Keep counts and sums for each group in one row, and change them with the entities.",
        keys="A row for each group, or the row of another entity, such as the department's own",
        classes=("Summary",),
        modules=("summary",),
        guarantee="In the partition counts and sums are exact at every moment. Elsewhere they are right once the "
        "messages are worked off, and nothing is counted twice.",
        limits=(
            "It adds whole numbers only.",
            "In the partition it does not see what is older than it, or changed past the set: `recount` mends it.",
            "Writers of one group wait for each other.",
            "Elsewhere a row lists some 10,000 entities; `spread` makes room.",
        ),
        cost="In the partition: `insert` 2, `delete` 2, `replace` 2 where a number changes, else `replace` 1. In "
        "another table: `insert` 4 table + 2 queue transactions, as much as 26 table operations. `totals` 1.",
        use_when=("Counts or sums of a group are read often.",),
        avoid_when=(
            "Totals are wanted now and then: read the entities.",
            "Many writers change one group at the same time: spread it over several rows.",
        ),
        trade_offs=("A summary entity answers an aggregate with one read, at the price of a second write.",),
    ),
    CatalogueEntry(
        name="materialized_view",
        title="Materialized view",
        summary="lay out data a second time, for what is read",
        kind="guidance",
        guide="Table design patterns",
        concerns=("lookup", "query-versus-modification"),
        problem="What is written and what is asked have different shapes (CQRS).",
        solution="Keep, beside the entities that are written, others that are laid out for what is read. Copies, "
        "summaries and indexes in other tables are such views.",
        keys="Those that the queries want",
        classes=(),
        modules=(),
        guarantee="That of the recipe by which the view is kept.",
        limits=("There is no recipe of this name: choose the one that keeps the view you need.",),
        cost="That of the recipe by which the view is kept.",
        use_when=("Reads and writes differ so much that no single layout serves both.",),
        avoid_when=("One layout with a secondary index serves both.",),
        trade_offs=("Table storage is a key scenario for it.",),
    ),
)
