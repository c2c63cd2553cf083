"""Parts of releases of the collection as a whole by themselves."""

import dataclasses

import numpy as np
import pytest

from deniable.core.parallel import report_progress_to
from deniable.survey.collection import (
    PrivateLearner,
    ReadableTexts,
    SyntheticTexts,
    attack_private_classifier,
    choose_delta,
)
from deniable.survey.survey import Bench
from deniable.survey.table import build_table
from deniable.words.prior import build_prior
from tests.refusals import refuses
from tests.small_llama import build_word_tokenizer, save_llama
from tests.survey.conftest import SMALL_PLAN
from tests.survey.toy import SPACE, WORDS, make_table


def test_default_delta():
    """The default delta is a power of ten of at most one in ten units."""
    for units, delta in ((1, 0.1), (9, 1e-2), (10, 1e-2), (11, 1e-3), (1_000, 1e-4), (4_731, 1e-5)):
        assert choose_delta(units) == pytest.approx(delta)
        assert choose_delta(units) <= 1 / (10 * units) + 1e-15


def test_a_private_learner(collection):
    """With a large epsilon it learns the classes, and equal seeds give equal classifiers."""
    texts, codes = make_table(200, seed=2)
    first, second = (PrivateLearner(collection, 900.0, 3).fit(texts[:150], codes[:150], 2) for _ in range(2))
    found = first.probabilities(texts[150:])
    assert np.mean(found.argmax(axis=1) == codes[150:]) > 0.8
    assert np.array_equal(found, second.probabilities(texts[150:]))


def test_the_rows_of_a_collection(collection):
    """Rows with a class are the collection, with their persons."""
    texts = [*collection.table.texts, "the food"]
    labels = [*(collection.table.classes[code] for code in collection.table.codes), None]
    table = build_table(texts, labels, SMALL_PLAN, persons=[row // 4 for row in range(121)])
    of_persons = dataclasses.replace(collection, table=table, max_records=3)
    assert (of_persons.private.unit, len(of_persons.private.texts)) == ("person", 120)
    assert len({*of_persons.private.persons}) == 30
    assert of_persons.fit_classifier(of_persons.private, 50.0, 0).guarantee.unit == "person"


def test_the_attack_knows_the_budget(collection):
    """Membership is told better at a vast budget than at a tiny one, and equal seeds give equal attacks."""
    bench = Bench(collection.table, SMALL_PLAN, SPACE, build_prior(SPACE, None))
    vast, tiny, again = (
        attack_private_classifier(collection, bench, epsilon)["original"] for epsilon in (900.0, 0.1, 900.0)
    )
    assert vast == again
    assert vast.auc.value > tiny.auc.value


def test_texts_to_learn_from(collection):
    """Synthetic texts are at least two."""
    with refuses("rows"):
        SyntheticTexts(collection, 1.0, rows=1)


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    """Return a tiny llama that knows the words of the table."""
    from deniable.language.model import LanguageModel

    tokenizer = build_word_tokenizer([*WORDS, "write", "review"])
    return LanguageModel.load(save_llama(tmp_path_factory.mktemp("llama"), tokenizer))


def test_texts_that_people_can_read(collection, llama):
    """Texts of a model and public sentences are few, and judged alike, on the rows of the first fold alone."""
    bench = Bench(collection.table, SMALL_PLAN, SPACE, build_prior(SPACE, None))
    shown = []
    with report_progress_to(lambda done, total: shown.append((done, total))):
        results = [
            way.measure(bench)
            for way in (ReadableTexts(collection, 50.0), ReadableTexts(collection, 50.0, llama, "a review"))
        ]
    assert [one.name for one in results] == [
        f"synthetic, {name}, epsilon 50" for name in ("recombined", "language model")
    ]
    for one in results:
        assert one.kind == "synthetic texts"
        assert (one.utility.folds, one.utility.rows) == (1, len(collection.table.splits[0].test))
        assert one.promise.proven == 50.0
        assert one.note.startswith("200 texts of ")
        assert one.perplexity.value > 1
    assert results[0].membership == results[1].membership
    assert results[0].utility.accuracy.original == results[1].utility.accuracy.original
    assert shown[0][0] == 0
    assert (256, 256 + 223) in shown


def test_a_model_that_cannot_be_asked(collection, llama):
    """What the model cannot be asked for is refused before anything is measured."""
    for prompt in (" ", "a {kind}", "a film " * 80):
        with refuses("prompt"):
            ReadableTexts(collection, 1.0, llama, prompt)
