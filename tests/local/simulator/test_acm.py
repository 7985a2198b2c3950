"""ACM: a certificate is issued when DNS says so, and not before."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from scripts.local.simulator.app import Simulator

from .conftest import Account, refusal
from .test_route53 import change, changes, zone

DOMAIN = "train.example.org"


def request(account: Account, domain: str = DOMAIN, **more: object) -> str:
    method = {"ValidationMethod": "DNS", **more}
    made: str = account.client("acm").request_certificate(DomainName=domain, **method)[
        "CertificateArn"
    ]
    return made


def described(account: Account, arn: str) -> dict[str, Any]:
    found: dict[str, Any] = account.client("acm").describe_certificate(CertificateArn=arn)[
        "Certificate"
    ]
    return found


def proofs(account: Account, arn: str) -> list[dict[str, Any]]:
    """Give the changes that bring the validation records into DNS, each once."""
    options = described(account, arn)["DomainValidationOptions"]
    records = {one["ResourceRecord"]["Name"]: one["ResourceRecord"] for one in options}
    return [change("CREATE", it["Name"], it["Type"], it["Value"]) for it in records.values()]


def test_a_certificate_is_issued_once_its_record_is_in_a_public_zone(account: Account) -> None:
    arn = request(account, SubjectAlternativeNames=[f"*.{DOMAIN}"])
    found = described(account, arn)
    assert found["Status"] == "PENDING_VALIDATION"
    assert found["SubjectAlternativeNames"] == [DOMAIN, f"*.{DOMAIN}"]
    assert "NotAfter" not in found
    names = {
        one["DomainName"]: one["ResourceRecord"]["Name"] for one in found["DomainValidationOptions"]
    }
    # A wildcard is proved by the record of the domain it stands for.
    assert names[DOMAIN] == names[f"*.{DOMAIN}"]
    changes(account, zone(account, DOMAIN), *proofs(account, arn))
    found = described(account, arn)
    assert found["Status"] == "ISSUED"
    assert {one["ValidationStatus"] for one in found["DomainValidationOptions"]} == {"SUCCESS"}
    assert found["NotAfter"] - found["NotBefore"] == timedelta(days=395)


def test_every_name_must_be_proved(account: Account) -> None:
    arn = request(account, SubjectAlternativeNames=["other.example.org"])
    first, second = proofs(account, arn)
    changes(account, zone(account, DOMAIN), first)
    found = described(account, arn)
    assert found["Status"] == "PENDING_VALIDATION"
    states = [one["ValidationStatus"] for one in found["DomainValidationOptions"]]
    assert states == ["SUCCESS", "PENDING_VALIDATION"]
    changes(account, zone(account, "other.example.org"), second)
    assert described(account, arn)["Status"] == "ISSUED"


def test_the_public_zone_may_be_of_another_account(
    account: Account, other_account: Account
) -> None:
    arn = request(account)
    changes(other_account, zone(other_account, DOMAIN), *proofs(account, arn))
    assert described(account, arn)["Status"] == "ISSUED"


def test_a_record_in_a_private_zone_or_with_another_value_proves_nothing(account: Account) -> None:
    arn = request(account)
    [proof] = proofs(account, arn)
    changes(account, zone(account, DOMAIN, vpc=account.vpc()), proof)
    assert described(account, arn)["Status"] == "PENDING_VALIDATION"
    name = proof["ResourceRecordSet"]["Name"]
    changes(account, zone(account, DOMAIN), change("CREATE", name, "CNAME", "_x.acm.aws."))
    assert described(account, arn)["Status"] == "PENDING_VALIDATION"


def test_a_certificate_validated_by_mail_stays_pending(account: Account) -> None:
    found = described(account, request(account, ValidationMethod="EMAIL"))
    [option] = found["DomainValidationOptions"]
    assert option["ValidationEmails"][0] == f"admin@{DOMAIN}"
    assert "ResourceRecord" not in option
    assert found["Status"] == "PENDING_VALIDATION"


def test_records_differ_by_account_and_domain(account: Account, other_account: Account) -> None:
    arns = [
        (account, request(account)),
        (account, request(account, "b.example.org")),
        (other_account, request(other_account)),
    ]
    names = {proofs(who, arn)[0]["ResourceRecordSet"]["Name"] for who, arn in arns}
    assert len(names) == 3


def test_tags_options_and_the_list_follow(account: Account) -> None:
    acm, arn = account.client("acm"), request(account, Tags=[{"Key": "a", "Value": "1"}])
    acm.add_tags_to_certificate(CertificateArn=arn, Tags=[{"Key": "b", "Value": "2"}])
    acm.remove_tags_from_certificate(CertificateArn=arn, Tags=[{"Key": "a"}])
    tags = acm.list_tags_for_certificate(CertificateArn=arn)["Tags"]
    assert tags == [{"Key": "b", "Value": "2"}]
    options = {"CertificateTransparencyLoggingPreference": "DISABLED"}
    acm.update_certificate_options(CertificateArn=arn, Options=options)
    assert described(account, arn)["Options"] == {**options, "Export": "DISABLED"}
    [summary] = acm.list_certificates()["CertificateSummaryList"]
    assert (summary["CertificateArn"], summary["Status"]) == (arn, "PENDING_VALIDATION")
    assert acm.list_certificates(CertificateStatuses=["ISSUED"])["CertificateSummaryList"] == []


@pytest.mark.parametrize(
    "operation", ["describe_certificate", "delete_certificate", "list_tags_for_certificate"]
)
def test_a_certificate_that_is_gone_is_not_found(account: Account, operation: str) -> None:
    arn = request(account)
    account.client("acm").delete_certificate(CertificateArn=arn)
    assert refusal(getattr(account.client("acm"), operation), CertificateArn=arn) == (
        "ResourceNotFoundException",
        f"Could not find certificate {arn}.",
    )


def test_a_certificate_has_at_most_ten_names(account: Account) -> None:
    names = [f"n{number}.example.org" for number in range(10)]
    assert refusal(
        account.client("acm").request_certificate,
        DomainName=DOMAIN,
        ValidationMethod="DNS",
        SubjectAlternativeNames=names,
    ) == (
        "LimitExceededException",
        ("Error: the maximum number of 10 domain names has been exceeded, 11 were requested"),
    )


def test_an_imported_certificate_is_saved_and_described(
    simulator: Simulator, account: Account
) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, DOMAIN)])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    arn = account.client("acm").import_certificate(
        Certificate=signed.public_bytes(serialization.Encoding.PEM),
        PrivateKey=key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )["CertificateArn"]
    assert described(account, arn)["DomainName"] == DOMAIN
    assert simulator.store.save() > 0
