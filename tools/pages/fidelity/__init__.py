"""Write docs/fidelity.md and docs/fidelity-evidence.md: how the engine compares with the service and with Azurite.

The rows are in docs/data/fidelity, one file for each subject. The behavior of Azurite is taken from the marks of the
tests, unless a row states it.

    rows      reads the rows
    suite     reads the tests, without running them
    evidence  says how something is known
    page      writes the page of evidence
    summary   writes the page that sums it up
"""
