"""Write the generated parts of pages, from programs, tests and data: `make pages`.

sections      what stands between the markers of a page: code, output, costs, guarantees, catalog text
program       runs a page's program and records what each part prints and stores
pictures      draws what explains tables, races and crashes
stored_rows   draws the rows of a table before and after
readme, exploring, review, catalog, errors, pattern_map    one page or picture each
budgets       what each call costs
benchmarks    the results of the benchmarks, with charts
compositions  which recipes work together, and why others do not
guarantees    what was explored of each recipe, and its limits; `marks` finds the tests
data_file     tables that are too long for a page, as files of tab-separated values
fidelity      how the in-memory engine compares with the service and with Azurite
"""
