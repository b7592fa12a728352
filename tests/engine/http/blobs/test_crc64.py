"""The checksum CRC-64: its published value, and its properties."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from tablepatterns_engine.blobs.crc64 import crc64

POLYNOMIAL = 0x9A6C9329AC4BC9B5


def bit_by_bit(data: bytes) -> int:
    register = 2**64 - 1
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = (register >> 1) ^ (POLYNOMIAL if register & 1 else 0)
    return register ^ (2**64 - 1)


def test_it_has_the_published_value() -> None:
    assert crc64([b"123456789"]) == 0xAE8B14860A799888


def test_that_of_nothing_is_nothing() -> None:
    assert crc64([]) == crc64([b""]) == 0


@given(st.lists(st.binary(max_size=20), max_size=4))
def test_pieces_have_the_checksum_of_the_whole(pieces: list[bytes]) -> None:
    assert crc64(pieces) == bit_by_bit(b"".join(pieces))


@pytest.mark.parametrize("size", [4095, 4096, 4097, 8192, 10_000, 70_001])
def test_long_blocks_are_folded_to_the_same(size: int) -> None:
    data = bytes(number * number % 251 for number in range(size))
    assert crc64([data]) == crc64([data[:777], data[777:]]) == bit_by_bit(data)


@given(st.integers(0, 8 * 9000 - 1))
def test_every_flipped_bit_is_seen(bit: int) -> None:
    data = bytearray(9000)
    before = crc64([bytes(data)])
    data[bit // 8] ^= 1 << bit % 8
    assert crc64([bytes(data)]) != before
