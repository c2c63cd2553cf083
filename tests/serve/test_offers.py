"""Ways to release texts: fresh noise, counts that show nothing, proofs only where they are known."""

import dataclasses

import pytest

import deniable as dn
from deniable.serve.offers import RecordOffer, WordOffer
from tests.text.helpers import SPACE


def make_offer(epsilon=1.0, **options):
    return WordOffer(dn.Release(dn.TEM(SPACE, epsilon=epsilon), **options))


def test_texts_are_privatized_with_fresh_noise():
    """The same text comes out differently in one batch and in the next; null and empty stay."""
    offer = make_offer()
    text = "food dog cat red blue " * 4
    released = offer.privatize([text, None, "", text])
    assert released.texts[1:3] == [None, ""]
    again = offer.privatize([text])
    assert len({released.texts[0], released.texts[3], again.texts[0]}) == 3
    assert released.lengths == [20, 0, 0, 20]
    assert released.select(3, 4).texts == [released.texts[3]]
    assert [len(words) for words in released.outputs] == [20, 0, 0, 20]


def test_draws_follow_the_law():
    """A word comes out as often as the mechanism's law says, whatever texts share its batch."""
    offer = make_offer()
    draws = 20_000
    released = offer.privatize(["dog", *["cat"] * draws, "food dog"])
    law = offer.release.mechanism.probabilities("cat")
    counts = [released.texts[1:-1].count(word) for word in SPACE.words]
    for count, probability in zip(counts, law, strict=True):
        assert abs(count - draws * probability) < 5 * (draws * probability) ** 0.5 + 1


def test_counts_hold_what_the_texts_show():
    """The certificate counts records and words of all batches, and nothing about what changed."""
    offer = make_offer()
    assert offer.certify().records == 0
    for texts in (["food", None], ["the dog was zork", "cat"]):
        offer.count(offer.privatize(texts))
    certificate = offer.certify()
    assert (certificate.records, certificate.words) == (4, 6)
    assert certificate.noise.startswith("fresh noise")
    assert "changed" not in certificate.to_json()


def test_a_proof_is_not_computed_by_the_way(own_cache_folder):
    """Whether a proof is known is found without computing one; then it is kept."""
    offer = make_offer(1.7)
    assert offer.find_verdict() is None
    verdict = offer.prove()
    assert verdict.status == "proved"
    assert offer.find_verdict() is verdict
    assert own_cache_folder.exists()
    assert make_offer(1.7).find_verdict().status == "proved"


def test_a_prepared_offer_says_what_an_attacker_recovers():
    """After preparation the figures are there, and short texts are known to be quick."""
    offer = make_offer()
    assert not offer.is_quick
    offer.prepare()
    assert 0 < offer.kept <= offer.recovery < 1
    assert offer.attacker.startswith("an attacker who knows the mechanism names")
    assert offer.is_quick
    assert offer.description["fingerprint"] == offer.release.fingerprint
    assert offer.description["noise"] == "fresh"


def test_a_guarantee_stands_no_higher_than_its_verdict():
    """The description of an offer that was proved has the status of the verdict."""
    offer = WordOffer(dn.Release(dn.mechanism("truncated-gumbel", SPACE, epsilon=50.0)))
    assert offer.description["guarantee"]["status"] == "claimed"
    offer._keep_verdict(dataclasses.replace(make_offer().prove(), status="refuted"))
    assert offer.description["guarantee"]["status"] == "refuted"


def test_an_offer_is_described_and_charged_by_its_guarantee():
    """What a service says of a mechanism of somebody's own, and charges for a word, is what it guarantees."""
    claim = dn.MetricDP(6.0, SPACE.metric_name, "Theorem 1 of my paper")
    offer = WordOffer(dn.Release(type("Own", (dn.TEM,), {"guarantee": claim})(SPACE, epsilon=2.0)))
    offer.prove()
    assert offer.description["epsilon"] == offer.description["guarantee"]["epsilon"] == 6.0
    assert offer.compute_cost().amounts == (6_000_000_000,)


class TestRecords:
    """A rewriting model."""

    @pytest.fixture
    def method(self):
        pytest.importorskip("torch", reason="torch is not installed")
        from deniable.registry.methods import rewriting_method
        from tests.rewriting.untrained import untrained

        return lambda **options: rewriting_method("adept-true", untrained(), epsilon=5.0, **options)

    def test_texts_are_rewritten_whole(self, method):
        """Empty texts get new ones too, null stays, and long texts are cut; the unit is the record."""
        offer = RecordOffer(method())
        offer.prepare()
        offer.prove()
        texts = ["show me all the flights", None, "", "to " * 100, "\ud800"]
        released = offer.privatize(texts)
        offer.count(released)
        assert [text is None for text in released.texts] == [False, True, False, False, False]
        assert offer.description["unit"] == "record"
        assert offer.description["epsilon"] == 5.0
        assert offer.certify().records == 5
        assert not offer.is_quick

    def test_noise_is_fresh(self, method):
        """A method with a public seed is refused."""
        with pytest.raises(dn.InputError, match="fresh noise"):
            RecordOffer(method(seed=1))
