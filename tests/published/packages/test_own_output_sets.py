"""Own output sets: a word outside the other's set tells two inputs apart for certain."""

import numpy as np

from deniable.published.packages import own_output_sets


def test_every_word_draws_from_its_own_neighbours_alone():
    """Rows sum to 1, and only the twenty nearest words, ties among them, have a chance."""
    law, space = own_output_sets._compute_law(), own_output_sets._load_space()
    np.testing.assert_allclose(law.sum(axis=1), 1.0, rtol=1e-12)
    assert (np.count_nonzero(law, axis=1) >= 20).all()
    assert np.count_nonzero(law, axis=1).max() < 30
    distances = space.distances([17])[0]
    assert distances[law[17] > 0].max() <= distances[law[17] == 0].min()


def test_an_output_of_one_input_that_the_other_lacks():
    """The two words that are audited draw outputs that have no chance under the other, so that the loss is infinite."""
    law, space = own_output_sets._compute_law(), own_output_sets._load_space()
    monday, january = law[space.index_of("monday")], law[space.index_of("january")]
    assert ((monday > 0) & (january == 0)).any()
    assert ((january > 0) & (monday == 0)).any()


def test_the_audit_refutes_it():
    """Samples of the two words refute the claim at their true distance."""
    verdict = own_output_sets.ENTRY.audit_samples(3)
    assert verdict.status == "refuted"
    assert verdict.lower_bound > verdict.claim == 1.0
