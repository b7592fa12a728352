"""The only package that calls the Azure SDK."""
