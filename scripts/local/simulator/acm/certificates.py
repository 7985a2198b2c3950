"""ACM certificates that are asked for; nothing is signed, the record is all there is.

A certificate validated by DNS is issued when a public zone of the simulator holds its record, as
ACM does it. One validated by mail waits for ever: nobody reads the mail.
"""

import hashlib
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from scripts.local.simulator.acm.validation import in_dns
from scripts.local.simulator.calls import Answer, AwsError, Call, answers
from scripts.local.simulator.records import Record

__all__ = ["delete", "describe", "request"]

CERTIFICATE = "acm:certificate"
LIFE = timedelta(days=395)
"""How long ACM's certificates are good."""

MOST_NAMES = 10
"""Names of one certificate (ACM quota)."""

MAILBOXES = ("admin", "administrator", "hostmaster", "postmaster", "webmaster")
DEFAULT_OPTIONS = {"CertificateTransparencyLoggingPreference": "ENABLED", "Export": "DISABLED"}


@answers("acm", "RequestCertificate")
def request(call: Call) -> Answer:
    """Ask for a certificate; it is pending until it is validated."""
    asked = call.params
    domain, method = asked["DomainName"], asked.get("ValidationMethod", "EMAIL")
    names = list(dict.fromkeys([domain, *asked.get("SubjectAlternativeNames", [])]))
    if len(names) > MOST_NAMES:
        raise AwsError(
            "LimitExceededException",
            f"Error: the maximum number of {MOST_NAMES} domain names has been exceeded, "
            f"{len(names)} were requested",
        )
    if "CertificateAuthorityArn" in asked:
        raise NotImplementedError("private certificates")
    arn = call.arn("acm", f"certificate/{uuid.uuid4()}")
    chosen = {
        one["DomainName"]: one["ValidationDomain"]
        for one in asked.get("DomainValidationOptions", [])
    }
    certificate: Record = {
        "CertificateArn": arn,
        "DomainName": domain,
        "SubjectAlternativeNames": names,
        "DomainValidationOptions": [
            _validation(call.account, name, method, chosen.get(name, name)) for name in names
        ],
        "Subject": f"CN={domain}",
        "Issuer": "Amazon",
        "CreatedAt": datetime.now(UTC),
        "Status": "PENDING_VALIDATION",
        "KeyAlgorithm": asked.get("KeyAlgorithm", "RSA_2048"),
        "SignatureAlgorithm": "SHA256WITHRSA",
        "InUseBy": [],
        "Type": "AMAZON_ISSUED",
        "RenewalEligibility": "INELIGIBLE",
        "Options": {**DEFAULT_OPTIONS, **asked.get("Options", {})},
        "_tags": asked.get("Tags", []),
    }
    call.table(CERTIFICATE)[arn] = certificate
    return {"CertificateArn": arn}


def _validation(account: str, name: str, method: str, domain: str) -> Record:
    """Say how a name is validated; a wildcard has the record of the domain that it stands for."""
    validation: Record = {
        "DomainName": name,
        "ValidationDomain": domain,
        "ValidationStatus": "PENDING_VALIDATION",
        "ValidationMethod": method,
    }
    plain = name.removeprefix("*.")
    if method != "DNS":
        emails = [f"{mailbox}@{domain.removeprefix('*.')}" for mailbox in MAILBOXES]
        return {**validation, "ValidationEmails": emails}
    token = hashlib.sha256(f"{account}/{plain}".encode()).hexdigest()
    return {
        **validation,
        "ResourceRecord": {
            "Name": f"_{token[:32]}.{plain}.",
            "Type": "CNAME",
            "Value": f"_{token[32:]}.jkddzztszm.acm-validations.aws.",
        },
    }


def _found(call: Call) -> Record | None:
    """Give a certificate as it is now; None for one that moto has, such as an imported one."""
    certificate = call.table(CERTIFICATE).get(call.params["CertificateArn"])
    return _settled(call, certificate) if certificate else None


def _settled(call: Call, certificate: Record) -> Record:
    """Issue a certificate whose records have come into DNS meanwhile."""
    if certificate["Status"] != "PENDING_VALIDATION":
        return certificate
    options: list[Record] = certificate["DomainValidationOptions"]
    for option in options:
        if in_dns(call, option.get("ResourceRecord")):
            option["ValidationStatus"] = "SUCCESS"
    if all(option["ValidationStatus"] == "SUCCESS" for option in options):
        issued = datetime.now(UTC)
        certificate |= {
            "Status": "ISSUED",
            "IssuedAt": issued,
            "NotBefore": issued,
            "NotAfter": issued + LIFE,
            "Serial": uuid.uuid4().bytes.hex(":"),
        }
    return certificate


@answers("acm", "DescribeCertificate")
def describe(call: Call) -> Answer:
    """Describe a certificate."""
    certificate = _found(call)
    return {"Certificate": certificate} if certificate else _missing(call)


def _missing(call: Call) -> Answer:
    """Let moto answer for what it has, and refuse in ACM's words for what nobody has."""
    try:
        return call.forward()
    except AwsError as error:
        if error.code != "ResourceNotFoundException":
            raise
        raise AwsError(
            error.code,
            f"Could not find certificate {call.params['CertificateArn']}.",
        ) from None


@answers("acm", "ListCertificates")
def list_certificates(call: Call) -> Answer:
    """List the certificates of the account, imported ones last."""
    shown = ("CertificateArn", "DomainName", "Status", "Type", "KeyAlgorithm", "CreatedAt")
    wanted: Any = call.params.get("CertificateStatuses")

    def own() -> Iterator[Record]:
        for certificate in call.table(CERTIFICATE).values():
            settled = _settled(call, certificate)
            if not wanted or settled["Status"] in wanted:
                yield {key: settled[key] for key in shown}

    return {"CertificateSummaryList": [*own(), *call.forward()["CertificateSummaryList"]]}


@answers("acm", "DeleteCertificate")
def delete(call: Call) -> Answer:
    """Delete a certificate."""
    if call.table(CERTIFICATE).pop(call.params["CertificateArn"], None) is None:
        return _missing(call)
    return {}


@answers("acm", "UpdateCertificateOptions")
def update_options(call: Call) -> Answer:
    """Turn transparency logging on or off."""
    certificate = _found(call)
    if certificate is None:
        return _missing(call)
    certificate["Options"] = {**certificate["Options"], **call.params["Options"]}
    return {}


@answers("acm", "AddTagsToCertificate", "RemoveTagsFromCertificate", "ListTagsForCertificate")
def tag(call: Call) -> Answer:
    """Add, remove or list tags."""
    certificate = _found(call)
    if certificate is None:
        return _missing(call)
    if call.operation == "ListTagsForCertificate":
        return {"Tags": certificate["_tags"]}
    named = {one["Key"] for one in call.params["Tags"]}
    kept = [one for one in certificate["_tags"] if one["Key"] not in named]
    if call.operation == "AddTagsToCertificate":
        kept += call.params["Tags"]
    certificate["_tags"] = kept
    return {}
