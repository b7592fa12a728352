"""What the site needs to run the pages' programs in the reader's browser."""
