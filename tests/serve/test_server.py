"""Starting and stopping a server."""

import json
import signal
import socket
import threading
import time

import pytest

import deniable as dn
from deniable.serve.server import bind_address, format_address
from tests.serve.helpers import format_request, receive_all, send_bytes, start_server

HEALTH = format_request(None, path="/v1/health", method="GET")


def test_a_port_in_use():
    """An address that cannot be used is one line that names it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(dn.InputError, match=f"127.0.0.1:{port} cannot be used"):
            bind_address("127.0.0.1", port)
    with pytest.raises(dn.InputError, match="cannot be used"):
        bind_address("no.such.host.invalid", 0)


def test_addresses():
    """An address is written as a URL, also one of IPv6."""
    with bind_address("127.0.0.1", 0) as listener:
        assert format_address(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_a_graceful_end():
    """After SIGTERM the request in work is finished, new ones get 503 or no connection, and the process ends well."""
    with start_server(work_seconds=5.0) as (process, port):
        with socket.create_connection(("127.0.0.1", port), 5) as open_connection:
            open_connection.sendall(HEALTH)
            assert open_connection.recv(12) == b"HTTP/1.1 200"
            answers = []
            slow = format_request(json.dumps({"texts": ["slow " + "food " * 2_000]}).encode())
            thread = threading.Thread(target=lambda: answers.append(send_bytes(port, slow)))
            thread.start()
            time.sleep(0.3)
            process.send_signal(signal.SIGTERM)
            time.sleep(0.2)
            open_connection.sendall(format_request(json.dumps({"texts": ["food"]}).encode()))
            assert b" 503 " in receive_all(open_connection)
        thread.join()
        assert answers[0].startswith(b"HTTP/1.1 200")
        out, err = process.communicate(timeout=10)
        assert (process.returncode, out, err) == (0, "ended\n", "")


def test_an_end_in_time():
    """A request that is not done within the limit is given up, and the process ends soon after it."""
    with start_server(work_seconds=3.0, body_seconds=60.0) as (process, port):
        with socket.create_connection(("127.0.0.1", port), 5) as connection:
            connection.sendall(format_request(json.dumps({"texts": ["food"]}).encode())[:-5])
            time.sleep(0.3)
            process.send_signal(signal.SIGTERM)
            started = time.monotonic()
            process.wait(20)  # on a busy machine an interpreter takes seconds to end
        assert 2.9 < time.monotonic() - started < 20
        assert process.returncode == 0


def test_an_end_at_once():
    """A second signal does not wait for the request in work."""
    with start_server(work_seconds=60.0) as (process, port):
        slow = format_request(json.dumps({"texts": ["slow " + "food " * 2_000]}).encode())
        with socket.create_connection(("127.0.0.1", port), 5) as connection:
            connection.sendall(slow)
            time.sleep(0.3)
            process.send_signal(signal.SIGTERM)
            time.sleep(0.1)
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=10)
        assert process.returncode == 0
