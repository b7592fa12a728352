"""Eventual: derived data outside the primary's partition, kept by intent, write, reconcile.

No transaction reaches across partitions, so a process may die between two writes that belong together. What survives it
is a message, sent before the first write and deleted after the last:

1. *Intent.* A message, hidden for a while, names the entity, and every row that the change may leave out of line.
2. *Write.* The primary row changes, with everything derived in its partition, on condition of its ETag.
3. *Reconcile.* The rows that the message names are brought in line with the primary row. It is read again: if it has
   moved meanwhile, from the beginning. Only then is the message deleted.

Whoever holds the message may do the third step: the writer, who does it at once, or a worker, once the message
appears. It looks only at what the primary row says now, so it may be done again, late, and in any order.

Why this is safe: a row is written only by someone who holds a message that names it, and who will look at the primary
row once more before the message is deleted. So a row that is out of line is always named by a message. What it takes
is that no holder writes after its lease: `Lease.keep` asks for more time before each write once half of it is over.
A process that stops for longer between that look and its write is the limit; `verify` finds what it leaves.
"""
