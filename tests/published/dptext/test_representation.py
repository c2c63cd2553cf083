"""What a model releases, and what that guarantees."""

import math

import numpy as np
import pytest

from deniable.auditing import audit, verify
from deniable.core.errors import InputError
from deniable.published.dptext.representation import LEARNED_EPSILON_NOTE
from tests.published.dptext.toy import TEXTS, fitted


@pytest.fixture(scope="module")
def published():
    return fitted("published", 1.0, epochs=2)


@pytest.fixture(scope="module")
def zeroed():
    return fitted("published", 1.0, invalid="zero", epochs=2)


@pytest.fixture(scope="module")
def fixed():
    return fitted("fixed", 1.0, epochs=2)


def test_guarantees(published, fixed):
    """As published the claim is refuted and its epsilon a leak; fixed it is proved; without noise there is none."""
    assert (published.guarantee.status, published.guarantee.epsilon) == ("refuted", published.epsilon)
    assert published.guarantee.source.endswith(LEARNED_EPSILON_NOTE)
    assert "Theorem 3.2" in published.guarantee.source
    assert (fixed.guarantee.status, fixed.guarantee.epsilon) == ("proved", 1.0)
    assert fitted(epochs=1).guarantee.status == "refuted"
    assert fixed.make_mechanism(seed=1).guarantee.status == "refuted"


def test_what_is_verified(published, zeroed, fixed):
    """By its law the loss is infinite as published, however NaN is treated, and at most epsilon where fixed."""
    for model in (published, zeroed):
        verdict = verify(model.make_mechanism(), dimension=model.dimensions)
        assert (verdict.status, verdict.lower_bound) == ("refuted", math.inf)
    verdict = verify(fixed.make_mechanism(), dimension=fixed.dimensions)
    assert verdict.status == "proved"
    assert verdict.epsilon <= 1.0


def test_audits(published, zeroed, fixed):
    """Samples alone refute both published forms at two texts, and not the corrected one."""
    statuses = []
    for model in (published, zeroed, fixed):
        encodings = model.encode(TEXTS)
        far = np.abs(encodings[:, None] - encodings).sum(axis=2)
        one, other = np.unravel_index(far.argmax(), far.shape)
        found = audit(
            model.make_mechanism(seed=4).sample,
            encodings[one],
            encodings[other],
            claim=model.epsilon,
            samples=6_000,
            batched=True,
            seed=0,
        )
        statuses.append(found.status)
    assert statuses == ["refuted", "refuted", "not refuted"]


def test_the_support_moves_with_the_input(published, zeroed, fixed):
    """No released number lies below its encoding as published; corrected, half of them do."""
    for model in (published, zeroed):
        assert (model.release(TEXTS, seed=1) >= model.encode(TEXTS)).all()
    below = (fixed.release(TEXTS, seed=1) < fixed.encode(TEXTS)).mean()
    assert 0.45 < below < 0.55


def test_every_record_is_released(fixed):
    """Empty texts and unknown words are inputs like any other, and equal texts have noise of their own."""
    out = fixed.release(["", "qwertz", "flights from boston", "flights from boston"])
    assert out.shape == (4, 6)
    assert np.isfinite(out).all()
    assert (out[2] != out[3]).all()
    assert not np.allclose(fixed.encode([""]), fixed.encode(["qwertz"]))
    with pytest.raises(InputError, match="must not be empty"):
        fixed.release([])


def test_a_release_is_fresh_without_a_seed(fixed):
    """Two releases differ, but for a public seed, which repeats them."""
    assert (fixed.release(TEXTS[:5]) != fixed.release(TEXTS[:5])).all()
    np.testing.assert_array_equal(fixed.release(TEXTS[:5], seed=2), fixed.release(TEXTS[:5], seed=2))


def test_encodings_do_not_depend_on_their_batch(fixed):
    """A text has the same encoding to the last bit, alone and among others."""
    together = fixed.encode(TEXTS * 4)
    np.testing.assert_array_equal(together[7], fixed.encode([TEXTS[7]])[0])
    assert np.abs(together).max() <= 1


def test_a_fixed_epsilon_is_the_one_asked_for():
    """A fixed epsilon is not rounded by training, and a learned one is never above its bound."""
    assert fitted("fixed", 0.1, epochs=1).guarantee.epsilon == 0.1
    assert fitted("published", 0.1, epochs=1).epsilon <= 0.1
