"""Bodies: strict JSON, and errors that show nothing of what was sent."""

import gzip
import json
import threading

import pytest

from deniable.serve import bodies
from deniable.serve.bodies import PrivatizeBody, parse_body
from deniable.serve.limits import Limits
from deniable.serve.measurements import MeasureBody
from deniable.serve.problems import Problem
from tests.serve.helpers import SECRET, Client, assert_problem

SECRET_JSON = json.dumps(SECRET)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"", 400),
        (b"\xff\xfe", 400),
        (f"[{SECRET_JSON}".encode(), 400),
        (b'{"texts": ["a"], "epsilon": NaN}', 400),
        (f'{{"texts": ["a"], "texts": [{SECRET_JSON}]}}'.encode(), 400),
        (b"[" * 100_000, 400),
        (b'{"texts": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400),
        (b'{"texts": ["a"], "epsilon": ' + b"9" * 5_000 + b"}", 400),
        (b'{"texts": ["a"], "epsilon": 1e999}', 422),
        (b'{"texts": ["a"], "epsilon": "2"}', 422),
        (f"[{SECRET_JSON}]".encode(), 422),
        (b"{}", 422),
        (b'{"texts": []}', 422),
        (f'{{"texts": {SECRET_JSON}}}'.encode(), 422),
        (f'{{"texts": [{SECRET_JSON}, 7]}}'.encode(), 422),
        (f'{{"texts": ["a"], {SECRET_JSON}: 1}}'.encode(), 422),
        (f'{{"texts": ["a"], "show": {SECRET_JSON}}}'.encode(), 422),
        (f'{{"texts": ["a"], "mechanism": {SECRET_JSON}}}'.encode(), 422),
        (json.dumps({"texts": [SECRET] * 10_001}).encode(), 422),
        (json.dumps({"texts": ["a", SECRET * 100_000]}).encode(), 422),
    ],
    ids=str,
)
def test_what_is_refused(data, status):
    """Whatever is no request is a problem in one line that does not show what was sent."""
    assert_problem(Client().post("/v1/privatize", data), status)


def test_long_lists_are_refused_by_their_length(monkeypatch):
    """No list of whatever field is looked at item by item where it is longer than a request may be."""
    monkeypatch.setattr(MeasureBody, "model_validate", None)
    with pytest.raises(Problem, match="labels: there must be at most 2"):
        parse_body(b'{"texts": ["a"], "labels": [0, 0, 0]}', MeasureBody, 2)


def test_large_bodies_are_parsed_beside_the_event_loop(monkeypatch):
    """The event loop parses small bodies only: a large one would make all others wait."""
    threads = []

    def parse(*arguments):
        threads.append(threading.current_thread() is threading.main_thread())
        return parse_body(*arguments)

    monkeypatch.setattr(bodies, "parse_body", parse)
    client = Client()
    for size in (10, 100_000):
        assert client.post("/v1/privatize", {"texts": ["a" * size]}).status_code == 200
    assert threads == [True, False]


def test_an_error_names_the_place():
    """Field and item are named, and what they must be."""
    with pytest.raises(Problem) as caught:
        parse_body(b'{"texts": ["a", 7]}', PrivatizeBody, 10)
    assert caught.value.detail == "texts, item 1: It must be a text."
    with pytest.raises(Problem) as caught:
        parse_body(b'{"show": "words"}', PrivatizeBody, 10)
    assert caught.value.detail == "texts: It is missing."


@pytest.mark.parametrize(
    "text", ["\ud800", "a\ud800b", "\x00", "a\x00b", "\u202e", "🙂" * 100, " \t\r\n", "don't", "ﷺ"]
)
def test_odd_texts_are_texts(text):
    """Half a character, NUL, marks of direction and the like go in and out as they do from Python."""
    response = Client().post("/v1/privatize", {"texts": [text]})
    assert response.status_code == 200
    assert len(response.json()["texts"]) == 1


@pytest.mark.parametrize(
    "headers", [{"content-type": "text/plain"}, {"content-type": ""}, {"content-encoding": "gzip"}], ids=str
)
def test_other_kinds_of_bodies(headers):
    """A body that is compressed, or not declared to be JSON, is refused."""
    data = json.dumps({"texts": ["a"]}).encode()
    data = gzip.compress(data) if "content-encoding" in headers else data
    assert_problem(Client().post("/v1/privatize", data, headers=headers), 415)


def test_a_large_body_is_refused():
    """A body above the limit is refused, one at the limit is read."""
    data = json.dumps({"texts": ["a " * 100]}).encode()
    assert Client(limits=Limits(body_bytes=len(data))).post("/v1/privatize", data).status_code == 200
    client = Client(limits=Limits(body_bytes=len(data) - 1))
    assert_problem(client.post("/v1/privatize", data), 413)
    assert client.service.pending_bytes == 0


def test_pending_bytes_are_bounded():
    """A body is refused for now where too much is pending already, and its bytes are given back."""
    client = Client(limits=Limits(pending_bytes=100))
    response = client.post("/v1/privatize", {"texts": ["a " * 100]})
    assert_problem(response, 503)
    assert response.headers["retry-after"]
    assert client.service.pending_bytes == 0
