"""Strategies for operations on blobs: few names, so that operations interact, and small content, for many examples."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from differential.blobs.containers import (
    CreateContainer,
    DeleteContainer,
    GetContainer,
    GetPolicies,
    LeaseContainer,
    ListBlobs,
    ListContainers,
    SetContainerMetadata,
    SetPolicies,
)
from differential.blobs.operations import (
    AppendBlock,
    Copy,
    Delete,
    GetBlockList,
    LeaseBlob,
    Operation,
    PutBlob,
    PutBlock,
    PutBlockList,
    Read,
    SetHeaders,
    SetMetadata,
    TakeSnapshot,
)
from differential.blobs.terms import NO_TERMS, ContentHeaders, Lease, Moment, Place, Terms, Version
from differential.draws import metadata, mostly, policies

PREFIX = "diff"
CONTAINERS = ("diffa", "diffb")
ALL_CONTAINERS = (*CONTAINERS, "diffc", PREFIX.ljust(63, "x"))
BLOBS = ("a", "a/b", "a/c", "b")

_rejected_names = st.sampled_from(("di", PREFIX.ljust(64, "x"), "diff--a", "Diffa", "diff_a"))
_any_container = mostly(st.sampled_from(ALL_CONTAINERS), _rejected_names)
containers = mostly(st.sampled_from((CONTAINERS[0], *CONTAINERS)), _any_container)
_odd_names = st.sampled_from(("a b", "é\U0001f6eb", "%41", "a/b/c", "b?c&d", "A", "a+b", "\uffee"))
places = st.builds(Place, containers, mostly(st.sampled_from(BLOBS), _odd_names))

# ------------------------------------------------------------------ terms

_versions: SearchStrategy[Version] = st.sampled_from(("any", "fresh", "fresh", "stale", "never"))
_moments: SearchStrategy[Moment] = st.sampled_from(("past", "future"))
leases = st.sampled_from(("a", "b"))
_one_condition = st.one_of(
    st.builds(Terms, match=_versions),
    st.builds(Terms, none_match=_versions),
    st.builds(Terms, modified_since=_moments),
    st.builds(Terms, unmodified_since=_moments),
)
_any_terms = st.builds(
    Terms,
    st.none() | _versions,
    st.none() | _versions,
    st.none() | _moments,
    st.none() | _moments,
    st.none() | leases,
)
_under_lease = st.builds(Terms, lease=leases)
terms = st.integers(0, 5).flatmap(
    lambda number: st.just(NO_TERMS) if number < 4 else mostly(_one_condition, _any_terms) | _under_lease
)
_lease_only = mostly(st.just(NO_TERMS), _under_lease)
_of_containers = mostly(
    _lease_only,
    st.builds(Terms, modified_since=st.none() | _moments, unmodified_since=st.none() | _moments)
    | st.builds(Terms, match=_versions),
)

_durations = mostly(st.sampled_from((-1, 60)), st.sampled_from((0, 14, 61)))
_periods = mostly(st.sampled_from((None, 0, 60)), st.sampled_from((-1, 61)))
actions = st.one_of(
    st.builds(Lease, st.just("acquire"), st.none(), leases, _durations),
    st.builds(Lease, st.just("renew"), leases),
    st.builds(Lease, st.just("change"), leases, leases),
    st.builds(Lease, st.just("release"), leases),
    st.builds(Lease, st.just("break"), seconds=_periods),
)

# ------------------------------------------------------------------ containers

operations_on_containers: SearchStrategy[Operation] = st.one_of(
    st.builds(CreateContainer, _any_container, metadata),
    st.builds(DeleteContainer, mostly(st.sampled_from(ALL_CONTAINERS[2:]), _any_container), _of_containers),
    st.builds(GetContainer, containers, st.none() | st.just("metadata"), st.sampled_from(("GET", "HEAD")), _lease_only),
    st.builds(SetContainerMetadata, containers, metadata, _of_containers),
    st.builds(GetPolicies, containers, _lease_only),
    st.builds(
        SetPolicies,
        containers,
        policies(("r", "rwdl", "x-")),
        st.sampled_from((None, "blob", "container")),
        _lease_only,
    ),
    st.builds(LeaseContainer, containers, actions),
)
_limits = mostly(st.sampled_from((None, 1, 2, 3, 5000)), st.sampled_from((0, -1, 5001)))
lists: SearchStrategy[Operation] = st.one_of(
    st.builds(ListContainers, st.sampled_from((PREFIX, "diffa", "diffz")), _limits, st.none() | st.just("metadata")),
    st.builds(
        ListBlobs,
        containers,
        st.sampled_from((None, "a", "a/", "b", "z")),
        st.sampled_from((None, "/", "/", "b")),
        _limits,
        st.sampled_from((None, "metadata", "copy", "snapshots", "uncommittedblobs", "metadata,snapshots,copy")),
    ),
)

# ------------------------------------------------------------------ blobs

contents = st.sampled_from(("", "x", "Hello", "0123456789", "line\r\nline\t", "z" * 4096))
_some_content = st.sampled_from(("x", "Hello", "0123456789"))
about = st.builds(
    ContentHeaders,
    st.sampled_from((None, "text/html", "image/png")),
    # One that no client undoes
    st.sampled_from((None, "compress")),
    st.sampled_from((None, "en-GB")),
    st.sampled_from((None, 'attachment; filename="a.txt"')),
    st.sampled_from((None, "no-cache")),
)
_blocks = mostly(st.sampled_from(("one", "two", "six")), st.sampled_from(("three", "k" * 64, "k" * 65)))
_wheres = mostly(st.just("Latest"), st.sampled_from(("Committed", "Uncommitted")))
_block_lists = st.lists(st.tuples(_wheres, _blocks), max_size=4).map(tuple)
_kinds = mostly(st.just("BlockBlob"), st.just("AppendBlob"))
_spans = st.sampled_from(
    (None, None, "bytes=0-", "bytes=1-3", "bytes=2-99999", "bytes=5-", "bytes=9-9", "bytes=3-1", "x")
)
_snapshots = mostly(st.none(), st.integers(0, 2))

populations = st.lists(
    st.builds(
        PutBlob,
        st.builds(Place, st.sampled_from(CONTAINERS), st.sampled_from(BLOBS)),
        st.just("BlockBlob"),
        contents,
        about,
        metadata.filter(lambda pairs: all(name.isidentifier() for name, _ in pairs)),
    ),
    min_size=3,
    max_size=8,
    unique_by=lambda write: write.place,
)
puts = st.builds(PutBlob, places, _kinds, contents, about, metadata, terms) | st.builds(
    PutBlob, places, st.just("AppendBlob")
)
blocks: SearchStrategy[Operation] = st.one_of(
    st.builds(PutBlock, places, _blocks, _some_content, _lease_only),
    st.builds(PutBlockList, places, _block_lists, about, metadata, terms),
    st.builds(GetBlockList, places, st.sampled_from((None, "committed", "uncommitted", "all")), _lease_only),
)
appends = st.builds(
    AppendBlock,
    places,
    _some_content,
    mostly(st.none(), st.sampled_from((0, 1, 5, 10))),
    mostly(st.none(), st.sampled_from((0, 5, 20))),
    terms,
)
reads = st.builds(
    Read, places, st.sampled_from(("GET", "HEAD")), mostly(st.none(), st.just("metadata")), _spans, _snapshots, terms
)
changes: SearchStrategy[Operation] = st.one_of(
    st.builds(SetHeaders, places, about, terms), st.builds(SetMetadata, places, metadata, terms)
)
on_leases = st.builds(LeaseBlob, places, actions, mostly(st.just(NO_TERMS), _one_condition))
snapshots = st.builds(TakeSnapshot, places, metadata, terms)
deletions = st.builds(Delete, places, st.sampled_from((None, "include", "only")), _snapshots, terms)
copies = st.builds(Copy, places, places, _snapshots, metadata, terms, mostly(st.just(NO_TERMS), _one_condition))
