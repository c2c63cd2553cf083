"""``deniable audit sensitivity`` and ``deniable audit sampler``: verdicts, exit codes, files and errors."""

import json
import uuid
from pathlib import Path

import numpy as np
import pytest

from tests.cli.commands.train.helpers import fails

FUNCTIONS = """
import math
import numpy as np

def clip(rows):
    return rows / np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))

def count(text):
    return [len(text), text.count("e")]

def wrong(u):
    return -math.copysign(1, u) * math.log(1 - 2 * abs(u))
"""


@pytest.fixture
def module(place):  # noqa: ARG001 - files are written to the folder
    """Return the name of a module of functions, imported by no test before."""
    name = f"functions_{uuid.uuid4().hex}"
    Path(f"{name}.py").write_text(FUNCTIONS, encoding="utf-8")
    return name


def test_a_sensitivity_is_refuted_by_a_pair(call, module):
    """The exit code is that of the verdict, pair and factor are named, and the norm decides."""
    options = ("--batched", "--dimension", "4", "--claim", "2")
    result = call("audit", "sensitivity", f"{module}:clip", *options)
    assert result.code == 1
    assert "refuted: claimed sensitivity 2 in l1, at least 3.99" in result.text
    assert "times as much\ninput    [" in result.text
    result = call("audit", "sensitivity", f"{module}:clip", *options, "--norm", "l2", "--json")
    found = json.loads(result.text)
    assert (result.code, found["status"], found["norm"]) == (0, "not refuted", "l2")
    assert found["factor"] == pytest.approx(1, rel=1e-3)


def test_inputs_of_a_file(call, module):
    """Texts, one a line, and rows of numbers are inputs; all pairs of them are compared."""
    Path("texts.txt").write_text("a\nbee\nseventeen\n", encoding="utf-8")
    result = call("audit", "sensitivity", f"{module}:count", "--inputs", "texts.txt", "--claim", "3")
    assert result.code == 1
    assert "at least 12, 4 times as much\ninput    'a'\nother    'seventeen'\npairs    3 of 3" in result.text
    np.save("rows.npy", np.eye(3))
    result = call("audit", "sensitivity", f"{module}:clip", "--batched", "--inputs", "rows.npy", "--claim", "2")
    assert (result.code, "0 of 3 are farther" in result.text) == (0, True)
    assert call("audit", "sensitivity", f"{module}:count", "--inputs", "texts.txt").code == 0


def test_a_sampler_is_refuted_by_its_interval(call, module):
    """DPText's function is none on (0, 1), and Laplace's inverse on (-1/2, 1/2)."""
    result = call("audit", "sampler", f"{module}:wrong")
    assert result.code == 1
    assert "5,000 of 10,000 points have no value" in result.text
    result = call("audit", "sampler", f"{module}:wrong", "--interval", "-0.5", "0.5", "--law", "laplace", "--json")
    found = json.loads(result.text)
    assert (result.code, found["status"], found["options"]["lower"]) == (0, "not refuted", -0.5)


@pytest.mark.parametrize(
    ("command", "value"),
    [
        (["sensitivity", "{}:clip", "--claim", "0"], "'claim'"),
        (["sensitivity", "{}:clip", "--norm", "l3"], "l3"),
        (["sensitivity", "{}:none", "--claim", "1"], "'none'"),
        (["sensitivity", "{}:count", "--inputs", "none.txt"], "none.txt"),
        (["sensitivity", "{}:count"], "raised"),
        (["sensitivity", "{}:clip", "--time-limit", "0"], "time_limit"),
        (["sampler", "{}:wrong", "--interval", "1", "0"], "'upper'"),
        (["sampler", "{}:wrong", "--interval", "2", "3"], "no finite value"),
        (["sampler", "{}:wrong", "--points", "1"], "'points'"),
        (["sampler", "{}:wrong", "--time-limit", "nan"], "time_limit"),
    ],
)
def test_bad_input_is_one_line(call, module, command, value):
    """Nothing but one line that names the value."""
    fails(call("audit", *(part.format(module) for part in command)), value)
