"""How fluent the releases of a table are."""

from deniable.comparison.fluency import fit_fluency_judge
from tests.comparison.toy import make_table
from tests.text.helpers import SPACE


def test_other_half():
    """The judge reads one half of the texts, and the other half is what it may be asked about."""
    texts, _ = make_table(40)
    judge = fit_fluency_judge(SPACE, texts, 0)
    assert len(judge.other_rows) == 20
    assert judge.measure_rows(texts).count == 20
    assert judge.measure_texts(texts).value < judge.measure_rows(texts).value


def test_nothing_known():
    """Without a word of the vocabulary there is no perplexity."""
    judge = fit_fluency_judge(SPACE, ["zork"] * 4, 0)
    assert judge.model is None
    assert judge.measure_texts(["the food"]) is None
    assert fit_fluency_judge(SPACE, make_table(10)[0], 0).measure_texts(["zork"]) is None
