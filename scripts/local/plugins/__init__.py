"""Pulumi plugins written in Python, for machines that lack the real ones."""
