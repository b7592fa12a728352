"""The SDK's own filter parameters trip over brackets, spaces and types; the text of a filter needs no parameters."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.data.tables import TableClient

from tablepatterns.filters import Filter, parse, prop

ACCOUNT = AzureNamedKeyCredential("account", "a2V5")


class Sent(Exception):
    """Carries the URL of a request that is not to leave the machine."""


def sent_by_the_sdk(expression: Filter) -> str:
    """Return the `$filter` that the SDK puts into its request."""

    def stop(request):
        raise Sent(request.http_request.url)

    with TableClient("https://account.table.core.windows.net", "Employees", credential=ACCOUNT) as client:
        query = client.query_entities(str(expression), raw_request_hook=stop)
        with pytest.raises(Sent) as sent:
            next(query)
    return parse_qs(urlsplit(str(sent.value)).query)["$filter"][0]


@pytest.mark.parametrize(
    "expression",
    [
        (prop("PartitionKey") == "Sales") & ((prop("N") == 1) | (prop("N") == 2)),
        ~(prop("Name") == "(@pk) and  'x'"),
        prop("Name") == "two  spaces, a + and a 🛫",
        prop("Big") >= 2**31,
        prop("N") == 1,
    ],
    ids=str,
)
def test_the_sdk_sends_a_filter_as_it_is(expression):
    assert sent_by_the_sdk(expression) == str(expression)
    assert parse(sent_by_the_sdk(expression)) == expression


def test_brackets_may_touch_a_value():
    assert parse("(PartitionKey eq 'Sales')and(N eq 1)") == (prop("PartitionKey") == "Sales") & (prop("N") == 1)


def test_spaces_in_a_row_are_kept_in_values_and_ignored_between_words():
    assert parse("Name  eq  'a  b'") == (prop("Name") == "a  b")
