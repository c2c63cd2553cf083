"""Connections that misbehave, and the end of a service, against servers of their own with short limits."""

import contextlib
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
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", marks=deep),
        pytest.param(b"POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: -5\r\n\r\n", marks=deep),
        b"POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nabcdef",
        b"GET /v1/health HTTP/1.1\r\nhost: 127.0.0.1\r\nx: " + b"y" * (80 << 10),
    ],
    ids=lambda data: str(data[:12]),
)
def test_garbage(port, data):
    """What is no request, or has headers of more than 64 KiB, is refused, and the connection ends."""
    received = send_bytes(port, data)
    assert list_statuses(received) in ([400], [431], [])


def wait_for_figure(port, name, is_right):
    """Wait until a figure of the metrics is as it should be."""
    for _ in range(600):
        metrics = send_bytes(port, format_request(None, "connection: close", path="/v1/metrics")).decode()
        if is_right(float(re.search(rf"^deniable_{name} (\S+)$", metrics, re.MULTILINE)[1])):
            return
        time.sleep(0.1)
    pytest.fail(metrics)


@deep
def test_a_client_that_reads_slowly(port):
    """A long answer is read to its end by a client that takes its time, but goes on."""
    with connect(port) as connection:
        connection.sendall(format_request({"texts": ["food " * 40_000], "show": "words"}))
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
    for path, kind, status in (("/nowhere", "json", 404), ("/v1/health", "json", 405), ("/v1/privatize", "pdf", 415)):
        head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/{kind}\r\n".encode()
        head += b"content-length: 1000000000\r\n\r\n"
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
    """Beyond the limit a request is told so; later there is room again."""
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(connect(port))
        assert 503 in list_statuses(send_bytes(port, GOOD))
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


def begin_to_end(process, port):
    """Send SIGTERM, and wait until no connection is taken any more."""
    process.send_signal(signal.SIGTERM)
    with contextlib.suppress(ConnectionError):
        while True:
            send_bytes(port, format_request(None, "connection: close", path="/v1/health"))


def test_a_graceful_end(tmp_path):
    """After SIGTERM the request in work is finished, no other is taken, and the process ends well."""
    with run_service(tmp_path, *OPTIONS, limits={"work_seconds": 600.0}) as (process, address):
        port, answers = find_port(address), []
        thread = threading.Thread(target=lambda: answers.append(send_bytes(port, SLOW)))
        thread.start()
        wait_for_figure(port, "open_requests", lambda count: count == 2)
        begin_to_end(process, port)
        assert answers == []
        (tmp_path / "go").touch()
        thread.join()
        assert answers[0].startswith(b"HTTP/1.1 200")
        assert (process.stderr.read(), process.wait(SECONDS)) == ("stopped\n", 0)


@deep
@pytest.mark.parametrize(("limit", "signals"), [(1.0, [signal.SIGTERM]), (600.0, [signal.SIGTERM, signal.SIGINT])])
def test_an_end_in_time(tmp_path, limit, signals):
    """A request that is not done within the limit is given up; a Ctrl-C does not wait even for that."""
    limits = {"work_seconds": limit, "body_seconds": 6000.0}
    with contextlib.ExitStack() as stack:
        process, address = stack.enter_context(run_service(tmp_path, *OPTIONS, limits=limits))
        port = find_port(address)
        connection = stack.enter_context(connect(port))
        connection.sendall(GOOD[:-5])
        wait_for_figure(port, "open_requests", lambda count: count == 2)
        begin_to_end(process, port)
        for number in signals[1:]:
            process.send_signal(number)
        assert process.wait(SECONDS) == 0


def test_an_address_that_cannot_be_used(tmp_path, monkeypatch):
    """A port in use is one line that names it."""
    monkeypatch.chdir(tmp_path)
    save_space(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        taken = listener.getsockname()[1]
        fails(run("serve", "--space", "space.npz", "--port", taken), str(taken))
