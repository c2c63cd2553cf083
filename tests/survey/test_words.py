"""Words: what each epsilon guarantees, shows and leaves, and rows before and after."""

import math

import numpy as np
import pytest

import deniable as dn
from deniable.survey.table import Plan
from tests.conftest import SMALL_WORDS
from tests.survey.conftest import KINDS, PLAN, ROWS, TEXTS, survey_words


def test_the_table_is_counted(found):
    """Rows without text stay and are counted, as are words that the vocabulary lacks."""
    held = found.table
    assert (held.rows, held.whole, held.empty, len(held.classes), held.learned, held.lone) == (
        ROWS,
        ROWS,
        1,
        2,
        ROWS,
        0,
    )
    assert (held.words - held.unknown, held.median) == (21 * 6, 6)


def test_epsilons_ascend_and_more_is_kept(found):
    """A larger epsilon keeps more words, and lets every attacker name more words and more labelled ones."""
    least, most = found.results
    assert (least.epsilon, most.epsilon) == (0.5, 9.0)
    assert (least.name, most.name) == ("words, epsilon 0.5", "words, epsilon 9")
    for name in ("single", "context", "any text"):
        assert least.recovery[name].share.value < most.recovery[name].share.value - 0.2
    assert least.similarity.unchanged.value < 0.2
    assert most.similarity.unchanged.value > 0.8
    assert least.entities.total.at_place.value < 0.3
    assert most.entities.total.at_place.value > 0.7
    assert {kind.kind for kind in most.entities.kinds} == {"P", "<b>"}
    assert least.guessed.high == max(least.recovery[name].share.high for name in ("single", "context"))
    assert most.linked.value > least.linked.value
    assert most.promise.not_protected[-1] == "the columns copied unchanged: 'kind'"


def test_what_is_proved(found, small_space):
    """Each result has the verdict of the exact verification and the guarantee of the median record, or a claim's."""
    for result in found.results:
        promise = result.promise
        assert promise.status == "proved"
        assert promise.proven <= result.epsilon
        assert f"{found.table.median} words" in promise.whole_unit
        assert promise.approximate[0] <= promise.whole
    space = dn.Space(small_space.words[:12], small_space.vectors[:12])
    text = " ".join(SMALL_WORDS[:3])
    [result] = survey_words([dn.TruncatedGumbel(space, epsilon=300.0)], [text], Plan()).results
    assert result.promise.status == "claimed"
    assert result.promise.proven is not None


def test_a_mechanism_is_measured_at_what_it_guarantees(small_space):
    """Results, and the cost of a record, are those of the guarantee, whatever the parameter of the mechanism."""
    claim = dn.Guarantee.of_words(6.0, "euclidean", "Theorem 1 of my paper")
    own = type("Own", (dn.TEM,), {"guarantee": claim})(small_space, epsilon=2.0)
    survey = survey_words([own, dn.TEM(small_space, epsilon=3.0)], plan=Plan(attacked=6))
    assert [result.epsilon for result in survey.results] == [3.0, 6.0]
    assert survey.results[1].promise.statement.startswith("epsilon 6 ")


def test_the_same_rows_are_shown(found):
    """Examples are the same rows at every epsilon, their pieces make up the texts, and long texts are cut."""
    rows = [[example.row for example in result.examples] for result in found.results]
    assert rows[0] == rows[1]
    assert len(rows[0]) == ROWS - 1
    for result in found.results:
        for example in result.examples:
            assert "".join(piece for piece, _ in example.before) == TEXTS[example.row - 1]
    space = dn.Space(SMALL_WORDS, np.random.default_rng(0).normal(size=(60, 2)))
    touching, long = f"{SMALL_WORDS[0]}n't {SMALL_WORDS[1]}_{SMALL_WORDS[2]}.", " ".join(SMALL_WORDS * 2)
    [result] = survey_words([dn.TEM(space, epsilon=0.1)], [touching, long], Plan(examples=2)).results
    first, second = result.examples
    assert "".join(piece for piece, _ in first.before) == touching
    assert second.after[-1] == (" …", False)
    shown = "".join(piece for piece, _ in second.before).split()[:-1]
    assert shown == [*SMALL_WORDS * 2][: len(shown)]


def test_texts_alone_with_and_without_public_ones(small_space):
    """Without columns their measures are left out; samples are drawn; public texts or other rows teach the attacker."""
    subject = [dn.TEM(small_space, epsilon=2.0)]
    public = survey_words(subject, plan=Plan(examples=2, attacked=6, rows=12), known=[TEXTS[1], TEXTS[2], None])
    [result] = public.results
    assert (result.utility, result.membership, result.authorship, result.entities) == (None, {}, None, None)
    assert (public.originals.utility, public.originals.membership) == (None, {})
    assert (public.table.rows, public.table.whole) == (12, ROWS)
    assert (public.about["attacked"], public.about["known"]) == (6, 3)
    assert result.recovery["single"].share.count <= 6
    context = result.recovery["context"].share
    assert all(math.isfinite(value) for value in (context.low, context.high))
    others = survey_words(subject, plan=Plan(examples=0, attacked=6))
    assert ROWS - 6 - 4 <= others.about["read"] <= ROWS - 6
    assert others.results[0].recovery["context"].share.count <= 6
    copies = survey_words(subject, [*TEXTS[6:7] * 10, *TEXTS[7:21]], Plan(attacked=6))
    assert 6 < copies.about["read"] <= 14  # texts that equal an attacked one are not learned from
    assert "context" not in survey_words(subject, [SMALL_WORDS[0]], Plan()).results[0].recovery


def test_rare_classes_are_left_out(small_space):
    """A row whose class no other row has is left out of what is learned, and counted."""
    found = survey_words([dn.TEM(small_space, epsilon=2.0)], labels=[*KINDS[:-1], "alone"])
    assert (found.table.learned, found.table.lone, len(found.table.classes)) == (ROWS - 1, 1, 2)
    assert found.results[0].utility.rows == ROWS - 1


def test_labelled_words_must_be_words(small_space):
    """Spans without a word are refused, and so are those that do not lie in their texts."""
    for spans in ([[]] * ROWS, [[(90, 99, "P")]] * ROWS):
        with pytest.raises(dn.DeniableError):
            survey_words([dn.TEM(small_space, epsilon=2.0)], plan=PLAN, entities=spans)
