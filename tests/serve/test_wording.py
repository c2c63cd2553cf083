"""The service's page shows bounds as the command line does: rounded outward to three digits, or whole."""

import decimal
import json
import math
import shutil
import subprocess
from pathlib import Path

import pytest

import deniable as dn

pytestmark = pytest.mark.deep
WORDING = Path(dn.__file__).parent / "serve" / "static" / "wording.js"
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


def round_outward(value, rounding):
    """Return a number with three digits, or whole, by decimal arithmetic."""
    exact = decimal.Decimal(repr(value))
    place = decimal.Decimal(1).scaleb(min(exact.adjusted() - 2, 0))
    return f"{exact.quantize(place, rounding=rounding).normalize() + 0:,f}"


def test_bounds_are_rounded_outward():
    """An upper bound is never shown smaller, a lower one never larger, than it is."""
    values = [*VALUES, *(number / 7 for number in range(1, 3000, 7))]
    shown = evaluate(f"{values}.map((value) => [wording.formatUpper(value), wording.formatLower(value)])")
    directions = (decimal.ROUND_CEILING, decimal.ROUND_FLOOR)
    assert shown == [[round_outward(value, direction) for direction in directions] for value in values]
    epsilons = [number / 10 for number in range(1, 69)]
    odds = evaluate(f"{epsilons}.map(wording.describeRecordEpsilon)")
    ends = [f" by a factor of at most {round_outward(math.exp(one), decimal.ROUND_CEILING)}" for one in epsilons]
    assert all(text.endswith(end) for text, end in zip(odds, ends, strict=True))
    shares = evaluate("[0.19, 0.2, 0.0031, 1].map(wording.describeLeastShare)")  # none above the share
    assert shares == ["one word in six", "one word in five", "0.31% of words", "nearly every word"]


def test_green_is_for_whole_texts():
    """A release is shown in green only where a text of median length is protected as a whole, and says why not."""
    cases = [([3, 2, 90], 2.5), ([4, 4, 5], 2.5), ([5, 5], 2.5), (None, 0.1), ([], 1.0), ([0, 0], 1.0)]
    tones = evaluate(f"{json.dumps(cases)}.map((one) => wording.judgeWords(...one).tone)")
    assert tones == ["good", "good", "caution", "caution", "plain", "plain"]
    said = evaluate("wording.judgeWords([40, 50, 60], 2.3).sentence")
    assert said.startswith(
        "Epsilon of a text of median length, 50 words, is 115; above 10 it excludes next to nothing."
    )
    assert evaluate("[10, 10.1].map((one) => wording.judgeRecords(one).tone)") == ["good", "caution"]
