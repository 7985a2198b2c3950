"""ConfigMaps of a Kubernetes API in memory, over HTTP, with the resource versions of a real one."""

import json
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import httpx2
from lightkube import Client, KubeConfig
from lightkube.config.models import Cluster, User

from scripts.gate.api import Api
from scripts.gate.patience import Patience
from scripts.records.config_maps import ConfigMapShelf

if TYPE_CHECKING:
    from collections.abc import Callable

NAMESPACE = "trainyard-gate"
PREFIX = f"/api/v1/namespaces/{NAMESPACE}/configmaps"

KUBECONFIG = json.dumps(
    {
        "clusters": [{"name": "c", "cluster": {"server": "http://api.test"}}],
        "users": [{"name": "u", "user": {"token": "canary-token"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
)


class ConfigMapApi(httpx2.BaseTransport):
    """Holds ConfigMaps by name.

    ``before`` sees each request and may change things, as other clients do. ``lose`` takes answers
    away after they took effect.
    """

    def __init__(self) -> None:
        self.held: dict[str, dict[str, Any]] = {}
        self.requests: list[str] = []
        self.before: Callable[[str], None] = lambda _request: None
        self.lose: Callable[[str], bool] = lambda _request: False
        self._version = 0
        self._lock = threading.RLock()

    def client(self) -> Client:
        config = KubeConfig.from_one(
            cluster=Cluster(server="http://api.test", insecure=True), user=User(username="gate")
        )
        return Client(config=config, namespace=NAMESPACE, transport=self)

    def shelf(self, kind: str) -> ConfigMapShelf:
        patience = Patience(30, sleep=lambda _seconds: None)
        return ConfigMapShelf(Api(self.client(), NAMESPACE, patience), NAMESPACE, kind)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        path = unquote(request.url.path)
        assert path.startswith(PREFIX), "the shelf asks for ConfigMaps of the gate's namespace only"
        name = path.removeprefix(PREFIX).strip("/")
        line = f"{request.method} {name}".strip()
        self.before(line)
        with self._lock:
            self.requests.append(line)
            answer = self._answer(request, name)
        if self.lose(line):
            raise httpx2.ReadTimeout("the answer was lost", request=request)
        return answer

    def _answer(self, request: httpx2.Request, name: str) -> httpx2.Response:
        if request.method == "GET":
            selector = request.url.params["labelSelector"]
            wanted = dict(pair.split("=") for pair in selector.split(","))
            found = [
                item
                for item in self.held.values()
                if wanted.items() <= item["metadata"]["labels"].items()
            ]
            return httpx2.Response(
                200, json={"kind": "ConfigMapList", "metadata": {}, "items": found}
            )
        if request.method == "POST":
            item = json.loads(request.content)
            if item["metadata"]["name"] in self.held:
                return _status(409, "already exists")
            self._keep(item["metadata"]["name"], item)
            return httpx2.Response(201, json=item)
        if name not in self.held:
            return _status(404, "not found")
        if request.method == "DELETE":
            del self.held[name]
            return httpx2.Response(200, json={"kind": "Status", "status": "Success"})
        return self._patch(name, json.loads(request.content))

    def _patch(self, name: str, patch: dict[str, Any]) -> httpx2.Response:
        item = self.held[name]
        if patch["metadata"]["resourceVersion"] != item["metadata"]["resourceVersion"]:
            return _status(409, "the object has been modified; please apply your changes to it")
        self._keep(name, {**item, "data": {**item["data"], **patch["data"]}})
        return httpx2.Response(200, json=self.held[name])

    def _keep(self, name: str, item: dict[str, Any]) -> None:
        self._version += 1
        meta = {**item["metadata"], "resourceVersion": str(self._version)}
        self.held[name] = {**item, "metadata": meta}


def _status(code: int, message: str) -> httpx2.Response:
    body = {"kind": "Status", "status": "Failure", "message": message, "code": code}
    return httpx2.Response(code, json=body)
