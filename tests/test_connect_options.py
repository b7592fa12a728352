"""The account and the options of `connect`: None and unknown keywords are rejected, and the SDK uses all others."""

from __future__ import annotations

import ast
import inspect
import logging
import os
import types
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import azure.core
import pytest
from azure.core.credentials import AccessToken, AzureNamedKeyCredential
from azure.core.exceptions import HttpResponseError
from azure.core.pipeline.policies import HeadersPolicy

import tablepatterns.aio
from tablepatterns import connect
from tablepatterns.connection import OPTIONS
from tablepatterns.errors import BadTarget
from tablepatterns.sdk.call import settled
from tablepatterns_engine.account import Engine
from tablepatterns_engine.transport import EngineTransport

pytestmark = pytest.mark.both_sdks

KEY = "c2VjcmV0LWtleS1vZi1hbi1hY2NvdW50"
STRING = f"DefaultEndpointsProtocol=https;AccountName=contoso;AccountKey={KEY};EndpointSuffix=core.windows.net"
URL = "https://contoso.table.core.windows.net"
CREDENTIAL = AzureNamedKeyCredential("contoso", KEY)
TARGETS: dict[str, tuple[Any, ...]] = {
    "nothing": (),
    "memory": ("memory://team",),
    "engine": (Engine(),),
    "azurite": ("azurite",),
    "env": ("env",),
    "string": (STRING,),
    "url": (URL,),
}
CONNECTS = {"sync": connect, "aio": tablepatterns.aio.connect}


@pytest.fixture(params=sorted(CONNECTS))
def connected(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`connect`, of the sync or the aio module."""
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", STRING)
    return CONNECTS[request.param]


# ------------------------------------------------------------------ the account


@pytest.mark.parametrize("target", [None, "", " ", "\n\t"])
def test_a_target_that_is_none_or_blank_is_rejected_with_what_to_pass(connected: Any, target: Any) -> None:
    for options in ({}, {"credential": CREDENTIAL}, {"retry_total": 0}):
        with pytest.raises(BadTarget, match="connection string") as refusal:
            connected(target, **options)
        assert "connect()" in str(refusal.value)


@pytest.mark.parametrize("name", ["AZURE_STORAGE_CONNECTON_STRING", "TYPO"])
def test_a_misspelled_variable_is_rejected(connected: Any, name: str) -> None:
    with pytest.raises(BadTarget, match="environment variable"):
        connected(os.environ.get(name))
    with pytest.raises(BadTarget):
        connected(os.environ.get(name, ""))


@pytest.mark.parametrize(
    ("keywords", "fix"),
    [
        ({"connection_string": STRING}, "connect(connection_string)"),
        ({"conn_str": STRING}, "connect(connection_string)"),
        ({"conn_string": STRING}, "connect(connection_string)"),
        ({"connection_string": None}, "connect(connection_string)"),
        ({"storage": "azurite"}, 'connect("azurite")'),
        ({"account": "azurite"}, 'connect("azurite")'),
        ({"account_url": URL, "credential": CREDENTIAL}, "connect(url, credential=...)"),
        ({"endpoint": URL, "credential": CREDENTIAL}, "connect(url, credential=...)"),
        ({"url": URL, "credential": CREDENTIAL}, "connect(url, credential=...)"),
        ({"account_name": "contoso", "account_key": KEY}, "AzureNamedKeyCredential"),
        ({"sas_token": f"sig={KEY}"}, "AzureSasCredential"),
        ({"engine": Engine()}, "connect(engine)"),
    ],
)
def test_an_account_passed_by_another_name_is_rejected_with_what_to_write(
    connected: Any, keywords: dict[str, Any], fix: str
) -> None:
    with pytest.raises(BadTarget) as refusal:
        connected(**keywords)
    assert fix in str(refusal.value)
    assert KEY not in f"{refusal.value!r} {refusal.value}"


# ------------------------------------------------------------------ the options


def credential_for(target: str) -> dict[str, Any]:
    return {"credential": CREDENTIAL} if target == "url" else {}


@pytest.mark.parametrize("target", sorted(TARGETS))
@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("retry_totl", "retry_total"),
        ("retries_total", "retry_total"),
        ("logging_enabled", "logging_enable"),
        ("conection_timeout", "connection_timeout"),
        ("raw_respone_hook", "raw_response_hook"),
        ("max_blok_size", "max_block_size"),
        ("Transport", "transport"),
        ("credentials", ""),
        ("frobnicate", "retry_total"),
        ("message_encode_policy", ""),
        ("logging_policy", ""),
        ("_hosts", ""),
    ],
)
def test_an_option_that_no_client_has_is_rejected_for_every_account(
    connected: Any, target: str, wrong: str, right: str
) -> None:
    with pytest.raises(BadTarget, match=f"'{wrong}'") as refusal:
        connected(*TARGETS[target], **credential_for(target), **{wrong: KEY})
    assert right in str(refusal.value)
    assert KEY not in str(refusal.value)


@pytest.mark.parametrize("target", sorted(TARGETS))
@pytest.mark.parametrize("value", ["3", None, 1.5])
def test_a_number_of_retries_is_an_int(connected: Any, target: str, value: Any) -> None:
    with pytest.raises(BadTarget, match="retry_total"):
        connected(*TARGETS[target], **credential_for(target), retry_total=value)


class Value(str):
    """A value of an option, which is found again by its identity."""

    __slots__ = ()


class Count(int):
    """A number of retries, which is found again by its identity."""


CONVERTED = {
    *("api_version", "audience", "location_mode", "raw_request_hook", "raw_response_hook", "transport", "user_agent"),
}
"""Options that the clients check, convert or wrap; their effects are tested below."""
IN_A_LIST = {
    *("additional_allowed_query_params", "per_call_policies", "per_retry_policies", "policies"),
    *("redirect_on_status_codes", "redirect_remove_headers", "retry_on_status_codes"),
}
ONLY_TABLES = {
    *("auto_request_id", "per_call_policies", "per_retry_policies", "pipeline", "policies", "request_id"),
    *("request_id_header_name", "retry_backoff_factor", "retry_backoff_max", "retry_mode", "retry_on_status_codes"),
    "timeout",
}
NOT_TABLES = {
    *("blocked_redirect_headers", "blocked_redirect_query_params", "disable_redirect_cleanup"),
    *("encryption_version", "increment_base", "initial_backoff", "key_encryption_key", "key_resolver_function"),
    *("logging_body", "random_jitter_range", "require_encryption", "retry_policy"),
    # The queue clients read them, and do not use them
    *(name for name in OPTIONS if name.startswith(("max_", "min_", "use_byte_"))),
}


def options_with(name: str, value: object) -> dict[str, Any]:
    if name == "session_owner":
        return {name: value, "session": Value("session")}
    if name in IN_A_LIST:
        return {name: [value]}
    return {name: {"a": value} if name in ("headers", "base_headers") else value}


def parts_of(root: object) -> Iterator[object]:
    """Yield what an object refers to, except what the SDK stores without using it."""
    waiting, known = [root], set[int]()
    while waiting:
        part = waiting.pop()
        yield part
        if id(part) in known:
            continue
        known.add(id(part))
        if isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, (list, tuple, set)):
            waiting += part
        elif hasattr(part, "__dict__") and not isinstance(part, (type, types.ModuleType, types.FunctionType)):
            # No request passes through the policies of the generated table client's configuration
            is_unused = type(part).__name__ == "AzureTableConfiguration"
            waiting += () if is_unused else vars(part).values()


@pytest.mark.filterwarnings("ignore:This client has been configured to use encryption")
@pytest.mark.parametrize("name", sorted(OPTIONS - CONVERTED))
async def test_each_option_is_taken_by_all_clients_and_reaches_those_that_use_it(connected: Any, name: str) -> None:
    if name not in all_looked_up():
        pytest.skip("the installed version of the SDK does not have it")
    if name in OF_REDIRECTS and "SensitiveHeaderCleanupPolicy" not in STORAGE_CLIENT.read_text(encoding="utf-8"):
        pytest.skip("the installed version of the storage SDK does not use it")
    value: Any = Count(3) if name.startswith("retry_") else Value(name)
    if name.endswith("policies"):
        value = HeadersPolicy()
    storage = connected(STRING, **options_with(name, value))
    reached = [any(part is value for part in parts_of(client)) for client in (storage.tables, storage.blobs)]
    assert reached == [name not in NOT_TABLES, name not in ONLY_TABLES]
    assert any(part is value for part in parts_of(storage.queues)) == (name not in ONLY_TABLES)


def looked_up(path: Path) -> Iterator[str]:
    """Yield the keywords that the clients of a module, and the policies and transports in it, take or look up."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    methods = [(node.name, each) for node in tree.body if isinstance(node, ast.ClassDef) for each in node.body]
    for owner, function in [*methods, *(("", node) for node in tree.body)]:
        if not isinstance(function, ast.FunctionDef) or function.name not in CONSTRUCTORS or owner in OTHER_CLASSES:
            continue
        arguments = function.args
        if arguments.kwarg is not None and owner.endswith(("Client", "Policy", "Retry", "Transport", "Configuration")):
            optional = arguments.args[len(arguments.args) - len(arguments.defaults) :]
            yield from (each.arg for each in (*arguments.kwonlyargs, *optional))
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("kwargs.get", "kwargs.pop"):
                yield ast.literal_eval(node.args[0])


CONSTRUCTORS = (
    *("__init__", "_create_pipeline", "create_configuration", "_build_pipeline", "_configure_policies"),
    "_configure_encryption",
)
OTHER_CLASSES = ("AccountSasPermissions", "ContentDecodePolicy", "LinearRetry", "StreamDownloadGenerator")
AZURE = Path(azure.core.__file__).parents[1]
STORAGE_CLIENT = AZURE / "storage/blob/_shared/base_client.py"
OF_REDIRECTS = ("blocked_redirect_headers", "disable_redirect_cleanup")
MODULES = (
    *("core/pipeline/policies/_universal.py", "core/pipeline/policies/_retry.py", "core/_pipeline_client.py"),
    *("core/pipeline/policies/_redirect.py", "core/pipeline/policies/_custom_hook.py", "core/configuration.py"),
    *("core/pipeline/policies/_distributed_tracing.py", "core/pipeline/transport/_requests_basic.py"),
    *("core/pipeline/policies/_sensitive_header_cleanup_policy.py", "core/pipeline/transport/_aiohttp.py"),
    *("data/tables/_base_client.py", "data/tables/aio/_base_client_async.py", "data/tables/_policies.py"),
    *("storage/queue/_encryption.py", "storage/queue/_queue_service_client.py", "storage/queue/_shared/base_client.py"),
    *("storage/queue/_shared/base_client_async.py", "storage/queue/_shared/policies.py"),
    *("storage/blob/_encryption.py", "storage/blob/_blob_service_client.py", "storage/blob/_shared/base_client.py"),
    *("storage/blob/_shared/base_client_async.py", "storage/blob/_shared/policies.py"),
    *("storage/blob/_shared/models.py", "storage/queue/_shared/models.py"),
)
NO_OPTIONS = {
    "config": "a client passes its own",
    "credential": "a parameter of connect()",
    "loop": "the transport rejects it",
    "max_range_size": "for files",
    "min_large_chunk_upload_threshold": "for files",
    "polling_interval": "no operation of these services is polled",
    "sdk_moniker": "the clients pass their own",
    "storage_sdk": "the clients pass their own",
}
"""Keywords that the SDK looks up, with the reason why `connect` does not take them."""


@cache
def all_looked_up() -> frozenset[str]:
    return frozenset(name for module in MODULES for name in looked_up(AZURE / module) if not name.startswith("_"))


@pytest.mark.skipif(version("azure-storage-blob") < "12.31", reason="older versions of the SDK have fewer options")
def test_each_keyword_that_the_sdk_looks_up_is_an_option_or_listed_here_with_the_reason() -> None:
    assert sorted(all_looked_up() - OPTIONS) == sorted(NO_OPTIONS)
    assert sorted(OPTIONS - all_looked_up()) == []


# ------------------------------------------------------------------ their effects


async def test_options_have_their_effects_in_memory(connected: Any) -> None:
    requests: list[Any] = []
    responses: list[Any] = []
    engine = Engine()
    storage = connected(
        engine,
        headers={"x-test": "yes"},
        raw_request_hook=lambda call: requests.append(call.http_request),
        raw_response_hook=responses.append,
        user_agent="bookings/1.0",
    )
    for client, call in (
        (storage.tables, "create_table"),
        (storage.queues, "create_queue"),
        (storage.blobs, "create_container"),
    ):
        result = getattr(client, call)("staff")
        if inspect.isawaitable(result):
            await result
    assert len(requests) == len(responses) == 3
    assert {request.headers["x-test"] for request in requests} == {"yes"}
    assert all("bookings/1.0" in request.headers["User-Agent"] for request in requests)


@pytest.mark.parametrize("service", ["tables", "queues", "blobs"])
async def test_the_number_of_retries_is_that_of_the_options(connected: Any, service: str) -> None:
    engine = Engine()
    storage = connected(engine, retry_total=2)
    call = getattr(storage, service).get_service_properties
    with engine.faults.busy(times=9), engine.ledger.span() as span, pytest.raises(HttpResponseError):
        await settled(call())
    assert span.totals.requests == 3


class Token:
    """A token credential that notes the scopes it is asked for."""

    def __init__(self) -> None:
        self.scopes: list[str] = []

    def get_token(self, *scopes: str, **options: Any) -> AccessToken:
        self.scopes += scopes
        return AccessToken("token", 2**33)


def test_the_audience_and_the_version_reach_all_clients() -> None:
    token, versions = Token(), list[str]()
    storage = connect(
        URL,
        credential=token,
        audience="https://contoso.example",
        api_version="2019-07-07",
        raw_request_hook=lambda call: versions.append(call.http_request.headers["x-ms-version"]),
        transport=EngineTransport(Engine("contoso")),
        retry_total=0,
    )
    for client in (storage.tables, storage.queues, storage.blobs):
        with suppress(HttpResponseError):
            client.get_service_properties()
        assert token.scopes[0] == "https://contoso.example/.default"
        token.scopes.clear()
    assert set(versions) == {"2019-07-07"}


# ------------------------------------------------------------------ the log


@pytest.mark.parametrize("target", ["nothing", "memory"])
def test_an_account_in_memory_is_logged_once(connected: Any, target: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="tablepatterns"):
        storage = connected(*TARGETS[target])
        storage.table("Staff")
        assert storage.queues
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("tablepatterns", "INFO")
    assert "lost when it ends" in record.getMessage()
    assert storage.engine.account_key not in record.getMessage()


@pytest.mark.parametrize("target", ["engine", "azurite", "env", "string", "url"])
def test_other_accounts_are_not_logged(connected: Any, target: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="tablepatterns"):
        connected(*TARGETS[target], **credential_for(target))
    assert caplog.records == []
