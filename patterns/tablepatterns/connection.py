"""Resolve the target of `connect()` to an account: the URLs of its services and its credential."""

from __future__ import annotations

import os
import re
from base64 import b64decode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential

from . import limits
from .errors import NOT_SHOWN, BadDesign, BadTableName, BadTarget

CONNECTION_VARIABLE: Final = "AZURE_STORAGE_CONNECTION_STRING"
SERVICES: Final = ("table", "queue", "blob")

# Published with the emulator, the same on every machine: it protects nothing
_AZURITE_ACCOUNT: Final = "devstoreaccount1"
_AZURITE_KEY: Final = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
_AZURITE_PORTS: Final = {"blob": 10000, "queue": 10001, "table": 10002}

_ACCEPTED: Final = (
    'give nothing, "memory://", "memory://name", "azurite", "env", a connection string, '
    "or an account's URL such as https://myaccount.table.core.windows.net with a credential"
)
_TABLE_NAME: Final = re.compile(limits.TABLE_NAME_PATTERN, re.ASCII)
# The account's name has its zone behind it, where the account is in a DNS zone
_HOST: Final = re.compile(r"(?P<account>[a-z0-9-]+(?:\.z\d+)?)\.(?P<service>table|queue|blob|dfs|file)\.(?P<suffix>.+)")
_WEBSITE: Final = re.compile(
    r"^https?://(?P<account>[a-z0-9-]+)\.(?:z\d+\.)?web\.(?P<suffix>(?:core|storage)\.[a-z0-9.-]+)"
)
_URL: Final = re.compile(r"https?://", re.IGNORECASE)
_SECRETS: Final = (
    re.compile(r"(?i)((?:key|signature|sig|password|token)\"?\s*[=:]\s*)[^;&]*"),
    re.compile(r"(//)[^/?#]*(?=@)"),
    # A key or a token that stands by itself
    re.compile(r"()[A-Za-z0-9+/_-]{40,}={0,2}"),
)


@dataclass(frozen=True)
class Target:
    """A storage account: in memory if `memory` is set, else the URL and the credential of each service.

    The repr shows addresses and never a key, a token or a signature.
    """

    urls: Mapping[str, str] = field(default_factory=dict[str, str])
    credential: Any = field(default=None, repr=False)
    memory: str | None = None

    @property
    def address(self) -> str:
        """The account in short, as it may be shown."""
        first = next((self.urls[service] for service in SERVICES if self.urls.get(service)), "")
        return first if self.memory is None else f"memory://{self.memory}"

    @property
    def keeps_key_order(self) -> bool:
        """Whether queries answer in key order; the Cosmos DB Table API does not."""
        return not _is_cosmos(self.urls.get("table", ""))

    def url(self, service: str) -> str:
        """Return the address of a service.

        :raises BadDesign: the account has no such service
        """
        if not self.urls[service]:
            if not self.keeps_key_order:
                rule = f"a Cosmos DB account has no {service}s, and nothing says where else they are"
                raise BadDesign("account", self.address, rule, "connect to an Azure Storage account")
            setting = f"{service.capitalize()}Endpoint"
            rule = (
                f"its connection string has neither {setting} nor AccountName, so the {service} service has no address"
            )
            raise BadDesign("account", self.address, rule, f"add {setting}=https://... to the connection string")
        return self.urls[service]


def resolve(target: str | None, credential: Any = None) -> Target:
    """Return what `connect(target, credential=credential)` means.

    >>> resolve("memory://").address
    'memory://'
    >>> resolve("azurite").urls["table"]
    'http://127.0.0.1:10002/devstoreaccount1'

    :raises BadTarget: the target is none of the accepted forms; the error lists them
    """
    if target is None:
        target = "memory://"
    if not isinstance(target, str) or not target.strip():
        shown = target if isinstance(target, str) else type(target).__name__
        raise BadTarget("target", shown, "it names no storage account", _ACCEPTED)
    if target.startswith("memory://"):
        return Target(memory=target.removeprefix("memory://"))
    if credential is not None and not _URL.match(target):
        rule = "this target has a credential of its own"
        raise BadTarget("credential", type(credential).__name__, rule, "leave it out, or give an account's URL")
    if target == "azurite":
        base = "http://127.0.0.1"
        return _named_key({name: f"{base}:{port}/{_AZURITE_ACCOUNT}" for name, port in _AZURITE_PORTS.items()})
    if target == "env":
        return _from_environment()
    if ";" in target or target.lower().startswith("usedevelopmentstorage"):
        return _connection_string(target)
    if _URL.match(target):
        return _account_url(target, credential)
    raise BadTarget("target", _without_secrets(target), "it is no form of target that is known", _ACCEPTED)


def in_memory(account: str, key: str, credential: Any = None, name: str = "") -> Target:
    """Return the target of an engine in this process, addressed like a real account, by default with its key.

    :raises BadTarget: the credential is none of azure-core's
    """
    urls = {service: f"https://{account}.{service}.core.windows.net" for service in SERVICES}
    return Target(urls, _checked(credential or AzureNamedKeyCredential(account, key), urls), name)


def check_table_name(name: str) -> str:
    """Return a table name that the service accepts; case is kept, and names differing only in case are one table.

    >>> check_table_name("Employees")
    'Employees'

    :raises BadTableName: not 3 to 63 letters and digits beginning with a letter, or reserved

    Guide: table names.
    """
    if not isinstance(name, str) or not _TABLE_NAME.fullmatch(name):
        rule = "a table's name is 3 to 63 letters and digits of ASCII, the first a letter"
        raise BadTableName("table name", name, rule, "leave out what is neither letter nor digit")
    if name.lower() in limits.RESERVED_TABLE_NAMES:
        raise BadTableName("table name", name, "the name is reserved by the service", "choose another")
    return name


def _named_key(urls: Mapping[str, str], account: str = _AZURITE_ACCOUNT, key: str = _AZURITE_KEY) -> Target:
    return Target(urls, _checked(AzureNamedKeyCredential(account, key), urls))


def _checked(credential: Any, urls: Mapping[str, str]) -> Any:
    """Return a credential with which the SDK's clients of all three services can sign."""
    if isinstance(credential, AzureNamedKeyCredential):
        _check_key(credential.named_key.key)
    elif hasattr(credential, "get_token") or hasattr(credential, "get_token_info"):
        if any(url.startswith("http:") for url in urls.values()):
            raise BadTarget("target", urls["table"], "a token is sent over https only", "give the account's https URL")
    elif not isinstance(credential, AzureSasCredential):
        rule = "it is no credential of azure-core that the Table service takes"
        hint = "give AzureNamedKeyCredential(account, key), AzureSasCredential(signature) or a token credential"
        raise BadTarget("credential", type(credential).__name__, rule, hint)
    return credential


def _check_key(key: str) -> None:
    try:
        b64decode(key, validate=True)
    except ValueError:
        hint = "copy it from the account's access keys, to its last character"
        raise BadTarget("account key", NOT_SHOWN, "an account's key is Base64, and this is not", hint) from None


def _from_environment() -> Target:
    text = os.environ.get(CONNECTION_VARIABLE, "")
    if not text:
        rule = f"the environment variable {CONNECTION_VARIABLE} is not set"
        raise BadTarget("target", "env", rule, f"set it to the account's connection string, or {_ACCEPTED}")
    return _connection_string(text)


def _connection_string(text: str) -> Target:
    parts = dict(part.split("=", 1) for part in text.strip().strip(";").split(";") if "=" in part)
    settings = {name.strip().lower(): value.strip() for name, value in parts.items()}
    if settings.get("usedevelopmentstorage", "").lower() == "true":
        return resolve("azurite")
    account, key = settings.get("accountname", ""), settings.get("accountkey", "")
    signature = settings.get("sharedaccesssignature", "")
    urls = {service: _endpoint(service, settings, account) for service in SERVICES}
    if not any(urls.values()) or not ((account and key) or signature):
        rule = "a connection string names an account or its endpoints, and a key or a shared access signature"
        raise BadTarget("connection string", _without_secrets(text), rule, "copy it from the account's access keys")
    urls = _of_cosmos(urls, settings) if _is_cosmos(urls["table"]) else urls
    return _named_key(urls, account, key) if account and key else Target(urls, AzureSasCredential(signature))


def _endpoint(service: str, settings: Mapping[str, str], account: str) -> str:
    if given := settings.get(f"{service}endpoint", ""):
        parsed = _address("connection string's endpoint", given)
        return f"{parsed.scheme}://{parsed.netloc}{parsed.path.rstrip('/')}"
    protocol = settings.get("defaultendpointsprotocol", "https")
    suffix = settings.get("endpointsuffix", "core.windows.net")
    if protocol.lower() not in ("http", "https"):
        raise BadTarget("connection string's DefaultEndpointsProtocol", protocol, "it is http or https", "write https")
    return f"{protocol}://{account}.{service}.{suffix}" if account else ""


def _account_url(text: str, credential: Any) -> Target:
    address = _address("target", text)
    if credential is None and "sig=" in address.query:
        credential = AzureSasCredential(address.query)
    if credential is None:
        rule = "an account's URL needs a credential"
        hint = "give credential=AzureNamedKeyCredential(...), AzureSasCredential(...) or a token credential"
        raise BadTarget("target", _without_secrets(text), rule, hint)
    urls = _addresses(address)
    return Target(urls, _checked(credential, urls))


def _address(subject: str, text: str) -> SplitResult:
    """Return the parts of a URL with a host and without user or password."""
    if website := _WEBSITE.search(text.lower()):
        rule = "a static website serves pages only, and has no tables, queues or containers"
        hint = f"give https://{website['account']}.table.{website['suffix']}"
        raise BadTarget(subject, _without_secrets(text), rule, hint)
    with suppress(ValueError):
        parsed = urlsplit(text)
        if parsed.scheme in ("http", "https") and parsed.hostname and parsed.port != 0 and parsed.username is None:
            return parsed
    rule = "it is no http or https URL of a host, without a user"
    raise BadTarget(subject, _without_secrets(text), rule, "write https://myaccount.table.core.windows.net")


def _addresses(given: SplitResult) -> Mapping[str, str]:
    """Return the addresses of the three services, from that of one of them."""
    base = f"{given.scheme}://{given.netloc}"
    if given.port and given.path.strip("/"):
        return _beside(base, given.port, given.path.rstrip("/"))
    found = _HOST.fullmatch(given.netloc.lower())
    if not found:
        return dict.fromkeys(SERVICES, base + given.path.rstrip("/"))
    account, suffix = found["account"], found["suffix"]
    urls = {service: f"{given.scheme}://{account}.{service}.{suffix}" for service in SERVICES}
    return _of_cosmos(urls, {}) if _is_cosmos(urls["table"]) else urls


def _is_cosmos(table_url: str) -> bool:
    return ".cosmos." in table_url


def _of_cosmos(urls: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return only the given addresses: the default ones may belong to another account with this name."""
    return {
        service: url if service == "table" or f"{service}endpoint" in given else "" for service, url in urls.items()
    }


def _beside(base: str, port: int, path: str) -> Mapping[str, str]:
    """Return the three addresses of an emulator, whose services listen on neighbouring ports: blob, queue, table.

    A port that is none of Azurite's own is taken for that of the tables.
    """
    host, first = base.rsplit(":", 1)[0], _AZURITE_PORTS["blob"]
    if port not in _AZURITE_PORTS.values():
        first = port - 2
    return {service: f"{host}:{first + offset}{path}" for offset, service in enumerate(("blob", "queue", "table"))}


def _without_secrets(text: str) -> str:
    for secret in _SECRETS:
        text = secret.sub(r"\1…", text)
    return text
