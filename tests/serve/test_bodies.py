"""Bodies: strict JSON, and errors that show nothing of what was sent."""

import json

import pytest

from tests.serve.helpers import SECRET, assert_problem

deep = pytest.mark.deep  # what only a process of its own finds, which takes seconds to start


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"", 422),
        (b"\xff\xfe", 422),
        (b'["%s"' % SECRET.encode(), 422),
        (b'{"texts": ["a"], "epsilon": NaN}', 422),
        (b"[" * 100_000, 400),
        (b'{"texts": ["a"], "epsilon": ' + b"9" * 5_000 + b"}", 400),
        (b'{"texts": ["a"], "epsilon": 1e999}', 422),
        (b'{"texts": ["a"], "epsilon": "2"}', 422),
        (b'["%s"]' % SECRET.encode(), 422),
        (b"{}", 422),
        (b'{"texts": []}', 422),
        (b'{"texts": "%s"}' % SECRET.encode(), 422),
        (b'{"texts": ["%s", 7]}' % SECRET.encode(), 422),
        (b'{"texts": ["a"], "%s": 1}' % SECRET.encode(), 422),
        *((b'{"texts": ["a"], "%s": "1"}' % name, 422) for name in (b"key", b"seed", b"ids")),
        (b'{"texts": ["a"], "show": "%s"}' % SECRET.encode(), 422),
        (b'{"texts": ["a"], "mechanism": "%s"}' % SECRET.encode(), 422),
        (json.dumps({"texts": [SECRET] * 10_001}).encode(), 422),
        (json.dumps({"texts": ["a", SECRET * 100_000]}).encode(), 422),
        (json.dumps({"texts": ["a " * (5 << 19)]}).encode(), 413),
    ],
    ids=lambda value: str(value)[:20],
)
def test_bodies_that_are_refused(fixed, data, status):
    """Whatever is no request is a problem in one line that does not show what was sent."""
    assert_problem(fixed.post("/v1/privatize", data), status)
    assert "deniable_pending_bytes 0.0\n" in fixed.get("/v1/metrics").text


def test_an_error_names_the_place(fixed):
    """Field and item are named, and what they must be; a long list is refused by its length, whatever its field."""
    assert assert_problem(fixed.privatize(["a", 7]), 422) == "texts, item 1: it must be a text."
    assert assert_problem(fixed.post("/v1/privatize", {"show": "words"}), 422) == "texts: it is missing: give it."
    long = assert_problem(fixed.post("/v1/measure", {"texts": ["a"], "labels": ["a"] * 10_001}), 422)
    assert long.startswith("labels: there must be at most 10,000")
    assert assert_problem(fixed.post("/v1/privatize", b"{"), 422) == "body: it must be JSON in UTF-8."
    assert "JSON object" in assert_problem(fixed.post("/v1/privatize", []), 422)


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("certificate/check", {"certificate": SECRET + "\ud800"}, "certificate: "),
        ("certificate/check", {"certificate": "{}", "table_sha256": SECRET}, "table_sha256"),
        ("certificate/check", {"certificate": 1}, "certificate: it must be a text."),
        ("certificate/check", {"path": "/etc/passwd", "certificate": "{}"}, "a field that is not known"),
        ("explain", {}, "word: it is missing: give it."),
        ("explain", {"word": ""}, "word: it must have at least 1 character."),
        ("explain", {"word": "a" * 201}, "word: it must have at most 200 characters."),
        ("explain", {"word": "\ud800"}, "word"),
        ("explain", {"word": "a", "epsilon": "2"}, "epsilon: it must be a number."),
        ("privatize", {"texts": ["a"], "show": SECRET}, "show: it must be 'words'."),
        ("privatize", {"texts": SECRET}, "texts: it must be a list."),
        ("certificate/check", {"certificate": "{}", "table": []}, "table: it must be an object."),
        ("measure", {"texts": []}, "texts: it must have at least 1 item."),
        ("measure", {"texts": [SECRET], "epsilons": [1.0] * 99}, "epsilons: it must have at most "),
        ("measure", {"texts": [SECRET], "epsilons": [3.0]}, "epsilon: it must be one of 2"),
        ("measure", {"texts": [SECRET], "file": "/etc/passwd"}, "a field that is not known"),
    ],
)
def test_other_requests_that_are_refused(fixed, path, body, said):
    """A refusal is a problem with one line, which holds nothing of what was sent."""
    assert said in assert_problem(fixed.post(f"/v1/{path}", body), 422)


@deep
@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("certificate/check", {"certificate": "[" * 5000}, "deep"),
        ("certificate/check", {"certificate": "{}", "table_sha256": "0" * 64}, "schema"),
        ("certificate/check", {"certificate": "{}", "public_key": "x", "signature": "y"}, "key"),
        ("measure", {"texts": [SECRET], "labels": ["a"]}, "at least 2 classes"),
    ],
)
def test_what_a_job_refuses(fixed, path, body, said):
    """What only a process of its own finds is a problem in the line of the answer, which holds nothing of a text."""
    response = fixed.post(f"/v1/{path}", body)
    (line,) = response.text.splitlines()
    problem = json.loads(line)["problem"]
    assert (response.status_code, problem["status"]) == (200, 422)
    assert said in problem["detail"]
    assert SECRET not in line


def test_odd_texts_are_texts(fixed):
    """Half a character, NUL, marks of direction and the like go in and out as they do from Python."""
    odd = ["\ud800", "a\ud800b", "\x00", "a\x00b", "\u202e", "🙂" * 100, " \t\r\n", "don't", "ﷺ"]
    assert len(fixed.privatize(odd).json()["texts"]) == len(odd)


def test_other_kinds_of_bodies(fixed):
    """A body that is not declared to be JSON is refused."""
    for headers in ({"content-type": "text/plain"}, {"content-type": ""}):
        assert_problem(fixed.post("/v1/privatize", {"texts": ["a"]}, headers=headers), 415)
