"""An Azure Function with a queue trigger: the host receives a message, and the worker processes it.

If the worker raises an error, the host retries the message, and finally moves it to `onboarding-poison`.
"""

from __future__ import annotations

import functools

import azure.functions as func
from onboarding import QUEUE, Onboarding, connected

app = func.FunctionApp()


@functools.cache
def onboarding() -> Onboarding:
    """Connect once for all messages of this process."""
    return connected()


@app.queue_trigger(arg_name="message", queue_name=QUEUE, connection="AzureWebJobsStorage")
def onboard(message: func.QueueMessage) -> None:
    """Process one message."""
    onboarding().worker.handle_text(message.get_body().decode())
