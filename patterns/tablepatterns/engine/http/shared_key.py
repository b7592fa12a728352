"""Verify Shared Key and Shared Key Lite signatures."""

from __future__ import annotations

import hmac
import re
from base64 import b64decode
from binascii import b2a_base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from .address import Address
from .message import Request

_ESCAPE: Final = re.compile(r"%([0-9A-Fa-f]{2})")
_NEEDS_NO_ESCAPE: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$'()*,&=;@:")
_HEADERS_BEFORE_DATE: Final = (
    "content-encoding",
    "content-language",
    "content-length",
    "content-md5",
    "content-type",
)
_HEADERS_AFTER_DATE: Final = ("if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range")

SignedTexts: TypeAlias = Callable[[str, Request, Address, bool], Iterable[str]]
"""Returns the texts that may be signed; the last parameter is whether the scheme is SharedKeyLite."""


def table_texts(account: str, request: Request, address: Address, lite: bool) -> Iterable[str]:
    """Return the texts of a request to the Table service, which include only the option `comp`."""
    headers, comp = request.headers, address.query.get("comp")
    prefix = f"{headers.get('x-ms-date') or headers.get('date', '')}\n/{account}"
    if not lite:
        digest = headers.get("content-md5", "")
        prefix = f"{request.method}\n{digest}\n{headers.get('content-type', '')}\n{prefix}"
    suffix = "" if comp is None else f"?comp={comp}"
    if "%" not in address.path:
        return (f"{prefix}{address.path}{suffix}",)
    return [f"{prefix}{path}{suffix}" for path in _paths(address.path)]


def storage_texts(account: str, request: Request, address: Address, lite: bool) -> Iterable[str]:
    """Return the texts of a request to the Queue or the Blob service."""
    write = _lite if lite else _full
    return (
        write(request, headers, f"/{account}{path}", address.query)
        for headers in _storage_headers(request.headers)
        for path in _paths(address.path)
    )


def _lite(request: Request, storage_headers: str, resource: str, query: Mapping[str, str]) -> str:
    headers = request.headers
    first = [request.method, headers.get("content-md5", ""), headers.get("content-type", ""), _date(headers)]
    suffix = f"?comp={query['comp']}" if "comp" in query else ""
    return "\n".join([*first, storage_headers + resource + suffix])


def _full(request: Request, storage_headers: str, resource: str, query: Mapping[str, str]) -> str:
    headers = request.headers
    first = [headers.get(name, "") for name in _HEADERS_BEFORE_DATE]
    if first[2] == "0":
        first[2] = ""
    last = [headers.get(name, "") for name in _HEADERS_AFTER_DATE]
    options = sorted(f"\n{name.lower()}:{value}" for name, value in query.items())
    text = "\n".join([request.method, *first, _date(headers), *last, storage_headers])
    return text + resource + "".join(options)


def _date(headers: Mapping[str, str]) -> str:
    """Return the Date header, which is ignored if x-ms-date is present."""
    return "" if "x-ms-date" in headers else headers.get("date", "")


def _storage_headers(headers: Mapping[str, str]) -> Iterator[str]:
    """Yield the x-ms- headers in the service's order and, if it differs, in the order of characters.

    The service ignores hyphens, and sorts an underscore before digits and letters.
    """
    names = [name for name in headers if name.startswith("x-ms-")]
    by_dictionary = sorted(names, key=lambda name: name.replace("-", "").replace("_", " "))
    by_character = sorted(names)
    for order in [by_dictionary] if by_dictionary == by_character else [by_dictionary, by_character]:
        yield "".join(f"{name}:{headers[name].strip()}\n" for name in order)


def _paths(path: str) -> tuple[str, ...]:
    """Return the path as sent and, if it differs, as signed by a client that normalizes URLs.

    The async SDK signs the path as `yarl` normalizes it: only necessary escapes, in uppercase.
    """
    if "%" not in path:
        return (path,)
    tidy = _ESCAPE.sub(_tidied, path)
    return (path,) if tidy == path else (path, tidy)


def _tidied(escape: re.Match[str]) -> str:
    character = chr(int(escape[1], 16))
    return character if character in _NEEDS_NO_ESCAPE else escape[0].upper()


_SCHEMES: Final = ("SharedKey", "SharedKeyLite")


class Signer:
    """Sign with an account's key, which is never shown.

    :param account: the account's name
    :param key: its key in Base64
    """

    __slots__ = ("_key", "account")

    def __init__(self, account: str, key: str) -> None:
        self.account = account
        self._key = b64decode(key)

    def sign(self, text: str) -> str:
        """Return the signature of a text."""
        return self._signature(text).decode()

    def signed(self, text: str, signature: str) -> bool:
        """Return whether the signature is that of the text, in constant time."""
        return hmac.compare_digest(self._signature(text), signature.encode("utf-8", "surrogatepass"))

    def _signature(self, text: str) -> bytes:
        digest = hmac.digest(self._key, text.encode("utf-8", "surrogatepass"), "sha256")
        return b2a_base64(digest, newline=False)

    def signed_request(self, authorization: str, request: Request, address: Address, texts: SignedTexts) -> bool:
        """Return whether an Authorization header is this account's signature of the request.

        The date is signed but not compared with a clock: SDKs send the machine's time, while tests move the engine's.

        :param authorization: `SharedKey account:signature`, or the same with `SharedKeyLite`
        :param texts: returns the texts of a request that may be signed
        """
        scheme, _, credential = authorization.partition(" ")
        account, _, signature = credential.partition(":")
        dated = request.headers.get("x-ms-date") or request.headers.get("date")
        if account != self.account or not dated or scheme not in _SCHEMES:
            return False
        lite = scheme == "SharedKeyLite"
        return any(self.signed(text, signature) for text in texts(account, request, address, lite))
