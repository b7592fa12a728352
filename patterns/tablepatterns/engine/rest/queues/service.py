"""The Queue service's REST interface: a request in, a response out, a line in the ledger."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from ...account import Engine
from ...refusal import Refusal
from ..api import Api, Service
from ..authorization import Authorization
from ..message import Response
from ..refusals import Refusals
from ..service_operations import get_policies, get_properties, get_statistics, set_policies, set_properties
from ..signed_texts import storage_texts
from ..tokens import TrustTokens
from .call import QueueCall
from .message_operations import clear_messages, delete_message, get_messages, put_message, update_message
from .queue_operations import create_queue, delete_queue, get_metadata, list_queues, set_metadata
from .sas import QueueAccess

_Handler: TypeAlias = Callable[[QueueCall], Response]

_HANDLERS: Final[dict[tuple[str, str], _Handler]] = {
    ("list", "GET"): list_queues,
    ("properties", "GET"): get_properties,
    ("properties", "PUT"): set_properties,
    ("stats", "GET"): get_statistics,
    ("queue", "PUT"): create_queue,
    ("queue", "DELETE"): delete_queue,
    ("metadata", "GET"): get_metadata,
    ("metadata", "HEAD"): get_metadata,
    ("metadata", "PUT"): set_metadata,
    ("acl", "GET"): get_policies,
    ("acl", "HEAD"): get_policies,
    ("acl", "PUT"): set_policies,
    ("messages", "GET"): get_messages,
    ("messages", "POST"): put_message,
    ("messages", "DELETE"): clear_messages,
    ("message", "PUT"): update_message,
    ("message", "DELETE"): delete_message,
}


def _refuse(call: QueueCall, refusal: Refusal) -> Response:
    return Refusals(call.id, call.now).of_storage(refusal)


_QUEUES: Final = Service(QueueCall.service, QueueCall, _HANDLERS, _refuse)


class QueueApi(Api[QueueCall]):
    """Answer requests to the Queue service of one account; threads may share it.

    Every request gets an answer: what is malformed, forbidden or unknown gets the service's refusal.

    >>> from tablepatterns.engine.rest.message import Request
    >>> api = QueueApi(Engine("contoso"))
    >>> response = api.answer(Request("GET", "https://contoso.queue.core.windows.net/?comp=list", {}))
    >>> response.status, response.headers["x-ms-error-code"]
    (401, 'NoAuthenticationInformation')

    :param engine: the account
    :param trust_tokens: whether bearer tokens over https are accepted as the owner's; "checked" accepts a JWT for this
        account or for Azure Storage that has not expired, without verifying its signature
    """

    def __init__(self, engine: Engine, *, trust_tokens: TrustTokens = False) -> None:
        authorization = Authorization(
            engine, QueueAccess(engine, engine.queues), storage_texts, trust_tokens=trust_tokens
        )
        super().__init__(engine, _QUEUES, authorization)
