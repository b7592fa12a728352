"""The Table service of the engine.

Its files:

    call        one request: what its URL names, and the permissions that its operations require
    sas         shared access signatures of a table, which may be limited to a key range
    api         operations on tables, and the dispatch of all operations
    entity_api  operations on entities
    batch       entity group transactions
    json        request and response bodies
    service     Tables: the rules
    query       one page of a query
    entities    one version of an entity, the checks it must pass, and the six kinds of write
    state       tables, partitions and entities in key order
"""
