"""What a report says is guaranteed."""

from collections import Counter
from types import SimpleNamespace

import pytest

import deniable as dn
from deniable.core.intervals import estimate_share
from deniable.measure.report.findings import EpsilonResult, GuaranteeSummary
from deniable.text.batches import Tally


def test_a_promise_stands_no_higher_than_its_certificate(small_space):
    """A claim whose published proof has gaps stands as claimed, whatever was computed of one space."""
    space = dn.Space(small_space.words[:12], small_space.vectors[:12])
    certificate = dn.Certificate.of(dn.Release(dn.TruncatedGumbel(space, epsilon=300.0)), Tally(1, 3, Counter({3: 1})))
    assert certificate.verification["status"] == "proved"
    promise = GuaranteeSummary.from_certificate(certificate)
    assert promise.status == certificate.guarantee["status"] == promise.record["pure"]["status"] == "claimed"
    assert promise.proven is not None


def test_the_attacker_who_may_be_better_decides():
    """Where one attacker tried few words, the wider interval of the two is held against the limit."""
    many, few = estimate_share(150, 1_000), estimate_share(14, 100)
    assert many.value > few.value
    attackers = SimpleNamespace(alone=SimpleNamespace(share=many), context=SimpleNamespace(share=few))
    assert EpsilonResult.strongest_recovery.fget(attackers).high == pytest.approx(few.high)
