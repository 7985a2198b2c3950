"""What the FSx operations share."""

import secrets

from scripts.local.simulator.calls import AwsError, Call
from scripts.local.simulator.records import Record

__all__ = ["ASSOCIATION", "FILE_SYSTEM", "bad_request", "found_file_system", "hex_id"]

FILE_SYSTEM, ASSOCIATION = "fsx:file-system", "fsx:association"


def hex_id(prefix: str) -> str:
    """Return a fresh id as FSx makes them."""
    return f"{prefix}-0{secrets.token_hex(8)}"


def bad_request(message: str) -> AwsError:
    """Build the error that FSx answers to most wrong parameters."""
    return AwsError("BadRequest", message)


def found_file_system(call: Call, identity: str) -> Record:
    """Return the file system; raises ``FileSystemNotFound`` as FSx does."""
    found = call.table(FILE_SYSTEM).get(identity)
    if found is None:
        raise AwsError("FileSystemNotFound", f"File system '{identity}' does not exist.")
    return found
