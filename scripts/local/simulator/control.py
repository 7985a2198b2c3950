"""The simulator's own endpoints: health, faults, save, and the token-review webhook."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scripts.local.simulator import token_review
from scripts.local.simulator.wire import Body

if TYPE_CHECKING:
    from scripts.local.simulator.app import Simulator

__all__ = ["respond"]

Environ = dict[str, Any]


def respond(simulator: "Simulator", environ: Environ) -> Body:
    """Answer one request under /trainyard/."""
    method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
    route = ROUTES.get((method, path.removeprefix("/trainyard/").rstrip("/")))
    if route is None:
        known = ", ".join(f"{verb} /trainyard/{name}" for verb, name in sorted(ROUTES))
        return _json(404, {"error": f"no {method} {path}; there are {known}"})
    try:
        return route(simulator, environ)
    except ValueError as error:
        return _json(400, {"error": str(error)})


def _health(simulator: "Simulator", _: Environ) -> Body:
    with simulator.lock:
        return _json(200, {"status": "ok"})


def _faults(simulator: "Simulator", _: Environ) -> Body:
    return _json(200, {"faults": simulator.faults.listed()})


def _add_fault(simulator: "Simulator", environ: Environ) -> Body:
    simulator.faults.add(_body(environ))
    return _faults(simulator, environ)


def _clear_faults(simulator: "Simulator", environ: Environ) -> Body:
    simulator.faults.clear()
    return _faults(simulator, environ)


def _save(simulator: "Simulator", _: Environ) -> Body:
    return _json(200, {"bytes": simulator.store.save()})


def _review(simulator: "Simulator", environ: Environ) -> Body:
    with simulator.lock:
        return _json(200, token_review.review(_body(environ), simulator.records))


ROUTES: dict[tuple[str, str], Callable[["Simulator", Environ], Body]] = {
    ("GET", "health"): _health,
    ("GET", "faults"): _faults,
    ("POST", "faults"): _add_fault,
    ("DELETE", "faults"): _clear_faults,
    ("POST", "save"): _save,
    ("POST", "token-review"): _review,
}


def _body(environ: Environ) -> object:
    content = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    return json.loads(content)


def _json(status: int, content: object) -> Body:
    return Body(status, [("Content-Type", "application/json")], json.dumps(content).encode())
