"""``deniable audit lm``: laws exactly, draws by samples, what is public, reports and exit codes."""

import json

import pytest

from tests.cli.commands.train.helpers import fails

MODULE = """
import numpy as np

random = np.random.default_rng(0)

def law(records, prefix):
    weights = np.exp(0.02 * np.array([len(records[0]), len(prefix), 1.0]))
    return weights / weights.sum()

def leaks(records, prefix):
    return [1, 1, len(records[0]) - 1]

def draw(records, prefix):
    return int(random.integers(3))

def public(records, prefix):
    return np.zeros(3) + (len(records) > 1)
"""
LINES = [{"records": ["a", "b"], "other": ["ab", "b"]}, {"records": ["a"], "other": ["ab"], "prefix": [2, 1]}]
CLAIM = ("--claim", "pure", "--epsilon", "1", "--tokens", "20", "--neighbours", "pairs.jsonl")


@pytest.fixture
def audit(call, place):
    """Return a function that audits a function of a module in the current folder, on two pairs."""
    (place / "own_laws.py").write_text(MODULE)
    (place / "pairs.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in LINES))
    return lambda function, *options: call("audit", "lm", f"own_laws:{function}", *CLAIM, *options)


def test_within_the_claim(audit):
    """The report says what was claimed, found and looked at; the exit code is 0."""
    result = audit("law", "--steps", "3", "--seed", "1")
    assert result.code == 0
    assert result.text.startswith("own_laws:law\nAudit of a next-token sampler\n")
    assert "pairs of laws       6" in result.text
    assert "not refuted: claimed epsilon 0.05" in result.text


def test_beyond_the_claim(audit):
    """A refuted claim exits with 1; the JSON holds the witness and the facts."""
    result = audit("leaks", "--public", "own_laws:public", "--json")
    assert result.code == 1
    found = json.loads(result.text)
    assert (found["mechanism"], found["status"], found["lower_bound"]) == ("own_laws:leaks", "refuted", "inf")
    assert found["witness"]["output"] == "token 2 after no token"
    assert found["report"]["found"]["number of these tokens"] == 1
    assert found["report"]["public part moves with"]["number of records"] == 1


def test_draws(audit):
    """With a number of samples the function draws, and the verdict has a confidence."""
    result = audit("draw", "--samples", "200", "--seed", "1", "--json")
    assert result.code == 0
    found = json.loads(result.text)
    assert (found["status"], found["samples"], found["confidence"]) == ("not refuted", 200, 0.95)


def test_pairs_that_cannot_be_used(audit, place):
    """A line that is no pair is refused with its number, whatever stands before it."""
    with (place / "pairs.jsonl").open("a") as file:
        file.write('{"records": 1}\n')
    fails(audit("law"), "Line 3")
