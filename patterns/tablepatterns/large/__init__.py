"""Large: the blobs that hold large property values, their names, and what becomes of them."""
