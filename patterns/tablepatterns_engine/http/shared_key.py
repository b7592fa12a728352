"""Verify Shared Key and Shared Key Lite signatures."""

from __future__ import annotations

import hmac
import re
from base64 import b64decode
from binascii import b2a_base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from .address import Address, path_of
from .message import Request

_ESCAPE: Final = re.compile(r"%([0-9A-Fa-f]{2})")
_NEEDS_NO_ESCAPE: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$'()*,&=;@:")
_HEADERS_BEFORE_DATE: Final = ("content-encoding", "content-language", "content-length", "content-md5", "content-type")
_HEADERS_AFTER_DATE: Final = ("if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range")

SignedTexts: TypeAlias = Callable[[str, Request, Address, bool], Iterable[str]]
"""Returns the texts that may be signed; the last parameter is whether the scheme is SharedKeyLite."""


def table_texts(account: str, request: Request, address: Address, lite: bool) -> Iterable[str]:
    """Return the texts of a request to the Table service, which include only the option `comp`."""
    headers, paths = request.headers, _paths(request.url)
    prefix = f"{headers.get('x-ms-date') or headers.get('date', '')}\n/{account}"
    if not lite:
        digest = headers.get("content-md5", "")
        prefix = f"{request.method}\n{digest}\n{headers.get('content-type', '')}\n{prefix}"
    if "comp" in address.query:
        paths = [f"{path}?comp={address.query['comp']}" for path in paths]
    return map(prefix.__add__, paths)


def storage_texts(account: str, request: Request, address: Address, lite: bool) -> Iterable[str]:
    """Return the texts of a request to the Queue or the Blob service."""
    write = _lite if lite else _full
    return (
        write(request, headers, f"/{account}{path}", address.query)
        for headers in _storage_headers(request.headers)
        for path in _paths(request.url)
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


def _paths(url: str) -> Sequence[str]:
    """Return the path of a URL as sent and, if it differs, as signed by a client that normalizes URLs.

    The async SDK signs the path as `yarl` normalizes it: only necessary escapes, in uppercase.
    """
    path = path_of(url) or "/"
    if "%" not in path:
        return (path,)
    tidy = _ESCAPE.sub(_tidied, path)
    return (path,) if tidy == path else (path, tidy)


def _tidied(escape: re.Match[str]) -> str:
    character = chr(int(escape[1], 16))
    return character if character in _NEEDS_NO_ESCAPE else escape[0].upper()


class Signer:
    """Sign with an account's key in Base64, which is never shown."""

    __slots__ = ("_lite_by_prefix", "_mac", "account")

    def __init__(self, account: str, key: str) -> None:
        self.account = account
        self._lite_by_prefix = {f"SharedKey {account}": False, f"SharedKeyLite {account}": True}
        # Continuing from a copy takes half the time of starting with the key
        self._mac = hmac.new(b64decode(key), digestmod="sha256")

    def signed(self, text: str, signature: str) -> bool:
        """Return whether the signature is that of the text, in constant time."""
        mac = self._mac.copy()
        mac.update(text.encode("utf-8", "surrogatepass"))
        expected = b2a_base64(mac.digest(), newline=False)
        return hmac.compare_digest(expected, signature.encode("utf-8", "surrogatepass"))

    def signed_request(self, authorization: str, request: Request, address: Address, texts: SignedTexts) -> bool:
        """Return whether an Authorization header is this account's signature of the request.

        The date is signed but not compared with a clock: SDKs send the machine's time, while tests move the engine's.

        :param authorization: `SharedKey account:signature`, or the same with `SharedKeyLite`
        """
        prefix, _, signature = authorization.partition(":")
        lite = self._lite_by_prefix.get(prefix)
        if lite is None or not (request.headers.get("x-ms-date") or request.headers.get("date")):
            return False
        for text in texts(self.account, request, address, lite):  # noqa: SIM110 - a generator costs more than the loop
            if self.signed(text, signature):
                return True
        return False
