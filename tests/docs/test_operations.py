"""The page on operations: its code connects as it says, and its files exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_its_code_connects_to_the_three_services_with_a_token() -> None:
    found = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    (code,) = [code for code in found if "credential" in code]
    names: dict[str, Any] = {}
    exec(compile(code, PAGE.name, "exec"), names)  # noqa: S102 - our own page
    with names["storage"] as storage:
        assert [each.url.rstrip("/") for each in (storage.tables, storage.queues, storage.blobs)] == [
            f"https://contoso.{service}.core.windows.net" for service in ("table", "queue", "blob")
        ]


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`(examples/[\w/.]+)`", TEXT))))
def test_a_file_that_it_names_exists(path: str) -> None:
    assert (PAGE.parents[1] / path).exists()
