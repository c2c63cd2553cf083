"""What a report says is guaranteed."""

from collections import Counter

import deniable as dn
from deniable.measure.report.findings import GuaranteeSummary
from deniable.text.batches import Tally


def test_a_promise_stands_no_higher_than_its_certificate(small_space):
    """A claim whose published proof has gaps stands as claimed, whatever was computed of one space."""
    space = dn.Space(small_space.words[:12], small_space.vectors[:12])
    certificate = dn.Certificate.of(dn.Release(dn.TruncatedGumbel(space, epsilon=300.0)), Tally(1, 3, Counter({3: 1})))
    assert certificate.verification["status"] == "proved"
    promise = GuaranteeSummary.from_certificate(certificate)
    assert promise.status == certificate.guarantee["status"] == promise.record["pure"]["status"] == "claimed"
    assert promise.proven is not None
