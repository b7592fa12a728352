"""The Queue service of the engine.

Its files:

    call     one request: what its URL names, and the permissions that its operations require
    sas      shared access signatures of a queue
    api      operations on queues and messages
    xml      request and response bodies
    service  Queues: the rules
    state    messages by ID, by visibility time and by expiration time
"""
