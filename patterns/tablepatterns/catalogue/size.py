"""The catalogue's entries on how large an entity is, and on how many make one thing."""

from __future__ import annotations

from typing import Final

from .entry import CatalogueEntry

SIZE: Final = (
    CatalogueEntry(
        name="data_series",
        title="Data series",
        summary="keep a whole series in one entity",
        kind="pattern",
        guide="Data series pattern",
        concerns=("modification", "consistency", "size"),
        problem="A series that is read all at once, such as messages for each hour of a day, takes as many entities "
        "as it has points.",
        solution="Keep the whole series in one entity, a property for each point. A merge sets one point, one request "
        "reads all.",
        keys="An entity for each series and period, such as an employee's day; properties `Hour00` to `Hour23`",
        classes=("DataSeries",),
        modules=("data_series",),
        guarantee="Setting a point leaves the others as they are. No count is lost and none is made twice, however "
        "many add at once.",
        limits=(
            "251 points in one entity, 24,849 with `split`.",
            "Many who add to one series are in each other's way.",
            "Where an answer was lost and others wrote meanwhile, it may be that nobody can tell: `OutcomeUnknown`.",
        ),
        cost="`set` 1, `set_many` 1, `read` 1; `add` 2 for each attempt.",
        use_when=("A series that belongs to one entity is updated and read as a whole.",),
        avoid_when=(
            "The series does not fit: keep it in a blob, or use a wide entity.",
            "Many clients count in the same series at the same time: give each a series, and add them up.",
        ),
        trade_offs=(
            "A series that does not fit in 252 properties goes to another store, such as a blob.",
            "Where several clients update the entity, use the ETag; many may mean high contention.",
        ),
        on_map=True,
    ),
    CatalogueEntry(
        name="wide_entity",
        title="Wide entities",
        summary="keep more properties or bytes than one entity may have",
        kind="pattern",
        guide="Wide entities pattern",
        concerns=("modification", "size"),
        problem="One entity has at most 252 properties of its own and 1 MB.",
        solution="Keep one logical entity in several rows of a partition, and change them together.",
        keys="PartitionKey = the employee, RowKeys `01` and `02`",
        classes=("WideEntity",),
        modules=("wide_entity",),
        guarantee="Whoever reads sees one value whole, whichever writer dies or wins.",
        limits=(
            "At most 49 parts, some 46 MiB.",
            "A merge of one part does not notice a change of another.",
            "The rows of a writer who died stay until the next whole write that has seen them, or `sweep`.",
        ),
        cost="`get` 1, `merge` 1, `insert` 1; `insert` 3 for 6 MB.",
        use_when=("The size or the number of properties exceeds the limits of one entity.",),
        avoid_when=(
            "Single values are large: keep them in blobs.",
            "One series makes it wide, and 251 points would do: use a data series.",
        ),
        trade_offs=("The guide reads each part with a request of its own: at least two; here one range query does.",),
        on_map=True,
    ),
    CatalogueEntry(
        name="large_properties",
        title="Large entities",
        summary="keep large values in blobs, their addresses in the entity",
        kind="pattern",
        guide="Large entities pattern",
        concerns=("modification", "size"),
        problem="A property holds at most 64 KiB and an entity 1 MiB. A photo makes an entity too large to store.",
        solution="Keep large values in blobs and their addresses in the entity.",
        keys="Those of the set; the blob's name is made of table, keys, property and a new id for each write",
        classes=("LargeProperties", "LargePropertyStore", "Upload"),
        modules=("large_properties",),
        guarantee="No reader ever finds an address without its blob, whoever died where.",
        limits=(
            "Blobs that were overwritten, or of writers who died, stay until `collect_orphans`.",
            "Who takes longer than the grace between entity and blob may miss the blob; a reader is told so.",
        ),
        cost="1 large value: `insert` 1 table + 1 blob write transactions, as much as 140 table operations; `get` "
        "1 table + 1 blob read transactions, as much as 12 table operations; without one `get` 1; `merge` 1 "
        "of other properties.",
        use_when=("Values, such as photos or documents, exceed the limits of a property or an entity.",),
        avoid_when=(
            "Many small properties make the entity too large: use a wide entity.",
            "A part of the value is filtered by: keep that in a property of its own.",
        ),
        trade_offs=(
            "Entity and blob are eventually consistent.",
            "A complete entity costs at least two transactions: one for the entity, one for the blob.",
        ),
        on_map=True,
    ),
    CatalogueEntry(
        name="compound_key",
        title="Compound key",
        summary="keep related entities under their parent's key",
        kind="pattern",
        guide="Compound key pattern",
        concerns=("lookup", "query-versus-modification", "relationship"),
        problem="Related data, such as the reviews of an employee by year, would take a join, or a second table that "
        "no transaction reaches.",
        solution="Store it as entities of another type in the same partition. Their RowKey is the parent's, and what "
        "tells them apart.",
        keys="PartitionKey `Sales`, RowKey `empid_000123_2012`",
        classes=("ChildSet", "Key"),
        modules=("compound_key",),
        guarantee="A parent's range holds every one of its children, and nothing else. A key parses back to its "
        "fields.",
        limits=("It does not check that the parent exists.", "The parent's last field has a fixed width."),
        cost="`insert` 1; a page of `children` 1; `family` 1 for a parent with all of them.",
        use_when=("One or more related entities are stored, and queried frequently.",),
        avoid_when=(
            "The children of one parent are so many or so busy that they need partitions of their own: give them a "
            "set whose PartitionKey is the parent.",
            "Children are asked for across parents: give them an index.",
        ),
        trade_offs=(
            "Use a separator that makes the RowKey easy to parse.",
            "All are in one partition, so transactions give strong consistency.",
            "What is seldom read is kept apart from what is read often, as entities of their own.",
        ),
        on_map=True,
    ),
)
