"""The Azure Function: the host receives a message, and the worker does what it asks for.

Whatever the worker raises, the host tries the message again, and moves it to `onboarding-poison` in the end.
"""

from __future__ import annotations

import functools

import azure.functions as func
from onboarding import QUEUE, Onboarding, connected

app = func.FunctionApp()


@functools.cache
def onboarding() -> Onboarding:
    """Return the onboarding, connected once for all messages that this process gets."""
    return connected()


@app.queue_trigger(arg_name="message", queue_name=QUEUE, connection="AzureWebJobsStorage")
def onboard(message: func.QueueMessage) -> None:
    """Do the work of one message."""
    onboarding().worker.handle_text(message.get_body().decode())
