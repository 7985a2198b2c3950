import datetime as dt
import ssl
import stat
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from scripts.local.target.pki import CLIENTS, LEAF_DAYS, RENEW_DAYS, Pki, ensure_pki

NOW = dt.datetime(2026, 12, 1, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return ensure_pki(tmp_path_factory.mktemp("pki"), NOW)


def certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


@pytest.mark.parametrize("name", sorted(CLIENTS))
def test_a_client_is_named_by_its_certificate_and_signed_by_the_authority(
    pki: Pki, name: str
) -> None:
    found = certificate(pki.certificate(name))
    found.verify_directly_issued_by(certificate(pki.ca))
    common_name, groups = CLIENTS[name]
    subject = [
        *(f"O={group}" for group in groups),
        f"CN={common_name}",
    ]
    assert [part.rfc4514_string() for part in found.subject] == subject


@pytest.mark.parametrize(
    ("file", "authority", "names"),
    [
        ("server", "ca", {"localhost", "kubernetes.default.svc"}),
        ("kueue-webhook", "kueue-ca", {"localhost", "kueue-webhook-service.kueue-system.svc"}),
    ],
)
def test_a_server_is_trusted_at_127_0_0_1_and_by_its_names(
    pki: Pki, file: str, authority: str, names: set[str]
) -> None:
    found = certificate(pki.certificate(file))
    found.verify_directly_issued_by(certificate(pki.certificate(authority)))
    alternative = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names <= set(alternative.get_values_for_type(x509.DNSName))
    addresses = alternative.get_values_for_type(x509.IPAddress)
    assert [str(address) for address in addresses] == ["127.0.0.1"]


def test_every_key_fits_its_certificate(pki: Pki) -> None:
    for path in pki.folder.glob("*.crt"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path, pki.key(path.stem))


def test_only_its_user_may_read_a_key(pki: Pki) -> None:
    for path in pki.folder.glob("*.key"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_kueue_gets_an_authority_of_its_own_in_the_form_that_it_reads(pki: Pki) -> None:
    assert pki.key("kueue-ca").read_text().startswith("-----BEGIN RSA PRIVATE KEY-----")
    assert isinstance(
        load_pem_private_key(pki.key("kueue-ca").read_bytes(), None), rsa.RSAPrivateKey
    )
    target = load_pem_private_key(pki.key("ca").read_bytes(), None)
    assert isinstance(target, ec.EllipticCurvePrivateKey)


def test_certificates_are_kept_until_they_are_nearly_out_of_date(tmp_path: Path) -> None:
    pki = ensure_pki(tmp_path, NOW)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    ensure_pki(tmp_path, NOW + dt.timedelta(days=LEAF_DAYS - RENEW_DAYS - 1))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before

    ensure_pki(tmp_path, NOW + dt.timedelta(days=LEAF_DAYS - RENEW_DAYS))
    changed = {path.name for path in tmp_path.iterdir() if path.read_bytes() != before[path.name]}
    leaves = ["server", "kueue-webhook", *CLIENTS]
    assert changed == {f"{leaf}.{end}" for leaf in leaves for end in ("crt", "key")}
    certificate(pki.certificate("server")).verify_directly_issued_by(certificate(pki.ca))
