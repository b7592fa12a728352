"""The catalogue's entries on entities that belong to others."""

from __future__ import annotations

from typing import Final

from .entry import CatalogueEntry

RELATIONSHIPS: Final = (
    CatalogueEntry(
        name="one_to_many",
        title="One-to-many relationships",
        summary="model what belongs to an entity, together, apart or copied",
        kind="relationship",
        guide="One-to-many relationships",
        concerns=("relationship", "consistency"),
        problem="A department has many employees. There are no joins and no foreign keys.",
        solution="Keep two types whose keys share fields, in one partition or apart; or put what is said of the one "
        "in each of the many.",
        keys="PartitionKey `Sales` for the department and for its employees; RowKeys with a prefix for each type",
        classes=("OneToMany", "SharedFields"),
        modules=("one_to_many",),
        guarantee="Both sides are found without a scan. Together, both change in one transaction. A denormalised "
        "change is written to each of the many, and resumes where it broke off.",
        limits=(
            "It does not keep the one from being deleted while it has many.",
            "A family is read by two requests, so it is not of one instant.",
            "A denormalised change is not seen everywhere at one instant.",
        ),
        cost="`one_of` 1, a page of `all_of` 1, `family` 2; `SharedFields.change` 2 for each hundred of a partition.",
        use_when=(
            "Together: one must change with the other, such as a count with each insert.",
            "Apart: the load must spread over partitions.",
            "Denormalised: one request must read all, and the one hardly ever changes.",
        ),
        avoid_when=(
            "What is said of the one changes often: keep it in an entity of its own, rather than in each of the many.",
        ),
        trade_offs=(
            "Together: all operations fall on one partition, a hot spot at high volume.",
            "Apart: no transaction keeps both consistent.",
            "Denormalised: an update of the one is expensive.",
            "To move one of the many to another partition is no transaction, whichever way.",
        ),
    ),
    CatalogueEntry(
        name="one_to_one",
        title="One-to-one relationships",
        summary="keep a part of an entity apart, and find it again",
        kind="relationship",
        guide="One-to-one relationships",
        concerns=("relationship", "size", "access"),
        problem="A part of an entity is large or private, and should be read, or reached, apart from the rest.",
        solution="Keep it as an entity of its own, found by a convention of the keys, or by the keys that each holds "
        "of the other.",
        keys="Implicit: both keys are made of the same fields; explicit: each holds the other's two keys",
        classes=("OneToOne",),
        modules=("one_to_one",),
        guarantee="A link is known on both sides or on none. Of two that want one partner, one gets it.",
        limits=(
            "A partner may be deleted; it is none then.",
            "A link that was begun and not finished counts for nothing, until `unlink` clears it.",
        ),
        cost="`link` 2; `second_of` 1.",
        use_when=("An entity is large, and a part of it is seldom read.", "A part must be reached by other people."),
        avoid_when=("Both parts are always read together: keep one entity.",),
        trade_offs=("Whether both share a partition is the question of one-to-many relationships.",),
    ),
    CatalogueEntry(
        name="lookup",
        title="Join in the client",
        summary="join in the client with a small table kept at hand",
        kind="relationship",
        guide="Join in the client",
        concerns=("relationship", "lookup"),
        problem="Employees with the names of their departments: the service has no joins, and a request for each "
        "employee's department is too much.",
        solution="Read small tables that seldom change once, keep them at hand for a while, and join in the client.",
        keys="Those of the set that is looked into",
        classes=("Lookup",),
        modules=("lookup",),
        guarantee="What is given was stored at most `expires` ago. Each key is asked for once, however often it "
        "occurs.",
        limits=("It does not hear of changes: what was read stays until it expires, `forget` or `refresh`.",),
        cost="For the first time `get` 1, then `get` 0 until it expires.",
        use_when=("Few entities that seldom change are referred to by many.",),
        avoid_when=(
            "The answer must be of this moment: read the entity itself.",
            "The table is too large to keep, and keys seldom repeat: copy what is wanted of it, by denormalization.",
        ),
        trade_offs=("If many modelled relationships hurt performance, ask whether all are needed.",),
    ),
    CatalogueEntry(
        name="partition_move",
        title="Partition move",
        summary="give an entity another PartitionKey, and never lose it",
        kind="relationship",
        guide="One-to-many relationships",
        concerns=("relationship", "consistency"),
        problem="An employee goes to another department, and the department is the PartitionKey. No transaction "
        "moves an entity.",
        solution="Insert it in the new place, then delete the old one, with a message that carries the move to its "
        "end, whoever dies.",
        keys="Those of the set; while it moves, the entity says so in `MovingTo`, its copy in `MovedFrom`",
        classes=("PartitionMove",),
        modules=("partition_move",),
        guarantee="At any moment the entity is in one place or in both, never in none. Of two moves of one entity only "
        "one begins.",
        limits=(
            "On its way the entity is seen in both places.",
            "Where both were changed on the way both stay, and the message goes to poison.",
            "Who overwrites it unconditionally while it moves may leave it in both places.",
        ),
        cost="`move` 4 table + 2 queue transactions, as much as 26 table operations, and what the set derives.",
        use_when=("The value in a PartitionKey changes now and then.",),
        avoid_when=("It changes often: choose a PartitionKey that does not change.",),
        trade_offs=("To move an employee to another department cannot be an entity group transaction.",),
    ),
    CatalogueEntry(
        name="inheritance",
        title="Inheritance relationships",
        summary="keep the classes of one family in one table",
        kind="guidance",
        guide="Inheritance relationships",
        concerns=("relationship",),
        problem="Customer and Employee are both a Person.",
        solution="Store the concrete classes in one table, and tell them by their type.",
        keys="One table `Person`, with a type in the key or in a property",
        classes=(),
        modules=(),
        guarantee="That of heterogeneous entity types.",
        limits=("There is no recipe of this name: `EntityTypes` does it.",),
        cost="That of `EntityTypes`.",
        use_when=("Classes share fields, and are asked for together.",),
        avoid_when=("They are never asked for together: give each a table.",),
    ),
)
