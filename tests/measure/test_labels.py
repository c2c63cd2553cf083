"""Labels as class numbers, rows dealt into folds, and outcomes put together again."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable import InputError
from deniable.core.progress import report_progress_to
from deniable.measure.labels import check_versions, encode_labels, run_folds, stratified_folds


@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=2).filter(lambda column: len(set(column)) > 1))
def test_codes_name_the_labels(column):
    """Each row's code stands for its label, names are sorted, and the majority is the largest share."""
    found = encode_labels(column)
    assert [found.names[code] for code in found.codes] == column
    assert list(found.names) == sorted(set(column))
    assert found.majority_share == max(column.count(name) for name in column) / len(column)


def test_numbers_are_labels_too():
    """Labels that are numbers are classes by their text."""
    assert encode_labels([1, 0, 1]).names == ("0", "1")


def test_rows_without_a_label_have_no_class():
    """A label that is None or blank is no class: its row has the code -1, and the others are numbered without it."""
    found = encode_labels(["b", None, "a", " ", "", "b"])
    assert found.names == ("a", "b")
    assert found.codes.tolist() == [1, -1, 0, -1, -1, 1]
    assert (found.labelled_rows.tolist(), found.unlabelled_rows.tolist()) == ([0, 2, 5], [1, 3, 4])
    assert found.majority_share == 2 / 3


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["a", None], "Got only 'a'"),
        ([" ", None], "Got none, since no row has a label"),
        (["a", "a"], r"^The column 'topic' must hold at least 2 classes\. Got only 'a': name another column\.$"),
        ([], "Got none, since there are no rows"),
    ],
)
def test_what_cannot_be_learned_is_refused(column, message):
    """No labels, a single class or no rows are refused in one line that names the column."""
    with pytest.raises(InputError, match=message):
        encode_labels(column, "topic")


@given(st.lists(st.integers(0, 5), min_size=2, max_size=60), st.integers(2, 10), st.integers(0, 99))
def test_every_row_is_tested_once(column, folds, seed):
    """Each row is tested in one fold and trained on in all others, and folds differ by one row of a class at most."""
    codes = np.array(column)
    if len(codes) < folds:
        with pytest.raises(InputError, match=rf"^{folds} folds need at least {folds} rows\. Got {len(codes)}"):
            stratified_folds(codes, folds, seed)
        return
    splits = stratified_folds(codes, folds, seed)
    assert sorted(np.concatenate([split.test for split in splits])) == list(range(len(codes)))
    assert all(sorted([*split.train, *split.test]) == list(range(len(codes))) for split in splits)
    for code in set(column):
        held = [int((codes[split.test] == code).sum()) for split in splits]
        assert max(held) - min(held) <= 1


def test_folds_follow_from_the_seed():
    """A seed gives the same folds again, another one others."""
    codes = np.arange(40) % 2
    first, again, other = (stratified_folds(codes, 4, seed)[0].test.tolist() for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("folds", [1, 0, 2.0, True, "5"])
def test_folds_that_are_none(folds):
    """Fewer than two folds, or what is no number of folds, are refused."""
    with pytest.raises(InputError, match="'folds' parameter of the measure must be an int of at least 2"):
        stratified_folds(np.arange(10) % 2, folds, 0)


def test_outcomes_are_put_together():
    """Outcomes come trial by trial and version by version, in the order of the splits, and progress counts fits."""
    splits = stratified_folds(np.arange(7) % 2, 3, 0)
    tested = np.concatenate([split.test for split in splits])
    seen = []
    with report_progress_to(lambda done, total: seen.append((done, total))):
        first, second = run_folds([lambda s: [s.test > 3, s.test < 2], lambda s: [s.test == 0]], splits)
    assert [hits.tolist() for hits in first] == [(tested > 3).tolist(), (tested < 2).tolist()]
    assert [hits.tolist() for hits in second] == [(tested == 0).tolist()]
    assert seen[-1] == (6, 6)


def test_columns_that_do_not_match():
    """Missing texts, and columns of other lengths, are refused in one line that names the column."""
    check_versions(["a", "b"], {"x": ["c", "d"]}, 2)
    with pytest.raises(InputError, match=r"^2 texts need as many private texts\. Got 1 of 'x': .*\.$"):
        check_versions(["a", "b"], {"x": ["c"]}, 2)
    with pytest.raises(InputError, match=r"^2 texts need as many labels\. Got 3: .*\.$"):
        check_versions(["a", "b"], {}, 3)
    with pytest.raises(InputError, match=r"^Row 2 of the 'x' texts is missing: leave that row out of all columns\.$"):
        check_versions(["a", "b"], {"x": ["c", None]}, 2)


def test_equal_texts_share_a_fold():
    """No classifier is tested on a text that it was trained on; empty texts, which teach nothing, are spread."""
    texts = [f"text {row % 20}" for row in range(60)] + [""] * 10
    codes = np.array([row % 2 for row in range(20)] * 3 + [0, 1] * 5)
    for split in stratified_folds(codes, 5, 0, texts):
        learned = {texts[row] for row in split.train}
        assert not {texts[row] for row in split.test if texts[row]} & learned
        assert "" in learned
