"""Strategies for operations on queues: few names, so that operations interact, and boundary values.

A message is visible immediately or only after the run, because Azurite's clock cannot be moved.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from differential.draws import metadata, mostly, policies
from differential.queues.operations import (
    Clear,
    CreateQueue,
    Delete,
    DeleteQueue,
    Get,
    GetMetadata,
    GetPolicies,
    Held,
    ListQueues,
    Operation,
    Peek,
    Put,
    SetMetadata,
    SetPolicies,
    Update,
)
from tablepatterns.limits import MAX_MESSAGE_BYTES, QUEUE_NAME_MAX_LENGTH

PREFIX = "diff"
LONGEST = PREFIX.ljust(QUEUE_NAME_MAX_LENGTH, "x")
QUEUES = ("diffa", "diffb")
ALL_QUEUES = (*QUEUES, "diffc", "diffc-1", LONGEST)
WEEK = 7 * 24 * 3600
LATER = 600

_rejected = st.sampled_from(("di", LONGEST + "x", "diff--a", "diff-", "Diffa", "diff_a"))
_names = mostly(st.sampled_from(ALL_QUEUES), _rejected)
# The earlier queues are seldom deleted: one that comes again behind later ones is withheld from Azurite
_deleted = mostly(st.sampled_from(ALL_QUEUES[-2:]), _names)
queues = mostly(st.sampled_from(QUEUES), _names)

_texts = mostly(
    st.sampled_from(("", "text", "<&>'\"", "é\U0001f6eb", " a  b ", '{"n": 1}', "]]>")),
    st.sampled_from((MAX_MESSAGE_BYTES, MAX_MESSAGE_BYTES + 1)).map(lambda size: "x" * size),
)
_hidden = mostly(st.sampled_from((None, 0, 0, LATER)), st.sampled_from((-1, 1 + LATER, WEEK, WEEK + 1)))
_lives = mostly(st.sampled_from((None, -1, 2 * WEEK)), st.sampled_from((-2, 0, LATER, 1 + LATER, WEEK)))
_limits = mostly(st.sampled_from((None, 1, 2, 3, 32)), st.sampled_from((-1, 0, 33)))
_received_for = mostly(st.sampled_from((LATER, WEEK)), st.sampled_from((None, -1, 0, WEEK + 1)))
_updated_for = mostly(st.sampled_from((0, 0, LATER)), st.sampled_from((-1, WEEK, WEEK + 1)))

_held = st.builds(Held, st.integers(0, 5), mostly(st.none(), st.sampled_from(("AAAA", "invalid"))))

operations_on_queues: SearchStrategy[Operation] = st.one_of(
    st.builds(CreateQueue, mostly(st.sampled_from(ALL_QUEUES), _rejected), metadata),
    st.builds(DeleteQueue, _deleted),
    st.builds(GetMetadata, queues, st.sampled_from(("GET", "HEAD"))),
    st.builds(SetMetadata, queues, metadata),
    st.builds(GetPolicies, queues),
    st.builds(SetPolicies, queues, policies(("r", "raup", "a", "rw"))),
)
lists = st.builds(
    ListQueues,
    st.sampled_from((PREFIX, "diffc", "diffa", "diffz")),
    mostly(st.sampled_from((None, 1, 2, 5000)), st.sampled_from((0, -1, 5001))),
    st.sampled_from((None, "metadata")),
)
puts = st.builds(Put, queues, _texts, _hidden, _lives)
receipts = st.builds(Get, queues, _limits, _received_for)
looks = st.builds(Peek, queues, _limits)
updates = st.builds(Update, queues, _held, _updated_for, st.none() | _texts)
removals = st.builds(Delete, queues, _held) | mostly(st.builds(Delete, queues, _held), st.builds(Clear, queues))
