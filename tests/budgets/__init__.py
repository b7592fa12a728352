"""What each call costs, in storage transactions: a row for each, which a test measures and a page shows.

budget      a row
sets        sets, keys and transactions
derived     what sets derive
series      logs, series, wide entities, periods, spreads
mapped      large and encrypted properties
journeys    loads, deletions, messages, archives, moves
relations   what joins entities, and who may read them
"""
