"""The WSGI application: signed AWS calls, and the simulator's own endpoints under /trainyard/."""

import io
import re
import threading
import time
import traceback
from collections.abc import Iterable
from http import HTTPStatus
from pathlib import Path
from typing import Any

from scripts.local.simulator import control, extensions, wire
from scripts.local.simulator.calls import HANDLERS, Answer, AwsError, Call, Settings
from scripts.local.simulator.faults import Faults
from scripts.local.simulator.records import Records
from scripts.local.simulator.store import Store

__all__ = ["Simulator"]

ACCESS_KEY = re.compile(r"EMBEDDED(?P<account>\d{12})")
"""Access key ids of the embedded target: the account stands in them."""

READING = ("Describe", "List", "Get", "Head", "Search", "Lookup", "BatchGet", "Assume")
"""How the names of operations begin that change nothing."""

extensions.load()


class Simulator:
    """Answers AWS calls; one at a time, because moto's backends are not made for threads."""

    def __init__(self, settings: Settings, state: Path, log: Path | None = None) -> None:
        self.settings = settings
        self.records = Records()
        self.faults = Faults()
        self.lock = threading.RLock()
        self.store = Store(state / "aws.state", self.records, self.lock)
        self._moto = wire.Moto()
        self._log = log
        self.store.load()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:  # noqa: ANN401 - WSGI
        """Answer one request (PEP 3333)."""
        if environ["PATH_INFO"].startswith("/trainyard/"):
            body = control.respond(self, environ)
        else:
            body = self._aws(environ)
        headers = body.headers
        if environ["REQUEST_METHOD"] != "HEAD" and not _has_length(headers):
            headers = [*headers, ("Content-Length", str(len(body.content)))]
        start_response(f"{body.status} {HTTPStatus(body.status).phrase}", headers)
        return [body.content]

    def _aws(self, environ: dict[str, Any]) -> wire.Body:
        started = time.monotonic()
        _buffer(environ)
        signer = wire.read_signer(environ)
        service = signer.service if signer else "sts"
        inbound = wire.Inbound.of(environ, service)
        try:
            body = self._answered(environ, signer, inbound)
        except AwsError as error:
            body = wire.rendered_error(environ, service, error, inbound)
        except Exception as error:  # noqa: BLE001 - a defect of the simulator must answer as AWS does
            traceback.print_exception(error)
            failure = AwsError("InternalFailure", f"The simulator failed: {error!r}", status=500)
            body = wire.rendered_error(environ, service, failure, inbound)
        self._note(signer, inbound, body.status, time.monotonic() - started)
        return body

    def _answered(
        self, environ: dict[str, Any], signer: wire.Signer | None, inbound: wire.Inbound | None
    ) -> wire.Body:
        account = ACCESS_KEY.fullmatch(signer.access_key) if signer else None
        if signer is None or account is None:
            raise _unknown_key(signer)
        fault = self.faults.strike(signer.service)
        if fault is not None:
            raise fault
        with self.lock:
            wire.prepare(signer.service)
            try:
                return self._routed(environ, signer, account["account"], inbound)
            finally:
                if inbound is None or not inbound.name.startswith(READING):
                    self.store.touch(signer.service)
                self.store.notice_new()

    def _routed(
        self,
        environ: dict[str, Any],
        signer: wire.Signer,
        account: str,
        inbound: wire.Inbound | None,
    ) -> wire.Body:
        try:
            if inbound is None or (signer.service, inbound.name) not in HANDLERS:
                return self._moto.pass_on(environ, account)
            call = self.call(signer.service, inbound.name, account, signer.region, inbound.params())
            answer = HANDLERS[call.service, call.operation](call)
            if answer is None:
                return self._moto.pass_on(environ, account)
            return wire.rendered(inbound, answer)
        except NotImplementedError as error:
            name = inbound.name if inbound else environ["PATH_INFO"]
            raise AwsError(
                "NotImplemented",
                f"The simulator does not answer {signer.service}:{name}.",
                status=501,
            ) from error

    def call(self, service: str, operation: str, account: str, region: str, params: Answer) -> Call:
        """Build a call, as a request from outside would."""
        return Call(
            service, operation, account, region, params, self.records, self.settings, self._answer
        )

    def _answer(self, call: Call, *, native: bool) -> Answer:
        if not call.operation.startswith(READING):
            self.store.touch(call.service)
        handler = None if native else HANDLERS.get((call.service, call.operation))
        answer = handler(call) if handler else None
        if answer is not None:
            return answer
        signer = wire.Signer(f"EMBEDDED{call.account}", call.region, call.service)
        return self._moto.ask(call.service, call.operation, call.params, signer=signer)

    def _note(
        self, signer: wire.Signer | None, inbound: wire.Inbound | None, status: int, took: float
    ) -> None:
        """Write one line to the request log: no bodies, no signatures."""
        if self._log is None:
            return
        who = signer.access_key if signer else "unsigned"
        what = f"{signer.service if signer else '-'}:{inbound.name if inbound else '?'}"
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        with self._log.open("a", encoding="utf-8") as log:
            log.write(f"{stamp} {who} {what} {status} {took * 1000:.0f}ms\n")


def _unknown_key(signer: wire.Signer | None) -> AwsError:
    """Refuse a caller that is not of the embedded target, with the code of its service."""
    if signer is not None and signer.service == "ec2":
        return AwsError(
            "AuthFailure",
            "AWS was not able to validate the provided access credentials",
            status=401,
        )
    if signer is not None and signer.service == "s3":
        return AwsError(
            "InvalidAccessKeyId",
            "The AWS Access Key Id you provided does not exist in our records.",
            status=403,
        )
    return AwsError(
        "InvalidClientTokenId", "The security token included in the request is invalid.", status=403
    )


def _has_length(headers: list[tuple[str, str]]) -> bool:
    return any(name.lower() == "content-length" for name, _ in headers)


def _buffer(environ: dict[str, Any]) -> None:
    """Read the body once, so that it can be parsed here and by moto again."""
    stream = environ["wsgi.input"]
    length = environ.get("CONTENT_LENGTH")
    if length:
        content = stream.read(int(length))
    elif environ.get("wsgi.input_terminated"):
        content = stream.read()
    else:
        content = b""
    environ["wsgi.input"] = io.BytesIO(content)
    environ["CONTENT_LENGTH"] = str(len(content))
