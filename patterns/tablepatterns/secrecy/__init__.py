"""Secrecy: what property encryption is made of. All ciphers are those of the `cryptography` package."""
