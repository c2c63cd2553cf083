"""Advice: which measured epsilons give both protection and use, and what is said where none does."""

import dataclasses

import numpy as np
import pytest

from deniable import InputError
from deniable.core.intervals import estimate_share
from deniable.measure.report.advice import ALTERNATIVES, AdviceLimits, Answer, EpsilonFigures, advise
from deniable.measure.retention import compare_with_blind_guess
from deniable.measure.utility import UtilityResult

ROWS = 1_000
CODES = np.arange(ROWS) % 2


def make_utility(private, original=0.9):
    """Return the scores of classifiers that are right on given shares of the rows of two equal classes."""
    hits = [np.arange(ROWS) // 2 < share * ROWS / 2 for share in (original, private)]
    score = compare_with_blind_guess(*hits, CODES, [0.5, 0.5])
    return UtilityResult(score, score, "tfidf", 5, ROWS, 2)


def make_figures(epsilon, named, private=None, *, original=0.9, is_refuted=False):
    """Return the figures of an epsilon at which attackers name a share, and classifiers are right on another."""
    utility = None if private is None else make_utility(private, original)
    return EpsilonFigures(epsilon, estimate_share(round(named * ROWS), ROWS), is_refuted, utility)


def test_an_epsilon_that_gives_both():
    """Those epsilons are named at which few words are named and enough is retained, and nothing else is advised."""
    advice = advise([make_figures(1, 0.05, 0.5), make_figures(2, 0.1, 0.8), make_figures(4, 0.6, 0.88)])
    assert (advice.answer, advice.epsilons) == (Answer.SHARE, (2,))
    assert advice.headline.startswith("Epsilon 2 gives both: ")
    assert advice.blind.startswith("No better than a blind guess at epsilon 1: ")
    assert advice.alternatives == advice.unmeasured == ()
    assert [one.is_useful for one in advice.judgements] == [False, True, True]
    assert [one.is_protected for one in advice.judgements] == [True, True, False]


def test_sharing_comes_with_the_whole_record():
    """The answer to share says what the guarantee is worth for all words of a record together."""
    figures = dataclasses.replace(make_figures(2, 0.1, 0.8), whole_record=(19, 545.2))
    assert (
        advise([figures])
        .reasons[-1]
        .startswith("For the whole of a median record, 19 words, epsilon 2 makes epsilon 546: ")
    )
    assert advise([make_figures(2, 0.1, 0.8)]).reasons[-1].startswith("The guarantee bounds nothing for a record")


def test_a_small_loss_in_points_is_no_use():
    """Where the originals themselves are little better than a blind guess, few points lost may be all there was."""
    advice = advise([make_figures(2, 0.1, 0.5, original=0.55)])
    assert advice.answer is Answer.DO_NOT_SHARE
    assert advice.judgements[0].is_better_than_blind is False


def test_none_gives_both():
    """Where protection and use exclude each other the answer is not to share, and what to do instead."""
    advice = advise([make_figures(2, 0.1, 0.55), make_figures(2.4, 0.3, 0.6), make_figures(3, 0.5, 0.85)])
    assert (advice.answer, advice.epsilons, advice.alternatives) == (Answer.DO_NOT_SHARE, (), ALTERNATIVES)
    assert advice.headline == "No measured epsilon gives both; do not share these texts word by word."
    assert advice.unmeasured == ()
    assert "at best 12.5 %" in advice.reasons[0]
    assert "only at epsilon 3, and attackers name 50.0 %" in advice.reasons[1]


@pytest.mark.parametrize(
    ("figures", "unmeasured", "words"),
    [
        ([(2, 0.1, 0.55), (4, 0.5, 0.85)], (2, 4), "between 2 and 4 was measured, and one may give both"),
        ([(3, 0.5, 0.85), (4, 0.6, 0.88)], (0, 3), "below 3 was measured"),
        ([(1, 0.05, 0.5), (2, 0.1, 0.55)], (2, None), "above 2 was measured"),
    ],
)
def test_what_was_not_measured(figures, unmeasured, words):
    """Where an epsilon that was not measured may give both, the advice says where to look."""
    advice = advise([make_figures(*one) for one in figures])
    assert (advice.answer, advice.unmeasured) == (Answer.DO_NOT_SHARE, (unmeasured,))
    assert words in advice.reasons[-1]


def test_attackers_that_name_too_much_and_nothing_learned():
    """Where even the least epsilon protects nothing and teaches nothing, no smaller one would serve."""
    advice = advise([make_figures(1, 0.5, 0.5), make_figures(2, 0.6, 0.55)])
    assert (advice.answer, advice.unmeasured) == (Answer.DO_NOT_SHARE, ())


def test_without_labels():
    """Without labels only protection is judged; where there is none, the texts are not to be shared either."""
    advice = advise([make_figures(1, 0.05), make_figures(4, 0.6)])
    assert (advice.answer, advice.epsilons, advice.blind) == (Answer.UTILITY_NOT_MEASURED, (1,), None)
    assert "at most 20 % of the words at epsilon 1." in advice.reasons[0]
    assert advise([make_figures(4, 0.6)]).answer is Answer.DO_NOT_SHARE


def test_a_label_that_cannot_be_learned():
    """Where the originals are no better than a blind guess nothing is said of use, and nothing is promised."""
    advice = advise([make_figures(1, 0.05, 0.5, original=0.5)])
    assert (advice.answer, advice.blind) == (Answer.UTILITY_NOT_JUDGEABLE, None)
    assert advice.headline.startswith("Utility cannot be judged with this label: ")
    refused = advise([make_figures(1, 0.5, 0.5, original=0.5)])
    assert refused.answer is Answer.DO_NOT_SHARE
    assert any(reason.startswith("Utility cannot be judged") for reason in refused.reasons)


def test_a_refuted_guarantee_protects_nothing():
    """An epsilon whose guarantee is refuted is never advised, however little the attackers name."""
    advice = advise([make_figures(2, 0.1, 0.85, is_refuted=True)])
    assert (advice.answer, advice.epsilons) == (Answer.DO_NOT_SHARE, ())
    assert "refuted at epsilon 2: take another mechanism" in advice.reasons[0]


def test_too_few_rows_are_admitted():
    """Where the interval of the retained share holds the limit, the advice says that more rows would tell."""
    assert any("more rows would tell" in reason for reason in advise([make_figures(2, 0.1, 0.7)]).reasons)
    assert not any("more rows would tell" in reason for reason in advise([make_figures(2, 0.1, 0.85)]).reasons)


def test_limits_decide():
    """Other limits give another answer, and stand beside it."""
    limits = AdviceLimits(max_recovery=0.7, min_retained=0.9)
    advice = advise([make_figures(2, 0.1, 0.7), make_figures(4, 0.6, 0.89)], limits)
    assert (advice.answer, advice.epsilons, advice.limits) == (Answer.SHARE, (4,), limits)


@pytest.mark.parametrize(
    ("given", "name"), [({"max_recovery": 1.0}, "--max-recovery"), ({"min_retained": 0}, "--min-r")]
)
def test_limits_that_are_none(given, name):
    """A limit that is no share between 0 and 1 is refused by its option's name."""
    with pytest.raises(InputError, match=f"^{name}.* must be above 0 and below 1"):
        advise([make_figures(2, 0.1, 0.7)], AdviceLimits(**given))
