"""Figure 2 of Habernal 2022: samplers, their exact laws, and what an audit says of them."""

import numpy as np
import pytest
from scipy import stats

from studies.noise_samplers import AGAIN, CORRECT, EDGES, EXACT, FAR, NEITHER, SAMPLERS, ZEROS, measure_sampler
from studies.rows import find_row

COUNT = 200_000


@pytest.mark.parametrize("name", SAMPLERS)
def test_draws_follow_the_exact_law(name):
    """Counts of all bins are those of the law, and not those of noise that is 30% longer."""
    sampler = SAMPLERS[name]
    values = sampler.draw(COUNT, np.random.default_rng(1))

    def compute_p(scale):
        edges = np.nextafter(EDGES, -np.inf) / scale  # 0, which has a probability of its own, begins a bin
        chances = np.diff(np.concatenate([[0.0], sampler.compute_cdf(edges), [1.0]]))
        counts = np.diff(np.concatenate([[0], np.searchsorted(np.sort(values), EDGES), [len(values)]]))
        assert not counts[chances == 0].any()
        return stats.chisquare(counts[chances > 0], len(values) * chances[chances > 0]).pvalue

    assert compute_p(1.0) > 1e-6
    assert compute_p(1.3) < 1e-6


def test_what_is_measured():
    """The three functions of the literature give Laplace noise and pass the audit; equation 9 does neither."""
    for name in SAMPLERS:
        rows = measure_sampler(name, COUNT, 2)
        far, refuted = (find_row(rows, name, None, metric).value for metric in (FAR, NEITHER))
        assert (far < 0.005, refuted) == ((True, 0) if name in CORRECT else (False, 1))
        assert sum(row.value for row in rows if row.metric == EXACT) == pytest.approx(1, abs=0.01)
    assert find_row(measure_sampler(ZEROS, COUNT, 2), ZEROS, 0.25, EXACT).value > 0.5
    assert find_row(measure_sampler(AGAIN, COUNT, 2), AGAIN, -0.25, EXACT).value == 0
