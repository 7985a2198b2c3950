"""Is a part well? Three verdicts: pass, fail, and unknown when it did not answer in time."""

import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from scripts.local.target.files import read_json
from scripts.local.target.pki import Pki

__all__ = ["Health", "Probe", "heartbeat_probe", "http_probe"]

Verdict = Literal["pass", "fail", "unknown"]

ANSWER_SECONDS = 5.0
"""How long a part may take to answer; a loaded machine is slow, not broken."""


@dataclass(frozen=True)
class Health:
    """A verdict, and what was seen when it is not a pass."""

    verdict: Verdict
    detail: str = ""


Probe = Callable[[], Health]


def http_probe(url: str, pki: Pki | None = None) -> Probe:
    """Ask a health endpoint; HTTPS is verified and the administrator's certificate is shown."""

    def probe() -> Health:
        context = _context(pki) if pki else None
        try:
            # The URL is the target's own.
            with urllib.request.urlopen(url, timeout=ANSWER_SECONDS, context=context):  # noqa: S310 - http(s) to 127.0.0.1
                return Health("pass")
        except urllib.error.HTTPError as error:
            with error:
                return Health("fail", f"answers {error.code} at {url}")
        except TimeoutError:
            return Health("unknown", f"no answer within {ANSWER_SECONDS:g} s at {url}")
        except urllib.error.URLError as error:
            if isinstance(error.reason, TimeoutError):
                return Health("unknown", f"no answer within {ANSWER_SECONDS:g} s at {url}")
            return Health("fail", f"{error.reason} at {url}")
        except OSError as error:
            return Health("fail", f"{error} at {url}")

    return probe


def _context(pki: Pki) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(pki.ca))
    context.load_cert_chain(pki.certificate("admin"), pki.key("admin"))
    return context


def heartbeat_probe(path: Path, oldest: float, clock: Callable[[], float] = time.time) -> Probe:
    """Read ``{"at": seconds, "error": text or null}`` as a looping process writes it."""

    def probe() -> Health:
        content = cast("dict[str, object] | None", read_json(path))
        if content is None:
            return Health("fail", "has not finished a round yet")
        at, error = content["at"], content["error"]
        age = clock() - float(cast("float", at))
        if age > oldest:
            return Health("unknown", f"last finished a round {age:.0f} s ago")
        return Health("fail", str(error)) if error else Health("pass")

    return probe
