"""The room as a whole: what it loads, and that its page's code runs."""

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from deniable.vectors.grid import NoiseGrid, compute_step_exponent, round_down_to_float, round_up_to_float

PAGE = Path(__file__).parents[2] / "docs" / "vectors" / "index.md"


def test_import_is_light():
    """Importing the room loads numpy and randomgen, and neither scipy nor anything else that is heavy."""
    heavy = "{'scipy', 'sklearn', 'pyarrow', 'numba', 'pandas', 'torch'}"
    code = f"import sys, deniable.vectors; sys.exit(bool({heavy} & {{name.split('.')[0] for name in sys.modules}}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_code_on_the_page_runs_and_prints_what_it_says():
    """Every Python block of the page runs, one after the other; a comment behind print says what comes out."""
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, str(PAGE), "exec"), {})
    said = re.findall(r"print\(.*\)  # (.*)$", block, flags=re.MULTILINE)
    assert printed.getvalue().splitlines() == said


def test_steps_are_powers_of_two_of_the_documented_size():
    """The exponent is ceil(log2(scale)) - 40 exactly, at powers of two and beside them."""
    for scale, expected in (
        (1.0, -40),
        (np.nextafter(1.0, 2), -39),
        (np.nextafter(1.0, 0), -40),
        (0.5, -41),
        (3.0, -38),
    ):
        assert compute_step_exponent("Test", float(scale), 1.0) == expected


def test_rounding_and_placing_are_exact():
    """Points up to 2^53 steps survive the way to float64 and back; rational bounds are rounded outwards."""
    from fractions import Fraction

    grid = NoiseGrid(-37, 1)
    points = np.array([0, 1, -1, (1 << 51) - 1, 1 - (1 << 51)])
    assert (grid.round(grid.to_vectors(points)) == points).all()
    assert grid.round(np.array([0.4, 0.6, -0.6, 5e-324]) * 2.0**-37).tolist() == [0, 1, -1, 0]
    third = Fraction(1, 3)
    assert Fraction(round_down_to_float(third)) < third < Fraction(round_up_to_float(third))
    assert round_up_to_float(Fraction(1)) == round_down_to_float(Fraction(1)) == 1.0
