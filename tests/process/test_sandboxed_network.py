"""Without network nothing outside answers, and inside a namespace the machine's own loopback."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from .pens import Pen

CONNECT = """
import socket, sys
family, kind = getattr(socket, sys.argv[1]), getattr(socket, sys.argv[2])
address = sys.argv[3] if family == socket.AF_UNIX else ("127.0.0.1", int(sys.argv[3]))
if isinstance(address, str) and address.startswith("@"):
    address = chr(0) + address[1:]
try:
    with socket.socket(family, kind) as s:
        s.settimeout(5)
        s.connect(address)
        s.send(b"hello")
    print("sent")
except OSError as error:
    print("refused", error)
"""


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A server of the host on loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)
        yield server


def test_a_server_of_the_host_cannot_be_reached(pen: Pen, listener: socket.socket) -> None:
    port = str(listener.getsockname()[1])
    assert pen.python(CONNECT, "AF_INET", "SOCK_STREAM", port).stdout.head.startswith(b"refused")
    listener.settimeout(0.1)
    with pytest.raises(TimeoutError):
        listener.accept()


def test_with_network_it_can(pen: Pen, listener: socket.socket) -> None:
    port = str(listener.getsockname()[1])
    seen = pen.with_rules(network=True).python(CONNECT, "AF_INET", "SOCK_STREAM", port)
    assert seen.stdout.head == b"sent\n"
    listener.accept()[0].close()


def test_datagrams_do_not_leave(pen: Pen) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as host:
        host.bind(("127.0.0.1", 0))
        host.settimeout(0.2)
        pen.python(CONNECT, "AF_INET", "SOCK_DGRAM", str(host.getsockname()[1]))
        with pytest.raises(TimeoutError):
            host.recv(100)


@pytest.mark.parametrize("network", [False, True])
def test_an_abstract_socket_of_the_host_cannot_be_reached(network: bool, fence: Pen) -> None:
    _assert_abstract_refused(fence.with_rules(network=network))


def test_an_abstract_socket_is_outside_the_network_of_a_cell(cell: Pen) -> None:
    _assert_abstract_refused(cell)


def _assert_abstract_refused(pen: Pen) -> None:
    name = f"signoff-{uuid4().hex}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as host:
        host.bind(f"\0{name}")
        host.listen()
        seen = pen.python(CONNECT, "AF_UNIX", "SOCK_STREAM", f"@{name}")
        assert seen.stdout.head.startswith(b"refused")


def test_a_socket_in_a_private_folder_of_the_host_cannot_be_reached(cell: Pen) -> None:
    path = Path("/var/tmp") / f"signoff-{uuid4().hex}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as host:
        host.bind(str(path))
        try:
            host.listen()
            refused = cell.python(CONNECT, "AF_UNIX", "SOCK_STREAM", str(path))
            named = cell.with_rules(readable=(path,))
            allowed = named.python(CONNECT, "AF_UNIX", "SOCK_STREAM", str(path))
        finally:
            path.unlink()
    assert refused.stdout.head.startswith(b"refused")
    assert allowed.stdout.head == b"sent\n"


def test_servers_of_the_run_itself_work_inside_a_cell(cell: Pen) -> None:
    code = (
        "import socket, threading\n"
        "with socket.create_server(('127.0.0.1', 0)) as server:\n"
        "    thread = threading.Thread(target=lambda: server.accept()[0].send(b'hi'))\n"
        "    thread.start()\n"
        "    print(socket.create_connection(server.getsockname()).recv(2).decode())\n"
        "    thread.join()\n"
    )
    assert cell.python(code).stdout.head == b"hi\n"


def test_sockets_of_the_run_itself_work_in_its_own_folder(pen: Pen) -> None:
    code = (
        "import socket\n"
        "server = socket.socket(socket.AF_UNIX); server.bind('s'); server.listen()\n"
        "client = socket.socket(socket.AF_UNIX); client.connect('s')\n"
        "a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1).decode())\n"
    )
    assert pen.python(code).stdout.head == b"x\n"


@pytest.mark.parametrize("family", [40, 17, 16, 31, 38])
def test_families_that_leave_a_network_namespace_are_refused(family: int, fence: Pen) -> None:
    code = f"import socket; socket.socket({family}, socket.SOCK_RAW)"
    assert b"PermissionError" in fence.python(code).stderr.kept


def test_the_hypervisor_cannot_be_called(cell: Pen) -> None:
    code = "import socket; socket.socket(40, socket.SOCK_STREAM)"
    assert b"PermissionError" in cell.python(code).stderr.kept


def test_rings_that_go_around_the_filter_are_refused(pen: Pen) -> None:
    code = (
        "import ctypes, errno\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "print(libc.syscall(425, 1, ctypes.create_string_buffer(256)), "
        "ctypes.get_errno() == errno.EPERM)\n"
    )
    assert pen.python(code).stdout.head == b"-1 True\n"


def test_the_other_doors_of_the_processor_are_guarded_too(pen: Pen) -> None:
    """32-bit and x32 system calls would otherwise pass beside the numbers that are filtered."""
    code = (
        "import ctypes, errno, platform\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "result = libc.syscall(0x40000000 + 41, 2, 1, 0)\n"
        "print(result, ctypes.get_errno() == errno.ENOSYS)\n"
    )
    assert pen.python(code).stdout.head == b"-1 True\n"
