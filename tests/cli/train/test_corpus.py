"""The texts that a rewriter learns from: which are held out, and a fingerprint of all."""

import types

import pytest

from deniable.cli.tables import TableFormat
from deniable.cli.train.corpus import RewritingCorpus, describe_held_out_words, fingerprint_texts, split_held_out_texts
from deniable.core.errors import InputError
from deniable.rewriting.tokens import Vocabulary


@pytest.fixture
def corpus(tmp_path):
    """Return a corpus of two rows, one of them long."""
    (tmp_path / "t.csv").write_text("text,note\na b c d,1\n ,2\nshow me,3\n")
    return RewritingCorpus(tmp_path / "t.csv", None, "text", TableFormat(None, None, "utf-8"))


def test_texts_are_cut_and_left_out(corpus):
    """Long texts end at the limit and rows without a text are left out; remarks say which."""
    assert corpus.read_training_texts(3) == ["a b c", "show me"]
    assert [remark.split(": ", 1)[1] for remark in corpus.remarks] == [
        "1 row without a text in 'text' left out: row 2",
        "1 row with more than 3 tokens, of which only the first are used: row 1",
    ]
    assert corpus.read_test_texts(3) is None


def test_no_text_is_learned_and_held_out(corpus):
    """A tenth of the distinct texts is held out, with all their copies."""
    texts = [f"text {number % 40}" for number in range(100)]
    training, held_out = split_held_out_texts(texts, corpus)
    assert len(held_out) == len({*held_out}) == 4
    assert not {*training} & {*held_out}
    assert {*training} | {*held_out} == {*texts}


def test_html_is_told(corpus):
    """HTML is told before long texts are cut."""
    corpus.training_path.write_text("text\na b c d <br />\nshow me &amp;\n")
    corpus.read_training_texts(3)
    assert [remark.split(" hold ")[1][:9] for remark in corpus.remarks if " hold " in remark] == [
        "HTML enti",
        "HTML tags",
    ]


def test_held_out_words_that_the_model_will_lack(corpus):
    """Words of held-out texts are looked up among those of the others, or in the model that is gone on from."""
    training, held_out = ["a b c"] * 9, ["a b d", "x y z"]
    (remark,) = describe_held_out_words(corpus, training, held_out, None)
    assert "66.7 % of the words are not in the vocabulary" in remark
    assert remark.endswith("spaces between its words")
    base_model = types.SimpleNamespace(vocabulary=Vocabulary.build(["a b d x"]))
    (remark,) = describe_held_out_words(corpus, training, held_out, base_model)
    assert "33.3 %" in remark
    assert "--fine-tune" in remark
    assert describe_held_out_words(corpus, training, ["a b c"], None) == []


def test_too_few_texts(corpus):
    """Copies of nine texts are too few."""
    with pytest.raises(InputError, match="too few distinct texts to learn from, 9: give at least 10"):
        split_held_out_texts([f"text {number % 9}" for number in range(100)], corpus)


def test_fingerprints():
    """Other texts, another order or another split have another fingerprint."""
    prints = {fingerprint_texts(*lists) for lists in ([["a", "b"]], [["b", "a"]], [["a"], ["b"]], [["ab"]])}
    assert len(prints) == 4
