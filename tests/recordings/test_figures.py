"""The figures of a run: how many answers agree, up to each level."""

from __future__ import annotations

from recordings.__main__ import figures
from recordings.comparison import BODY, HEADERS, STATUS, Difference
from recordings.exchange import Answer, Exchange
from recordings.replay import Result

URL = "https://contoso.blob.core.windows.net/photos/b"


def result(*levels: str, set_aside: str | None = None) -> Result:
    answer = Answer(200, {}, b"")
    differences = [Difference(level, "value", "place", "a", "b") for level in levels]
    return Result("recording", 0, Exchange("GET", URL, {}, b"", answer), answer, differences, set_aside)


def test_an_answer_agrees_up_to_the_first_level_that_differs() -> None:
    results = [result(), result(HEADERS), result(BODY, HEADERS), result(STATUS), result(BODY, set_aside="why")]
    counts = figures(results)
    assert counts == {"table": {}, "queue": {}, "blob": {"exchanges": 4, "status": 3, "body": 2, "headers": 1}}
