"""The cost of each call in storage transactions: one row for each, which a test measures and a page shows.

budget      a row sets        sets, keys and transactions derived     what sets derive series      logs, series, wide
entities, periods, spreads mapped      large and encrypted properties journeys    loads, deletions, messages, archives,
moves relations   relations between entities, and access to them
"""
