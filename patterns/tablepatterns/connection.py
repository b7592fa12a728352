"""Resolve the target of `connect()` to an account: the URLs of its services and its credential."""

from __future__ import annotations

import os
import re
from base64 import b64decode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential

from . import limits
from .errors import NOT_SHOWN, BadDesign, BadTableName, BadTarget

CONNECTION_VARIABLE: Final = "AZURE_STORAGE_CONNECTION_STRING"
SERVICES: Final = ("table", "queue", "blob")

# Published with the emulator and the same everywhere: it protects nothing
_AZURITE_ACCOUNT: Final = "devstoreaccount1"
_AZURITE_KEY: Final = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
AZURITE_PORTS: Final = {"blob": 10000, "queue": 10001, "table": 10002}

_ACCEPTED: Final = (
    'use "memory://", "memory://name", "azurite", "env", a connection string, '
    "or an account URL such as https://myaccount.table.core.windows.net with a credential"
)
OPTIONS: Final = frozenset(
    {
        # What all three of the SDK's clients use
        *("additional_allowed_query_params", "api_version", "audience", "base_headers", "base_user_agent"),
        *("connection_cert", "connection_data_block_size", "connection_timeout", "connection_verify", "headers"),
        *("http_logging_level", "instrumentation_config", "logger", "logging_enable", "network_span_namer"),
        *("permit_redirects", "proxies", "raw_request_hook", "raw_response_hook", "read_timeout", "redirect_max"),
        *("redirect_on_status_codes", "redirect_remove_headers", "retry_connect", "retry_read", "retry_status"),
        *("retry_to_secondary", "retry_total", "secondary_hostname", "session", "session_owner"),
        *("tracing_attributes", "transport", "use_env_settings", "user_agent", "user_agent_overwrite"),
        "user_agent_use_env",
        # Tables only
        *("auto_request_id", "location_mode", "per_call_policies", "per_retry_policies", "pipeline", "policies"),
        *("request_id", "request_id_header_name", "retry_backoff_factor", "retry_backoff_max", "retry_mode"),
        *("retry_on_status_codes", "timeout"),
        # Queues and blobs only
        *("blocked_redirect_headers", "blocked_redirect_query_params", "disable_redirect_cleanup"),
        *("encryption_version", "increment_base", "initial_backoff", "key_encryption_key", "key_resolver_function"),
        *("logging_body", "random_jitter_range", "require_encryption", "retry_policy"),
        # Blobs only
        *("max_block_size", "max_chunk_get_size", "max_page_size", "max_single_get_size", "max_single_put_size"),
        *("min_large_block_upload_threshold", "use_byte_buffer"),
    }
)
"""The keyword options of the SDK's clients; they ignore others without an error."""
_COUNTS: Final = frozenset({"retry_total", "retry_connect", "retry_read", "retry_status"})
"""Options whose values the SDK uses only once a request has failed."""
_MEANT: Final[Mapping[str, str]] = {
    **dict.fromkeys(("account_url", "endpoint", "url"), "connect(url, credential=...)"),
    **dict.fromkeys(("connection", "connection_string", "conn_str"), "connect(connection_string)"),
    **dict.fromkeys(("account", "storage"), 'connect("azurite")'),
    "account_name": "connect(url, credential=AzureNamedKeyCredential(account, key))",
    "account_key": "connect(url, credential=AzureNamedKeyCredential(account, key))",
    "sas_token": "connect(url, credential=AzureSasCredential(signature))",
    "engine": "connect(engine)",
}
"""What to write in place of a keyword that other libraries have for the account."""
_TABLE_NAME: Final = re.compile(limits.TABLE_NAME_PATTERN, re.ASCII)
# The name of an account with a DNS zone endpoint is followed by the zone
_HOST: Final = re.compile(r"(?P<account>[a-z0-9-]+(?:\.z\d+)?)\.(?P<service>table|queue|blob|dfs|file)\.(?P<suffix>.+)")
_URL: Final = re.compile(r"https?://", re.IGNORECASE)
_SECRETS: Final = (
    re.compile(r"(?i)((?:key|signature|sig|password|token)\"?\s*[=:]\s*)[^;&]*"),
    re.compile(r"(//)[^/?#]*(?=@)"),
    # A key or a token by itself
    re.compile(r"()[A-Za-z0-9+/_-]{40,}={0,2}"),
)


@dataclass(frozen=True)
class Target:
    """A storage account: in memory if `memory` is set, otherwise the URLs of its services and the credential.

    The repr shows addresses, but no key, token or signature.
    """

    urls: Mapping[str, str] = field(default_factory=dict[str, str])
    credential: Any = field(default=None, repr=False)
    memory: str | None = None

    @property
    def address(self) -> str:
        """A short form of the address that may be shown."""
        first = next((self.urls[service] for service in SERVICES if self.urls.get(service)), "")
        return first if self.memory is None else f"memory://{self.memory}"

    @property
    def keeps_key_order(self) -> bool:
        """Whether results are sorted by key; on the Cosmos DB Table API they are not."""
        return not _is_cosmos(self.urls.get("table", ""))

    def url(self, service: str) -> str:
        if not self.urls[service]:
            if not self.keeps_key_order:
                rule = f"a Cosmos DB account has no {service}s, and the connection string names no other account"
                raise BadDesign("account", self.address, rule, "connect to an Azure Storage account")
            setting = f"{service.capitalize()}Endpoint"
            rule = (
                f"its connection string has neither {setting} nor AccountName, so the {service} service has no address"
            )
            raise BadDesign("account", self.address, rule, f"add {setting}=https://... to the connection string")
        return self.urls[service]


class Omitted(Enum):
    """The default of an argument for which None is a mistake."""

    OMITTED = "omitted"


def resolve(target: object, credential: Any = None) -> Target:
    """Return the account that `connect(target, credential=credential)` connects to."""
    if target is None or (isinstance(target, str) and not target.strip()):
        rule = "it names no account; perhaps an environment variable is not set, or its name is misspelled"
        hint = f"for the in-memory engine, call connect() without it; else {_ACCEPTED}"
        raise BadTarget("target", target, rule, hint)
    if not isinstance(target, str):
        raise BadTarget("target", type(target).__name__, "it does not name a storage account", _ACCEPTED)
    if target.startswith("memory://"):
        return Target(memory=target.removeprefix("memory://"))
    if credential is not None and not _URL.match(target):
        rule = "this target has its own credential"
        raise BadTarget("credential", type(credential).__name__, rule, "omit it, or pass an account URL")
    if target == "azurite":
        base = "http://127.0.0.1"
        return _named_key({name: f"{base}:{port}/{_AZURITE_ACCOUNT}" for name, port in AZURITE_PORTS.items()})
    if target == "env":
        target = os.environ.get(CONNECTION_VARIABLE, "")
        if not target:
            rule = f"the environment variable {CONNECTION_VARIABLE} is not set"
            raise BadTarget("target", "env", rule, f"set it to the account's connection string, or {_ACCEPTED}")
        return _connection_string(target)
    if ";" in target or target.lower().startswith("usedevelopmentstorage"):
        return _connection_string(target)
    if _URL.match(target):
        return _account_url(target, credential)
    raise BadTarget("target", _without_secrets(target), "unrecognized target", _ACCEPTED)


def check_options(options: Mapping[str, Any]) -> None:
    """Reject keywords of `connect` that none of the SDK's clients uses: they would ignore them. No value is shown."""
    for name, value in options.items():
        if name in _MEANT:
            raise BadTarget("option", name, "the account is the first argument of connect()", f"write {_MEANT[name]}")
        if name not in OPTIONS:
            similar = get_close_matches(name, OPTIONS | _MEANT.keys(), 1, 0.7)
            hint = _MEANT.get(similar[0], similar[0]) if similar else f"one of {', '.join(sorted(OPTIONS))}"
            raise BadTarget("option", name, "no client of the SDK has it", f"did you mean {hint}?")
        if name in _COUNTS and not isinstance(value, int):
            raise BadTarget(name, value, "it must be an int", "pass a number of retries")


def check_target(target: object) -> None:
    """Reject an account that a program creates itself, as in `Storage("azurite")`."""
    if not isinstance(target, Target):
        raise BadTarget("target", type(target).__name__, "connect() creates each Storage", "call connect(...) instead")


def in_memory(account: str, key: str, credential: Any = None, name: str = "") -> Target:
    """Return the target of an engine in this process, addressed like a real account, by default with its key."""
    urls = {service: f"https://{account}.{service}.core.windows.net" for service in SERVICES}
    return Target(urls, _checked(credential or AzureNamedKeyCredential(account, key), urls), name)


def check_table_name(name: str) -> str:
    """Return a table name that the service accepts; case is kept, and names differing only in case are one table."""
    if not isinstance(name, str) or not _TABLE_NAME.fullmatch(name):
        rule = "a table name has 3 to 63 ASCII letters and digits, and begins with a letter"
        raise BadTableName("table name", name, rule, "use only letters and digits")
    if name.lower() in limits.RESERVED_TABLE_NAMES:
        raise BadTableName("table name", name, "the service reserves this name", "choose another")
    return name


def _named_key(urls: Mapping[str, str], account: str = _AZURITE_ACCOUNT, key: str = _AZURITE_KEY) -> Target:
    return Target(urls, _checked(AzureNamedKeyCredential(account, key), urls))


def _checked(credential: Any, urls: Mapping[str, str]) -> Any:
    """Return a credential that the SDK's clients of all three services accept."""
    if isinstance(credential, AzureNamedKeyCredential):
        try:
            b64decode(credential.named_key.key, validate=True)
        except ValueError:
            hint = "copy the whole key from the access keys of the account"
            raise BadTarget("account key", NOT_SHOWN, "an account key must be valid Base64", hint) from None
    elif hasattr(credential, "get_token") or hasattr(credential, "get_token_info"):
        if any(url.startswith("http:") for url in urls.values()):
            rule = "tokens are sent only over https"
            raise BadTarget("target", urls["table"], rule, "use the https URL of the account")
    elif not isinstance(credential, AzureSasCredential):
        rule = "the Table service does not accept this type of credential"
        hint = "pass AzureNamedKeyCredential(account, key), AzureSasCredential(signature) or a token credential"
        raise BadTarget("credential", type(credential).__name__, rule, hint)
    return credential


def _connection_string(text: str) -> Target:
    parts = dict(part.split("=", 1) for part in text.strip().strip(";").split(";") if "=" in part)
    settings = {name.strip().lower(): value.strip() for name, value in parts.items()}
    if settings.get("usedevelopmentstorage", "").lower() == "true":
        return resolve("azurite")
    account, key = settings.get("accountname", ""), settings.get("accountkey", "")
    signature = settings.get("sharedaccesssignature", "")
    urls = {service: _endpoint(service, settings, account) for service in SERVICES}
    if not any(urls.values()) or not ((account and key) or signature):
        rule = "a connection string needs an account or endpoints, and a key or a shared access signature"
        raise BadTarget("connection string", _without_secrets(text), rule, "copy it from the account's access keys")
    urls = _of_cosmos(urls, settings) if _is_cosmos(urls["table"]) else urls
    return _named_key(urls, account, key) if account and key else Target(urls, AzureSasCredential(signature))


def _endpoint(service: str, settings: Mapping[str, str], account: str) -> str:
    if endpoint := settings.get(f"{service}endpoint", ""):
        url = _address("connection string's endpoint", endpoint)
        return f"{url.scheme}://{url.netloc}{url.path.rstrip('/')}"
    protocol = settings.get("defaultendpointsprotocol", "https")
    suffix = settings.get("endpointsuffix", "core.windows.net")
    if protocol.lower() not in ("http", "https"):
        subject = "connection string's DefaultEndpointsProtocol"
        raise BadTarget(subject, protocol, "it must be http or https", "use https")
    return f"{protocol}://{account}.{service}.{suffix}" if account else ""


def _account_url(text: str, credential: Any) -> Target:
    address = _address("target", text)
    if credential is None and "sig=" in address.query:
        credential = AzureSasCredential(address.query)
    if credential is None:
        rule = "an account URL needs a credential"
        hint = "pass credential=AzureNamedKeyCredential(...), AzureSasCredential(...) or a token credential"
        raise BadTarget("target", _without_secrets(text), rule, hint)
    urls = _addresses(address)
    return Target(urls, _checked(credential, urls))


def _address(subject: str, text: str) -> SplitResult:
    """Return the parts of a URL with a host and without user or password."""
    with suppress(ValueError):
        url = urlsplit(text)
        if url.scheme in ("http", "https") and url.hostname and url.port != 0 and url.username is None:
            return url
    rule = "it must be an http or https URL with a host and without a user name"
    raise BadTarget(subject, _without_secrets(text), rule, "use a URL such as https://myaccount.table.core.windows.net")


def _addresses(url: SplitResult) -> Mapping[str, str]:
    base = f"{url.scheme}://{url.netloc}"
    if url.port and url.path.strip("/"):
        return _beside(base, url.port, url.path.rstrip("/"))
    match = _HOST.fullmatch(url.netloc.lower())
    if not match:
        return dict.fromkeys(SERVICES, base + url.path.rstrip("/"))
    account, suffix = match["account"], match["suffix"]
    urls = {service: f"{url.scheme}://{account}.{service}.{suffix}" for service in SERVICES}
    return _of_cosmos(urls, {}) if _is_cosmos(urls["table"]) else urls


def _is_cosmos(table_url: str) -> bool:
    return ".cosmos." in table_url


def _of_cosmos(urls: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    """Return only the given addresses: the default ones may belong to another account of this name."""
    return {name: url if name == "table" or f"{name}endpoint" in settings else "" for name, url in urls.items()}


def _beside(base: str, port: int, path: str) -> Mapping[str, str]:
    """Return the addresses of an emulator, whose services use consecutive ports: blob, queue, table.

    A port other than Azurite's own is assumed to be the table service's.
    """
    host, first = base.rsplit(":", 1)[0], AZURITE_PORTS["blob"]
    if port not in AZURITE_PORTS.values():
        first = port - 2
    return {service: f"{host}:{first + offset}{path}" for offset, service in enumerate(("blob", "queue", "table"))}


def _without_secrets(text: str) -> str:
    for secret in _SECRETS:
        text = secret.sub(r"\1…", text)
    return text
