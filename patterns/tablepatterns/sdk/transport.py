"""Send requests of the SDK's sync clients in a third of the time of the SDK's own transport.

The SDK's transport has the requests package read the environment, choose a proxy and prepare TLS for each request. This
one has it do so once for each origin, and then uses its pool of connections directly. What is not a plain request is
left to the SDK's transport, from which this one derives, over the same pools: streams, bodies that are not in memory,
options of a single call, and addresses and headers that requests would change or reject.
"""

from __future__ import annotations

import http.client
import logging
import os
import re
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any, Final, TypeAlias

import requests
from azure.core.exceptions import (
    AzureError,
    HttpResponseError,
    IncompleteReadError,
    ServiceRequestError,
    ServiceRequestTimeoutError,
    ServiceResponseError,
    ServiceResponseTimeoutError,
)
from azure.core.pipeline.transport import RequestsTransport
from requests.adapters import HTTPAdapter
from requests.cookies import extract_cookies_to_jar
from requests.utils import get_netrc_auth, select_proxy
from urllib3 import Retry, Timeout, connection
from urllib3 import exceptions as urllib3_errors
from urllib3.exceptions import HTTPError

from .call import SimpleResponse

_MAX_IDLE_CONNECTIONS: Final = 64
# More than any account has: the pool of an origin must not be closed to make room for another
_MAX_ORIGINS: Final = 1000
_NO_RETRIES: Final = Retry(total=False, redirect=False, raise_on_status=False)
_AS_REQUESTS_DOES: Final[Any] = {
    "retries": _NO_RETRIES,
    "redirect": False,
    "assert_same_host": False,
    "preload_content": False,
    "decode_content": False,
}
_CHUNK: Final = 10 * 1024
_MAX_SINGLE_WRITE: Final = 64 * 1024
_NUMBERS: Final = frozenset({int, float})
_OPTIONS: Final = frozenset({"stream", "connection_timeout", "read_timeout"})
_NO_CONTENT: Final = object()
_SDK_MODULE: Final = vars(sys.modules[RequestsTransport.__module__])
_SIGNATURE: Final = re.compile(r"sig=[^&\s\"']*", re.IGNORECASE)

_PLAIN: Final = "[A-Za-z0-9._~!$&'()*+,;=:@/?-]*"
# An escape in capitals, of a character that needs it
_ESCAPE: Final = "%(?!2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])[0-9A-F]{2}"
_URL: Final = re.compile(
    rf"(https?://(?:[a-z0-9._-]+|\[[0-9a-f:]+\])(?::[0-9]+)?)(?!//)(?![^?]*/\.)(/{_PLAIN}(?:{_ESCAPE}{_PLAIN})*)"
)
"""The origin and the target of a URL that requests sends as it is."""
_NAMES: Final = re.compile("[A-Za-z0-9_-]+(?:\0[A-Za-z0-9_-]+)*")
_VALUES: Final = re.compile("(?:[!-~][\t -~]*)?(?:\0(?:[!-~][\t -~]*)?)*")

_Errors: TypeAlias = tuple[tuple[type[Exception], type[Exception] | None, type[AzureError]], ...]
_WHILE_SENDING: Final[_Errors] = (
    (urllib3_errors.NewConnectionError, None, ServiceRequestError),
    (urllib3_errors.ConnectTimeoutError, None, ServiceRequestTimeoutError),
    (urllib3_errors.ReadTimeoutError, requests.ReadTimeout, ServiceResponseTimeoutError),
    (urllib3_errors.ProtocolError, requests.ConnectionError, ServiceResponseError),
    (urllib3_errors.ProxyError, requests.exceptions.ProxyError, ServiceRequestError),
    (urllib3_errors.SSLError, requests.exceptions.SSLError, ServiceRequestError),
    (urllib3_errors.InvalidHeader, requests.exceptions.InvalidHeader, ServiceResponseError),
    (urllib3_errors.ClosedPoolError, requests.ConnectionError, ServiceRequestError),
    (OSError, requests.ConnectionError, ServiceRequestError),
)
"""For an error of urllib3, the one of requests and the one of the SDK that the SDK's transport raises."""
_WHILE_READING: Final[_Errors] = (
    (urllib3_errors.ProtocolError, requests.exceptions.ChunkedEncodingError, HttpResponseError),
    (urllib3_errors.DecodeError, requests.exceptions.ContentDecodingError, ServiceResponseError),
    (urllib3_errors.ReadTimeoutError, requests.ConnectionError, ServiceRequestError),
    (urllib3_errors.SSLError, requests.exceptions.SSLError, ServiceRequestError),
)


class Transport(RequestsTransport):  # type: ignore[misc]
    """The SDK's transport over requests, with a shorter way for plain requests, and connections of each process's own.

    A forked process inherits its parent's sockets. Two processes that use one connection receive each other's
    responses, so a read may return another entity.

    :param options: those of the SDK's transport; a `session` of the caller's sends all requests
    """

    session: Any

    def __init__(self, **options: Any) -> None:
        self._is_own = options.get("session") is None and options.get("session_owner", True)
        self._trusts_environment = options.get("use_env_settings", True)
        self._copy = partial(type(self), **options)
        self._process, self._inherited = os.getpid(), list[Any]()
        if self._is_own:
            options["session"] = self._new_session()
        super().__init__(**options)  # pyright: ignore[reportUnknownMemberType]
        self._default_headers = tuple(self.session.headers.items()) if self._is_own else ()
        self._pools: dict[str, Any] = {}
        """The pool of each origin; None if the SDK's transport sends its requests."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy the options alone, so that a copy opens its own connections."""
        return self._copy, ()

    def open(self) -> None:
        """Open the transport, with a session of this process's own."""
        if self._process != os.getpid() and self._is_own and self.session:
            # The parent's is kept, so that nothing touches its sockets
            self._inherited.append(self.session)
            self.session, self._pools = self._new_session(), {}
            self._process = os.getpid()
        super().open()  # pyright: ignore[reportUnknownMemberType]

    def send(self, request: Any, *, proxies: Any = None, **options: Any) -> Any:
        """Send a request, and return its response; the errors are those of the SDK's transport."""
        self.open()
        # Tests replace the method of the SDK's transport, and then it answers, such as by `patch_azure`
        is_replaced = getattr(RequestsTransport.send, "__globals__", None) is not _SDK_MODULE
        is_plain = self._is_own and proxies is None and not is_replaced
        url = _URL.fullmatch(request.url) if is_plain else None
        pool = self._pool(url[1]) if url else None
        timeout = self._timeout(options) if pool else None
        message = self._message(request) if timeout else None
        if url is None or pool is None or timeout is None or message is None:
            return super().send(request, proxies=proxies, **options)  # pyright: ignore
        answer, content = _exchange(pool, timeout, request.method, url[2], *message)
        if "Set-Cookie" in answer.headers:
            # From now on, the SDK's transport sends the requests, with the cookie
            self._pools[url[1]] = None
            extract_cookies_to_jar(self.session.cookies, requests.Request("GET", request.url).prepare(), answer)
        headers = answer.headers
        if len(headers.items()) > len(headers):
            # One was sent twice, and counts as one with both values
            headers = dict(headers.itermerged())
        return SimpleResponse(request, answer.status, answer.reason or "", headers, content)

    def close(self) -> None:
        if self.session:
            self.open()
        self._pools.clear()
        super().close()  # pyright: ignore[reportUnknownMemberType]

    def _new_session(self) -> requests.Session:
        """Return a session as the SDK creates it, with room for the connections of more threads."""
        session = requests.Session()
        session.trust_env = self._trusts_environment
        adapter = HTTPAdapter(_MAX_ORIGINS, _MAX_IDLE_CONNECTIONS, _NO_RETRIES)
        session.mount("http://", adapter)
        session.mount("https://", adapter)
        return session

    def _timeout(self, options: Mapping[str, Any]) -> Timeout | None:
        """Return the timeouts of a call; None for a stream, or if the call has other options."""
        config: Any = self.connection_config
        connect = options.get("connection_timeout", config.timeout)
        read = options.get("read_timeout", config.read_timeout)
        are_usual = type(connect) in _NUMBERS and type(read) in _NUMBERS and connect > 0 and read > 0
        is_plain = are_usual and options.keys() <= _OPTIONS and not options.get("stream")
        return Timeout(connect=connect, read=read) if is_plain else None

    def _message(self, request: Any) -> tuple[dict[str, str], bytes | None] | None:
        """Return the headers and the body that requests would send; None if this is not a plain request."""
        # Only the new requests of azure-core have a content
        body: Any = getattr(request, "content", _NO_CONTENT)
        body = body.encode() if isinstance(body, str) else body
        fields = request.headers
        headers = {name: value for name, value in self._default_headers if name not in fields}
        headers.update(fields)
        # The SDK's fields class of responses is needed for a multipart response
        is_multipart = str(fields.get("Content-Type")).startswith("multipart/")
        is_framed = "Transfer-Encoding" in fields or ("Content-Length" in fields and "Content-Length" not in headers)
        if not (body is None or isinstance(body, bytes)) or is_multipart or is_framed:
            return None
        if body:
            headers["Content-Length"] = str(len(body))
        elif request.method not in ("GET", "HEAD"):
            headers.setdefault("Content-Length", "0")
        try:
            is_plain = _NAMES.fullmatch("\0".join(headers)) and _VALUES.fullmatch("\0".join(headers.values()))
        except TypeError:
            return None
        return (headers, body or None) if is_plain else None

    def _pool(self, origin: str) -> Any:
        """Return the pool that requests uses for an origin; None if the SDK's transport must send its requests."""
        if origin not in self._pools:
            self._pools[origin] = _new_pool(self.session, origin, self.connection_config)
        return self._pools[origin]


class HTTPConnection(connection.HTTPConnection):
    """A connection that sends a small request at once, its headers and its body: this saves a system call."""

    _parts: list[bytes] | None = None

    # Not urllib3's, which looks for its mark of a header to leave out: neither this transport nor the SDK's sets it
    putheader = http.client.HTTPConnection.putheader

    def request(self, method: str, url: str, body: Any = None, *arguments: Any, **options: Any) -> None:
        if not isinstance(body, bytes) or len(body) > _MAX_SINGLE_WRITE:
            super().request(method, url, body, *arguments, **options)
            return
        self._parts = []
        try:
            super().request(method, url, body, *arguments, **options)
            whole = b"".join(self._parts)
        finally:
            self._parts = None
        super().send(whole)

    def send(self, data: Any) -> None:
        if self._parts is None:
            super().send(data)
        else:
            self._parts.append(data)


class HTTPSConnection(HTTPConnection, connection.HTTPSConnection):
    """The same over TLS."""


def _new_pool(session: Any, origin: str, config: Any) -> Any:
    settings = session.merge_environment_settings(origin, {}, False, config.verify, config.cert)
    verify, cert, proxies = settings["verify"], settings["cert"], settings["proxies"]
    is_proxied_http = origin.startswith("http:") and select_proxy(origin, proxies)
    if is_proxied_http or (session.trust_env and get_netrc_auth(origin)):
        return None
    adapter = session.get_adapter(origin)
    try:
        request = requests.Request("GET", origin).prepare()
        pool: Any = adapter.get_connection_with_tls_context(request, verify, proxies, cert)
        adapter.cert_verify(pool, origin, verify, cert)
        pool.ConnectionCls = HTTPSConnection if origin.startswith("https:") else HTTPConnection
    except (OSError, ValueError, HTTPError):
        # The SDK's transport raises it for each request; the errors of requests are OSErrors
        return None
    return pool


def _exchange(
    pool: Any, timeout: Timeout, method: str, target: str, headers: dict[str, str], body: bytes | None
) -> tuple[Any, bytes]:
    try:
        answer = pool.urlopen(method, target, body, headers, timeout=timeout, **_AS_REQUESTS_DOES)
    except (HTTPError, OSError) as error:
        raise _sdk_error(error, _WHILE_SENDING) from error
    try:
        if answer.chunked:
            return answer, b"".join(answer.stream(_CHUNK, decode_content=True))
        return answer, answer.read(decode_content=True)
    except HTTPError as error:
        answer.close()
        raise _sdk_error(error, _WHILE_READING) from error


def _sdk_error(error: Exception, errors: _Errors) -> Exception:
    for kind, of_requests, of_sdk in errors:
        if isinstance(error, kind):
            cause = error if of_requests is None else of_requests(error)
            is_incomplete = of_sdk is HttpResponseError and "IncompleteRead" in str(cause)
            return (IncompleteReadError if is_incomplete else of_sdk)(cause, error=cause)
    return error


def _without_signature(record: logging.LogRecord) -> bool:
    """Remove signatures from a record of urllib3, which logs URLs with their query."""
    text = record.getMessage()
    if _SIGNATURE.search(text):
        record.msg, record.args = _SIGNATURE.sub("sig=...", text), ()
    return True


for _name in ("urllib3.connection", "urllib3.connectionpool", "urllib3.util.retry"):
    # For the requests of the SDK's transport, too
    logging.getLogger(_name).addFilter(_without_signature)
