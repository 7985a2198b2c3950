"""The target's own certificate authority: who is who between its parts."""

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from scripts.local.target.files import write_private

__all__ = ["CLIENTS", "Pki", "ensure_pki"]

CA_DAYS = 3650
LEAF_DAYS = 730
RENEW_DAYS = 30
"""A certificate with fewer days left is made anew at the next ``up``."""

MASTERS = "system:masters"
"""The group that the API server lets do anything; for the target's own stand-ins and its user."""

# file name -> common name, groups
CLIENTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "admin": ("trainyard-admin", (MASTERS,)),
    "apiserver-etcd": ("kube-apiserver", ()),
    "apiserver-kubelet": ("kube-apiserver-kubelet-client", ()),
    "controller-manager": ("system:kube-controller-manager", ()),
    "kueue": ("kueue-controller", ()),
    "kwok": ("kwok", (MASTERS,)),
    "scheduler": ("system:kube-scheduler", ()),
    "stand-in": ("trainyard-stand-in", (MASTERS,)),
}

# A name of a pod's network as well, because pods would call the API server by it.
SERVER_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)


@dataclass(frozen=True)
class Pki:
    """Paths of the certificates and keys in one folder."""

    folder: Path

    @property
    def ca(self) -> Path:
        """The authority's certificate."""
        return self.folder / "ca.crt"

    def certificate(self, name: str) -> Path:
        """Give the path of a certificate."""
        return self.folder / f"{name}.crt"

    def key(self, name: str) -> Path:
        """Give the path of a private key, mode 600."""
        return self.folder / f"{name}.key"

    @property
    def service_account_public(self) -> Path:
        """The key that checks service-account tokens."""
        return self.folder / "service-account.pub"


class Authority:
    """Signs certificates; its key never leaves the folder."""

    def __init__(self, pki: Pki, now: datetime.datetime) -> None:
        self._pki = pki
        self._now = now
        if not pki.ca.exists():
            self._found()
        self._certificate = x509.load_pem_x509_certificate(pki.ca.read_bytes())
        key = serialization.load_pem_private_key(pki.key("ca").read_bytes(), password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise TypeError(f"{pki.key('ca')} is not an elliptic-curve key")
        self._key = key

    def _found(self) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "trainyard embedded target")])
        certificate = (
            self._builder(name, key, CA_DAYS)
            .issuer_name(name)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs=True), critical=True)
            .sign(key, hashes.SHA256())
        )
        write_private(self._pki.key("ca"), _pem(key))
        write_private(self._pki.ca, certificate.public_bytes(serialization.Encoding.PEM))

    def _builder(
        self, name: x509.Name, key: ec.EllipticCurvePrivateKey, days: int
    ) -> x509.CertificateBuilder:
        # An hour back, so that a clock that is set a little back later still accepts it.
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now - datetime.timedelta(hours=1))
            .not_valid_after(self._now + datetime.timedelta(days=days))
        )

    def issue(self, name: str, common_name: str, groups: Sequence[str], *, server: bool) -> None:
        """Write a certificate and key for ``name``, unless a good one stands there."""
        path = self._pki.certificate(name)
        if path.exists():
            until = x509.load_pem_x509_certificate(path.read_bytes()).not_valid_after_utc
            if until - self._now > datetime.timedelta(days=RENEW_DAYS):
                return
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name(
            [
                *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups),
                x509.NameAttribute(NameOID.COMMON_NAME, common_name),
            ]
        )
        usages = [ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = self._builder(subject, key, LEAF_DAYS).issuer_name(self._certificate.subject)
        if server:
            usages.append(ExtendedKeyUsageOID.SERVER_AUTH)
            builder = builder.add_extension(
                x509.SubjectAlternativeName(
                    [
                        *(x509.DNSName(entry) for entry in SERVER_NAMES),
                        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
                    ]
                ),
                critical=False,
            )
        certificate = (
            builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        write_private(self._pki.key(name), _pem(key))
        write_private(path, certificate.public_bytes(serialization.Encoding.PEM))


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def ensure_pki(folder: Path, now: datetime.datetime) -> Pki:
    """Make what is missing or nearly out of date, and keep the rest."""
    pki = Pki(folder)
    authority = Authority(pki, now)
    authority.issue("server", "127.0.0.1", (), server=True)
    for name, (common_name, groups) in CLIENTS.items():
        authority.issue(name, common_name, groups, server=False)
    if not pki.service_account_public.exists():
        key = ec.generate_private_key(ec.SECP256R1())
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        write_private(pki.key("service-account"), _pem(key))
        write_private(pki.service_account_public, public)
    return pki
