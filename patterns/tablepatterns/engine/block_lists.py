"""Blocks: what may be staged, and what a list of block ids makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from ..limits import MAX_BLOCK_BYTES, MAX_BLOCKS, MAX_UNCOMMITTED_BLOCKS
from . import blob_texts as texts
from .blob import Blob, Block, check_block_id
from .refusal import Refusal
from .texts import REQUEST_BODY_TOO_LARGE


class Where(Enum):
    """In which list a block is looked for: the latest is the uncommitted one, where there is one."""

    COMMITTED = "Committed"
    UNCOMMITTED = "Uncommitted"
    LATEST = "Latest"


class BlockList(NamedTuple):
    """The blocks under a name.

    :param blob: the blob, None where nothing is committed
    :param uncommitted: in order of their ids
    """

    blob: Blob | None
    committed: Sequence[Block]
    uncommitted: Sequence[Block]


def check_block(block: Block) -> None:
    """Refuse a block that can never be staged.

    :raises Refusal: InvalidQueryParameterValue for its id; InvalidHeaderValue where it is empty; RequestBodyTooLarge
    """
    check_block_id(block.id)
    if not len(block.content):
        raise Refusal(texts.INVALID_CONTENT_LENGTH.about(HeaderValue=0))
    if len(block.content) > MAX_BLOCK_BYTES:
        raise Refusal(REQUEST_BODY_TOO_LARGE)


def check_beside(block: Block, staged: Mapping[str, Block]) -> None:
    """Refuse a block whose id is of another length than those that are staged, or one too many.

    :raises Refusal: InvalidBlobOrBlock, BlockCountExceedsLimit
    """
    if block.id in staged:
        return
    if any(len(other) != len(block.id) for other in _one_of(staged)):
        raise Refusal(texts.INVALID_BLOB_OR_BLOCK)
    if len(staged) >= MAX_UNCOMMITTED_BLOCKS:
        raise Refusal(texts.TOO_MANY_UNCOMMITTED_BLOCKS)


def chosen(
    entries: Sequence[tuple[Where, str]], committed: Iterable[Block], staged: Mapping[str, Block]
) -> tuple[Block, ...]:
    """Return the blocks that a list names, in its order; a block may be named more than once.

    :raises Refusal: InvalidBlockList for one that is not there, BlockListTooLong
    """
    if len(entries) > MAX_BLOCKS:
        raise Refusal(texts.BLOCK_LIST_TOO_LONG)
    kept = {block.id: block for block in committed}
    lists = {Where.COMMITTED: kept, Where.UNCOMMITTED: staged, Where.LATEST: {**kept, **staged}}
    try:
        return tuple(lists[where][block_id] for where, block_id in entries)
    except KeyError as error:
        raise Refusal(texts.INVALID_BLOCK_LIST) from error


def _one_of(staged: Mapping[str, Block]) -> Iterable[str]:
    # All that are staged have the same length, so the first speaks for them
    return [next(iter(staged))] if staged else []
