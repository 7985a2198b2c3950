"""Commands and copies over SSH, against a server of our own."""

from __future__ import annotations

import asyncio
import socket
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import asyncssh
import grpc
import pytest
from google.protobuf import empty_pb2

from scripts.local.plugins.command.properties import COPY_FILE, COPY_TO_REMOTE, REMOTE_COMMAND
from scripts.local.plugins.shared.wire import Archive, Asset, Props, Secret
from tests.local.plugins.command.support import Client, error, urn
from tests.local.plugins.shared.support import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

USER = "trainyard"
PASSWORD = "correct-horse-battery"  # noqa: S105 - a password of this test's own server
PASSPHRASE = "staple-of-the-key"  # noqa: S105 - the same


@dataclass(frozen=True)
class Server:
    """A running SSH server; ``connections`` are the hosts' ports that clients asked for."""

    port: int
    host_key: str
    client_key: asyncssh.SSHKey
    tunnels: list[int]
    running: threading.Event

    def connection(self, **more: object) -> Props:
        return {
            "host": "127.0.0.1",
            "port": self.port,
            "user": USER,
            "password": PASSWORD,
            "dialErrorLimit": 0,
            **more,
        }


async def handle(process: asyncssh.SSHServerProcess[str], running: threading.Event) -> None:
    """Answer a few commands that a real host would give to its shell."""
    command = process.command or ""
    match command.split():
        case ["cat"]:
            process.stdout.write(await process.stdin.read())
        case ["env", name]:
            process.stdout.write(f"{process.env.get(name, '')}\n")
        case ["noise"]:
            process.stdout.write("out\n")
            process.stderr.write("err\n")
        case ["fail"]:
            process.stdout.write("half\n")
            process.stderr.write("problem\n")
            process.exit(3)
            return
        case ["crash"]:
            process.exit_with_signal("KILL")
            return
        case _:
            running.set()
            while not process.is_closing():  # noqa: ASYNC110 - the library offers no event
                await asyncio.sleep(0.02)
            running.clear()
            return
    process.exit(0)


def start(loop: asyncio.AbstractEventLoop) -> tuple[asyncssh.SSHAcceptor, Server]:
    host_key = asyncssh.generate_private_key("ssh-ed25519")
    client_key = asyncssh.generate_private_key("ssh-ed25519")
    tunnels: list[int] = []
    running = threading.Event()

    class Rules(asyncssh.SSHServer):
        def begin_auth(self, username: str) -> bool:
            del username
            return True

        def password_auth_supported(self) -> bool:
            return True

        def validate_password(self, username: str, password: str) -> bool:
            return (username, password) == (USER, PASSWORD)

        def public_key_auth_supported(self) -> bool:
            return True

        def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
            return username == USER and key == client_key.convert_to_public()

        def connection_requested(self, dest_host: str, dest_port: int, *_: object) -> bool:
            del dest_host
            tunnels.append(dest_port)
            return True

    async def listen() -> asyncssh.SSHAcceptor:
        return await asyncssh.create_server(
            Rules,
            "127.0.0.1",
            0,
            server_host_keys=[host_key],
            process_factory=lambda process: handle(process, running),
            sftp_factory=True,
        )

    acceptor = asyncio.run_coroutine_threadsafe(listen(), loop).result(10)
    public = host_key.export_public_key().decode()
    return acceptor, Server(acceptor.get_port(), public, client_key, tunnels, running)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    acceptor, server = start(loop)
    yield server

    async def close() -> None:
        acceptor.close()
        await acceptor.wait_closed()

    asyncio.run_coroutine_threadsafe(close(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def run(client: Client, connection: Props, command: str = "noise", **inputs: object) -> Props:
    properties = {"connection": Secret(connection), "create": command, **inputs}
    return client.create(properties, REMOTE_COMMAND)[1]


def failure(call: Callable[[], object]) -> str:
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return error(caught.value)


def test_a_command_runs_on_the_host_and_its_lines_are_logged(
    client: Client, server: Server
) -> None:
    properties = run(client, server.connection())
    assert (properties["stdout"], properties["stderr"]) == ("out", "err")
    assert properties["connection"] == Secret(server.connection())
    assert sorted(client.log.lines) == [
        ("info (status)", urn(REMOTE_COMMAND), "err"),
        ("info (status)", urn(REMOTE_COMMAND), "out"),
    ]


def test_stdin_and_environment_reach_the_host(client: Client, server: Server) -> None:
    connection = server.connection()
    assert run(client, connection, "cat", stdin="given")["stdout"] == "given"
    assert run(client, connection, "env A", environment={"A": "b"})["stdout"] == "b"
    olds: Props = {"connection": Secret(connection), "create": "noise", "stdout": "was"}
    news: Props = {**olds, "update": "env PULUMI_COMMAND_STDOUT"}
    assert client.update(olds, news, REMOTE_COMMAND)["stdout"] == "was"


def test_keys_with_and_without_a_passphrase_open_the_door(client: Client, server: Server) -> None:
    clear = server.client_key.export_private_key().decode()
    sealed = server.client_key.export_private_key("pkcs8-pem", PASSPHRASE).decode()
    no_password = server.connection(password=None)
    assert run(client, {**no_password, "privateKey": clear})["stdout"] == "out"
    connection = {**no_password, "privateKey": sealed, "privateKeyPassword": PASSPHRASE}
    assert run(client, connection)["stdout"] == "out"
    assert failure(lambda: run(client, {**no_password, "privateKey": sealed})) == (
        "a key of the connection cannot be read: Passphrase must be specified to import "
        "encrypted private keys"
    )


def test_a_failing_command_tells_its_status_and_what_it_wrote(
    client: Client, server: Server
) -> None:
    message = failure(lambda: run(client, server.connection(), "fail"))
    head, *lines = message.splitlines()
    assert head == 'Process exited with status 3: running "fail":'
    assert sorted(lines) == ["half", "problem"]
    assert failure(lambda: run(client, server.connection(), "crash")) == (
        'Process exited from signal KILL: running "crash":\n'
    )


def test_a_wrong_password_is_refused_without_being_shown(client: Client, server: Server) -> None:
    connection = server.connection(password="wrong-password-canary")  # noqa: S106 - it is wrong
    message = failure(lambda: run(client, connection))
    assert (
        message == "after 0 failed attempts: Permission denied for user trainyard on host 127.0.0.1"
    )


def test_another_host_key_is_refused(client: Client, server: Server) -> None:
    assert run(client, server.connection(hostKey=server.host_key))["stdout"] == "out"
    other = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode()
    assert failure(lambda: run(client, server.connection(hostKey=other))) == (
        "after 0 failed attempts: Host key is not trusted for host 127.0.0.1"
    )


def test_dialling_is_tried_again_until_the_limit(client: Client) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        connection: Props = {"host": "127.0.0.1", "port": port, "dialErrorLimit": 2}
        message = failure(lambda: run(client, connection))
    assert message == (
        f"after 2 failed attempts: [Errno 111] Connect call failed ('127.0.0.1', {port})"
    )
    assert client.log.messages == ["Dial 1/2 failed: retrying", "Dial 2/2 failed: retrying"]


def test_a_host_that_does_not_answer_is_given_up(client: Client) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        connection: Props = {
            "host": "127.0.0.1",
            "port": silent.getsockname()[1],
            "dialErrorLimit": 0,
            "perDialTimeout": 1,
        }
        message = failure(lambda: run(client, connection))
    assert message == "after 0 failed attempts: the host did not answer in time"


def test_a_proxy_leads_to_the_host(client: Client, server: Server) -> None:
    server.tunnels.clear()
    connection = server.connection(proxy=server.connection())
    assert run(client, connection)["stdout"] == "out"
    assert server.tunnels == [server.port]
    wrong = server.connection(proxy=server.connection(user="nobody"))
    assert failure(lambda: run(client, wrong)) == (
        "proxy: after 0 failed attempts: Permission denied for user nobody on host 127.0.0.1"
    )


def test_a_cancelled_command_lets_go_of_the_host(client: Client, server: Server) -> None:
    problems: list[str] = []
    caller = threading.Thread(
        target=lambda: problems.append(
            failure(lambda: run(client, server.connection(), "hang", stdin="x"))
        )
    )
    caller.start()
    assert server.running.wait(10)
    client.stub.Cancel(empty_pb2.Empty())
    caller.join(10)
    assert problems == ["the engine stopped the command on the remote host"]
    assert eventually(lambda: not server.running.is_set())


def test_a_file_is_copied_to_a_name_or_into_a_folder(
    client: Client, server: Server, tmp_path: Path
) -> None:
    source, folder = tmp_path / "a.txt", tmp_path / "there"
    source.write_text("1")
    folder.mkdir()

    def copied(target: Path) -> Props:
        return {
            "connection": Secret(server.connection()),
            "source": Asset(path=str(source), hash="1"),
            "remotePath": str(target),
        }

    made, outputs = client.create(copied(tmp_path / "b.txt"), COPY_TO_REMOTE)
    assert made.startswith("demo")
    assert outputs == copied(tmp_path / "b.txt")
    client.create(copied(folder), COPY_TO_REMOTE)
    assert [path.read_text() for path in (tmp_path / "b.txt", folder / "a.txt")] == ["1", "1"]


def test_a_copy_is_repeated_only_when_the_file_or_the_place_changes(
    client: Client, server: Server, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("new")
    target = tmp_path / "b"
    olds: Props = {
        "connection": Secret(server.connection()),
        "source": Asset(path=str(tmp_path / "a"), hash="1"),
        "remotePath": str(target),
    }
    client.update(olds, {**olds, "triggers": [1]}, COPY_TO_REMOTE)
    assert not target.exists()
    changed = {**olds, "source": Asset(path=str(tmp_path / "a"), hash="2")}
    client.update(olds, changed, COPY_TO_REMOTE)
    assert target.read_text() == "new"


@pytest.mark.parametrize(("slash", "inside"), [("", "src/"), ("/", "")])
def test_a_folder_is_copied_with_its_members(
    client: Client, server: Server, tmp_path: Path, slash: str, inside: str
) -> None:
    source = tmp_path / "src"
    (source / "sub").mkdir(parents=True)
    (source / "a").write_text("a")
    (source / "sub" / "b").write_text("b")
    inputs: Props = {
        "connection": Secret(server.connection()),
        "source": Archive(path=f"{source}{slash}", hash="1"),
        "remotePath": str(tmp_path / "there"),
    }
    client.create(inputs, COPY_TO_REMOTE)
    client.create(inputs, COPY_TO_REMOTE)
    copied = {
        str(path.relative_to(tmp_path / "there"))
        for path in (tmp_path / "there").rglob("*")
        if path.is_file()
    }
    assert copied == {f"{inside}a", f"{inside}sub/b"}


def test_what_cannot_be_copied_is_named(client: Client, server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    connection = Secret(server.connection())
    into_file: Props = {
        "connection": connection,
        "source": Archive(path=str(tmp_path / "folder"), hash="1"),
        "remotePath": str(tmp_path / "file"),
    }
    assert failure(lambda: client.create(into_file, COPY_TO_REMOTE)) == (
        f"remote path {tmp_path}/file exists but is not a directory"
    )
    nowhere: Props = {
        "connection": connection,
        "localPath": str(tmp_path / "file"),
        "remotePath": str(tmp_path / "no" / "file"),
    }
    assert failure(lambda: client.create(nowhere, COPY_FILE)) == (
        f"failed to copy file {tmp_path}/file to remote path {tmp_path}/no/file: "
        "No such file or directory"
    )


def test_copy_file_copies_a_file(client: Client, server: Server, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    inputs: Props = {
        "connection": Secret(server.connection()),
        "localPath": str(tmp_path / "a"),
        "remotePath": str(tmp_path / "b"),
    }
    client.create(inputs, COPY_FILE)
    assert (tmp_path / "b").read_text() == "a"
