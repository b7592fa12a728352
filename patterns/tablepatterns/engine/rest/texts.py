"""The answers that only the wire gives rise to: URLs, verbs, credentials. The others are in `engine.texts`."""

from __future__ import annotations

from typing import Final

from ..texts import Answer

INVALID_URI: Final = Answer("InvalidUri", "The requested URI does not represent any resource on the server.")
KEY_COUNT: Final = Answer(
    "InvalidInput",
    "The number of keys specified in the URI does not match number of key properties for the resource.",
)
UNSUPPORTED_VERB: Final = Answer("UnsupportedHttpVerb", "The resource doesn't support specified Http Verb.")
MISSING_CONDITION: Final = Answer(
    "MissingRequiredHeader", "An HTTP header that's mandatory for this request is not specified."
)
INVALID_TOKEN: Final = Answer(
    "InvalidAuthenticationInfo",
    "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.",
)
PROTOCOL_MISMATCH: Final = Answer(
    "AuthorizationProtocolMismatch",
    "This request is not authorized to perform this operation using this protocol.",
)
SOURCE_IP_MISMATCH: Final = Answer(
    "AuthorizationSourceIPMismatch",
    "This request is not authorized to perform this operation using this source IP {address}.",
)
