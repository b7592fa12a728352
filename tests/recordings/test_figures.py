"""The figures of a run: how many answers agree, with and without those that name a version of a blob."""

from __future__ import annotations

from recordings.__main__ import all_figures
from recordings.comparison import BODY, HEADERS, Difference
from recordings.exchange import Answer, Exchange
from recordings.replay import Result

URL = "https://contoso.blob.core.windows.net/photos/b"


def result(answer: Answer, *levels: str, set_aside: str | None = None) -> Result:
    differences = [Difference(level, "value", "place", "a", "b") for level in levels]
    return Result("recording", 0, Exchange("GET", URL, {}, b"", answer), answer, differences, set_aside)


def test_answers_that_name_a_version_are_counted_with_all_and_left_out_apart() -> None:
    plain, versioned = Answer(200, {}, b""), Answer(201, {"x-ms-version-id": "2020-01-01T00:00:00.0000000Z"}, b"")
    listed = Answer(200, {}, b"<Blob><VersionId>2020-01-01T00:00:00.0000000Z</VersionId></Blob>")
    figures = all_figures(
        "engine",
        [
            *(result(plain), result(plain, HEADERS), result(plain, BODY, HEADERS), result(plain, set_aside="why")),
            *(result(versioned, HEADERS), result(listed, BODY)),
        ],
    )
    assert figures == {
        "engine": {
            "table": {},
            "queue": {},
            "blob": {"exchanges": 5, "status": 5, "body": 3, "headers": 1},
        },
        "engine_without_versions": {
            "table": {},
            "queue": {},
            "blob": {"exchanges": 3, "status": 3, "body": 2, "headers": 1},
        },
    }
