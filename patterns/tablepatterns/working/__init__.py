"""Working: messages, leases on them, and what becomes of the work that they ask for."""
