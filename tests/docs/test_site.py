"""The site builds without warnings, and all links work, on the site and between the files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from support.page_programs import DOCS

MADE_OF = {"_build", "data", "notebooks"}
FILES = sorted(path for path in DOCS.rglob("*.md") if not MADE_OF.intersection(path.parts))
FENCED = re.compile(r"^(`{3,}|:{3,}).*?^\1$", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"(?:^|\n\n)(\|.*)\n(.*)")
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")


def prose(path: Path) -> str:
    return FENCED.sub("", path.read_text(encoding="utf-8"))


def anchors(path: Path) -> set[str]:
    """Return what the headings of a page are called in links, as GitHub and MyST make it of their text."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead_links(path: Path) -> list[str]:
    """Return the links of a file that lead nowhere where files are looked at as they are."""
    found = []
    for place, anchor in LINK.findall(prose(path)):
        target = path.parent / place if place else path
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            found.append(f"{place}#{anchor}" if anchor else place)
    return found


class Page:
    """The links and the ids of a page of the site, and the links of its body."""

    def __init__(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        self.ids = attributes("id|name", text)
        # What the theme loads carries a digest of its content behind a question mark
        self.links = attributes("href|src", text)
        body = text.find('<div class="body"')
        self.links_of_body = attributes("href", text[body : text.find('<div class="sphinxsidebar"', body)])


def attributes(names: str, text: str) -> set[str]:
    """Return the values of attributes, whose tags need not be parsed: elsewhere, quotation marks are escaped."""
    return {unescape(value) for value in re.findall(rf'(?<=\s)(?:{names})="([^"]+)"', text)}


def dead_links_of_site(pages: dict[Path, Page], site: Path) -> list[str]:
    """Return the links between the pages of a built site that lead nowhere."""
    return [
        f"{path.relative_to(site)}: {link}"
        for path, page in pages.items()
        for link in sorted(page.links)
        if _dead(path, link, pages)
    ]


@cache
def pages_of(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html")}


def _dead(path: Path, link: str, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return False
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.exists():
        return True
    return bool(parts.fragment) and target in pages and unquote(parts.fragment) not in pages[target].ids


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(DOCS).as_posix())
def test_the_links_between_files_lead_somewhere(path: Path) -> None:
    assert dead_links(path) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(DOCS).as_posix())
def test_every_table_has_a_line_below_its_headings(path: Path) -> None:
    assert [headings for headings, line in TABLE.findall(prose(path)) if not set(line) <= set("|-: ")] == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One\n[a](#one) [b](#two) [c](page.md#one) [d](other.md)\n```\n[e](no.md)\n```\n", "utf-8")
    assert dead_links(page) == ["#two", "other.md"]


def test_a_broken_link_of_the_site_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<p id="one"><a href="#one"></a><a href="#two"></a><img src="b.svg"></p>', "utf-8")
    assert dead_links_of_site(pages_of(tmp_path.resolve()), tmp_path.resolve()) == ["a.html: #two", "a.html: b.svg"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, str, Path]:
    """The whole site: the status and the warnings of the build, and its folder."""
    folder = tmp_path_factory.mktemp("site").resolve()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", "support.bare_site", str(folder)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True)
    return ran.returncode, ran.stderr, folder / "site"


def test_the_site_builds_without_a_warning_and_its_links_lead_somewhere(built: tuple[int, str, Path]) -> None:
    status, warnings, site = built
    assert (status, warnings) == (0, "")
    assert (site / "patterns" / "archive.html").exists()
    assert (site / "notebooks" / "01_intra_partition_index.html").exists()
    assert dead_links_of_site(pages_of(site), site) == []


def test_the_page_of_a_pattern_leads_to_the_reference_of_its_classes(built: tuple[int, str, Path]) -> None:
    links = pages_of(built[2])[built[2] / "patterns" / "large_properties.html"].links
    assert "../api/patterns.html#tablepatterns.LargeProperties" in links
    assert "../patterns/large_properties.html" not in links


# ---------------------------------------------------------------- what learners look for

QUESTIONS = {
    "What happens when my function dies?": ("questions#know-what-a-crash-leaves", "poison queue"),
    "What does it cost a month?": ("costs#what-does-it-cost-a-month", "USD"),
    "Delete last year's data from an existing table": (
        "questions#delete-last-year-s-data",
        "BulkDelete",
    ),
    "Which types can I store?": ("questions#choose-a-type", "Int64"),
    "How do I back up?": ("back-up-and-restore#export-a-table", "export"),
    "What are a partition and a row?": ("tables-in-pictures#account-table-partition-row", "sorted by RowKey"),
    "Why is my query slow?": ("tables-in-pictures#query-classes", "scan"),
    "How do I find an entity by another property?": ("patterns/intra_partition_index#goal", "second unique value"),
    "How do I read the newest entries first?": ("patterns/log_tail#goal", "newest"),
    "What if two processes change the same row?": ("tables-in-pictures#two-writers-of-one-row", "ETag"),
    "How do I try it without an account?": ("backends#which-backend-to-use-when", "memory"),
    "How do I test my code?": ("testing-your-own-code#use-the-pytest-fixtures", "azure_storage"),
    "How do I test crashes?": ("exploring-schedules#a-crash-between-two-writes", "crashes=1"),
    "How do I run a worker?": ("workers#run-workers-and-scheduled-jobs", "derived data"),
    "Can I use it in Azure Functions?": ("workers#in-an-azure-function", "function"),
    "How do I give a client access to some rows?": ("security#grant-access-to-some-rows", "shared access signature"),
    "How do I encrypt a property?": ("patterns/encrypted_properties#goal", "secret"),
    "How do I add an index to an existing table?": ("migrating#backfill", "backfill"),
    "What does this error mean?": ("errors#badkey", "key"),
    "Is my design good?": ("explain-and-review#review-a-design", "report"),
    "How do I store a value of 2 MB?": ("patterns/large_properties#goal", "too large for an entity"),
    "How do I see it run on real data?": ("notebooks/index#notebooks", "flights"),
    "What do I do with poison messages?": ("workers#poison-messages", "requeue"),
}
MAX_CLICKS = 3
OF_OTHERS = {
    # Issues of Azure's repositories
    "Is there a way to index custom columns? (azure-storage-java 196)": (
        "questions#index-another-column",
        "second row",
    ),
    "Point query with only partition key (azure-docs 94708)": (
        "questions#give-each-entity-its-own-partitionkey",
        "as fast",
    ),
    "Cannot efficiently query by Timestamp (azure-linux-extensions 639)": (
        "questions#find-what-changed-since-a-time",
        "not indexed",
    ),
    "Slows down as parallel requests increase (azure-storage-net 824)": (
        "questions#make-slow-or-parallel-reads-faster",
        "2,000 entities a second",
    ),
    "Poor performance: all pages were read (azure-sdk-for-net 29557)": (
        "questions#read-page-by-page-with-a-continuation-token",
        "reads all of its pages",
    ),
    "The filter of query_entities is ignored (azure-sdk-for-python 15094)": (
        "questions#filter-by-a-property-that-is-in-no-key",
        "allow",
    ),
    "No way to get a continuation token (azure-sdk-for-js 18438)": (
        "questions#read-page-by-page-with-a-continuation-token",
        "token of the next",
    ),
    "Entities are missing from a page, intermittently (azure-sdk-for-js 30837)": (
        "questions#read-page-by-page-with-a-continuation-token",
        "short or empty",
    ),
    "Timezone information is ignored (azure-sdk-for-python 114)": ("questions#store-dates-and-times", "time zone"),
    "Time data does not match the format (azure-sdk-for-python 15686)": ("questions#store-dates-and-times", "100 ns"),
    "DateTime has a Kind of Unspecified (azure-sdk-for-net 30644)": ("questions#store-dates-and-times", "naive"),
    "AttributeError on the Timestamp property (azure-sdk-for-python 234)": (
        "questions#find-what-changed-since-a-time",
        "entity.timestamp",
    ),
    "query_entities with sorting (azure-sdk-for-ruby 305)": ("questions#sort-or-read-the-newest-first", "$orderby"),
    "Ordering 100,000 rows by Score (azure-storage-node 15)": (
        "choosing-a-pattern#sort-entities",
        "by another property",
    ),
    "Sorting does not work on Cosmos DB (azure-sdk-for-python 35422)": (
        "questions#choose-between-table-storage-and-cosmos-db",
        "order of their keys",
    ),
    "Best way to get the latest record of a partition (azure-storage-node 539)": (
        "questions#sort-or-read-the-newest-first",
        "latest record",
    ),
    "Change the RowKey from YYYY to YYYY-MM (bunsheet 1)": ("moving-to-new-keys", "new keys"),
    "All errors in a single partition become slow (Elmah.AzureTableStorage 16)": (
        "choosing-a-pattern#handle-volume-and-hot-partitions",
        "PartitionSpread",
    ),
    # Titles on Stack Overflow, listed in azure-sdk-for-python 15931
    "Querying all rows of an Azure table": ("questions#read-all-rows", "scan"),
    "Azure table storage vs Cosmos DB": ("design-review#when-not-to-use-table-storage", "request units"),
    "How to catch an exception thrown by a table in an Azure Function": ("questions#catch-errors", "azure function"),
    "Conflict: insert, update into table storage": ("questions#insert-or-update-without-a-conflict", "409"),
    # Titles of pages
    "Delete entities created before a time (serverless360)": (
        "questions#delete-last-year-s-data",
        "Timestamp",
    ),
    "Efficiently deleting rows (bitscry)": ("patterns/bulk_delete#goal", "delete"),
    "Filter by RowKey with StartsWith (taourl)": ("questions#read-keys-that-begin-with-a-text", "startswith"),
    "Restricted characters in RowKeys (Stack Overflow 11514707)": (
        "questions#use-a-url-a-path-or-any-text-as-a-key",
        "escape",
    ),
    "Null of an entity cannot be read back (azure-sdk-for-net 19769)": (
        "questions#find-entities-without-a-property",
        "absent",
    ),
    "Several changes with the same row key (Azurite 1754)": (
        "questions#change-several-entities-at-once",
        "InvalidDuplicateRow",
    ),
    "Timeouts are ignored (azure-sdk-for-python 12423, 39580)": (
        "questions#retry-after-a-timeout-or-a-broken-connection",
        "300 seconds",
    ),
    "EntityAlreadyExists after 15 minutes (azure-cosmos-table-python 45)": (
        "questions#retry-after-a-timeout-or-a-broken-connection",
        "its own row",
    ),
    "Cannot run the async client inside tests (azure-sdk-for-python 36151)": (
        "questions#test-async-code",
        "event loop is closed",
    ),
    "Socket exhaustion in a function (azure-sdk-for-net 27817)": ("operations#client-options", "once per process"),
    "AuthorizationPermissionMismatch (azure-sdk-for-python 24282)": (
        "operations#identities-and-roles",
        "AuthorizationPermissionMismatch",
    ),
    "How to specify TimeToLive (azure-sdk-for-net 22254)": ("questions#let-entities-expire", "time to live"),
    "Re-queue messages in the poison queue (piipan 4767)": ("workers#poison-messages", "requeue"),
    "Requests to tables are throttled (Azure-Functions 2316)": ("operations#throttling", "503"),
    # Titles on Stack Overflow and Microsoft Q&A
    "Case-insensitive query": ("questions#ignore-case", "lower case"),
    "Auto-increment a key": ("questions#increment-a-counter-or-number-entities", "no sequence"),
    "Restore a table deleted by mistake": ("questions#back-up-or-restore-a-deleted-table", "no undelete"),
    "Remove a property from an entity": ("questions#remove-a-property", "without the property"),
    "Rename a table": ("questions#copy-a-table-or-rename-it", "cannot be renamed"),
    "Query a list of RowKeys": ("questions#read-many-known-keys", "combined by or"),
    "Insert rows of a DataFrame": ("questions#choose-a-type", "numpy"),
    "Which metrics to alert on": ("operations#alerts", "poison"),
    "API version is not supported by Azurite": ("backends#start-azurite", "skipApiVersionCheck"),
}
"""Questions that the author of the pages did not choose, with their sources, and where they are answered."""
MAX_CLICKS_OF_OTHERS = 2


class Text(HTMLParser):
    """The text of each section of a page's body."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.texts: dict[str, str] = {}
        self._open: list[tuple[str, str]] = []
        self.feed(path.read_text(encoding="utf-8"))

    @property
    def _is_in_body(self) -> bool:
        return any(name == "body-of-page" for _, name in self._open)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("div", "section"):
            is_body = given.get("class") == "body"
            name = "body-of-page" if is_body else given.get("id") or ""
            self._open.append((tag, name))
        if tag == "span" and given.get("id") and self._is_in_body:
            # Another name of the section
            self.texts.setdefault(str(given["id"]), "")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("div", "section") and self._open:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        for _, name in self._open:
            if name:
                self.texts[name] = self.texts.get(name, "") + data


@cache
def texts_of(path: Path) -> dict[str, str]:
    return Text(path).texts


@pytest.fixture(scope="module")
def clicks(built: tuple[int, str, Path]) -> dict[str, int]:
    """How many clicks on links in the texts of pages lead from the home page to each page; menus do not count."""
    _, _, site = built
    found, waiting = {"index": 0}, ["index"]
    for name in waiting:
        path = site / f"{name}.html"
        for link in pages_of(site)[path].links_of_body:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or not parts.path.endswith(".html"):
                continue
            target = (path.parent / parts.path).resolve().relative_to(site).as_posix().removesuffix(".html")
            if target not in found and (site / f"{target}.html").exists():
                found[target] = found[name] + 1
                waiting.append(target)
    return found


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_answered_within_three_clicks(
    question: str, clicks: dict[str, int], built: tuple[int, str, Path]
) -> None:
    place, answer = QUESTIONS[question]
    page, _, section = place.partition("#")
    assert clicks.get(page, 99) <= MAX_CLICKS
    texts = texts_of(built[2] / f"{page}.html")
    assert section in texts, sorted(texts)
    assert answer.lower() in " ".join(texts[section].lower().split())


@pytest.mark.parametrize("question", OF_OTHERS)
def test_a_question_of_others_is_answered_within_two_clicks(
    question: str, clicks: dict[str, int], built: tuple[int, str, Path]
) -> None:
    page, _, section = OF_OTHERS[question][0].partition("#")
    assert clicks.get(page, 99) <= MAX_CLICKS_OF_OTHERS
    texts = texts_of(built[2] / f"{page}.html")
    assert not section or section in texts, sorted(texts)
    text = texts[section] if section else " ".join(texts.values())
    assert OF_OTHERS[question][1].lower() in " ".join(text.lower().split())


def test_no_page_is_without_a_link_to_it(clicks: dict[str, int], built: tuple[int, str, Path]) -> None:
    # The last is an earlier address, which leads to the new one
    no_pages = {"genindex", "search", "py-modindex", "catalogue"}
    pages = {path.relative_to(built[2]).as_posix().removesuffix(".html") for path in built[2].rglob("*.html")}
    unlinked = {page for page in pages - clicks.keys() - no_pages if not page.startswith(("lite/", "_", "reviews/"))}
    assert unlinked == set()
