"""The Queue service of the engine.

Its files:

    call     one request: what its URL names, and the permissions that its operations require
    api      operations on queues and messages; shared access signatures of a queue
    xml      request and response bodies
    service  Queues: the rules
    state    messages by ID, by visibility time and by expiration time
"""
