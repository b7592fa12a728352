"""What is known before anything is measured: how queries are answered, the rows they read, and the sizes of rows."""
