"""The Blob service of the engine.

Its files:

    call            one request: what its URL names, and the permissions that its operations require
    sas             shared access signatures of a container, a blob or a snapshot
    api             the dispatch of all operations
    container_api   operations on containers, leases, and batches
    read_api        operations that read blobs
    write_api       operations that write blobs
    headers, body   request and response headers, bodies, checksums and byte ranges
    xml             request and response bodies in XML
    errors          error messages that only this service has
    service         Blobs: the rules of blobs
    containers      Containers: the rules of containers
    listing         one page of the blobs in a container
    versions        how each kind of write changes a blob
    conditions      conditional headers
    tag_conditions  conditions on blob tags
    leases          the states of a lease
    state           containers, and what each holds under a name
    blob            one version of a blob, its content and its blocks
    crc64           the CRC-64 checksum
"""
