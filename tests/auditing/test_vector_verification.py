"""Exact verification of vector mechanisms through `deniable.verify`."""

import json
import math

import numpy as np
import pytest

import deniable as dn
from deniable.core.evidence import limit_status
from deniable.published.adept.mechanism import ADePT
from deniable.published.dptext.copied_input import CopyMechanism
from deniable.published.dptext.mechanism import DPText
from deniable.vectors import Box, Gaussian, L1Ball, L2Ball, Laplace, RandomMechanism
from deniable.vectors.grid import NoiseGrid
from deniable.vectors.mechanism import ExactLoss


@pytest.mark.parametrize("n", [1, 2, 8, 100])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 7.0])
def test_a_correct_laplace_is_proved(n, epsilon):
    """The exact loss is the claim but for the grid's charge, and never above it."""
    verdict = dn.verify(Laplace(epsilon=epsilon, domain=Box(0.0, 1.0)), dimension=n)
    assert verdict.status == "proved"
    assert epsilon * (1 - 1e-7) < verdict.lower_bound <= verdict.epsilon <= epsilon == verdict.claim
    assert verdict.confidence == 1
    assert verdict.samples == 0
    assert verdict.witness.distance == pytest.approx(n)
    assert verdict.witness.loss == verdict.lower_bound


@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 1e4])
def test_what_is_proved_in_one_dimension_is_not_called_refuted(epsilon):
    """A verdict that proves a claim in one dimension states the claim without the refutation of the others."""
    verdict = dn.verify(ADePT(epsilon=epsilon), dimension=1)
    assert (verdict.status, verdict.guarantee.status) == ("proved", "claimed")
    assert dn.verify(ADePT(epsilon=epsilon), dimension=2).guarantee.status == "refuted"


@pytest.mark.parametrize("n", [2, 8, 32, 128])
def test_adept_is_refuted_by_sqrt_n(n):
    """As published the loss is epsilon sqrt(n), at corners of the inscribed cube; in one dimension the claim holds."""
    verdict = dn.verify(ADePT(epsilon=1.0), dimension=n)
    assert verdict.status == "refuted"
    assert verdict.lower_bound == pytest.approx(math.sqrt(n), rel=1e-7)
    assert f"{verdict.witness.distance:.6g}" == f"{2 * math.sqrt(n):.6g}"


@pytest.mark.parametrize(
    ("mechanism", "status", "bound"),
    [
        (Laplace(epsilon=1.0, domain=L1Ball(1.0)), "proved", 1.0),
        (Laplace(epsilon=1.0, domain=L2Ball(1.0)), "proved", 1.0),
        (Gaussian(epsilon=1.0, delta=1e-5, domain=L2Ball(1.0)), "proved", 1.0),
        (Gaussian(epsilon=0.5, delta=1e-6, domain=L2Ball(1.0)), "proved", 0.5),
        (DPText(epsilon=1.0), "refuted", math.inf),
        (Laplace(epsilon=1.0, domain=Box(0.0, 1.0)), "proved", 1.0),
        (CopyMechanism(epsilon=3.0), "refuted", math.inf),
        (RandomMechanism(), "proved", 0.0),
        (Laplace(epsilon=1.0, domain=Box(0.0, 1.0), seed=1), "refuted", math.inf),
        (Gaussian(epsilon=0.5, delta=1e-6, domain=L2Ball(1.0), seed=1), "refuted", math.inf),
    ],
)
def test_every_mechanism(mechanism, status, bound):
    """Each is proved or refuted as its literature says, a public seed refutes, and the verdict prints and is JSON."""
    verdict = dn.verify(mechanism, dimension=8)
    assert verdict.status == status
    assert verdict.epsilon == pytest.approx(bound, rel=1e-9)
    assert str(verdict).startswith(f"{status}: claimed epsilon {verdict.claim:g}")
    json.dumps(verdict.to_dict(), allow_nan=False)


def test_a_theorem_is_no_computation():
    """Where the guarantee is approximate nothing is computed: no witness, and the source is named."""
    verdict = dn.verify(Gaussian(epsilon=0.5, delta=1e-6, domain=L2Ball(1.0)), dimension=3)
    assert verdict.witness is None
    assert verdict.lower_bound == 0
    assert "by theorem, nothing computed" in verdict.method


@pytest.mark.parametrize("dimension", [None, 0, -1, 1.0, True, "8", (1 << 24) + 1])
def test_dimensions(dimension):
    """A dimension that is no int from 1 on, or cannot be served, is named in one line."""
    with pytest.raises(dn.InputError, match=r"(must be the int n|must have 1 to 16,777,216)") as raised:
        dn.verify(Laplace(epsilon=1.0, domain=Box(0.0, 1.0)), dimension=dimension)
    assert "\n" not in str(raised.value)


def test_inputs_of_many_places_are_named_shortly():
    """The witness of a long vector fits a line."""
    witness = dn.verify(ADePT(epsilon=1.0), dimension=4096).witness
    assert witness.input == "0.015625 in all 4096 places"
    assert len(str(witness)) < 250
    assert np.isfinite(witness.loss)


def test_parameters_of_other_subjects():
    """A claim or a space of one's own is refused for a mechanism, and a dimension for words."""
    for given in ({"epsilon": 0.5}, {"space": 3}):
        with pytest.raises(dn.InputError, match="with a matrix only"):
            dn.verify(Laplace(epsilon=1.0, domain=Box(0.0, 1.0)), dimension=3, **given)
    with pytest.raises(dn.InputError, match="with a vector mechanism only"):
        dn.verify([[1.0]], space=None, epsilon=1.0, dimension=3)
    assert dn.verify(Laplace(epsilon=1.0, domain=Box(0.0, 1.0)), dimension=np.int64(3)).status == "proved"


class TextbookNoise(Laplace):
    """Laplace noise with draws of its own, in floating point."""

    def _sample_rows(self, rows, generator):
        return rows + np.random.Generator(generator).laplace(scale=self.scale(rows.shape[1]), size=rows.shape)


class TextbookGaussian(Gaussian):
    """Gaussian noise with draws of its own, in floating point."""

    def _sample_rows(self, rows, generator):
        return rows + np.random.Generator(generator).normal(scale=self.scale(rows.shape[1]), size=rows.shape)


class Renamed(Laplace):
    """Laplace noise as it is, under another name and claim."""

    name = "renamed"

    @property
    def claim(self):
        return dn.PureDP(self.epsilon / 2, "wishful thinking")


class WiderBox(Box):
    """A box that does not clip as its sensitivity says."""

    def clip(self, x):
        return x


@pytest.mark.parametrize(
    ("mechanism", "status"),
    [
        (TextbookNoise(epsilon=1.0, domain=Box(0.0, 1.0)), "undecided"),
        (TextbookGaussian(epsilon=1.0, delta=1e-5, domain=Box(0.0, 1.0)), "undecided"),
        (Laplace(epsilon=1.0, domain=WiderBox(0.0, 1.0)), "undecided"),
        (Renamed(epsilon=1.0, domain=Box(0.0, 1.0)), "refuted"),
        (TextbookNoise(epsilon=1.0, domain=Box(0.0, 1.0), seed=1), "refuted"),
    ],
)
def test_draws_of_another_are_not_proved(mechanism, status):
    """A proof about the package's draws says nothing of draws, or of a clip, that a subclass brings along."""
    verdict = dn.verify(mechanism, dimension=3)
    assert verdict.status == status
    assert (verdict.witness is None) == (status == "undecided")
    assert math.isinf(verdict.epsilon) or status == "refuted"
    assert limit_status(mechanism.guarantee, verdict).status == status


class Stretched(NoiseGrid):
    """A grid on which inputs are farther apart than its step says."""

    def round(self, x):
        return 1000 * super().round(x)


@pytest.mark.parametrize(
    "members",
    [
        {"grid": lambda self, n: Stretched(**vars(Laplace.grid(self, n)))},
        {"__module__": "deniable.vectors.laplace", "_sample_rows": lambda self, rows, generator: rows},  # noqa: ARG005
    ],
    ids=["grid", "release"],
)
def test_a_subclass_with_another_release_is_never_proved(members):
    """Neither a grid of one's own nor the name of a module of this package makes other draws its own."""
    subject = type("Laplace", (Laplace,), members)(epsilon=1.0, domain=Box(0.0, 1.0))
    assert dn.verify(subject, dimension=3).status == "undecided"


@pytest.mark.parametrize("parent", [Laplace, Gaussian])
@pytest.mark.parametrize("seed", [None, 1])
def test_a_subclass_cannot_call_its_draws_this_packages(parent, seed):
    """What a class says of itself proves nothing, under a public seed or none."""

    class Leak(parent):
        is_builtin = True
        has_builtin_sampler = True

        def exact_loss(self, n):
            return ExactLoss(0.1, 0.1, self.worst_pair(n))

        def _sample_rows(self, rows, generator):
            del generator
            return rows

    parameters = {"epsilon": 1.0, "domain": Box(0.0, 1.0), "seed": seed}
    leak = Leak(**parameters) if parent is Laplace else Leak(**parameters, delta=1e-5)
    assert dn.verify(leak, dimension=3).status == "undecided"
