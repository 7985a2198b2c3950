"""Derive the shapes of the AWS resource types from the installed ``pulumi_aws`` package.

``python -m scripts.local.plugins.aws.make_schema`` rewrites ``schema.json``. The package's own
generated classes say which properties exist, which are required, how they are spelled and what
they hold, so nothing of that is typed by hand. The files are read, never imported: importing
``pulumi_aws.ec2`` alone takes seconds.
"""

import ast
import functools
import importlib.util
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from scripts.local.plugins.aws.lookups import LOOKUPS
from scripts.local.plugins.aws.rows import ROWS

SCHEMA_FILE = Path(__file__).with_name("schema.json")
"""What the plugin reads at start."""

_SCALARS = {"str": "string", "bool": "boolean", "int": "integer", "float": "number"}
_TOKEN = re.compile(r"'(aws:[\w/]+:\w+)',\s+(?:resource_name|__args__)")
_SECRETS = re.compile(r"additional_secret_outputs=\[([^\]]*)\]")

Shape = dict[str, object]
"""``{"type": …, "required": …, "always": …}`` of one property; see :mod:`.schema`."""


def package_root() -> Path:
    """Where ``pulumi_aws`` is installed."""
    spec = importlib.util.find_spec("pulumi_aws")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("pulumi_aws is not installed; run `uv sync`")
    return Path(spec.origin).parent


@functools.cache
def _text(path: Path) -> str:
    return path.read_text()


def _class(path: Path, name: str) -> ast.ClassDef | None:
    """Parse one class out of a file that may be megabytes long."""
    text = _text(path) if path.exists() else ""
    found = re.search(rf"^class {name}\b", text, re.MULTILINE)
    if found is None:
        return None
    end = re.compile(r"^(?:class |@|def )", re.MULTILINE).search(text, found.end())
    node = ast.parse(text[found.start() : end.start() if end else len(text)]).body[0]
    return node if isinstance(node, ast.ClassDef) else None


def _functions(node: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    return (member for member in node.body if isinstance(member, ast.FunctionDef))


def _getters(node: ast.ClassDef) -> dict[str, tuple[str, ast.expr | None]]:
    """Python name to (engine's name, annotation) of each property of a class."""
    found: dict[str, tuple[str, ast.expr | None]] = {}
    for function in _functions(node):
        for decorator in function.decorator_list:
            if ast.unparse(decorator) == "pulumi.getter":
                found[function.name] = (function.name, function.returns)
            elif isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pulumi.getter":
                found[function.name] = (
                    ast.literal_eval(decorator.keywords[0].value),
                    function.returns,
                )
    return found


class _Module:
    """One service folder of the package, and the nested types met in it."""

    def __init__(self, name: str, types: dict[str, Shape]) -> None:
        self.name = name
        self.folder = package_root() if name == "index" else package_root() / name
        self.types = types

    def type_of(self, node: ast.expr) -> tuple[str, bool]:
        """Spell a Python annotation as (type, may be absent)."""
        if isinstance(node, ast.Constant):
            return self._named(str(node.value)), False
        if not isinstance(node, ast.Subscript):
            return self._named(ast.unparse(node)), False
        head = ast.unparse(node.value).rpartition(".")[2]
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if head == "Union":
            return self._union(inner), False
        kind, optional = self.type_of(inner[-1])
        match head:
            case "Input" | "Output":
                return kind, optional
            case "Optional":
                return kind, True
            case "Sequence" | "Mapping":
                return ("[]" if head == "Sequence" else "{}") + kind, False
            case _:
                raise TypeError(f"pulumi_aws has an annotation of an unknown form: {head}")

    def _union(self, parts: list[ast.expr]) -> str:
        """Args, their dictionary form and their output form are one type; enums are strings."""
        names = [ast.unparse(part) for part in parts]
        if not any(name.endswith("builtins.str") for name in names):
            return self.type_of(parts[0])[0]
        return "document" if any("Args" in name for name in names) else "string"

    def _named(self, name: str) -> str:
        name = name.rpartition(".")[2]
        if name in _SCALARS:
            return _SCALARS[name]
        if name == "Any":
            return "any"
        plain = re.sub(r"Args(Dict)?$", "", name)
        key = f"{self.name}/{plain}"
        if key not in self.types and not self._collect(key, plain):
            return "string"  # an enumeration; the API judges its values
        return f"#{key}"

    def _collect(self, key: str, plain: str) -> bool:
        given = _class(self.folder / "_inputs.py", f"{plain}Args")
        shown = _class(self.folder / "outputs.py", plain)
        if given is None and shown is None:
            return False
        shape = self.types.setdefault(key, {})
        for node, is_input in ((given, True), (shown, False)):
            for name, annotation in _getters(node).values() if node else ():
                kind, optional = self.type_of(annotation or ast.Name("Any"))
                if is_input:
                    shape[name] = _entry(kind, required=not optional)
                else:
                    shape.setdefault(name, _entry(kind))
        return True


def _entry(kind: str, *, required: bool | None = None, always: bool | None = None) -> Shape:
    """Leave ``required`` out for what only AWS sets."""
    entry: Shape = {"type": kind}
    if required is not None:
        entry["required"] = required
    if always:
        entry["always"] = True
    return entry


def _resource(token: str, types: dict[str, Shape]) -> Shape:
    module_name, _, kind = token.removeprefix("aws:").partition("/")
    module = _Module(module_name, types)
    file_name, class_name = kind.split(":")
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", file_name).lower()
    path = _file_of(module.folder, snake, token)
    node = _class(path, class_name)
    if node is None:
        raise LookupError(f"{path.name} of pulumi_aws has no class {class_name}")
    getters = _getters(node)
    init = next(f for f in _functions(node) if f.name == "_internal_init")
    required = set(re.findall(r"Missing required property '(\w+)'", ast.unparse(init)))
    properties: dict[str, Shape] = {}
    for camel, annotation in getters.values():
        out, optional = module.type_of(annotation or ast.Name("Any"))
        properties[camel] = _entry(out, always=not optional)
    for argument in init.args.args:
        if argument.arg in {"__self__", "resource_name", "opts", "__props__"}:
            continue
        camel = getters[argument.arg][0]
        kind, _ = module.type_of(argument.annotation or ast.Name("Any"))
        always = bool(properties[camel].get("always"))
        properties[camel] = _entry(kind, required=argument.arg in required, always=always)
    secrets = re.findall(
        r'"(\w+)"', " ".join(_SECRETS.findall(ast.unparse(init).replace("'", '"')))
    )
    return {"properties": properties, **({"secrets": secrets} if secrets else {})}


def _lookup(token: str, types: dict[str, Shape]) -> Shape:
    module_name, _, kind = token.removeprefix("aws:").partition("/")
    module = _Module(module_name, types)
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.split(":")[1]).lower()
    path = module.folder / f"{snake}.py"
    text = _text(path)
    start = re.search(rf"^def {snake}\(", text, re.MULTILINE)
    if start is None:
        raise LookupError(f"{path.name} of pulumi_aws has no function {snake}")
    function = ast.parse(text[start.start() : text.index('"""', start.end())] + "...").body[0]
    result = _class(path, f"{kind.split(':')[1][0].upper()}{kind.split(':')[1][1:]}Result")
    if not isinstance(function, ast.FunctionDef) or result is None:
        raise LookupError(f"{path.name} of pulumi_aws is not laid out as expected")
    getters = _getters(result)
    properties = {
        camel: _entry(module.type_of(annotation or ast.Name("Any"))[0])
        for camel, annotation in getters.values()
    }
    for argument in function.args.args[:-1]:
        kind, optional = module.type_of(argument.annotation or ast.Name("Any"))
        properties[getters[argument.arg][0]] = _entry(kind, required=not optional)
    return {"properties": properties}


def _file_of(folder: Path, snake: str, token: str) -> Path:
    """Find the file of a type: its snake form, but digits are joined in several ways."""
    direct = folder / f"{snake}.py"
    if direct.exists():
        return direct
    for path in sorted(folder.glob("*.py")):
        if path.name[0] != "_" and f"'{token}'" in _text(path):
            return path
    raise LookupError(f"pulumi_aws has no resource type {token}")


def _provider(types: dict[str, Shape]) -> Shape:
    """Describe the provider's own settings."""
    module = _Module("index", types)
    node = _class(module.folder / "provider.py", "ProviderArgs")
    if node is None:
        raise LookupError("provider.py of pulumi_aws has no class ProviderArgs")
    properties: dict[str, Shape] = {}
    for name, annotation in _getters(node).values():
        kind, optional = module.type_of(annotation or ast.Name("Any"))
        properties[name] = _entry(kind, required=not optional)
    return {"properties": properties}


def build(resources: Iterable[str] = tuple(ROWS), lookups: Iterable[str] = tuple(LOOKUPS)) -> str:
    """Text of ``schema.json`` for the given type and look-up tokens."""
    types: dict[str, Shape] = {}
    version = json.loads((package_root() / "pulumi-plugin.json").read_text())["version"]
    sections: dict[str, Mapping[str, object]] = {
        "resources": {token: _resource(token, types) for token in sorted(resources)},
        "lookups": {token: _lookup(token, types) for token in sorted(lookups)},
        "provider": _provider(types),
        "types": dict(sorted(types.items())),
    }
    lines = [f'{{\n"version": "{version}"']
    for title, entries in sections.items():
        body = ",\n".join(
            f"  {json.dumps(key)}: {_compact(value)}" for key, value in entries.items()
        )
        lines.append(f'"{title}": {{\n{body}\n}}')
    return ",\n".join(lines) + "\n}\n"


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


if __name__ == "__main__":
    SCHEMA_FILE.write_text(build())
