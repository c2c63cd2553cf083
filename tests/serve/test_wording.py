"""The service's page shows bounds as the command line does."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import deniable
from deniable.core.numbers import format_lower, format_odds, format_upper

WORDING = Path(deniable.__file__).parent / "serve" / "static" / "wording.js"
VALUES = [1930.22, 1930.0, 163.42, 999.6, 99.96, 2.3, 0.1, 1.00049, 12.345, 9.995, 0.0, 0.00123456, 7e9, 1234567.8]


def evaluate(expression):
    """Return the value of an expression of JavaScript that may use the functions of the page's wording."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    code = f"""
    const source = {json.dumps(WORDING.read_text("utf-8"))};
    import(`data:text/javascript;base64,${{Buffer.from(source).toString("base64")}}`)
      .then((wording) => console.log(JSON.stringify({expression})));
    """
    done = subprocess.run([node, "-e", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_the_page_rounds_as_the_command_line():
    """An upper and a lower bound are the same text on the page and in the terminal."""
    values = [*VALUES, *(number / 7 for number in range(1, 3000, 7))]
    shown = evaluate(f"{values}.map((value) => [wording.formatUpper(value), wording.formatLower(value)])")
    assert shown == [[format_upper(value), format_lower(value)] for value in values]


def test_odds_of_a_record_are_rounded_up():
    """The odds of a whole record are those of the certificate, never less."""
    epsilons = [number / 10 for number in range(1, 69)]
    shown = evaluate(f"{epsilons}.map(wording.describeRecordEpsilon)")
    ends = [f" change at most {format_odds(epsilon, format_upper)}-fold" for epsilon in epsilons]
    assert all(text.endswith(end) for text, end in zip(shown, ends, strict=True))


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.19, "one word in six"), (0.2, "one word in five"), (0.0031, "0.31 % of words"), (1, "nearly every word")],
)
def test_a_least_share_is_not_exceeded(share, words):
    """The share that an attacker names at least is told as a fraction that is not above it."""
    assert evaluate(f"wording.describeLeastShare({share})") == words
