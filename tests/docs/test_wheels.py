"""Packages for the browser: with all their dependencies, and with the digests that the lock file states."""

from __future__ import annotations

import io
import json
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest
from tools.site import wheels

CONTENT = b"a wheel"


def package(name: str, *depends: str, content: bytes = CONTENT) -> dict[str, Any]:
    return {"file_name": f"{name}-1.whl", "depends": [*depends], "sha256": sha256(content).hexdigest()}


@pytest.fixture
def fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The URLs that were asked for; all of them have the same content."""
    found: list[str] = []

    def respond(url: str) -> io.BytesIO:
        found.append(url)
        return io.BytesIO(CONTENT)

    packages = {"cryptography": package("cryptography", "Cffi"), "cffi": package("cffi", "cryptography")}
    core = tmp_path / "core"
    core.mkdir()
    lock = {"packages": packages | {"other": package("other", content=b"another")}}
    (core / "pyodide-lock.json").write_text(json.dumps(lock), "utf-8")
    (core / "package.json").write_text('{"version": "314.0.7"}', "utf-8")
    (core / "pyodide.mjs").write_text("x=`https://example.com/v${V}/full/`", "utf-8")
    monkeypatch.setattr(wheels, "_CORE", core)
    monkeypatch.setattr(wheels, "WHEELS", tmp_path / "wheels")
    monkeypatch.setattr(wheels, "urlopen", respond)
    return found


def test_a_package_is_downloaded_once_with_what_it_needs(fetched: list[str]) -> None:
    wheels.download(["cryptography"])
    wheels.download(["cryptography"])
    url = "https://example.com/v314.0.7/full/"
    assert fetched == [f"{url}cryptography-1.whl", f"{url}cffi-1.whl"]
    assert {path.name for path in wheels.WHEELS.iterdir()} == {"cryptography-1.whl", "cffi-1.whl"}


def test_a_file_with_another_content_is_rejected(fetched: list[str]) -> None:
    with pytest.raises(wheels.WrongFile, match=r"other-1\.whl has the sha256"):
        wheels.download(["other"])
    assert list(wheels.WHEELS.iterdir()) == []


def test_an_unreachable_distribution_is_a_failure_unless_the_build_may_be_partial(
    fetched: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(url: str) -> io.BytesIO:
        raise URLError("no route to host")

    monkeypatch.setattr(wheels, "urlopen", fail)
    failure = wheels.main(["other"])
    assert failure is not None
    assert "cannot be reached (no route to host): other may be missing" in failure
    assert wheels.main(["--partial", "other"]) is None
    assert "other may be missing" in capsys.readouterr().err


def test_a_wrong_file_fails_a_partial_build_too(fetched: list[str]) -> None:
    with pytest.raises(wheels.WrongFile):
        wheels.main(["--partial", "other"])
