"""Errors as clients see them."""

import json

from deniable.serve.problems import Problem, make_busy_problem, make_json_response


def test_a_problem_is_a_document_of_its_type():
    """A problem has type, title, status and detail, and its headers."""
    response = make_busy_problem("Too busy.", 7).to_response()
    assert (response.status_code, response.headers["retry-after"]) == (503, "7")
    assert json.loads(response.body) == {
        "type": "about:blank",
        "title": "Service Unavailable",
        "status": 503,
        "detail": "Too busy.",
    }


def test_a_problem_without_an_application():
    """As bytes it is a whole response after which the connection closes."""
    head, _, body = Problem(400, "No.").to_bytes().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert f"content-length: {len(body)}".encode() in head
    assert b"connection: close" in head


def test_any_text_can_be_answered():
    """Answers are ASCII, so that also half a character can be written."""
    assert make_json_response(["\ud800é"]).body == b'["\\ud800\\u00e9"]'
