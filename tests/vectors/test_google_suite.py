"""Our Laplace and Gaussian noise under the statistical tests of google/differential-privacy.

Without the files, which this repository does not hold, only their reader and the testers are tested.
"""

import math

import numpy as np
import pytest

import deniable as dn
from tests.refusals import refuses
from tests.vectors.google_suite import (
    FOLDER,
    VARIABLE,
    find_folder,
    hold_ballots,
    is_close,
    is_private,
    read_closeness_cases,
    read_privacy_cases,
)

FOUND = find_folder()
MISSING = pytest.param(
    None, marks=pytest.mark.skip(reason=f"{VARIABLE} names no folder with {FOLDER}: see CONTRIBUTING.md"), id="no files"
)
NUMBERS_OF_CASES = {"laplace": 19, "gaussian": 23, "count": 36, "bounded_sum": 38, "long_bounded_sum": 38}
EXAMPLE = """
# A comment.
validity_parameters { shift_specificity: 0.02 scale_specificity: 1.0625 }
voting_parameters {
  number_of_votes: 9
}
distribution_closeness_test_case {
  name: "Default # parameters "
  closeness_test_parameters { mean: -1.5 variance: 2e-3 l2_tolerance: 0.5 granularity: 0.25 }
  noise_sampling_parameters {
    number_of_samples: 1000 l0_sensitivity: 1 linf_sensitivity: 1.0 raw_input: -1.5 epsilon: 1.0986  # = log(3)
  }
}
"""
SUM = """
validity_parameters { failure_specificity: 1.25 }
voting_parameters { number_of_votes: 9 }
bounded_sum_dp_test_case {
  name: "Sum"
  dp_test_parameters { epsilon: 1.0 delta: 0.0 delta_tolerance: 0.01 granularity: 0.125 }
  bounded_sum_sampling_parameters {
    number_of_samples: 1000 noise_type: NOISE max_partitions_contributed: 4
    lower_bound: -2.0 upper_bound: 1.0 epsilon: 1.0 delta: 0.001
    raw_entry: [] raw_entry: [0.5] neighbour_raw_entry:[0.5,
      7.0]
  }
}
"""


def read_cases(kind):
    """Return the cases of one file as parameters of a test; one skipped parameter where the files are missing."""
    if FOUND is None:
        return [MISSING]
    if kind in {"laplace", "gaussian"}:
        text = (FOUND / f"{kind}_closeness_test_cases.textproto").read_text(encoding="utf-8")
        cases = read_closeness_cases(text, kind.upper())
    else:
        text = (FOUND / f"{kind}_dp_test_cases.textproto").read_text(encoding="utf-8")
        cases = read_privacy_cases(text, kind)
    return [pytest.param(case, id=f"{kind}-{case.name}") for case in cases]


def is_too_far(case, lower, dimension):
    """Return whether a value is more than 2^22 times larger than the noise."""
    return abs(lower) > 2.0**22 * case.make_mechanism(0.0, 1).scale(dimension)


def make_mechanism(case, lower, dimension):
    """Return our mechanism for a case, and what is to be subtracted from inputs and added to outputs.

    That is 0, but for values that no grid of 64 bits holds with such noise: they are refused, and released as the error
    says, by subtracting a public number first.
    """
    seed = sum(case.name.encode())
    mechanism, near = case.make_mechanism(lower, seed), case.make_mechanism(0.0, seed)
    if not is_too_far(case, lower, dimension):
        return mechanism, 0.0
    with refuses("4,194,304"):
        mechanism.sample([lower] * dimension)
    return near, lower


CLOSENESS = [case for kind in ("laplace", "gaussian") for case in read_cases(kind)]
PRIVACY = [case for kind in ("count", "bounded_sum", "long_bounded_sum") for case in read_cases(kind)]


@pytest.mark.deep
@pytest.mark.parametrize("case", CLOSENESS)
def test_noise_is_close_to_its_distribution_and_to_no_other(case):
    """The majority of 9 votes accepts our noise, and rejects it against a moved, wide, narrow or foreign reference."""
    random, dimension = np.random.default_rng(7), case.l0_sensitivity
    mechanism, offset = make_mechanism(case, case.raw_input, dimension)
    inputs = np.full((case.number_of_samples // dimension, dimension), case.raw_input - offset)

    def draw_votes(_):
        samples = mechanism.sample(inputs).ravel() + offset
        return [case.is_close(samples, reference) for reference in case.draw_references(random)]

    assert hold_ballots(draw_votes, case.votes) == [True, False, False, False, False]


@pytest.mark.deep
@pytest.mark.parametrize("case", PRIVACY)
def test_noisy_neighbours_are_as_private_as_claimed(case):
    """The majority of 9 votes finds noisy counts and sums private, and those too far apart for their noise not."""
    assert abs(case.values[0] - case.values[1]) <= case.width * (1 + 1e-12)
    mechanism, offset = make_mechanism(case, min(case.values), 1)
    stretch = case.find_wrong_stretch(mechanism.scale(1))

    def draw_votes(_):
        samples = case.sample(mechanism, offset)
        return [case.is_private(samples), case.is_private(samples, stretch)]

    assert hold_ballots(draw_votes, case.votes) == [True, False]


@pytest.mark.parametrize("kind", NUMBERS_OF_CASES)
@pytest.mark.skipif(FOUND is None, reason=f"{VARIABLE} names no folder with {FOLDER}: see CONTRIBUTING.md")
def test_all_cases_are_read(kind):
    """No file has fewer cases than when these tests were written, and names differ."""
    names = [case.id for case in read_cases(kind)]
    assert len({*names}) == len(names) >= NUMBERS_OF_CASES[kind]


def test_the_reader_takes_the_form_of_the_files():
    """Comments, strings with marks in them, nested messages, signs and exponents are read, with the right types."""
    (case,) = read_closeness_cases(EXAMPLE, "LAPLACE")
    assert (case.name, case.votes, case.mean, case.variance) == ("Default # parameters", 9, -1.5, 0.002)
    assert (case.shift_specificity, case.number_of_samples, case.delta) == (0.02, 1000, 0.0)


@pytest.mark.parametrize(("noise", "width"), [("LAPLACE", 8.0), ("GAUSSIAN", 4.0)])
def test_entries_are_clipped_and_summed(noise, width):
    """Repeated lists are joined, entries clipped, and the width is the sensitivity for 4 partitions of up to 2 each."""
    (case,) = read_privacy_cases(SUM.replace("NOISE", noise), "bounded_sum")
    assert (case.values, case.width, case.is_integer) == ((0.5, 1.5), width, False)
    assert case.make_mechanism(0.5, 1).domain == dn.Box(0.5, 0.5 + width)
    assert case.find_wrong_stretch(case.make_mechanism(0.5, 1).scale(1)) == pytest.approx(width / 0.7)


def test_the_testers_decide_as_their_formulas_say():
    """Both statistics are those worked out by hand, on either side of their thresholds."""
    counts, others = np.array([6, 4]), np.array([3, 7])
    # 21 + 24 - 0.9 * 46 = 3.6, to be compared with 0.25 * t * 9 * t * 10.
    assert is_close(counts, others, math.sqrt(3.7 / 22.5))
    assert not is_close(counts, others, math.sqrt(3.5 / 22.5))
    # max(6 - 2 * 3, 0) + max(4 - 2 * 7, 0) = 0 one way, max(7 - 2 * 4, 0) = 0 the other; at e^0.5 it is 1.05 and 0.41.
    assert is_private(counts, others, math.log(2), 1e-9)
    assert is_private(counts, others, 0.5, 0.106)
    assert not is_private(counts, others, 0.5, 0.105)
    votes = [[True, True], [False, True], [True, True], [False, True], [True, True], [True, False], [True, False]]
    assert hold_ballots(lambda number: votes[number], 9) == [True, True]
