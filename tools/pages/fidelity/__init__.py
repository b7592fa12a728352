"""Write docs/fidelity.md: how the in-memory engine compares with the service and with Azurite.

The rows are in docs/data/fidelity, a file for each subject. What Azurite does follows from the marks of the tests,
unless the row says it.

    rows      reads the rows
    suite     reads the tests, without running them
    evidence  says how something is known
    page      writes the page
"""
