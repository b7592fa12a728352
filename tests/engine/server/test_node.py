"""The SDK for Node works on the server, from its own packages and in its own process."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.azurite_server import node
from tablepatterns.limits import MIB
from tablepatterns_engine.account import Engine

pytestmark = pytest.mark.node
SCRIPTS = Path(__file__).parents[2] / "node"
SECONDS = 60


def run(script: str, connection_string: str) -> Any:
    """Return what a script of Node's saw."""
    command = [node(), str(SCRIPTS / script), connection_string]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_table_client_finds_what_it_wrote_and_is_rejected_what_it_may_not(served: str, engine: Engine) -> None:
    assert run("tables.mjs", served) == {
        "tables": ["Employees"],
        "slash": [400, "OutOfRangeInput"],
        "entity": {
            "partitionKey": "Sales",
            "rowKey": "it's 50%",
            "Name": "Jörg 🚲",
            "Age": 34,
            "Pay": "9007199254740993",
            "Rate": 1.5,
            "Hired": "2014-08-22T00:00:00.000Z",
            "Badge": {"value": "c9da6455-213d-42c9-9a79-3e9149a57833", "type": "Guid"},
            "Photo": [0, 255],
            "Active": True,
        },
        "stale": [412, "UpdateConditionNotSatisfied"],
        "twice": [409, "EntityAlreadyExists"],
        "missing": [404, "ResourceNotFound"],
        "transaction": [202, 100, 204],
        "undone": [409, "EntityAlreadyExists"],
        "query": [97, 98, 99],
        "pages": [40, 40, 20],
        "policies": [["readers", "r"]],
        "logging": "1.0",
        "left": 0,
    }
    assert "Unknown" not in {record.operation for record in engine.ledger.records}


def test_the_queue_client_receives_what_it_sent_and_is_rejected_what_it_may_not(served: str, engine: Engine) -> None:
    assert run("queues.mjs", served) == {
        "created": 201,
        "again": False,
        # The SDK itself writes the names of metadata in lower case
        "queues": [["orders", {"team": "Sales"}]],
        "peeked": ["<first> & 'Jörg' 🚲"],
        "received": ["<first> & 'Jörg' 🚲", 1],
        "stale": [400, "PopReceiptMismatch"],
        "count": 1,
        "missing": [404, "QueueNotFound"],
        "exists": False,
    }
    assert {record.service for record in engine.ledger.records} == {"queue"}


def test_the_blob_client_reads_what_it_wrote_and_is_rejected_what_it_may_not(served: str, engine: Engine) -> None:
    size = 9 * MIB + 1
    assert run("blobs.mjs", served) == {
        "read": ["Jörg 🚲", "text/plain", {"team": "Sales"}],
        "large": [size, size, True],
        "blocks": 3,
        "range": "aaa",
        "listed": ["2014/don's photo.txt", "2014/large"],
        "stale": [412, "ConditionNotMet"],
        "twice": [409, "BlobAlreadyExists"],
        "leased": [412, "LeaseIdMissing"],
        "missing": [404, "BlobNotFound"],
        "offset": "4",
        "log": "one two",
        "tiers": [200, 200],
        "tier": "Cool",
        "deleted": [202, 202, 202],
        "deletedTwice": [404, 404],
        "exists": False,
    }
    assert {record.service for record in engine.ledger.records} == {"blob"}
