"""Connections that misbehave, against a server in a process of its own with short limits."""

import contextlib
import json
import re
import socket
import threading
import time

import pytest

from deniable.serve.connections import MAX_HEADER_BYTES
from tests.serve.helpers import SECRET, format_request, receive_all, send_bytes, start_server

GOOD = format_request(json.dumps({"texts": ["food"]}).encode())


@pytest.fixture(scope="module")
def server():
    """Return the process and port of a server with limits of a second."""
    limits = {"header_seconds": 1.0, "body_seconds": 1.0, "idle_seconds": 1.0, "work_seconds": 3.0, "connections": 20}
    with start_server(**limits) as (process, port):
        yield process, port


@pytest.fixture
def port(server):
    """Return the port, and check afterwards that the server lives and answers."""
    process, number = server
    yield number
    assert process.poll() is None
    assert list_statuses(send_bytes(number, GOOD, seconds=2)) == [200]


def list_statuses(received):
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3})", received)]


@pytest.mark.parametrize(
    "data",
    [
        b"\x00" * 1_000,
        bytes(range(256)) * 20,
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST /v1/privatize HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: -5\r\n\r\n",
        b"POST /v1/privatize HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nabcdef",
        b"POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\ncontent-length: 3\r\n\r\nxyz",
    ],
    ids=lambda data: str(data[:12]),
)
def test_garbage(port, data):
    """What is no request gets a problem in JSON, and the connection ends at once."""
    started = time.monotonic()
    received = send_bytes(port, data)
    assert time.monotonic() - started < 0.9
    assert list_statuses(received) == [400]
    assert b"application/problem+json" in received


def test_nothing(port):
    """A connection that says nothing, or half a header, ends after the limit, without an answer."""
    for data in (b"", b"GET /v1/health HTTP/1.1\r\nhost: 127"):
        started = time.monotonic()
        assert send_bytes(port, data) == b""
        assert 0.5 < time.monotonic() - started < 3


def test_headers_that_trickle(port):
    """Headers that arrive byte by byte have no more time than others; also those of a second request."""
    for begin in (b"", GOOD):
        with socket.create_connection(("127.0.0.1", port), 5) as connection:
            connection.sendall(begin)
            started = time.monotonic()
            with contextlib.suppress(OSError):
                for byte in b"GET /v1/health HTTP/1.1\r\nx: " + b"y" * 60:
                    connection.sendall(bytes([byte]))
                    time.sleep(0.1)
            assert time.monotonic() - started < 4


def test_large_headers(port):
    """Headers without end are refused."""
    with socket.create_connection(("127.0.0.1", port), 5) as connection:
        connection.sendall(b"GET /v1/health HTTP/1.1\r\nhost: 127.0.0.1\r\nx: ")
        try:
            for _ in range(20):
                connection.sendall(b"y" * (MAX_HEADER_BYTES // 8))
                time.sleep(0.01)
            received = receive_all(connection)
        except OSError:  # it was reset before all was sent
            return
        assert list_statuses(received) == [431]


@pytest.mark.parametrize("trailer", [b"x: y\r\n" * 2_000, b"y" * 12_000], ids=["many", "one"])
def test_large_trailers(port, trailer):
    """Headers after a body are not kept, and refused when there is no end of them."""
    head = b"POST /v1/privatize HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", port), 5) as connection:
        connection.sendall(head + b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nz: ")
        try:
            for _ in range(20):
                connection.sendall(trailer)
                time.sleep(0.01)
            received = receive_all(connection)
        except OSError:  # it was reset before all was sent
            return
        assert list_statuses(received) == [431]


@pytest.mark.parametrize(
    ("request_end", "trickle"),
    [(b"\r\n", b"\r\n"), (b"transfer-encoding: chunked\r\n\r\n", b"1\r\nx\r\n"), (b"upgrade: h2c\r\n\r\n", b"x")],
    ids=["empty lines", "a body that nobody reads", "another protocol"],
)
def test_bytes_that_are_no_request(port, request_end, trickle):
    """After a response a connection ends after the limit, whatever else trickles in on it."""
    with socket.create_connection(("127.0.0.1", port), 5) as connection:
        connection.sendall(b"GET /v1/health HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: upgrade\r\n" + request_end)
        started = time.monotonic()
        with contextlib.suppress(OSError):
            while time.monotonic() - started < 5:
                time.sleep(0.2)
                connection.sendall(trickle)
        assert time.monotonic() - started < 4


def read_gauge(port, name):
    """Return a figure of the metrics."""
    metrics = send_bytes(port, format_request(None, path="/v1/metrics", method="GET"), seconds=2).decode()
    return float(re.search(rf"^deniable_{name} (\S+)$", metrics, re.MULTILINE)[1])


def test_a_client_that_does_not_read(port):
    """The bytes of a request are given back although nobody reads the answer to it."""
    received = send_bytes(port, format_request(None, path="/v1/certificate", method="GET"), seconds=2)
    document = {**json.loads(received.partition(b"\r\n\r\n")[2]), "more": "<" * 3_500_000}
    body = json.dumps({"certificate": json.dumps(document)}).encode()
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", port))
        connection.sendall(format_request(body, path="/v1/certificate/check"))
        assert connection.recv(12) == b"HTTP/1.1 200"
        time.sleep(4)
        assert read_gauge(port, "pending_bytes") == 0


def test_a_client_that_reads_slowly(port):
    """A long answer is read to its end by a client that takes its time, but goes on."""
    body = json.dumps({"texts": ["food " * 100_000], "show": "words"}).encode()
    with socket.create_connection(("127.0.0.1", port), 5) as connection:
        connection.sendall(format_request(body))
        received = b""
        while not received.endswith(b"]]}"):
            chunk = connection.recv(1 << 20)
            assert chunk, len(received)
            received += chunk
            time.sleep(0.4)


def test_a_slow_body(port):
    """A body that does not arrive in time is answered with 408, and the connection ends."""
    started = time.monotonic()
    received = send_bytes(port, GOOD[:-5])
    assert list_statuses(received) == [408]
    assert 0.5 < time.monotonic() - started < 3


def test_a_body_that_is_refused_unread(port):
    """After an error the connection ends, although the client could send its body for ever."""
    for path in ("/nowhere", "/v1/health", "/v1/privatize"):
        head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 1000000000\r\n\r\n".encode()
        started = time.monotonic()
        received = send_bytes(port, head)
        assert list_statuses(received) in ([404], [405], [415])
        assert time.monotonic() - started < 0.9


def test_half_closed(port):
    """A client that sends its request and closes its half gets its answer or nothing; half a request does not hurt."""
    assert list_statuses(send_bytes(port, GOOD, end=True, seconds=3)) in ([200], [])
    assert list_statuses(send_bytes(port, GOOD[:-5], end=True, seconds=3)) in ([408], [])


def test_clients_that_go_away(port):
    """Clients that send and go away at once disturb nobody."""
    for _ in range(30):
        with socket.create_connection(("127.0.0.1", port), 5) as connection:
            connection.sendall(GOOD)
    assert list_statuses(send_bytes(port, GOOD, seconds=2)) == [200]


def test_pipelined_requests(port):
    """Requests that are sent without waiting are answered one after the other, in order."""
    received = send_bytes(port, GOOD + format_request(None, path="/nowhere", method="GET") + GOOD, seconds=2)
    assert list_statuses(received) == [200, 404, 200]


def test_a_large_body(port):
    """A body above the limit gets its answer, although the client sends on."""
    received = send_bytes(port, format_request(b" " * (5 << 20)), seconds=4)
    assert list_statuses(received) == [413]


def test_too_many_connections(port):
    """Beyond the limit a connection is told so, and those that are open go on; later there is room again."""
    idle = [socket.create_connection(("127.0.0.1", port), 5) for _ in range(20)]
    try:
        time.sleep(0.2)
        assert list_statuses(send_bytes(port, b"", seconds=2)) == [503]
        idle[0].sendall(GOOD)
        assert idle[0].recv(12) == b"HTTP/1.1 200"
    finally:
        for connection in idle:
            connection.close()
    time.sleep(0.2)


def test_a_long_request_stops_nobody(port):
    """While a request takes a second, others are answered at once."""
    slow = format_request(json.dumps({"texts": ["slow " + "food " * 2_000]}).encode())
    answers = []
    thread = threading.Thread(target=lambda: answers.append(send_bytes(port, slow, seconds=3)))
    thread.start()
    time.sleep(0.2)
    started = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), 5) as connection:
        connection.sendall(GOOD)
        assert connection.recv(12) == b"HTTP/1.1 200"
    assert time.monotonic() - started < 0.5
    thread.join()
    assert list_statuses(answers[0]) == [200]


def test_a_failure_shows_no_text(server, port):
    """A bug gets 500, and neither answer nor log shows the text."""
    received = send_bytes(port, format_request(json.dumps({"texts": [f"fail {SECRET}"]}).encode()), seconds=2)
    assert list_statuses(received) == [500]
    assert SECRET.encode() not in received
    line = server[0].stderr.readline()
    assert "/v1/privatize RuntimeError at " in line
    assert SECRET not in line
