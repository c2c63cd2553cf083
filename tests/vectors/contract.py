"""What every vector mechanism must hold: a test class that each mechanism's own test class inherits."""

import copy
import math
import pickle
from typing import Any, ClassVar

import numpy as np
import pytest

import deniable as dn
from tests.refusals import refuses

SEED = 20_240_607
BAD_INPUTS = [["a", "b"], [True, False], [1j], None, [[1.0], [1.0, 2.0]], 1.0, [], [0.0, math.nan], [[0.0], [math.inf]]]
BAD_INPUTS += [np.zeros(shape) for shape in ((2, 2, 2), (3, 0), (0, 3))]
BAD_INPUTS += [np.array([np.finfo(np.longdouble).max])]


class VectorMechanismContract:
    """Inherit it, name the class ``Test...`` and set what is declared here.

    Attributes:
        mechanism: the class under test.
        options: parameters of a usual instance.
        bad: parameters that must be refused, each by an error that names it.
        status: of the guarantee of a usual instance.
        source: words that the source of the guarantee must hold.
        on_grid: whether outputs are multiples of a power of two near 2^-40 of the scale.
        noisy: whether the noise differs from row to row.
        seed_voids: whether a public seed voids the guarantee.
    """

    mechanism: ClassVar[type[dn.VectorMechanism]]
    options: ClassVar[dict[str, Any]]
    bad: ClassVar[list[dict[str, Any]]] = []
    status: ClassVar[str] = "proved"
    source: ClassVar[str]
    on_grid: ClassVar[bool] = True
    noisy: ClassVar[bool] = True
    seed_voids: ClassVar[bool] = True

    def make(self, **changes):
        """Return an instance with some parameters changed."""
        return self.mechanism(**(self.options | changes))

    @pytest.mark.parametrize("shape", [(1,), (7,), (5, 3)])
    def test_shape_out_is_shape_in(self, shape):
        """An output has the input's shape, float64 and finite; calling is releasing; the input stays."""
        x = np.full(shape, 0.25, dtype=np.float32)
        for y in (self.make().sample(x), self.make()(x.tolist()), self.make()(x.astype(np.int8))):
            assert y.shape == shape
            assert y.dtype == np.float64
            assert np.isfinite(y).all()
        assert (x == 0.25).all()
        extreme = np.array([[1.7e308, -1.7e308, 5e-324], [0.0, -0.0, 1e-310]])
        assert np.isfinite(self.make().sample(extreme)).all()

    def test_unusable_inputs_are_refused(self):
        """What cannot be released raises InputError: one line with value and fix."""
        for x in BAD_INPUTS:
            with refuses("; "):
                self.make().sample(x)
        with refuses("coordinates"):
            self.make().sample(np.broadcast_to(0.0, (1 << 24) + 1))

    def test_bad_parameters_are_refused(self):
        """Each parameter outside its domain is named; none can be given by position; dimensions are checked."""
        for changes in (*self.bad, {"seed": 1.5}, {"seed": True}):
            with refuses(next(iter(changes))):
                self.make(**changes)
        with pytest.raises(TypeError):
            self.mechanism(1.0)
        subject = self.make()
        for n in (0, -1, 1.0, True, "3", (1 << 24) + 1):
            for method in (subject.scale, subject.sensitivity, subject.worst_pair, subject.exact_loss):
                with refuses("coordinates"):
                    method(n)

    def test_rows_get_noise_of_their_own(self):
        """Equal rows come out different, without correlation between rows or coordinates."""
        y = self.make(seed=SEED).sample(np.full((4000, 4), 0.5))
        if not self.noisy:
            assert (y == 0.5).all()
            return
        assert len(np.unique(y[:, 0])) > 1900  # DPText adds zero to half of them
        ranks = y.argsort(axis=0).argsort(axis=0)
        assert np.abs(np.corrcoef(ranks.T) - np.eye(4)).max() < 0.08  # five deviations
        assert abs(np.corrcoef(ranks[1:, 0], ranks[:-1, 0])[0, 1]) < 0.08

    def test_noise_is_fresh_without_a_seed(self):
        """Two releases differ, also by copies of one instance; a seed makes draws repeatable in the order of calls."""
        x, subject = np.full((3, 16), 0.5), self.make()
        twin = copy.deepcopy(pickle.loads(pickle.dumps(subject)))
        outputs = [tuple(m.sample(x).ravel().tolist()) for m in (subject, subject, twin)]
        assert len(set(outputs)) == (3 if self.noisy else 1)
        one, same, other = self.make(seed=1), self.make(seed=1), self.make(seed=2)
        first, second = one.sample(x), one.sample(x)
        assert (same.sample(x) == first).all()
        assert (same.sample(x) == second).all()
        if self.noisy:
            assert (first != second).any()
            assert (other.sample(x) != first).any()

    def test_guarantee_says_what_it_rests_on(self):
        """Guarantee and status are as declared, and the claim is the parameter; with a public seed it is refuted."""
        guarantee, seeded = self.make().guarantee, self.make(seed=3)
        assert guarantee.status == self.status
        assert self.source in guarantee.source
        assert guarantee.epsilon == self.options.get("epsilon", 0.0)
        if self.seed_voids:
            assert seeded.guarantee.status == "refuted"
            assert seeded.exact_loss(2)[:2] == (math.inf, math.inf)
        else:
            assert seeded.guarantee == guarantee

    def test_outputs_lie_on_a_grid_that_the_input_does_not_move(self):
        """Outputs are whole multiples of a step that depends on parameters and dimension alone."""
        if not self.on_grid:
            return
        subject = self.make(seed=SEED)
        step = 2.0 ** math.ceil(math.log2(subject.scale(3)) - 39)
        step = next(g for g in (step / 4, step / 2, step) if g <= subject.scale(3) * 2.0**-38.9)
        for value in (0.0, 1.0, 0.1, -math.pi):
            y = subject.sample(np.full((500, 3), value)) / step
            assert (y == np.rint(y)).all()
            assert (np.rint(y) % 4 != 0).any()

    @pytest.mark.parametrize("n", [1, 2, 1000])
    def test_exact_loss_and_status_agree(self, n):
        """Where the loss is known, a proved claim bounds it and a refuted one is exceeded; bounds are close."""
        subject = self.make()
        if subject.guarantee.delta > 0:
            with refuses("", dn.NotTractable):
                subject.exact_loss(n)
            return
        upper, lower, pair = subject.exact_loss(n)
        assert lower <= upper
        assert all(x.shape == (n,) for x in pair)
        if math.isfinite(upper):
            assert lower >= upper * (1 - 1e-8)
        if subject.guarantee.status == "proved":
            assert upper <= subject.guarantee.epsilon
        elif n > 1:
            assert lower > subject.guarantee.epsilon
