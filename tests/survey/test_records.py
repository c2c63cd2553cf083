"""Rewritten records, with methods whose figures are known."""

import dataclasses
import types

import pytest

import deniable as dn
from deniable.survey.records import Records
from deniable.survey.survey import Bench
from deniable.survey.table import Plan, build_table
from deniable.words.prior import build_prior
from tests.survey.toy import CLASSES, SPACE, make_table

ANY_TWO = "any two texts"


@dataclasses.dataclass(frozen=True)
class CopyingMethod:
    """Returns every text as it is, and claims an epsilon, which is refuted."""

    epsilon: float
    seed: int | None = None
    name: str = "copying"
    model: object = dataclasses.field(default_factory=lambda: types.SimpleNamespace(limit=11))
    status: str = "refuted"

    @property
    def guarantee(self):
        """The claim."""
        return dn.Guarantee(self.epsilon, "a test", "claimed", delta=1e-6, adjacency=ANY_TWO)

    def verify(self):
        """Return the verdict."""
        assert self.seed is None
        return dn.Verdict(self.guarantee, self.status, "a test", self.epsilon)

    def rewrite(self, texts):
        """Return the texts, which are cut to what the model reads."""
        assert all(len(text.split()) == 11 for text in texts)
        return list(texts)


@dataclasses.dataclass(frozen=True)
class BlankMethod(CopyingMethod):
    """Returns the same text for every one, which is proved to show nothing."""

    status: str = "proved"

    @property
    def guarantee(self):
        """Of every text."""
        return dataclasses.replace(super().guarantee, status="proved")

    def rewrite(self, texts):
        """Return the word "the"."""
        return ["the"] * len(texts)


@pytest.mark.parametrize(("method", "whole"), [(CopyingMethod, None), (BlankMethod, 20.0)])
def test_a_draft_of_records(method, whole):
    """A record has the epsilon that is claimed unless that is refuted; copies are linked and learned from."""
    texts, codes = make_table(120)
    plan = Plan(folds=2, shadows=6, attacked=20, members=40, linked=30)
    table = build_table(texts, [CLASSES[code] for code in codes], plan)
    way = Records(method, 20.0)
    result = way.measure(Bench(table, plan, SPACE, build_prior(SPACE, None)))
    assert result.name == way.name == "records, epsilon 20"
    assert (result.kind, result.epsilon, result.delta, result.promise.whole) == ("records", 20.0, 1e-6, whole)
    assert result.promise.adjacency == ANY_TWO
    assert (result.linked.low > 1 / len(texts)) is result.score.is_better_than_blind is (method is CopyingMethod)
