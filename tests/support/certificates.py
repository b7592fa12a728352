"""Certificates of a test's own CA."""

from __future__ import annotations

import ssl
from datetime import datetime, timedelta, timezone
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_PEM = serialization.Encoding.PEM


class Authority:
    """A CA, whose certificate is in `path`.

    :param folder: where the certificates and keys are written
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._certificate = _signed(_name("Test CA"), self._key, _name("Test CA"), self._key, ca=True)
        self.path = folder / "ca.pem"
        self.path.write_bytes(self._certificate.public_bytes(_PEM))

    def issue(self, name: str, address: str = "127.0.0.1") -> Path:
        """Write a certificate for an address and its key to one file, and return its path."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _signed(_name(name), key, self._certificate.subject, self._key, address)
        path = self._folder / f"{name}.pem"
        private = key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        path.write_bytes(certificate.public_bytes(_PEM) + private)
        return path

    def server_context(self, name: str = "server", address: str = "127.0.0.1", *, asks: bool = False) -> ssl.SSLContext:
        """Return the context of a server; `asks` for a certificate of the client."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.issue(name, address))
        if asks:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.path)
        return context


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _signed(
    subject: x509.Name, key: Any, issuer: x509.Name, by: Any, address: str = "127.0.0.1", *, ca: bool = False
) -> x509.Certificate:
    now = datetime.now(timezone.utc)
    numbers = x509.random_serial_number(), now - timedelta(hours=1), now + timedelta(days=1)
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(by.public_key())
    builder = x509.CertificateBuilder(issuer, subject, key.public_key(), *numbers)
    builder = builder.add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    builder = builder.add_extension(identifier, critical=False)
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))]), critical=False)
    return builder.sign(by, hashes.SHA256())
