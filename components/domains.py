"""Names: a private zone that only the network asks, and a public name with its certificate."""

from typing import Annotated

import pulumi
from pulumi_aws import acm, route53

from components.naming import Names
from components.settings import REPLACES, Section, shaped

__all__ = ["Domain", "EntryConfig", "enter", "private_zone"]

TTL = 300
"""Seconds that the proof of a name may be remembered; it never changes."""

Domain = Annotated[
    str,
    shaped(
        r"(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?",
        "a domain",
        "train.example.com",
    ),
]
HostedZone = Annotated[
    str, shaped(r"Z[0-9A-Z]{1,31}", "the id of a hosted zone", "Z0123456789ABCDEFGHIJ")
]


class EntryConfig(Section):
    """The public name under which users come in."""

    domain: Annotated[Domain, REPLACES]
    """Name that the certificate is for, with every name directly below it."""

    hosted_zone_id: Annotated[HostedZone, REPLACES]
    """Public hosted zone of this account that holds the name; the proof of it is written there."""


def private_zone(
    name: str,
    names: Names,
    *,
    domain: str,
    vpc_id: pulumi.Input[str],
    opts: pulumi.ResourceOptions,
) -> pulumi.Output[str]:
    """Make a zone that answers inside the network only, and return its id."""
    zone = route53.Zone(
        f"{name}-private",
        name=domain,
        comment=f"Inside {names.prefix} only",
        vpcs=[{"vpc_id": vpc_id, "vpc_region": names.region}],
        tags=names.called(domain),
        opts=opts,
    )
    return zone.id


def enter(
    name: str, names: Names, entry: EntryConfig, *, opts: pulumi.ResourceOptions
) -> pulumi.Output[str]:
    """Make the certificate of the public name, and return its ARN once it is issued.

    ACM asks for the same record for a name and for all names below it, so that one proves both.
    """
    certificate = acm.Certificate(
        f"{name}-entry",
        domain_name=entry.domain,
        subject_alternative_names=[f"*.{entry.domain}"],
        validation_method="DNS",
        tags=names.called(entry.domain),
        opts=opts,
    )
    proof = certificate.domain_validation_options[0]
    record = route53.Record(
        f"{name}-entry",
        zone_id=entry.hosted_zone_id,
        name=proof.resource_record_name,
        type=proof.resource_record_type,
        records=[proof.resource_record_value],
        ttl=TTL,
        opts=opts,
    )
    issued = acm.CertificateValidation(
        f"{name}-entry",
        certificate_arn=certificate.arn,
        validation_record_fqdns=[record.fqdn],
        opts=opts,
    )
    return issued.certificate_arn
