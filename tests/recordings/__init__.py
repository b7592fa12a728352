"""Answers of the real service that the Azure SDKs recorded, replayed on the engine and on Azurite.

exchange      one recorded request and its answer, read from YAML
counterparts  what a backend chose in place of each ETag, lease id, receipt and token that the service chose
comparison    the differences between a recorded answer and another
backends      where recorded requests are sent: the engine, or Azurite
preparation   what a test created before its recording began
scope         which exchanges cannot be compared, and which differences are rules of old versions
replay        replay a recording
facts         what the recordings say, in this project's own words
"""
