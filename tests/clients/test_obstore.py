"""obstore: the object store of Apache Arrow for Rust."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.request import urlopen

import pytest

from clients.conftest import Account

pytestmark = pytest.mark.clients


@pytest.fixture
def store(account: Account, container: str) -> Any:
    from obstore.store import AzureStore

    options: Any = {"account_name": account.name, "account_key": account.key, "endpoint": account.url}
    return AzureStore(container, **options, client_options={"allow_http": True})


def listed(store: Any, **options: Any) -> list[str]:
    import obstore

    return [item["path"] for page in obstore.list(store, **options) for item in page]


def test_objects_are_written_read_and_deleted(store: Any) -> None:
    import obstore

    obstore.put(store, "a/b", b"content", attributes={"Content-Type": "text/plain", "team": "Sales"})
    found = obstore.get(store, "a/b")
    assert dict(found.attributes) == {"Content-Type": "text/plain", "team": "Sales"}
    assert bytes(found.bytes()) == b"content"
    assert bytes(obstore.get_range(store, "a/b", start=3, end=6)) == b"ten"
    obstore.delete(store, ["a/b"])
    with pytest.raises(FileNotFoundError):
        obstore.head(store, "a/b")


def test_conditions_are_checked(store: Any) -> None:
    import obstore
    from obstore.exceptions import AlreadyExistsError, NotModifiedError, PreconditionError

    tag = obstore.put(store, "a", b"1")["e_tag"]
    with pytest.raises(AlreadyExistsError):
        obstore.put(store, "a", b"2", mode="create")
    with pytest.raises(NotModifiedError):
        obstore.get(store, "a", options={"if_none_match": tag})
    obstore.put(store, "a", b"2", mode={"e_tag": tag})
    with pytest.raises(PreconditionError):
        obstore.put(store, "a", b"3", mode={"e_tag": tag})
    with pytest.raises(AlreadyExistsError):
        obstore.copy(store, "a", "a", overwrite=False)


def test_a_large_object_is_written_in_parts_copied_and_renamed(store: Any) -> None:
    import obstore

    obstore.put(store, "a", b"x" * 12_000_000, use_multipart=True, chunk_size=5_000_000)
    obstore.copy(store, "a", "b")
    obstore.rename(store, "b", "c")
    assert listed(store) == ["a", "c"]
    assert obstore.head(store, "c")["size"] == 12_000_000


def test_objects_are_listed(store: Any) -> None:
    import obstore

    for path in ("a", "b/c", "b/d", "e"):
        obstore.put(store, path, b"")
    assert listed(store) == ["a", "b/c", "b/d", "e"]
    assert listed(store, offset="b/c") == ["b/d", "e"]
    assert listed(store, prefix="b") == ["b/c", "b/d"]
    top = obstore.list_with_delimiter(store)
    assert (top["common_prefixes"], [item["path"] for item in top["objects"]]) == (["b"], ["a", "e"])


def test_a_url_is_signed(store: Any) -> None:
    import obstore

    obstore.put(store, "a/b", b"content")
    with urlopen(obstore.sign(store, "GET", "a/b", timedelta(minutes=1))) as response:  # noqa: S310 - of this machine
        assert response.read() == b"content"
