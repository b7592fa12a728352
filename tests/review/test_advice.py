"""Tested advice: each change removes its finding, causes no serious one, and can be made in the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from review.recall.recalled import FOLDER, each_design, reviewed
from tablepatterns import InterPartitionIndex, IntraPartitionIndex, Key
from tablepatterns_review import Design, Finding, PriceTable, Reviewed, Severity, read_design
from tablepatterns_review.advice.candidates import RULES_WITH_CHANGES
from tablepatterns_review.advice.changes import Change
from tablepatterns_review.advice.fix import fixed_text
from tablepatterns_review.measure.measure import Measurements
from tablepatterns_review.report.json import document
from tablepatterns_review.reviewer import ChangedReviews, review_with_changes, without_advice
from tablepatterns_review.rules import RULES

NAMES = [
    "faulty/accounts_with_shared_email",
    "faulty/country_lists",
    "faulty/customers_share_an_index_key",
    "faulty/employees_by_last_name",
    "faulty/image_tags_hot_list",
    "faulty/invoices_outgrow_their_number",
    "faulty/pages_by_url",
    "faulty/parts_with_unused_index",
    "faulty/passport_photos",
    "faulty/patients_in_plain_text",
    "faulty/receipts_without_their_day",
    "faulty/room_history",
    "faulty/sessions_expire_one_by_one",
    "held_out_6/travel_itineraries",
    "faulty/users_by_login_need_two_reads",
    "held_out_4/auctions",
    "held_out_4/clinic_keys",
    "held_out_4/payroll_by_name",
    "held_out_4/school",
    "held_out_4/shop_stock_from_secondary",
]
OTHERS = ["held_out_5/hotel_stays", "held_out_6/image_labels", "held_out_6/warehouse_picks"]
"""They have changes of the same rules."""
DESIGNS = [*NAMES, *(pytest.param(name, marks=pytest.mark.nightly) for name in OTHERS)]


def declared(design: Design) -> object:
    """Return all that a design declares, without the order of keys."""
    found = document(Reviewed(design, (), (), NOTHING.account, (), NOTHING.bill, (), ()))["design"]
    return {**found, "flaws": None}


NOTHING, _ = review_with_changes(read_design(FOLDER / "sound" / "currencies.toml"))


def subjects(findings: tuple[Finding, ...], *, serious: bool = False) -> set[tuple[str, str]]:
    every = [each for first in findings for each in (first, *first.resolves)]
    return {(each.rule, each.subject) for each in every if not serious or each.severity is Severity.SERIOUS}


@pytest.fixture(scope="module", params=DESIGNS)
def tried(request: pytest.FixtureRequest) -> tuple[Path, Reviewed, tuple[Change | None, ...]]:
    path = FOLDER / f"{request.param}.toml"
    return path, *reviewed(path)


@pytest.mark.few(10)
def test_a_change_is_given_and_does_what_its_finding_says(
    tried: tuple[Path, Reviewed, tuple[Change | None, ...]],
) -> None:
    path, before, changes = tried
    check(path.read_text(encoding="utf-8"), before, changes)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in NAMES[::2] else pytest.mark.nightly) for name in (*NAMES, *OTHERS)],
)
@pytest.mark.few(5)
def test_a_review_of_what_a_change_concerns_is_that_of_the_whole_design(name: str) -> None:
    found, changes = reviewed(FOLDER / f"{name}.toml")
    prices, known = PriceTable.default(), Measurements()
    _, before = without_advice(found.design, prices, known)
    changed_reviews = ChangedReviews(before, lambda part, beside: without_advice(part, prices, known, beside)[1])
    for change in filter(None, changes):
        design = change.applied(before.design)
        after, (_, whole) = changed_reviews.review(design), without_advice(design, prices, known)
        assert subjects(after.findings) == subjects(whole.findings)
        assert figures(after) == figures(whole)
        assert after.bill.total == pytest.approx(whole.bill.total)
        assert {load.table: load.peak for load in after.heats} == {load.table: load.peak for load in whole.heats}


def figures(reviewed: Reviewed) -> dict[tuple[str, str], tuple[float, ...]]:
    calls = reviewed.measured
    return {(call.of.name, call.access.name): (call.requests, call.examined, call.bytes_out) for call in calls}


def test_text_that_is_searched_by_range_becomes_a_date() -> None:
    text = (FOLDER / "held_out_5" / "hotel_stays.toml").read_text(encoding="utf-8")
    arrivals = text.partition('[[set.query]]\nname = "stays in a room"')[0]
    before, changes = review_with_changes(read_design(arrivals))
    assert [each.rule for each in before.findings if each.change] == ["text-order"]
    check(arrivals, before, changes)


OVERLAPPING = """name = "Parts"
[[set]]
name = "Parts"
key = { partition = "{Plant}", row = "{Sku}" }
count = 50_000

[set.fields]
Plant = { distinct = 40 }
Sku = { size = 20 }
At = { type = "datetime" }

[[set.derived]]
pattern = "intra_partition_index"
name = "by time"
key = { row = "at_{At:ticks}_{Sku}" }

[[set.query]]
name = "parts of a span"
known = { Plant = "=", At = "range" }
results = 10
rate = 1
"""


def test_entities_whose_keys_may_be_those_of_an_index_get_a_prefix() -> None:
    before, changes = review_with_changes(read_design(OVERLAPPING))
    (finding,) = (each for each in before.findings if each.rule == "overlapping-keys")
    assert finding.change == "use the RowKey entity_{Sku} for the entities"
    check(OVERLAPPING, before, changes)


def check(text: str, before: Reviewed, changes: tuple[Change | None, ...]) -> None:
    """Make each change in the file, and compare what it declares and finds with what its finding says."""
    design, known = read_design(text), Measurements()
    assert any(changes)
    for finding, change in zip(before.findings, changes, strict=True):
        assert (finding.change is None) == (change is None)
        if change is None:
            continue
        made = read_design_of(fixed_text(text, change))
        assert declared(made) == declared(change.applied(design))
        _, after = without_advice(made, PriceTable.default(), known)
        gone = {(finding.rule, finding.subject), *subjects(finding.resolves)}
        assert not gone & subjects(after.findings)
        assert subjects(after.findings, serious=True) <= subjects(before.findings, serious=True)
        assert finding.before != finding.after or finding.rule not in MEASURED


@pytest.mark.parametrize("name", ["faulty/country_lists", "held_out_4/school", "held_out_4/auctions"])
def test_advice_leaves_no_finding_out(name: str) -> None:
    found, _ = reviewed(FOLDER / f"{name}.toml")
    _, untested = without_advice(found.design, PriceTable.default(), Measurements())
    assert subjects(untested.findings) == subjects(found.findings)
    assert subjects(untested.findings, serious=True) == subjects(found.findings, serious=True)


def test_each_rule_has_a_change_or_says_why_there_is_none() -> None:
    assert {each.name for each in RULES.values() if each.why_not_automatic is None} <= set(RULES_WITH_CHANGES)
    assert set(RULES_WITH_CHANGES) <= set(RULES)
    assert not any(each.why_not_automatic and each.why_not_automatic.endswith(".") for each in RULES.values())


def test_advice_that_was_not_simulated_says_so(tried: tuple[Path, Reviewed, tuple[Change | None, ...]]) -> None:
    _, found, _ = tried
    for each in found.findings:
        has_reason = "No automatic change: " in each.better or "was tried" in each.better
        assert (each.change is None) == has_reason or each.change is not None, each


def test_a_finding_names_the_pattern_of_its_change(
    tried: tuple[Path, Reviewed, tuple[Change | None, ...]],
) -> None:
    _, found, changes = tried
    for each, change in zip(found.findings, changes, strict=True):
        if change is not None:
            assert each.pattern == change.pattern
            if each.rule == "missing-index":
                assert (each.pattern == "intra_partition_index") == ("in the partition" in (each.change or ""))


MEASURED = {"missing-index", "client-sort", "unused-index", "prepend-append", "few-partitions"}
"""Rules whose changes are worth it by their figures."""


def read_design_of(text: str) -> Design:
    assert "\n" in text
    return read_design(text)


def test_comments_and_what_does_not_change_stay() -> None:
    path = FOLDER / "faulty" / "passport_photos.toml"
    text = path.read_text(encoding="utf-8")
    _, changes = reviewed(path)
    change = next(each for each in changes if each)
    lines = fixed_text(text, change).splitlines()
    assert [line for line in text.splitlines() if line not in lines] == []


def test_advice_that_causes_a_serious_finding_is_not_given() -> None:
    # A count in the partition would be changed by every bid, 200 times a second
    text = (FOLDER / "held_out_4" / "auctions.toml").read_text(encoding="utf-8")
    busy = text.replace(
        'Auction = { type = "int32", distinct = 600 }\nLot = { type = "int32", distinct = 200 }',
        'Auction = { type = "int32", distinct = 600, skew = 2.0 }\nLot = { type = "int32", distinct = 200 }',
    )
    busy = busy.replace("rate = 0.29", "rate = 100\nwriters = 30").replace("count = 9_000_000", "count = 3_000_000_000")
    found, _ = review_with_changes(read_design(busy))
    counted = next(each for each in found.findings if each.rule == "count-by-reading")
    assert counted.change is None
    assert "was tried. With it: The busiest total of" in counted.better


@each_design
def test_advice_changes_the_design_and_never_the_workload(design_path: Path) -> None:
    before, changes = reviewed(design_path)
    for change in changes:
        if change is None:
            continue
        assert workload(change.applied(before.design)).items() <= workload(before.design).items()
        # How a call is made is part of the design
        assert {name for values in change.access.values() for name in values} <= {"overwrite", "region"}


def workload(design: Design) -> dict[str, object]:
    """Return what callers and the business need: how many entities there are, and what is asked of them how often."""
    rates = ("rate", "peak", "skew")
    asked = ("known", "filter", "order", "take", "skip", "count_only", "select", "max_staleness", *rates)
    written = ("operation", "changes", "writers", "atomic_with", *rates)
    return {
        declared_set.name: (
            (declared_set.shape.count, declared_set.shape.growth),
            declared_set.retention and declared_set.retention.days,
            {query.name: [getattr(query, name) for name in asked] for query in declared_set.queries},
            {write.name: [getattr(write, name) for name in written] for write in declared_set.writes},
        )
        for declared_set in design.sets
    }


@each_design
def test_what_to_do_is_what_the_change_does(design_path: Path) -> None:
    found, changes = reviewed(design_path)
    for finding, change in zip(found.findings, changes, strict=True):
        if change is None:
            continue
        assert finding.better.lower().startswith(change.says.lower())
        new = change.derived.new if change.derived else None
        if isinstance(new, (IntraPartitionIndex, InterPartitionIndex)) and finding.rule == "missing-index":
            assert new.key.row_template in finding.better
            assert ("in other partitions" in finding.better) == new.is_eventual


@each_design
def test_a_serious_finding_has_a_sentence_of_its_own(design_path: Path) -> None:
    found, _ = reviewed(design_path)
    assert not [each for first in found.findings for each in first.resolves if each.severity is Severity.SERIOUS]


def test_the_effect_of_all_changes_is_that_of_the_changed_design() -> None:
    found, changes = reviewed(FOLDER / "held_out_7" / "shop_orders.toml")
    design = found.design
    for change in changes:
        design = design if change is None else change.applied(design)
    _, after = without_advice(design, PriceTable.default(), Measurements())
    assert [each.cost_a_month for each in found.together] == [found.bill.total, after.bill.total]
    assert after.bill.total < found.bill.total


def test_an_effect_is_that_of_the_call_and_not_of_the_whole_bill() -> None:
    found, _ = reviewed(FOLDER / "held_out_7" / "shop_orders.toml")
    sign_in = next(each for each in found.findings if "sign-in" in each.subject)
    assert sign_in.before
    assert sign_in.after
    assert sign_in.before.cost_a_month == found.bill.by_subject[sign_in.subject] < found.bill.total
    assert sign_in.after.cost_a_month < 0.01 * sign_in.before.cost_a_month


def test_a_change_that_conflicts_takes_no_other_change_with_it() -> None:
    text = (FOLDER / "held_out_7" / "feature_votes.toml").read_text(encoding="utf-8")
    found, changes = review_with_changes(read_design(text.replace("peak = 900", "peak = 9_000")))
    made = {each.rule: change is not None for each, change in zip(found.findings, changes, strict=True)}
    # A set that is spread keeps no count, but another set can still have a unique index
    assert (made["hot-partition"], made["count-by-reading"], made["index-not-unique"]) == (True, False, True)


ONE_PARTITION = """
name = "Cards"
[[set]]
name = "Cards"
key = { partition = "cards", row = "card_{Code}" }
count = 40_000_000
[set.fields]
Code = { size = 16 }
Balance = { type = "int32", distinct = 10_000 }
[[set.query]]
name = "balance"
known = { Code = "=" }
rate = 20
"""


def change_of(text: str, rule: str) -> tuple[Finding, Change | None]:
    found, changes = review_with_changes(read_design(text))
    return next(
        (finding, change) for finding, change in zip(found.findings, changes, strict=True) if finding.rule == rule
    )


def test_a_partition_is_divided_by_a_field_that_every_query_gives() -> None:
    large, change = change_of(ONE_PARTITION, "large-partition")
    assert large.change == "use the key ({Code}, card)"
    assert change is not None
    assert change.values["key"] == Key("{Code}", "card")


def test_a_partition_is_not_divided_by_a_field_that_a_query_does_not_give() -> None:
    by_balance = ONE_PARTITION + '[[set.query]]\nname = "empty"\nknown = { Balance = "=" }\nrate = 0.0001\n'
    large, change = change_of(by_balance, "large-partition")
    assert change is None
    assert "Begin the PartitionKey" not in large.better


DEVICES = """
name = "Devices"
[[set]]
name = "Devices"
key = { partition = "{App}", row = "{Token}" }
count = 30_000_000
[set.fields]
App = { distinct = 40, size = 8 }
Token = { size = 60 }
UserId = { type = "int64", distinct = 9_000_000 }
Platform = { distinct = 3, size = 7 }
SeenAt = { type = "datetime", order = "rising" }
[[set.query]]
name = "devices of a user"
known = { UserId = "=" }
rate = 250
[[set.write]]
name = "seen"
operation = "update"
changes = ["SeenAt"]
rate = 400
peak = 1_300
writers = 8
"""


def test_an_index_leaves_out_what_is_updated_too_often_for_its_queue() -> None:
    missing, change = change_of(DEVICES, "missing-index")
    assert missing.change is not None
    assert missing.change.endswith(", without SeenAt, which updates change")
    assert missing.better.count("add the index") + missing.better.count("Add the index") == 1
    assert "Otherwise: The writes of Devices send and delete 2,600 messages a second" in missing.better
    assert change is not None
    assert change.derived is not None
    assert change.derived.table["include"] == ["Platform"]
    assert [(caused.rule, caused.subject) for caused in missing.causes] == [
        ("second-read", "Devices: devices of a user")
    ]


def test_a_timestamp_that_updates_change_is_not_the_time_of_a_period() -> None:
    # As many are inserted as are deleted; SeenAt would move an entity to another table
    expiring = DEVICES.replace("count = 30_000_000", "count = 30_000_000\nretention = { days = 90 }")
    expiring += '[[set.write]]\nname = "register"\noperation = "insert"\nrate = 3.86\n'
    deleted, change = change_of(expiring, "delete-by-entity")
    assert change is None
    assert deleted.better.startswith("Store when each entity was inserted.")


LOG = """
name = "Log"

[[set]]
name = "Entries"
key = { partition = "{Source}_{Day:%Y-%m-%d}", row = "{EntryId:uuid}" }
count = 30_000_000
retention = { days = 90 }

[set.fields]
Source = { distinct = 40, size = 8 }
Day = { type = "datetime", order = "rising", distinct = 90 }
EntryId = { type = "guid" }

[[set.query]]
name = "entry"
known = { Source = "=", Day = "=", EntryId = "=" }
rate = 1

[[set.write]]
name = "log"
operation = "insert"
rate = 3.86
"""


def test_a_table_of_a_period_is_chosen_by_an_instant_and_not_by_a_date() -> None:
    timed = LOG.replace("[[set.query]]", 'At = { type = "datetime", order = "rising" }\n\n[[set.query]]')
    _, change = change_of(timed, "delete-by-entity")
    assert change is not None
    assert change.settings["at"] == "At"
    deleted, change = change_of(LOG, "delete-by-entity")
    assert change is None
    assert deleted.better.startswith("Use a table per day, week or month (PeriodTables), and drop expired tables")


def test_the_effect_of_a_change_is_not_hidden_by_the_scans_of_others() -> None:
    busy = DEVICES.replace('known = { UserId = "=" }\nrate = 250', 'known = { Platform = "=" }\nrate = 5')
    busy += '[[set.query]]\nname = "device"\nknown = { App = "=", Token = "=" }\nrate = 100_000\n'
    hot, _ = change_of(busy, "hot-partition")
    assert hot.before is not None
    # 101,300 requests a second are spread over 40 partitions; the scan would read millions of entities of each
    assert hot.before.busiest == pytest.approx(102_600 / 40 / 2_000, rel=0.05)


def test_what_is_wrong_with_two_figures_is_asked_before_what_follows_from_the_larger_one() -> None:
    imported = DEVICES.replace("count = 30_000_000", "count = 30_000_000\ngrowth = 1_000_000")
    imported += '[[set.write]]\nname = "nightly import"\noperation = "insert"\nrate = 40\n'
    mismatch, _ = change_of(imported, "growth-mismatch")
    assert "if 'nightly import' only runs at some times, declare its rate then as the peak" in mismatch.better
    assert "unbounded-growth" not in {
        finding.rule for finding in review_with_changes(read_design(imported))[0].findings
    }
