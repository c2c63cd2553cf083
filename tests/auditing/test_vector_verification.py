"""Exact verification of vector mechanisms through `deniable.verify`."""

import json
import math

import numpy as np
import pytest

import deniable as dn
from tests.refusals import refuses

UNIT = dn.Box(0.0, 1.0)
GAUSSIAN = {"epsilon": 0.5, "delta": 1e-6, "domain": dn.L2Ball(1.0)}


@pytest.mark.parametrize(("n", "epsilon"), [(1, 0.1), (8, 1.0), (100, 7.0)])
def test_a_correct_laplace_is_proved(n, epsilon):
    """The exact loss is the claim but for the grid's charge, and never above it."""
    verdict = dn.verify(dn.Laplace(epsilon=epsilon, domain=UNIT), dimension=n)
    assert verdict.status == "proved"
    assert epsilon * (1 - 1e-7) < verdict.lower_bound <= verdict.epsilon <= epsilon == verdict.claim
    assert (verdict.confidence, verdict.samples) == (1, 0)
    assert verdict.witness.distance == pytest.approx(n)
    assert verdict.witness.loss == verdict.lower_bound


@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 1e4])
def test_what_is_proved_in_one_dimension_is_not_called_refuted(epsilon):
    """A verdict that proves a claim in one dimension states the claim without the refutation of the others."""
    verdict = dn.verify(dn.ADePT(epsilon=epsilon), dimension=1)
    assert (verdict.status, verdict.guarantee.status) == ("proved", "claimed")
    assert dn.verify(dn.ADePT(epsilon=epsilon), dimension=2).guarantee.status == "refuted"


@pytest.mark.parametrize("n", [2, 32, 4096])
def test_adept_is_refuted_by_sqrt_n(n):
    """As published the loss is epsilon sqrt(n), at corners of the inscribed cube, which a short line names."""
    verdict = dn.verify(dn.ADePT(epsilon=1.0), dimension=n)
    assert verdict.status == "refuted"
    assert verdict.lower_bound == pytest.approx(math.sqrt(n), rel=1e-7)
    assert verdict.witness.distance == pytest.approx(2 * math.sqrt(n), rel=1e-5)
    assert len(str(verdict.witness)) < 250


@pytest.mark.parametrize(
    ("mechanism", "status", "bound"),
    [
        (dn.Laplace(epsilon=1.0, domain=dn.L1Ball(1.0)), "proved", 1.0),
        (dn.Laplace(epsilon=1.0, domain=dn.L2Ball(1.0)), "proved", 1.0),
        (dn.Gaussian(**GAUSSIAN), "proved", 0.5),
        (dn.DPText(epsilon=1.0), "refuted", math.inf),
        (dn.Laplace(epsilon=1.0, domain=UNIT, seed=1), "refuted", math.inf),
        (dn.Gaussian(**GAUSSIAN, seed=1), "refuted", math.inf),
    ],
)
def test_every_mechanism(mechanism, status, bound):
    """Each is proved or refuted as its literature says, a public seed refutes, and the verdict is JSON."""
    verdict = dn.verify(mechanism, dimension=8)
    assert verdict.status == status
    assert verdict.epsilon == pytest.approx(bound, rel=1e-9)
    json.dumps(verdict.to_dict(), allow_nan=False)
    if mechanism.claim.delta > 0 and status == "proved":  # by theorem
        assert (verdict.witness, verdict.lower_bound) == (None, 0)


def test_refusals():
    """A dimension that is no int from 1 on, or cannot be served, and parameters of other subjects are named."""
    mechanism = dn.Laplace(epsilon=1.0, domain=UNIT)
    for dimension in (None, 0, -1, 1.0, True, "8", (1 << 24) + 1):
        with refuses(dimension if dimension != (1 << 24) + 1 else "16,777,216"):
            dn.verify(mechanism, dimension=dimension)
    for given in ({"epsilon": 0.5}, {"space": 3}):
        with refuses("matrix"):
            dn.verify(mechanism, dimension=3, **given)
    with refuses("vector mechanism"):
        dn.verify([[1.0]], space=None, epsilon=1.0, dimension=3)
    assert dn.verify(mechanism, dimension=np.int64(3)).status == "proved"


def draw_laplace(self, rows, generator):
    """Draw in floating point."""
    return rows + np.random.Generator(generator).laplace(scale=self.scale(rows.shape[1]), size=rows.shape)


def copy(self, rows, generator):
    """Draw each row as itself."""
    del self, generator
    return rows


def state_little(self, n):
    """State a loss of 0.1, in the type of this package."""
    loss = dn.Laplace(epsilon=0.1, domain=UNIT).exact_loss(n)
    return loss._replace(pair=self.worst_pair(n))


class WiderBox(dn.Box):
    """A box that does not clip as its sensitivity says."""

    def clip(self, x):
        return x


def stretch(self, n):
    """Return a grid on which inputs are farther apart than its step says."""
    grid = dn.Laplace.grid(self, n)
    stretched = type("Stretched", (type(grid),), {"round": lambda self, x: 1000 * type(grid).round(self, x)})
    return stretched(**vars(grid))


LAPLACE, APPROXIMATE = {"epsilon": 1.0, "domain": UNIT}, {"epsilon": 1.0, "delta": 1e-5, "domain": UNIT}
LEAK = {"exact_loss": state_little, "_sample_rows": copy}


@pytest.mark.parametrize(
    ("parent", "members", "options", "status"),
    [
        (dn.Laplace, {"_sample_rows": draw_laplace}, LAPLACE, "undecided"),
        (dn.Gaussian, {"_sample_rows": draw_laplace}, APPROXIMATE, "undecided"),
        (dn.KNorm, {"_sample_rows": draw_laplace}, LAPLACE, "undecided"),
        (dn.KNorm, {}, LAPLACE | {"domain": WiderBox(0.0, 1.0)}, "undecided"),
        (dn.Laplace, {}, LAPLACE | {"domain": WiderBox(0.0, 1.0)}, "undecided"),
        (dn.Laplace, {"_sample_rows": draw_laplace}, LAPLACE | {"seed": 1}, "refuted"),
        (dn.Laplace, {"claim": property(lambda self: dn.Guarantee(self.epsilon / 2, "a wish"))}, LAPLACE, "refuted"),
        (dn.Laplace, {"grid": stretch}, LAPLACE, "undecided"),
        (dn.Laplace, {"__module__": dn.Laplace.__module__, "_sample_rows": copy}, LAPLACE, "undecided"),
        *((dn.Laplace, LEAK, LAPLACE | {"seed": seed}, "undecided") for seed in (None, 1)),
        *((dn.Gaussian, LEAK, APPROXIMATE | {"seed": seed}, "undecided") for seed in (None, 1)),
    ],
)
def test_draws_of_another_are_not_proved(parent, members, options, status):
    """A proof about the package's draws says nothing of draws, a grid or a clip that a subclass brings along."""
    verdict = dn.verify(type(parent.__name__, (parent,), members)(**options), dimension=3)
    assert verdict.status == status
    assert (verdict.witness is None) == (status == "undecided")
    assert math.isinf(verdict.epsilon) or status == "refuted"


@pytest.mark.parametrize("changes", [{"metric": "l1"}, {"unit": "person"}, {"adjacency": "one record added"}])
def test_only_the_loss_of_any_two_values_is_compared(changes):
    """A loss over the whole domain is no loss per unit of distance, and none of a person's records."""
    claim = property(lambda self: dn.Guarantee(self.epsilon, "a wish", **changes))
    mechanism = type("Wish", (dn.Laplace,), {"claim": claim})(**LAPLACE)
    with refuses("The guarantee of Wish must be that of one record, for any two values"):
        dn.verify(mechanism, dimension=3)


def test_a_pure_loss_does_not_refute_a_claim_with_delta():
    """What loses more than epsilon may be as rare as delta says."""
    claim = property(lambda self: dn.Guarantee(self.epsilon / 2, "a wish", delta=0.9))
    verdict = dn.verify(type("Wish", (dn.Laplace,), {"claim": claim})(**LAPLACE), dimension=3)
    assert verdict.status == "undecided"
    assert verdict.claim < verdict.lower_bound
