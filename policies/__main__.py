"""Serve the policy pack to the engine; importing this module starts a server and never returns."""

from pulumi_policy import PolicyPack

from rules import ALL

PolicyPack("trainyard", policies=list(ALL))
