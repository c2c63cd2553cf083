"""Releases record by record: every text rewritten by itself, and what is claimed of it."""

import dataclasses

import numpy as np
import pytest

from deniable.comparison.fluency import fit_fluency_judge
from deniable.comparison.record_releases import draft_record_releases, measure_record_release
from deniable.core.evidence import Verdict
from deniable.core.guarantees import ANY_TWO_TEXTS, ApproxDP
from tests.comparison.toy import PLAN, CopyingMethod, make_inputs
from tests.text.helpers import SPACE


@dataclasses.dataclass(frozen=True)
class BlankMethod(CopyingMethod):
    """Returns the same text for every one, which is proved to show nothing."""

    @property
    def guarantee(self):
        """Of every text."""
        return ApproxDP(self.epsilon, 1e-6, "a test", "proved", adjacency=ANY_TWO_TEXTS)

    def verify(self):
        """Nothing can be refuted."""
        return Verdict(self.guarantee, "proved", self.epsilon, 0.0, 1.0, 0, None, "a test", 0.0)

    def rewrite(self, texts):
        """Return the word "the"."""
        return ["the"] * len(texts)


def test_drafts():
    """Each epsilon has its draft, of texts that are cut to what the model reads."""
    inputs = make_inputs()
    plan = dataclasses.replace(PLAN, record_epsilons=(20.0, 30.0))
    drafts = draft_record_releases(CopyingMethod, inputs, plan)
    assert [draft.name for draft in drafts] == ["records, epsilon 20", "records, epsilon 30"]
    for draft in drafts:
        assert draft.method.seed is None
        assert [text.split() for text in draft.texts] == [text.split()[:8] for text in inputs.texts]


@pytest.mark.parametrize(("method", "whole", "delta"), [(CopyingMethod, None, None), (BlankMethod, 20.0, 1e-6)])
def test_figures_of_a_draft(method, whole, delta):
    """A record has the epsilon that is claimed unless that is refuted; copies are linked more than by chance."""
    inputs = make_inputs()
    (draft,) = draft_record_releases(method, inputs, PLAN)
    judge = fit_fluency_judge(SPACE, inputs.texts, 0)
    right = np.ones(len(inputs.texts), dtype=bool)
    release = measure_record_release(draft, inputs, (right, ~right), judge, PLAN)
    assert (release.way, release.epsilon, release.delta, release.promise.whole) == ("records", 20.0, delta, whole)
    assert release.promise.adjacency == ANY_TWO_TEXTS
    assert (release.use.score.original.value, release.use.score.private.value) == (1.0, 0.0)
    assert (release.attacks.linked.low > 1 / len(inputs.texts)) is (method is CopyingMethod)
    assert release.note == "method copying"


def test_records(comparison):
    """A method that copies has no bound where its claim is refuted."""
    (release,) = (release for release in comparison.releases if release.way == "records")
    assert release.promise.whole is None
    assert release.promise.status == "refuted"
    assert release.attacks.named is None
