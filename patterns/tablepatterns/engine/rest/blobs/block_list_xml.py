"""Lists of blocks in XML: those to commit, and those that are there."""

from __future__ import annotations

from collections.abc import Iterable

from ...blob import Block
from ...block_lists import BlockList, Where
from ...refusal import Refusal
from ...texts import INVALID_XML_DOCUMENT
from ..xml_document import element, optional, read_document, write_document


def read_block_list(body: bytes) -> list[tuple[Where, str]]:
    """Return the list of blocks in the body of a request.

    :raises Refusal: InvalidXmlDocument
    """
    try:
        return [(Where(node.tag), (node.text or "").strip()) for node in read_document(body, "BlockList")]
    except ValueError as error:
        raise Refusal(INVALID_XML_DOCUMENT) from error


def write_block_list(blocks: BlockList, which: str) -> bytes:
    """Return the blocks under a name as a document.

    :param which: committed, uncommitted or all
    """
    committed = _listed("CommittedBlocks", blocks.committed) if which != "uncommitted" else ""
    uncommitted = _listed("UncommittedBlocks", blocks.uncommitted) if which != "committed" else ""
    return write_document(element("BlockList", committed, uncommitted))


def _listed(name: str, blocks: Iterable[Block]) -> str:
    return element(
        name,
        *(element("Block", optional("Name", block.id), optional("Size", len(block.content))) for block in blocks),
    )
