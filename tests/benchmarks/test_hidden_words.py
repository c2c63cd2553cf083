"""The benchmark of hidden words: its labelled texts and its counts."""

from pathlib import Path

import numpy as np
import pytest

import deniable as dn

ROOT = Path(__file__).parents[2] / "benchmarks"


class FakeEntities:
    """Draws numbered things of each kind."""

    def __init__(self):
        self.count = 0

    def draw(self, kind):
        self.count += 1
        return f"{kind.title()} {self.count}"


@pytest.fixture
def benchmark(monkeypatch):
    """Return the benchmark, which is a script and no package."""
    monkeypatch.syspath_prepend(ROOT)
    import hidden_words

    return hidden_words


@pytest.fixture
def space():
    """Return a small space without hidden classes."""
    return dn.Space(["anna", "oslo", "the"], np.eye(3))


def test_help(benchmark, capsys):
    """Its options are told."""
    with pytest.raises(SystemExit) as end:
        benchmark.main(["--help"])
    assert end.value.code == 0
    assert "--conll" in capsys.readouterr().out


def test_spans_of_templates(benchmark):
    """The spans of every template hold the things that were put in, each of a kind that has a group."""
    for template in benchmark.TEMPLATES:
        text = benchmark.fill_template(template, FakeEntities(), "test")
        assert text.spans
        for number, (start, end, kind) in enumerate(text.spans, 1):
            assert text.text[start:end] == f"{kind.title()} {number}"
            assert kind in benchmark.GROUPS


def test_spans_of_tagged_sentences(benchmark):
    """Sentences with a person or place are read, the tokens of one thing as one span."""
    lines = ["Anna\tB-person", "Berg I-person", "left O", "", "Nothing O", "", "Oslo I-LOC"]
    first, second = benchmark.parse_conll(lines, "test")
    assert first.text == "Anna Berg left"
    assert first.spans == ((0, 9, "name"),)
    assert (second.text, second.spans) == ("Oslo", ((0, 4, "place"),))
    (third,) = benchmark.parse_conll(["Anna B-per", "Otto B-per", "Oslo I-loc"], "test")
    assert third.spans == ((0, 4, "name"), (5, 9, "name"), (10, 14, "place"))


def test_find_span_words(benchmark, space):
    """The words of spans are folded and grouped."""
    text = benchmark.LabelledText("Anna and 10:30", "test", ((0, 4, "name"), (9, 14, "date")))
    assert benchmark.find_span_words(space, text) == {"names": ["anna"], "numbers": ["10:30"]}


def test_count_survivors(benchmark):
    """A word counts where its own private version has it, and by chance where others do."""
    own = [["anna", "oslo"], ["oslo"], []]
    outputs = [frozenset({"anna"}), frozenset({"the"}), frozenset({"oslo"})]
    words, survivors, by_chance = benchmark.count_survivors(own, outputs)
    assert words.tolist() == [2, 1, 0]
    assert survivors.tolist() == [1, 0, 0]
    assert by_chance.tolist() == [0.5, 0.5, 0.0]


def test_count_whole_spans(benchmark, space):
    """A span survives whole where all its words come out."""
    text = benchmark.LabelledText("Anna Oslo, Oslo", "test", ((0, 9, "place"), (11, 15, "place")))
    assert benchmark.count_whole_spans(space, text, frozenset({"oslo"}), "place") == (0, 0)
    assert benchmark.count_whole_spans(space, text, frozenset({"oslo"}), "places") == (2, 1)
    assert benchmark.count_whole_spans(space, text, frozenset({"oslo", "anna"}), "places") == (2, 2)


def test_count_reviews(benchmark, space):
    """Words are counted folded, and those in lower case apart."""
    total, lower = benchmark.count_reviews(["The Oslo the"], space)
    assert total == {"the": 2, "oslo": 1}
    assert lower == {"the": 1}
