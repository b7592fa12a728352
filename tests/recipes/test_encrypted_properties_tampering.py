"""Encrypted properties that were moved, altered, or encrypted with another key are rejected without details."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from functools import cache
from typing import Any

import pytest
from azure.keyvault.keys import JsonWebKey
from azure.keyvault.keys.crypto import CryptographyClient
from azure.keyvault.keys.crypto.aio import CryptographyClient as AioCryptographyClient
from cryptography.hazmat.primitives.asymmetric import rsa

from support.backends import awaited
from support.employees import BY_ID, jones
from tablepatterns import EntitySet
from tablepatterns.errors import BadDesign, DecryptionFailed, UnknownKey
from tablepatterns.recipes.encrypted_properties.cipher import decrypt, encrypt, from_bytes
from tablepatterns.recipes.encrypted_properties.encrypted_properties import EncryptedProperties, Header, associated
from tablepatterns.recipes.encrypted_properties.keys import KeyRing, LocalKey, VaultKey, Wrapped

SSN, OTHER_SSN = "078-05-1120", "219-09-9999"
KEY = LocalKey("one", bytes(range(32)))
JONES, SMITH = {"Department": "Sales", "EmployeeId": 1}, {"Department": "Sales", "EmployeeId": 2}


def staff_of(storage: Any, table: str, keys: Any = KEY, **options: Any) -> Any:
    sealed = EncryptedProperties(["Salary", "Ssn"], keys=keys, **options)
    return EntitySet(storage, table, BY_ID, mappings=[sealed])


@pytest.fixture
def staff(storage: Any, table_name: str) -> Any:
    return staff_of(storage, table_name)


class Rows:
    """The rows of a table for an attacker who has the account key, but no encryption key."""

    def __init__(self, storage: Any, table: str) -> None:
        self._client = awaited(storage.tables.get_table_client(table))

    async def read(self, number: int) -> dict[str, Any]:
        return dict(await self._client.get_entity("Sales", f"empid_{number:06d}"))

    async def change(self, number: int, **changes: Any) -> None:
        await self._client.update_entity({"PartitionKey": "Sales", "RowKey": f"empid_{number:06d}", **changes})

    async def write(self, row: dict[str, Any]) -> None:
        await self._client.upsert_entity(row, mode="replace")


@pytest.fixture
def rows(storage: Any, table_name: str) -> Rows:
    return Rows(storage, table_name)


async def hire_two(staff: Any) -> None:
    await staff.insert(jones(EmployeeId=1, Salary=90_000, Ssn=SSN))
    await staff.insert(jones(EmployeeId=2, Salary=10_000, Ssn=OTHER_SSN, Email="smith@contoso.com"))


async def refusal(read: Any, kind: type[Exception] = DecryptionFailed) -> str:
    with pytest.raises(kind) as refused:
        await read
    text = f"{refused.value}{refused.value!r}{refused.value.__cause__!r}"
    assert SSN not in text
    assert OTHER_SSN not in text
    return text


@pytest.mark.guide("G-293")
async def test_a_ciphertext_that_was_altered_is_rejected_with_its_property_and_its_keys(staff: Any, rows: Rows) -> None:
    await hire_two(staff)
    sealed = (await rows.read(1))["Ssn"]
    for position in (0, 4, 20, len(sealed) - 1):
        altered = bytearray(sealed)
        altered[position] ^= 1
        await rows.change(1, Ssn=bytes(altered))
        text = await refusal(staff.get(**JONES))
        assert "Ssn of the entity ('Sales', 'empid_000001')" in text
    for other in (b"", sealed[:10], sealed[:-1], sealed + b"\0", "plain", 7):
        await rows.change(1, Ssn=other)
        assert "Ssn of the entity" in await refusal(staff.get(**JONES))


@pytest.mark.guide("G-293")
async def test_a_value_that_was_moved_to_another_row_is_rejected(staff: Any, rows: Rows) -> None:
    await hire_two(staff)
    theirs = await rows.read(2)
    await rows.change(1, Ssn=theirs["Ssn"])
    await refusal(staff.get(**JONES))
    await rows.change(1, Ssn=theirs["Ssn"], Salary=theirs["Salary"], EncryptedWith=theirs["EncryptedWith"])
    await refusal(staff.get(**JONES))
    assert (await staff.get(**SMITH))["Ssn"] == OTHER_SSN


async def test_a_value_that_was_moved_to_another_property_is_rejected(staff: Any, rows: Rows) -> None:
    await hire_two(staff)
    row = await rows.read(1)
    await rows.change(1, Ssn=row["Salary"], Salary=row["Ssn"])
    await refusal(staff.get(**JONES))


async def test_a_row_that_was_moved_to_another_table_is_rejected(
    storage: Any, new_name: Any, staff: Any, rows: Rows
) -> None:
    await hire_two(staff)
    other = staff_of(storage, new_name())
    await other.create_table()
    await Rows(storage, other.table.name).write(await rows.read(1))
    await refusal(other.get(**JONES))


async def test_values_of_two_writes_of_one_entity_do_not_mix(staff: Any, rows: Rows) -> None:
    await hire_two(staff)
    before = await rows.read(1)
    await staff.replace(await staff.get(**JONES))
    await rows.change(1, Ssn=before["Ssn"])
    await refusal(staff.get(**JONES))


@pytest.mark.guide("G-293")
async def test_each_ciphertext_is_bound_to_the_names_of_all_that_are_encrypted_with_it(staff: Any, rows: Rows) -> None:
    await hire_two(staff)
    row = await rows.read(1)
    header = json.loads(row["EncryptedWith"])
    dropped = [name for name in header["names"] if name != "Salary"]
    await rows.write({name: value for name, value in row.items() if name != "Salary"})
    for names in (dropped, [*dropped, "Other"]):
        await rows.change(1, EncryptedWith=json.dumps(header | {"names": names}))
        await refusal(staff.get(**JONES))
    await rows.write(row)
    assert (await staff.get(**JONES))["Ssn"] == SSN


@pytest.mark.guide("G-293")
async def test_names_cannot_be_taken_from_the_header(staff: Any, rows: Rows) -> None:
    await hire_two(staff)
    header = json.loads((await rows.read(1))["EncryptedWith"])
    await rows.change(1, EncryptedWith=json.dumps(header | {"names": ["Ssn"]}), Salary=1)
    await refusal(staff.get(**JONES))


async def test_a_header_that_is_gone_or_cannot_be_read_is_reported(storage: Any, staff: Any, rows: Rows) -> None:
    await hire_two(staff)
    row = await rows.read(1)
    good = json.loads(row["EncryptedWith"])
    unreadable = ("", "[]", "{}", json.dumps(good | {"v": 3}), json.dumps(good | {"key": "?"}), "\0", "[" * 30_000)
    for text in unreadable:
        await rows.change(1, EncryptedWith=text)
        assert "EncryptedWith of the entity" in await refusal(staff.get(**JONES))
    await rows.write({name: value for name, value in row.items() if name != "EncryptedWith"})
    assert "its header is missing" in await refusal(staff.get(**JONES))


async def test_a_content_key_that_was_altered_is_reported(staff: Any, rows: Rows) -> None:
    await hire_two(staff)
    header = json.loads((await rows.read(1))["EncryptedWith"])
    altered = bytearray(b64decode(header["key"]))
    altered[0] ^= 1
    for change in ({"key": b64encode(altered).decode()}, {"alg": "RSA1_5"}):
        await rows.change(1, EncryptedWith=json.dumps(header | change))
        assert "cannot decrypt the content key" in await refusal(staff.get(**JONES))


@pytest.mark.guide("G-293")
async def test_another_key_of_the_same_id_is_rejected(storage: Any, table_name: str, staff: Any) -> None:
    await hire_two(staff)
    other = staff_of(storage, table_name, LocalKey("one", bytes(32)))
    assert "cannot decrypt the content key" in await refusal(other.get(**JONES))


async def test_a_key_that_was_not_given_is_named_with_those_that_were(
    storage: Any, table_name: str, staff: Any
) -> None:
    await hire_two(staff)
    for options in ({}, {"resolve": lambda kid: None}):
        other = staff_of(storage, table_name, LocalKey("two", bytes(32)), **options)
        text = await refusal(other.get(**JONES), UnknownKey)
        assert "was encrypted with the key 'one', and the keys are two" in text


async def test_a_plain_value_is_rejected_where_encryption_is_required(
    storage: Any, table_name: str, staff: Any, rows: Rows
) -> None:
    await hire_two(staff)
    strict = staff_of(storage, table_name, require=True)
    assert (await strict.get(**JONES))["Ssn"] == SSN
    await rows.write({"PartitionKey": "Sales", "RowKey": "empid_000001", "Ssn": "plain"})
    assert (await staff.get(**JONES))["Ssn"] == "plain"
    assert "is not encrypted, and `require` is set" in await refusal(strict.get(**JONES))


async def test_no_key_and_no_nonce_is_used_twice(staff: Any, rows: Rows) -> None:
    await hire_two(staff)
    keys, nonces = set(), set()
    for _ in range(20):
        await staff.replace(await staff.get(**JONES))
        row = await rows.read(1)
        keys.add(
            LocalKey("one", bytes(range(32))).unwrap_key(b64decode(json.loads(row["EncryptedWith"])["key"]), "A256KW")
        )
        nonces.update({row["Ssn"][4:16], row["Salary"][4:16]})
    assert (len(keys), len(nonces)) == (20, 40)


# -- what the ciphers are, by the vectors of their own documents


def test_the_cipher_is_aes_256_gcm() -> None:
    """The Galois/Counter Mode of Operation, McGrew and Viega, test case 16."""
    key = bytes.fromhex("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308")
    nonce = bytes.fromhex("cafebabefacedbaddecaf888")
    associated_data = bytes.fromhex("feedfacedeadbeeffeedfacedeadbeefabaddad2")
    plaintext = bytes.fromhex(
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
        "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
    )
    sealed = nonce + bytes.fromhex(
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
        "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
        "76fc6ece0f4e1768cddf8853bb2d551b"
    )
    assert decrypt(key, sealed, associated_data) == plaintext
    assert decrypt(key, encrypt(key, plaintext, associated_data), associated_data) == plaintext


def test_keys_are_wrapped_as_rfc_3394_says() -> None:
    """RFC 3394, 4.6: 256 bits of key data with a 256-bit key-encryption key."""
    content_key = bytes.fromhex("00112233445566778899AABBCCDDEEFF000102030405060708090A0B0C0D0E0F")
    wrapped = bytes.fromhex("28C9F404C4B810F4CBCCB35CFB87F8263F5786E2D80ED326CBC7F0E71A99F43BFB988B9B7A02DD21")
    assert LocalKey("one", bytes(range(32))).wrap_key(content_key) == wrapped
    assert LocalKey("one", bytes(range(32))).unwrap_key(wrapped, "A256KW") == content_key


async def test_a_row_in_todays_format_stays_readable(storage: Any, staff: Any, rows: Rows) -> None:
    """What is stored is a format: this row must come back with every later version."""
    await staff.create_table()
    content_key = bytes(range(100, 132))
    header = Header(
        Wrapped("one", "A256KW", LocalKey("one", bytes(range(32))).wrap_key(content_key)), frozenset({"Ssn"})
    )
    place = b"".join(
        len(part).to_bytes(4, "big") + part
        for part in (b"tablepatterns/1", staff.table.name.lower().encode(), b"Sales", b"empid_000001", b"Ssn", b"Ssn")
    )
    assert associated(header, staff.table.name, ("Sales", "empid_000001"), "Ssn") == place
    text = (
        '{"v":1,"kid":"one","alg":"A256KW",'
        '"key":"AmEV0Ay2rOltniwHTvePRkqhilMrxozs+1EXEJkQ3t2SS26RQjM8Dw==","names":["Ssn"]}'
    )
    assert header.text() == text
    sealed = b"\x00tpe" + encrypt(content_key, b"s" + SSN.encode(), place)
    await rows.write({"PartitionKey": "Sales", "RowKey": "empid_000001", "Ssn": sealed, "EncryptedWith": text})
    assert await staff.get(**JONES) == JONES | {"Ssn": SSN}


def test_a_value_of_a_later_version_is_reported() -> None:
    with pytest.raises(ValueError, match="does not know the type"):
        from_bytes(b"x1")


# -- keys that are not local


VERSIONED = "https://contoso.vault.azure.net/keys/payroll/7f3a"


def number(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


@cache
def vault_key(kid: str = VERSIONED) -> JsonWebKey:
    """Return an RSA key as a vault has it; the client of the vault then does without the vault."""
    key = rsa.generate_private_key(65537, 2048).private_numbers()
    return JsonWebKey(
        kid=kid,
        kty="RSA",
        key_ops=["wrapKey", "unwrapKey"],
        **{name: number(getattr(key.public_numbers, name)) for name in ("n", "e")},
        **{name: number(getattr(key, name)) for name in ("d", "p", "q")},
        dp=number(key.dmp1),
        dq=number(key.dmq1),
        qi=number(key.iqmp),
    )


async def test_a_key_may_be_in_a_vault(backend: Any, storage: Any, table_name: str, rows: Rows) -> None:
    client: Any = AioCryptographyClient if backend.aio else CryptographyClient
    staff = staff_of(storage, table_name, VaultKey(client.from_jwk(vault_key())))
    await hire_two(staff)
    header = json.loads((await rows.read(1))["EncryptedWith"])
    assert (header["kid"], header["alg"]) == (VERSIONED, "RSA-OAEP-256")
    assert (await staff.get(**JONES))["Ssn"] == SSN
    await rows.change(1, EncryptedWith=json.dumps(header | {"alg": "ROT13"}))
    assert "cannot decrypt the content key" in await refusal(staff.get(**JONES))


def test_a_key_in_a_vault_needs_a_version() -> None:
    with pytest.raises(BadDesign, match="it has no version"):
        VaultKey(CryptographyClient.from_jwk(vault_key(VERSIONED.rpartition("/")[0])))


async def test_a_key_that_gives_back_something_else_is_reported(storage: Any, table_name: str) -> None:
    class Wrong(LocalKey):
        def unwrap_key(self, key: bytes, algorithm: str) -> bytes:
            return b"short"

    staff = staff_of(storage, table_name, Wrong("one", bytes(32)))
    await hire_two(staff)
    assert "does not have 32 bytes" in await refusal(staff.get(**JONES))


@pytest.mark.parametrize(
    ("kid", "secret"), [("", bytes(32)), ("one", bytes(31)), ("one", bytes(33)), ("one", "x" * 32)]
)
def test_a_local_key_has_an_id_and_32_bytes(kid: str, secret: Any) -> None:
    with pytest.raises(BadDesign) as refused:
        LocalKey(kid, secret)
    assert "xxx" not in str(refused.value)


def test_a_ring_does_not_show_its_keys() -> None:
    assert repr(KeyRing([KEY])) == "<KeyRing one>"
