"""Access policies of a table or a queue; properties of a service, its CORS rules, and statistics of its replication."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Final

from .. import errors
from ..errors import ServiceError
from ..resources import CorsRule, invalid_parameter
from .call import AnyCall
from .message import Response
from .permissions import OWNER_ONLY, READ_SERVICE, WRITE_SERVICE
from .xml import XML, read_policies, read_properties, write_policies, write_properties, write_statistics


def get_policies(call: AnyCall) -> Response:
    call.begin(f"Get{call.service}ACL", OWNER_ONLY)
    return Response(200, {**XML}, write_policies(call.state.get_policies(call.resource)))


def set_policies(call: AnyCall) -> Response:
    call.begin(f"Set{call.service}ACL", OWNER_ONLY)
    call.state.set_policies(call.resource, read_policies(call.request.body))
    return Response(204, {})


def get_properties(call: AnyCall, *elements: str) -> Response:
    """Return the properties, with elements that only one service has."""
    call.begin(f"Get{call.service}ServiceProperties", READ_SERVICE)
    return Response(200, {**XML}, write_properties(call.state.get_service_properties(), *elements))


def set_properties(call: AnyCall, own: Set[str] = frozenset()) -> Response:
    """Replace the properties that the request names; `own` are those that only one service has."""
    call.begin(f"Set{call.service}ServiceProperties", WRITE_SERVICE)
    settings = call.state
    settings.set_service_properties(read_properties(call.request.body, settings.get_service_properties(), own))
    return Response(202, {})


def get_statistics(call: AnyCall) -> Response:
    """Return the state of the geo-replication, which only the secondary reports; the engine's is always up to date."""
    call.begin(f"Get{call.service}ServiceStats", READ_SERVICE)
    call.reach_state()
    if not call.address.secondary:
        raise invalid_parameter("comp", "stats", "")
    return Response(200, {**XML}, write_statistics(call.now))


def reject_table_properties(call: AnyCall) -> Response:
    call.allow(OWNER_ONLY)
    raise ServiceError(errors.INVALID_QUERY_PARAMETER_VALUE)


def reject_unsupported(call: AnyCall) -> Response:
    """Reject an operation of the service that the engine does not have."""
    call.allow(OWNER_ONLY)
    raise ServiceError(errors.NOT_IMPLEMENTED)


_ALWAYS_LISTED: Final = ("Content-Length", "Date", "Transfer-Encoding")
"""The headers that a star exposes, whether the response has them or not."""
_NOT_LISTED: Final = frozenset((*_ALWAYS_LISTED, "Content-Range"))
"""The headers of a response that are not listed with its others."""
_NEWER_KINDS: Final = frozenset({"tags", "seal"})
"""What has operations that came after 2019: they list the content type of errors, and no header that may be missing."""


def find_rule(rules: Iterable[CorsRule], origin: str, method: str, names: Sequence[str] = ()) -> CorsRule | None:
    """Return the first rule that allows a page of an origin a request with these headers."""
    for rule in rules:
        is_origin = "*" in rule.allowed_origins or origin in rule.allowed_origins
        if is_origin and method in rule.allowed_methods and all(_allows(rule, name) for name in names):
            return rule
    return None


def _allows(rule: CorsRule, name: str) -> bool:
    """Return whether a rule allows a header, by its name or by a prefix that ends with a star."""
    allowed_names = [allowed.lower() for allowed in rule.allowed_headers]
    return any(name == allowed or (allowed[-1:] == "*" and name.startswith(allowed[:-1])) for allowed in allowed_names)


def answer_preflight(call: AnyCall) -> Response:
    """Answer the request that a browser sends before another one, to ask whether that is allowed."""
    headers = call.request.headers
    origin, method = headers.get("origin"), headers.get("access-control-request-method")
    if not origin or not method:
        raise ServiceError(errors.MISSING_HEADER.with_details(HeaderName="Access-Control-Request-Method"))
    wanted = headers.get("access-control-request-headers", "")
    names = [name.strip().lower() for name in wanted.split(",") if name.strip()]
    rule = find_rule(call.settings.get_service_properties().cors, origin, method, names)
    if rule is None:
        raise ServiceError(errors.CORS_PREFLIGHT_FAILURE)
    allowed = {"Access-Control-Allow-Methods": method, "Access-Control-Max-Age": str(rule.max_age_in_seconds)}
    if wanted:
        allowed["Access-Control-Allow-Headers"] = wanted
    return Response(200, {**_origin_headers(rule, origin), **allowed})


def cors_headers(call: AnyCall, rules: Iterable[CorsRule], headers: Mapping[str, str]) -> Mapping[str, str]:
    """Return the headers that let a page of an origin read a response with these headers, if a rule allows it.

    A read without an origin is answered as to any origin, since a cache may give the response to a page.
    """
    origin, method = call.request.headers.get("origin", ""), call.request.method
    if not origin and method not in ("GET", "HEAD"):
        return {}
    rule = find_rule(rules, origin, method)
    if rule is None:
        return {"Vary": "Origin"} if origin else {}
    names = [name for name in rule.exposed_headers if name[-1:] != "*"]
    prefixes = tuple(name[:-1].lower() for name in rule.exposed_headers if name[-1:] == "*")
    is_newer, is_error = call.kind in _NEWER_KINDS, "x-ms-error-code" in headers
    lists_type = is_newer or not (is_error or call.kind.endswith(("properties", "acl")))
    sent = [name for name in headers if name not in _NOT_LISTED and (lists_type or name != "Content-Type")]
    always = _ALWAYS_LISTED[:-1] if is_newer else _ALWAYS_LISTED
    names += [name for name in (*sent, *always) if name.lower().startswith(prefixes)]
    exposed = {"Access-Control-Expose-Headers": ",".join(names)} if names else {}
    return {**_origin_headers(rule, origin), **exposed}


def _origin_headers(rule: CorsRule, origin: str) -> Mapping[str, str]:
    if "*" in rule.allowed_origins:
        return {"Access-Control-Allow-Origin": "*"}
    return {"Access-Control-Allow-Origin": origin, "Access-Control-Allow-Credentials": "true", "Vary": "Origin"}
