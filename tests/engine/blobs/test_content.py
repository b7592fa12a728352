"""Content: bytes in pieces that are sliced and joined without copying."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from tablepatterns_engine.content import Content

PIECES = st.lists(st.binary(max_size=5), max_size=5)
MIB = 1024 * 1024


@given(pieces=PIECES, start=st.integers(-2, 30), end=st.integers(-2, 30))
def test_a_part_is_that_slice_of_the_bytes(pieces: list[bytes], start: int, end: int) -> None:
    whole = b"".join(pieces)
    part = Content(pieces).part(start, end)
    assert bytes(part) == whole[max(start, 0) : max(end, 0)]
    assert len(part) == len(bytes(part))


@given(one=PIECES, other=PIECES)
def test_contents_are_joined_in_order(one: list[bytes], other: list[bytes]) -> None:
    first, second = Content(one), Content(other)
    assert bytes(first + second) == bytes(Content.joined([first, second])) == bytes(first) + bytes(second)
    assert bytes(first) == b"".join(one)


def test_a_complete_piece_is_returned_without_a_copy() -> None:
    piece = b"x" * (4 * MIB)
    assert next(iter(Content([piece]))) is piece
    assert next(iter(Content([b"before", piece]).part(6, 6 + 4 * MIB))) is piece


def test_a_long_piece_is_returned_in_pieces_of_4_mib() -> None:
    assert [len(piece) for piece in Content([bytes(9 * MIB)])] == [4 * MIB, 4 * MIB, MIB]


def test_small_pieces_that_follow_one_another_become_one() -> None:
    content = Content()
    for _ in range(1000):
        content = content + Content([b"line\n"])
    assert list(content) == [b"line\n" * 1000]


def test_large_pieces_stay_apart() -> None:
    piece = bytes(64 * 1024)
    assert len(list(Content([piece]) + Content([b"x"]))) == 2
