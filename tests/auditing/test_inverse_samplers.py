"""Functions of uniform numbers: inverses of distribution functions, and DPText's."""

import math

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from tests.refusals import refuses

RANDOM = np.random.default_rng(0)


def invert(u):
    """Habernal 2022, Equation 9, at Delta / epsilon = 1."""
    return -np.sign(u) * np.log(1 - 2 * np.abs(u))


def test_dptext_on_its_interval_and_on_the_right_one():
    """On (0, 1) half of the points have no value and no value is negative; on (-1/2, 1/2) it is Laplace's inverse."""
    found = dn.audit_inverse_sampler(invert, batched=True)
    assert found.status == "refuted"
    assert found.undefined_count == 5_000
    assert found.undefined_example == (pytest.approx(0.50005), "nan")
    assert (found.negative_share, found.order) == (0.0, "increasing")
    assert "5,000 of 10,000 points have no value" in str(found)
    right = dn.audit_inverse_sampler(invert, batched=True, lower=-0.5, upper=0.5, law="laplace")
    assert right.status == "not refuted"
    assert right.law_distance < 1e-12
    assert right.negative_share == pytest.approx(0.5)
    # As one number at a time, where the logarithm raises.
    single = dn.audit_inverse_sampler(lambda u: -math.copysign(1, u) * math.log(1 - 2 * abs(u)))
    assert single.undefined_count == 5_000


@pytest.mark.parametrize(
    ("law", "inverse"), [("laplace", stats.laplace(scale=2).ppf), ("normal", stats.norm(scale=2).ppf)]
)
def test_inverses_of_laws_are_accepted_and_no_other_scale(law, inverse):
    """The quantile function, and its mirror image, have the law; one of a scale 30 % off does not."""
    for function in (inverse, lambda u: inverse(1 - u)):
        assert dn.audit_inverse_sampler(function, batched=True, law=law, scale=2.0).status == "not refuted"
    for scale in (1.4, 2.6):
        found = dn.audit_inverse_sampler(inverse, batched=True, law=law, scale=scale)
        assert (found.status, found.order) == ("refuted", "increasing")
        assert found.law_distance > 0.02


def test_a_turn_is_named():
    """A function that rises and falls is refuted between two neighbours; one that never moves, too."""
    found = dn.audit_inverse_sampler(lambda u: (u - 0.25) ** 2, batched=True, points=1_000)
    assert (found.status, found.order) == ("refuted", "neither")
    assert found.turn[0] < 0.25
    assert dn.audit_inverse_sampler(np.zeros_like, batched=True).order == "constant"
    assert dn.audit_inverse_sampler(np.zeros_like, batched=True).status == "refuted"


def test_complex_values_are_no_values():
    """What Theorem 3.1 calls a complex function is undefined where its values are not real."""
    found = dn.audit_inverse_sampler(lambda u: -np.log((1 - 2 * u).astype(complex)), batched=True)
    assert found.undefined_count == 5_000
    assert "j" in found.undefined_example[1]


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (lambda _: "text", "a number"),
        (lambda _: math.nan, "no finite value"),
        (lambda _: RANDOM.random(), "again"),
        (lambda _: {}["key"], "key"),
        (lambda _: dn.L2Ball(-1.0), "-1.0"),
        (3, "'function'"),
    ],
)
def test_functions_that_are_none_are_refused(function, value):
    """What returns no number, none that is finite, or another one again is refused by one line."""
    with refuses(value):
        dn.audit_inverse_sampler(function)


def test_an_array_that_is_written_into_again_is_no_second_answer():
    """Other values at the second call are seen where both calls return one array."""
    kept = np.zeros(100)
    with refuses("again"):
        dn.audit_inverse_sampler(lambda u: np.add(u, RANDOM.random(), out=kept), batched=True, points=100)


@pytest.mark.parametrize(
    ("options", "value"),
    [
        ({"lower": 1.0}, "'upper'"),
        ({"upper": math.inf}, "'upper'"),
        ({"law": "cauchy"}, "'law'"),
        ({"scale": 0.0}, "'scale'"),
        ({"points": 10}, "'points'"),
    ],
)
def test_bad_options_are_refused(options, value):
    """Each is named."""
    with refuses(value):
        dn.audit_inverse_sampler(abs, **options)
