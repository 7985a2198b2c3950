"""Rows: ACM certificates, and their validation by DNS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scripts.local.plugins.aws.row import Call, Change, Hooks, Row, Tagging
from scripts.local.plugins.aws.session import AwsError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scripts.local.plugins.aws.convert import Api
    from scripts.local.plugins.aws.session import Item
    from scripts.local.plugins.shared.wire import Value

_ARN: Final = {"CertificateArn": "$id"}


def _read_certificate(item: Item, found: dict[str, Api]) -> bool:
    """Show the records that prove the names, and the names as the program lists them.

    ACM lists the domain among the alternative names; a program need not, so it is left out
    beside others unless the program lists it.
    """
    options = found.pop("DomainValidationOptions", ())
    found["Records"] = [
        {
            "domainName": option["DomainName"],
            **{
                f"resourceRecord{name}": text
                for name, text in option.get("ResourceRecord", {}).items()
            },
        }
        for option in options
    ]
    found["validationMethod"] = options[0]["ValidationMethod"] if options else "NONE"
    found["validationEmails"] = sorted(
        email for option in options for email in option.get("ValidationEmails", ())
    )
    said = item.prior.get("subjectAlternativeNames")
    listed = isinstance(said, list) and found["DomainName"] in said
    others = [it for it in found["SubjectAlternativeNames"] if it != found["DomainName"]]
    if others and not listed:
        found["SubjectAlternativeNames"] = others
    return True


def _certificate_needs(inputs: Mapping[str, Value]) -> Mapping[str, str]:
    if inputs.get("validationMethod") not in {"DNS", "EMAIL"}:
        return {"validationMethod": "a certificate of ACM's own is validated by DNS or EMAIL"}
    return {}


CERTIFICATE: Final = Row(
    service="acm",
    id="CertificateArn",
    create=Call("RequestCertificate"),
    read=(Call("DescribeCertificate", _ARN, "Certificate"),),
    updates=(Change(("options",), Call("UpdateCertificateOptions", _ARN)),),
    delete=Call("DeleteCertificate", _ARN),
    names={
        "arn": "CertificateArn",
        "domainValidationOptions": "Records",
        "validationOptions": "DomainValidationOptions",
    },
    replace=frozenset(
        {
            "domainName",
            "keyAlgorithm",
            "options.export",
            "subjectAlternativeNames",
            "validationMethod",
            "validationOptions",
        }
    ),
    refused=frozenset(
        {
            "certificateAuthorityArn",
            "certificateBody",
            "certificateChain",
            "earlyRenewalDuration",
            "privateKey",
            "privateKeyWo",
            "privateKeyWoVersion",
        }
    ),
    one_of=("domainName",),
    unknown=frozenset({"options.certificateTransparencyLoggingPreference", "options.export"}),
    local=frozenset({"validationOptions"}),
    hooks=Hooks(read=_read_certificate, check=_certificate_needs),
    autoname="",
    tagging=Tagging(
        add=Call("AddTagsToCertificate", _ARN),
        remove=Call("RemoveTagsFromCertificate", _ARN),
        field="Tags",
        keys="Tags",
        read=Call("ListTagsForCertificate", _ARN),
    ),
)


def _wait_until_issued(item: Item) -> str:
    """Wait as the real provider does: first that the records are the right ones, then for ACM."""
    arn = str(item.props["certificateArn"])
    options = item.call("DescribeCertificate", CertificateArn=arn)["Certificate"].get(
        "DomainValidationOptions", ()
    )
    given = item.props.get("validationRecordFqdns")
    if isinstance(given, list):
        _check_records(options, {str(name).rstrip(".").lower() for name in given})
    seen = ""

    def issued() -> bool | None:
        nonlocal seen
        seen = item.call("DescribeCertificate", CertificateArn=arn)["Certificate"]["Status"]
        if seen not in {"ISSUED", "PENDING_VALIDATION"}:
            raise AwsError("Wait", seen, f"{arn} ended in state {seen}")
        return True if seen == "ISSUED" else None

    if item.session.until(issued, item.patience) is None:
        raise AwsError(
            "Wait",
            "Timeout",
            f"{arn} is in state {seen} after {item.patience:g} s, not ISSUED: its validation "
            "records are in no public zone of the simulated account",
        )
    return arn


def _check_records(options: list[dict[str, Api]], given: set[str]) -> None:
    wanted = {
        option["ResourceRecord"]["Name"].rstrip(".").lower()
        for option in options
        if "ResourceRecord" in option
    }
    if not wanted:
        raise AwsError(
            "Validation",
            "Method",
            "validationRecordFqdns are only for a certificate that is validated by DNS",
        )
    missing = sorted(wanted - given)
    if missing:
        raise AwsError(
            "Validation", "Missing", f"missing {', '.join(missing)} DNS validation record"
        )


def _is_issued(item: Item, found: dict[str, Api]) -> bool:
    found["certificateArn"] = item.id
    return found.get("Status") == "ISSUED"


def _stays(_: Item) -> None:
    """Nothing to undo: the certificate is another resource."""


CERTIFICATE_VALIDATION: Final = Row(
    service="acm",
    id="{certificateArn}",
    read=(Call("DescribeCertificate", _ARN, "Certificate"),),
    replace=frozenset({"certificateArn", "validationRecordFqdns"}),
    local=frozenset({"validationRecordFqdns"}),
    hooks=Hooks(create=_wait_until_issued, read=_is_issued, delete=_stays),
    autoname="",
)

CERTIFICATES: Final = {
    "aws:acm/certificate:Certificate": CERTIFICATE,
    "aws:acm/certificateValidation:CertificateValidation": CERTIFICATE_VALIDATION,
}
