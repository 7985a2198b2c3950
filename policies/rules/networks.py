"""How open an address range is."""

from ipaddress import ip_network

NARROWEST_OPEN = {4: 23, 6: 47}
"""Longest prefix that counts as open to the public, per IP version.

An office or a VPN leaves through a /24 or less; a site is given an IPv6 /48 (RFC 6177).
"""
_WIDEST_PRIVATE = {4: 8, 6: 7}
"""No private range is wider: 10.0.0.0/8 (RFC 1918) and fc00::/7 (RFC 4193).

Without this bound 0.0.0.0/0 would be private, because its first and its last address are.
"""


def open_range(cidr: str) -> str | None:
    """Say why a range is too open for ingress; ``None`` when it is not.

    A range that cannot be read is not quoted, because it may be anything.
    """
    try:
        network = ip_network(cidr.strip(), strict=False)
    except ValueError:
        return "a range that cannot be read"
    prefix = network.prefixlen
    private = not network.is_global and prefix >= _WIDEST_PRIVATE[network.version]
    if private or prefix > NARROWEST_OPEN[network.version]:
        return None
    return f"the public range {network}"
