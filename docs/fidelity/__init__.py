"""Writes docs/fidelity.md, the page on how true the account in memory is: `make fidelity`.

The rows are in the `.toml` files beside this one, a file for each subject. What Azurite does follows from the marks of
the tests, where the row does not say it itself.

    rows      reads the rows
    suite     reads the tests, without running them
    evidence  says how something is known
    page      writes the page
"""
