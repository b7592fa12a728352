"""The catalogue's entries on several types in one table, and on who may read what."""

from __future__ import annotations

from typing import Final

from .entry import CatalogueEntry

TYPES_AND_ACCESS: Final = (
    CatalogueEntry(
        name="entity_types",
        title="Heterogeneous entity types",
        summary="keep several types and versions in one table",
        kind="implementation",
        guide="Working with heterogeneous entity types",
        concerns=("relationship", "consistency"),
        problem="One table holds several types, and later versions of them; nothing in a row says which it is.",
        solution="Mark each entity with its type and version, or tell it by a prefix of its key, and get each back as "
        "an object of its class.",
        keys="`EMPLOYEE_000123`, `DEPARTMENT_SALES`; or a property `EntityType` with `Employee.2`",
        classes=("EntityTypes", "EntityType", "Held"),
        modules=("entity_types",),
        guarantee="A value comes back equal. An entity of an earlier version is upgraded as it is read, and what a "
        "class does not know survives a change.",
        limits=(
            "It does not write what it has not read.",
            "Inside a field that is stored as JSON, unknown members are lost when the field changes.",
            "What another program derives of entities of unknown type is that program's to keep.",
        ),
        cost="`insert` 1, `get` 1, `replace` 1; a page of `range` 1, of all types.",
        use_when=(
            "Entities of several types must change in one transaction.",
            "Classes change over the years while stored entities stay.",
        ),
        avoid_when=("One type, whose properties are all that is wanted: an `EntitySet` does.",),
        trade_offs=(
            "A prefix in the RowKey groups a type in the partition, and keeps equal keys of two types apart.",
            "A version number in the type lets client classes evolve.",
        ),
    ),
    CatalogueEntry(
        name="grant",
        title="Shared access signatures",
        summary="let others reach some rows, for a while, without the key",
        kind="implementation",
        guide="Controlling access with shared access signatures",
        concerns=("access",),
        problem="A client should read or change some rows of a table without the account's key.",
        solution="Hand out tokens for a table, some partitions or a stretch of keys, some permissions and a time. A "
        "policy kept with the table takes them back.",
        keys="PartitionKey = the user, or a RowKey that begins with whose the row is",
        classes=("grant", "Grant", "AccessPolicies", "Reach"),
        modules=("grant",),
        guarantee="The service refuses whatever lies outside the stretch, the permissions and the time. The stretch "
        "holds no row that was not meant.",
        limits=(
            "A token cannot be taken back, unless it names a policy.",
            "A table has up to five policies; the service may take 30 seconds to know of a change.",
            "Of two programs that change policies at once one undoes what the other did, a revocation too.",
            "Who may write puts any row in the stretch, of any shape.",
        ),
        cost="`token` 0; `AccessPolicies.put` 2, `AccessPolicies.revoke` 2.",
        use_when=("Clients on phones or in browsers reach the table themselves.", "Each user has rows of their own."),
        avoid_when=("What a client may do depends on more than keys and time: put a service in between.",),
        trade_offs=(
            "Tokens are made where the account key is safe, and delivered to clients.",
            "To make and deliver them costs something: reuse them for their time.",
        ),
    ),
    CatalogueEntry(
        name="encrypted_properties",
        title="Client-side encryption",
        summary="keep properties secret from whoever can read the table",
        kind="implementation",
        guide="Encrypting table data",
        concerns=("access",),
        problem="Some properties must be secret from everybody who can read the table, its backups and its logs.",
        solution="Encrypt them in this process, under a new content key for each write, which a key of yours wraps.",
        keys="Those of the set; keys are never encrypted, so put no secret in them",
        classes=("EncryptedProperties", "ENCRYPTED", "KeyRotation", "LocalKey", "VaultKey"),
        modules=("encrypted_properties",),
        guarantee="Values come back with their types. A ciphertext that was moved or altered is refused. A rotation "
        "loses no change of another writer.",
        limits=(
            "Nothing encrypted can be filtered or sorted; a blind index finds equal values.",
            "Merge is refused.",
            "It does not hide which properties there are, how long they are, and when they change.",
        ),
        cost="None besides: `insert` 1, `get` 1; a call of the key for each entity. `KeyRotation.rotate` 5 for 2 "
        "entities, `KeyRotation.in_use` 1.",
        use_when=("Salaries, health data or numbers of identity lie in a table that others can read.",),
        avoid_when=(
            "The encryption at rest of the service is enough: it is there without any of this.",
            "The property must be filtered by range, or be part of a key: keep it in a table that few may read.",
        ),
        trade_offs=("Merge is not supported: some properties might stay under another key.",),
    ),
)
