"""Azure Functions: two queue triggers, whose messages a worker processes, and a timer for maintenance.

If the worker raises an error, the host retries the message, and finally moves it to the poison queue.
"""

# The decorators of azure-functions are not completely typed
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import functools
import logging

import azure.functions as func
from onboarding import INTENTS, QUEUE, Onboarding, connected

app = func.FunctionApp()


@functools.cache
def onboarding() -> Onboarding:
    """Connect once for all messages of this process."""
    return connected()


@app.queue_trigger(arg_name="message", queue_name=QUEUE, connection="AzureWebJobsStorage")
def onboard(message: func.QueueMessage) -> None:
    """Process one message."""
    onboarding().worker.handle_text(message.get_body().decode())


@app.queue_trigger(arg_name="message", queue_name=INTENTS, connection="AzureWebJobsStorage")
def update_index(message: func.QueueMessage) -> None:
    """Finish the update of the index that a crashed writer left."""
    onboarding().worker.handle_text(message.get_body().decode())


@app.timer_trigger(arg_name="timer", schedule="0 0 3 * * *")
def maintain(timer: func.TimerRequest) -> None:
    """Check the index each night at three."""
    if repaired := onboarding().maintain():
        logging.warning("%d rows of the index were repaired", repaired)
