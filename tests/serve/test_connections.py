"""Connections that misbehave, and the end of a service, against servers of their own with short limits."""

import contextlib
import json
import re
import signal
import socket
import threading
import time

import pytest

from tests.cli.commands.train.helpers import fails
from tests.commands import run
from tests.serve.helpers import (
    HASTY,
    SECONDS,
    SECRET,
    connect,
    format_request,
    receive_all,
    run_service,
    save_space,
    send_bytes,
)

OPEN = format_request({"texts": ["food"]})
GOOD = format_request({"texts": ["food"]}, "connection: close")
SLOW = format_request({"texts": ["slow " + "food " * 2_000]}, "connection: close")
OPTIONS = ("--hide", "none", "--mechanism", "tem", "--epsilon", "2")
deep = pytest.mark.deep


def find_port(address):
    return int(address.rpartition(":")[2])


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Return folder, process and port of a server with limits of a second."""
    folder = tmp_path_factory.mktemp("server")
    with run_service(folder, *OPTIONS, limits={**HASTY, "connections": 20}) as (process, address):
        yield folder, process, find_port(address)


@pytest.fixture
def port(server):
    """Return the port, and check afterwards that the server lives and answers."""
    _, process, number = server
    yield number
    assert process.poll() is None
    assert list_statuses(send_bytes(number, GOOD)) == [200]


def list_statuses(received):
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3})", received)]


@pytest.mark.parametrize(
    "data",
    [
        bytes(range(256)) * 20,
        pytest.param(b"\x00" * 1_000, marks=deep),
        pytest.param(b"GET / HTTP/9.9\r\n\r\n", marks=deep),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", marks=deep),
        pytest.param(b"POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: -5\r\n\r\n", marks=deep),
        b"POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nabcdef",
        b"POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\ncontent-length: 3\r\n\r\nxyz",
    ],
    ids=lambda data: str(data[:12]),
)
def test_garbage(port, data):
    """What is no request gets a whole problem in JSON, and the connection ends."""
    head, _, body = send_bytes(port, data).partition(b"\r\n\r\n")
    assert list_statuses(head) == [400]
    assert b"application/problem+json" in head
    assert f"content-length: {len(body)}".encode() in head
    assert b"connection: close" in head
    assert json.loads(body)["status"] == 400


@pytest.mark.parametrize("begin", [b"GET /v1/health HTTP/1.1\r\nhost: 127", pytest.param(b"", marks=deep)])
def test_nothing(port, begin):
    """A connection that says nothing, or half a header, ends after the limit, without an answer."""
    assert send_bytes(port, begin) == b""


@deep
@pytest.mark.parametrize(
    ("head", "part"),
    [
        (b"GET /v1/health HTTP/1.1\r\nhost: 127.0.0.1\r\nx: ", b"y" * (8 << 10)),
        (b"trailers", b"x: y\r\n" * 2_000),
        (b"trailers", b"y" * 12_000),
    ],
)
def test_large_headers(port, head, part):
    """Headers before or after a body are not kept, and refused when there is no end of them."""
    if head == b"trailers":
        head = b"POST /v1/privatize HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        head += b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nz: "
    with connect(port) as connection:
        connection.sendall(head)
        try:
            for _ in range(20):
                connection.sendall(part)
                time.sleep(0.01)
            received = receive_all(connection)
        except OSError:  # it was reset before all was sent
            return
        assert list_statuses(received) == [431]


UPGRADED = b"GET /v1/health HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: upgrade\r\n"


@deep
@pytest.mark.parametrize(
    ("begin", "part"),
    [
        (b"GET /v1/health HTTP/1.1\r\nx: ", b"y"),
        (OPEN + b"GET /v1/health HTTP/1.1\r\nx: ", b"y"),
        (UPGRADED + b"\r\n", b"\r\n"),
        (UPGRADED + b"transfer-encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        (UPGRADED + b"upgrade: h2c\r\n\r\n", b"x"),
    ],
    ids=["headers", "second headers", "empty lines", "a body that nobody reads", "another protocol"],
)
def test_bytes_that_trickle(port, begin, part):
    """Headers that arrive byte by byte have no more time than others, and what follows a response has none."""
    with connect(port) as connection, contextlib.suppress(OSError):
        connection.sendall(begin)
        for _ in range(600):
            connection.sendall(part)
            time.sleep(0.1)
        pytest.fail("the connection did not end")


def wait_for_figure(port, name, is_right):
    """Wait until a figure of the metrics is as it should be."""
    for _ in range(600):
        metrics = send_bytes(port, format_request(None, "connection: close", path="/v1/metrics")).decode()
        if is_right(float(re.search(rf"^deniable_{name} (\S+)$", metrics, re.MULTILINE)[1])):
            return
        time.sleep(0.1)
    pytest.fail(metrics)


@deep
def test_a_client_that_does_not_read(port):
    """The bytes of a request are given back although nobody reads the answer to it."""
    received = send_bytes(port, format_request(None, "connection: close", path="/v1/certificate"))
    document = {**json.loads(received.partition(b"\r\n\r\n")[2]), "more": "<" * 3_500_000}
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(SECONDS)
        connection.connect(("127.0.0.1", port))
        connection.sendall(format_request({"certificate": json.dumps(document)}, path="/v1/certificate/check"))
        assert connection.recv(12) == b"HTTP/1.1 200"
        wait_for_figure(port, "pending_bytes", lambda count: count == 0)


@deep
def test_a_client_that_reads_slowly(port):
    """A long answer is read to its end by a client that takes its time, but goes on."""
    with connect(port) as connection:
        connection.sendall(format_request({"texts": ["food " * 100_000], "show": "words"}))
        received = b""
        while not received.endswith(b"]]}"):
            chunk = connection.recv(1 << 20)
            assert chunk, len(received)
            received += chunk
            time.sleep(0.2)


def test_a_slow_body(port):
    """A body that does not arrive in time is answered with 408, and the connection ends."""
    assert list_statuses(send_bytes(port, GOOD[:-5])) == [408]


def test_a_body_that_is_refused_unread(port):
    """After an error the connection ends, although the client could send its body for ever; a large one gets 413."""
    for path, status in (("/nowhere", 404), ("/v1/health", 405), ("/v1/privatize", 415)):
        head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 1000000000\r\n\r\n".encode()
        assert list_statuses(send_bytes(port, head)) == [status]
    assert list_statuses(send_bytes(port, format_request(b" " * (5 << 20)))) == [413]


def test_clients_that_go_away(port):
    """Clients that send and go away at once, or close their half, disturb nobody."""
    for _ in range(15):
        with connect(port) as connection:
            connection.sendall(GOOD)
    assert list_statuses(send_bytes(port, GOOD, end=True)) in ([200], [])
    assert list_statuses(send_bytes(port, GOOD[:-5], end=True)) in ([408], [])


def test_pipelined_requests(port):
    """Requests that are sent without waiting are answered one after the other, in order."""
    received = send_bytes(port, OPEN + OPEN + GOOD)
    assert list_statuses(received) == [200, 200, 200]


@deep
def test_too_many_connections(port):
    """Beyond the limit a connection is told so, and those that are open go on; later there is room again."""
    with contextlib.ExitStack() as stack:
        idle = [stack.enter_context(connect(port)) for _ in range(20)]
        received = b""
        while 503 not in list_statuses(received):  # idle ones end after a second
            received = send_bytes(port, b"")
            idle += [stack.enter_context(connect(port)) for _ in range(20)]
    wait_for_figure(port, "open_requests", lambda count: count == 1)


def test_a_long_request_stops_nobody(server, port):
    """While a long request is worked on, others are answered; it is, too, when it is done."""
    with connect(port) as connection:
        connection.sendall(SLOW)
        wait_for_figure(port, "open_requests", lambda count: count == 2)
        assert list_statuses(send_bytes(port, GOOD)) == [200]
        (server[0] / "go").touch()
        assert list_statuses(receive_all(connection)) == [200]


def test_a_failure_shows_no_text(server, port):
    """A bug gets 500, and neither answer nor log shows the text."""
    received = send_bytes(port, format_request({"texts": [f"fail {SECRET}"]}))
    assert list_statuses(received) == [500]
    assert SECRET.encode() not in received
    line = server[1].stderr.readline()
    assert "/v1/privatize RuntimeError at " in line
    assert SECRET not in line


def begin_to_end(process, connection):
    """Send SIGTERM, and wait until an open connection says that the service stops."""
    process.send_signal(signal.SIGTERM)
    status = b""
    with contextlib.suppress(ConnectionError):
        while status != b"HTTP/1.1 503":
            connection.sendall(format_request(path="/v1/health"))
            status = connection.recv(1 << 16)[:12]
            assert status in {b"HTTP/1.1 200", b"HTTP/1.1 503"}


def test_a_graceful_end(tmp_path):
    """After SIGTERM the request in work is finished, new ones get 503 or no connection, and the process ends well."""
    patient = {"work_seconds": 600.0}
    with run_service(tmp_path, *OPTIONS, limits=patient) as (process, address), connect(find_port(address)) as one:
        answers = []
        thread = threading.Thread(target=lambda: answers.append(send_bytes(find_port(address), SLOW)))
        thread.start()
        wait_for_figure(find_port(address), "open_requests", lambda count: count == 2)
        begin_to_end(process, one)
        assert answers == []
        (tmp_path / "go").touch()
        thread.join()
        assert answers[0].startswith(b"HTTP/1.1 200")
        assert (process.stderr.read(), process.wait(SECONDS)) == ("stopped\n", 0)


@deep
@pytest.mark.parametrize(("limit", "signals"), [(1.0, 1), (600.0, 2)])
def test_an_end_in_time(tmp_path, limit, signals):
    """A request that is not done within the limit is given up; a second signal does not wait even for that."""
    limits = {"work_seconds": limit, "body_seconds": 6000.0}
    with contextlib.ExitStack() as stack:
        process, address = stack.enter_context(run_service(tmp_path, *OPTIONS, limits=limits))
        connection, other = (stack.enter_context(connect(find_port(address))) for _ in range(2))
        connection.sendall(GOOD[:-5])
        wait_for_figure(find_port(address), "open_requests", lambda count: count == 2)
        begin_to_end(process, other)
        if signals == 2:
            process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 0


def test_an_address_that_cannot_be_used(tmp_path, monkeypatch):
    """A port in use is one line that names it."""
    monkeypatch.chdir(tmp_path)
    save_space(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        taken = listener.getsockname()[1]
        fails(run("serve", "--space", "space.npz", "--port", taken), str(taken))
