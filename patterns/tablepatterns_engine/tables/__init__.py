"""The Table service of the engine.

Its files:

    call        one request: what its URL names, and the permissions that its operations require
    api         operations on tables, the dispatch of all operations, and shared access signatures of a table
    entity_api  operations on entities
    batch       entity group transactions
    json        request and response bodies
    service     Tables: the rules
    query       one page of a query
    entities    one version of an entity, the checks it must pass, and the six kinds of write
    state       tables, partitions and entities in key order
"""
