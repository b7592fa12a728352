"""Parts of the library, put together two by two, and what must hold of entities that both have to do with.

fields    the employees
part      what a part may bring along and say
derived   indexes, lists, totals, copies
mappings  properties that are stored otherwise
homes     where entities live: sets, and recipes that have sets in them
wide      a home of many rows
deeds     what is done with all entities: loads, moves, archives
life      the life of two employees, from their insertion to their deletion
pairs     which pairs there are
refused   designs that cannot work
"""
