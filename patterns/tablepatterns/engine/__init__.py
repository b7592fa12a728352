"""A storage account in memory: state and rules here, the REST interface in `rest`, the way to the SDK in `transport`.

State and rules know no HTTP, JSON or XML, and every change is checked in full before any of it is made:

    account   Engine: the account's services, its clock, its faults, its targets and its ledger
    tables    Tables: what the Table service does, one method each, under one lock
    writes    the six kinds of write and the rules of a transaction
    query     what a filter reads, and one page of it
    entities  one version of an entity, and what it may be
    table     the data of a table: partitions and entities in key order
    queues    Queues: what the Queue service does, likewise
    queue     the data of a queue: messages by when they can be seen and by when they expire
    message   one version of a message, and its receipt
    deletions what was deleted, as long as its name is not free
    texts     every refusal of the services, word for word

Beside the state, and unknown to it, stands what decides before a request reaches it:

    faults    Faults: rules by which requests go wrong; `fault` is what becomes of one, `network` how a client sees it
    targets   Targets: the rates above which the account is busy
    ledger    Ledger: what was asked, and what it cost
"""
