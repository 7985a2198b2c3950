"""What can go wrong in a way that a person can mend, each with its exit code.

    YardError
    ├── UsageError     2: bad use or settings
    ├── FailedError    1: judged, and it failed
    └── UnknownError   3: could not be judged

The message is shown as it is, without a traceback.
"""

__all__ = ["FailedError", "UnknownError", "UsageError", "YardError"]


class YardError(Exception):
    """Base of every error that ends a command with a message for its user."""

    exit_code = 1


class FailedError(YardError):
    """Something was judged, and it failed."""

    exit_code = 1


class UsageError(YardError):
    """The command line, a settings file or the machine is not as it must be."""

    exit_code = 2


class UnknownError(YardError):
    """Nothing could be judged: neither passed nor failed."""

    exit_code = 3
