"""Combinations of two parts of the library, and what must hold for entities that both affect.

fields    the employees part      the base class of parts derived   indexes, lists, totals, copies mappings  properties
that are stored otherwise homes     where entities live: sets, and recipes that have sets in them wide      a home of
many rows deeds     what is done with all entities: loads, moves, archives life      the life of two employees, from
their insertion to their deletion pairs     which pairs there are refused   designs that cannot work
"""
