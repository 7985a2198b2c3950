"""pulumi-resource-command: runs commands here and over SSH, as pulumi-command 1.2.1 does."""

from __future__ import annotations

from typing import Final

VERSION: Final = "1.2.1"
"""The version of pulumi-command whose behaviour this plugin follows."""
