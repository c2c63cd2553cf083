"""What a synthetic table is good for: accuracies of the classifier and of students, for the owner."""

import numpy as np
import pytest

from deniable.cli.private_tables import PrivateTable
from deniable.cli.synthesis_files import SynthesisTables
from deniable.cli.synthesis_utility import describe_synthesis, measure_synthesis
from deniable.persons.synthesis import SyntheticTable
from tests.persons.collections import CLASSES, draw_reviews


class FirstClass:
    """A classifier that predicts the first class of every text."""

    classes = CLASSES

    def predict_probabilities(self, texts):
        """Return certainty of the first class."""
        return np.tile([1.0] + [0.0] * (len(CLASSES) - 1), (len(texts), 1))


def make_private(count, seed):
    """Return held-out private rows."""
    texts, codes = draw_reviews(count, seed)
    labels = [CLASSES[code] for code in codes.tolist()]
    return PrivateTable(texts, labels, None, {}, [*range(count)], count, "", ())


def make_synthetic(count, seed, *, is_wrong=False):
    """Return a table of reviews, with the other class of each where it is to be wrong."""
    texts, codes = draw_reviews(count, seed)
    return SyntheticTable(texts, [CLASSES[(code + is_wrong) % 2] for code in codes.tolist()], {})


@pytest.mark.parametrize("has_baseline", [True, False])
def test_figures(has_baseline):
    """Each figure is of its own classifier: the released one, a student, and a student of the baseline."""
    private = make_private(200, 1)
    baseline = make_synthetic(300, 3, is_wrong=True) if has_baseline else None
    figures = measure_synthesis(FirstClass(), SynthesisTables(make_synthetic(300, 2), baseline), private)
    assert figures["classifier"].value == np.mean([label == CLASSES[0] for label in private.labels])
    assert figures["classifier"].count == 200
    assert figures["student"].value > 0.8
    assert ("student of the baseline" in figures) is has_baseline
    lines = describe_synthesis(figures)
    assert len(lines) == 2 + has_baseline
    assert lines[0].startswith("on 200 private rows that were held out")
    assert figures["student"].format_percent() in lines[0]
    assert figures["classifier"].format_percent() in lines[-1]
    if has_baseline:
        assert figures["student of the baseline"].value < 0.2
        assert figures["student of the baseline"].format_percent() in lines[1]


def test_nothing_was_held_out():
    """Without a row to test on there is no figure, and a line says so."""
    figures = measure_synthesis(FirstClass(), SynthesisTables(make_synthetic(10, 2), None), make_private(5, 1).take([]))
    assert figures == {}
    assert describe_synthesis(figures) == ["too few rows were held out to measure an accuracy"]
