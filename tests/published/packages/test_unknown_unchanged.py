"""Unknown words pass unchanged: what the vocabulary lacks is published as it is."""

from deniable.auditing.verification import verify
from deniable.published.packages import unknown_unchanged


def test_the_audit_tells_two_unknown_words_apart():
    """Samples refute the claim for two words outside of the vocabulary, which come out as they went in."""
    verdict = unknown_unchanged.ENTRY.audit_samples(5)
    assert verdict.status == "refuted"
    assert verdict.lower_bound > 1.0
    known = unknown_unchanged._make_mechanism().space
    assert verdict.witness.input not in known
    assert verdict.witness.other not in known


def test_the_mechanism_itself_is_correct():
    """For the words that it knows the claim is proved: passing the others through is the only flaw."""
    verdict = verify(unknown_unchanged._make_mechanism())
    assert verdict.status == "proved"
    assert verdict.claim == 1.0
