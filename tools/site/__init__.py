"""Programs of the pages, run in the reader's browser: what the site needs for it."""
