"""Tending: derived data that is looked through, filled and mended, page after page, while writers go on."""
