"""The target's own certificate authority: who is who between its parts."""

import datetime as dt
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from scripts.local.target.files import write_private

__all__ = ["CLIENTS", "Pki", "ensure_pki"]

CA_DAYS = 3650
LEAF_DAYS = 730
RENEW_DAYS = 120
"""A certificate with fewer days left is made anew at the next ``up``: before Kueue, which looks 90
days ahead, would do so its own way."""

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
    "mpi-operator": ("mpi-operator", ()),
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

KUEUE_NAMES = ("kueue-webhook-service.kueue-system.svc", "localhost")
"""The first is the one that Kueue expects in its webhook's certificate."""

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


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


@dataclass(frozen=True)
class Founding:
    """What an authority is called, in its files and in its certificate."""

    file: str
    name: str
    dns_names: tuple[str, ...] = ()
    rsa: bool = False


TARGET = Founding("ca", "trainyard embedded target")

KUEUE = Founding("kueue-ca", "kueue-ca", dns_names=("kueue-ca",), rsa=True)
"""An authority of its own, because its key lies in a Secret of the cluster, where Kueue looks after
it. Name, DNS name and kind of key are as Kueue makes them itself: others it would replace."""


class Authority:
    """Signs certificates."""

    def __init__(self, pki: Pki, now: dt.datetime, founding: Founding) -> None:
        self._pki = pki
        self._now = now
        if not pki.certificate(founding.file).exists():
            self._found(founding)
        self._certificate = x509.load_pem_x509_certificate(
            pki.certificate(founding.file).read_bytes()
        )
        self._key = cast(
            "Key",
            serialization.load_pem_private_key(pki.key(founding.file).read_bytes(), password=None),
        )

    def _found(self, founding: Founding) -> None:
        key = rsa.generate_private_key(65537, 2048) if founding.rsa else _new_key()
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, founding.name)])
        builder = (
            self._builder(name, key, CA_DAYS)
            .issuer_name(name)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs=True), critical=True)
        )
        if founding.dns_names:
            names = [x509.DNSName(entry) for entry in founding.dns_names]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        certificate = builder.sign(key, hashes.SHA256())
        write_private(self._pki.key(founding.file), _pem(key))
        write_private(self._pki.certificate(founding.file), _pem_certificate(certificate))

    def _builder(self, name: x509.Name, key: Key, days: int) -> x509.CertificateBuilder:
        # An hour back, so that a clock that is set a little back later still accepts it.
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now - dt.timedelta(hours=1))
            .not_valid_after(self._now + dt.timedelta(days=days))
        )

    def issue_client(self, file: str, common_name: str, groups: Sequence[str]) -> None:
        """Write a client's certificate and key, unless good ones stand there."""
        names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        subject = x509.Name([*names, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
        self._issue(file, subject, ())

    def issue_server(self, file: str, dns_names: Sequence[str]) -> None:
        """Write a server's certificate and key for 127.0.0.1, unless good ones stand there."""
        self._issue(
            file, x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")]), dns_names
        )

    def _issue(self, file: str, subject: x509.Name, dns_names: Sequence[str]) -> None:
        path = self._pki.certificate(file)
        if path.exists():
            until = x509.load_pem_x509_certificate(path.read_bytes()).not_valid_after_utc
            if until - self._now > dt.timedelta(days=RENEW_DAYS):
                return
        key = _new_key()
        usages = [ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = self._builder(subject, key, LEAF_DAYS).issuer_name(self._certificate.subject)
        if dns_names:
            usages.append(ExtendedKeyUsageOID.SERVER_AUTH)
            names: list[x509.GeneralName] = [x509.DNSName(entry) for entry in dns_names]
            names.append(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        certificate = (
            builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        write_private(self._pki.key(file), _pem(key))
        write_private(path, _pem_certificate(certificate))


def _new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


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


def _pem(key: Key) -> bytes:
    # PKCS 1 for RSA and SEC 1 for curves: Kueue reads no other form of its authority's key.
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _pem_certificate(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def ensure_pki(folder: Path, now: dt.datetime) -> Pki:
    """Make what is missing or nearly out of date, and keep the rest."""
    pki = Pki(folder)
    authority = Authority(pki, now, TARGET)
    authority.issue_server("server", SERVER_NAMES)
    for file, (common_name, groups) in CLIENTS.items():
        authority.issue_client(file, common_name, groups)
    Authority(pki, now, KUEUE).issue_server("kueue-webhook", KUEUE_NAMES)
    if not pki.service_account_public.exists():
        key = _new_key()
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        write_private(pki.key("service-account"), _pem(key))
        write_private(pki.service_account_public, public)
    return pki
