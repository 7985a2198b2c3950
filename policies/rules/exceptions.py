"""Exceptions from a policy: granted in the pack's configuration, with a reason and an end."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from typing import Any, cast

from pulumi_policy import PolicyConfigSchema


def config_schema() -> PolicyConfigSchema:
    """Describe what ``--policy-pack-config`` may say about one policy."""
    texts = {"type": "string", "minLength": 1}
    entry: dict[str, Any] = {
        "type": "object",
        "required": ["resource", "reason", "expires"],
        "additionalProperties": False,
        "properties": {
            "resource": {**texts, "description": "Name or URN, with * and ?"},
            "reason": {**texts, "description": "Why the finding is accepted"},
            "expires": {**texts, "description": "Last day of the exception, YYYY-MM-DD"},
        },
    }
    return PolicyConfigSchema(properties={"exceptions": {"type": "array", "items": entry}})


@dataclass(frozen=True)
class Exceptions:
    """The exceptions of one policy."""

    entries: Sequence[Mapping[str, str]]

    @classmethod
    def read(cls, config: Mapping[str, Any]) -> "Exceptions":
        """Take the exceptions out of a policy's configuration."""
        return cls(cast("Sequence[Mapping[str, str]]", config.get("exceptions") or ()))

    def judge(
        self, name: str, urn: str, finding: str, today: Callable[[], date] | None = None
    ) -> str | None:
        """Give back the finding to report: none while an exception covers the resource.

        An exception that has run out no longer covers anything, and the finding says so.
        """
        for entry in self.entries:
            if not any(fnmatchcase(text, entry["resource"]) for text in (name, urn)):
                continue
            day = today() if today else datetime.now(UTC).date()
            if day <= date.fromisoformat(entry["expires"]):
                return None
            finding = f"{finding} (its exception ran out on {entry['expires']})"
        return finding
