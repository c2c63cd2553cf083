"""Synthetic tables: one budget for all that is measured, every generator, and tables without private records."""

import dataclasses
import math

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import rdp_privacy_accountant

from deniable.core.errors import InputError
from deniable.persons.classifier_training import ClassifierOptions, PublicTexts, make_private_texts
from deniable.persons.histograms import parse_domain
from deniable.persons.synthesis import (
    SynthesisOptions,
    choose_generator,
    measure_collection,
    write_baseline,
    write_table,
)
from deniable.text.tokenization import split_tokens
from deniable.vectors.gaussian import bound_log_delta
from tests.persons.collections import CLASSES, MAP, PUBLIC_CODES, PUBLIC_TEXTS, draw_reviews, make_private

PUBLIC = PublicTexts(PUBLIC_TEXTS, PUBLIC_CODES)
TRAINING = ClassifierOptions(CLASSES, 20.0, 1e-6, 600, seed=7)
STARS = parse_domain("stars=1..5")


def propose(request):
    """Return a text of words of its class for each place."""
    return [f"the film was {request.class_words[code][0]}" for code in request.codes.tolist()]


def make_options(generator="tilted", **others):
    """Return options for 60 synthetic records."""
    return SynthesisOptions(TRAINING, 60, generator, propose=propose if generator == "candidates" else None, **others)


def measure(options, private=None, others=None, public=PUBLIC):
    """Return what is measured of private reviews, 600 unless told otherwise."""
    private = make_private(600) if private is None else private
    return measure_collection(private, others or {}, MAP, public, options)


@pytest.mark.parametrize("generator", ["tilted", "recombined", "candidates", "counts"])
def test_every_generator_writes_a_table(generator):
    """Every generator writes as many texts as asked for, with words, labels that fit them, and declared values."""
    options = make_options(generator, domains=(STARS,))
    texts, codes = draw_reviews(600, 1)
    stars = [str(4 + row % 2) if code else str(1 + row % 2) for row, code in enumerate(codes.tolist())]
    measured = measure(options, make_private_texts(texts, codes), {"stars": stars})
    table = write_table(measured, PUBLIC, options)
    assert (len(table.texts), len(table.labels), len(table.columns["stars"])) == (60, 60, 60)
    assert all(split_tokens(text) for text in table.texts)
    assert {*table.labels} <= {*CLASSES}
    fits = [
        (label == "good") == (value >= 3) for label, value in zip(table.labels, table.columns["stars"], strict=True)
    ]
    assert np.mean(fits) > 0.8
    assert (measured.counts is not None) == (generator == "counts")


def test_two_runs_with_one_seed_agree():
    """A table is a function of the measurements and a public seed: written twice, it is the same."""
    options = make_options(domains=(STARS,))
    measured = measure(options, others={"stars": ["1"] * 600})
    first, second = write_table(measured, PUBLIC, options), write_table(measured, PUBLIC, options)
    assert dataclasses.astuple(first) == dataclasses.astuple(second)


def test_a_table_depends_on_the_measurements_only():
    """Another private collection changes nothing in a table that is written from the same measurements."""
    options = make_options("counts")
    measured = measure(options, public=None)
    table = write_table(measured, None, options)
    released = {ngram[0] for ngram in measured.counts.ngrams if len(ngram) == 1}
    assert {token for text in table.texts for token in split_tokens(text)} <= released


@pytest.mark.parametrize("records", [None, 500])
@pytest.mark.parametrize("counts", [False, True])
def test_the_listed_measurements_compose_to_the_total(records, counts):
    """What a budget lists composes to (epsilon, delta): by Gaussian DP exactly, and by an independent accountant."""
    training = ClassifierOptions(CLASSES, 2.0, 1e-5, records)
    options = SynthesisOptions(training, 10, domains=(STARS,), counts=counts)
    budget = options.plan_budget(MAP, "record")
    listed = budget.describe_measurements()
    names = {"classifier", "classes", "lengths", "column 'stars'"}
    names |= ({"words and phrases"} if counts else set()) | ({"number of units"} if records is None else set())
    assert {one["name"] for one in listed} == names
    assert sum(one["share"] for one in listed) == pytest.approx(1)
    squared_mu = sum(one["sums"] * (one["norm bound of a unit"] / one["noise"]) ** 2 for one in listed)
    noise_delta = training.delta - budget.selection_delta
    assert bound_log_delta(training.epsilon, 1 / math.sqrt(squared_mu)) <= math.log(noise_delta)
    # Ten percent more of every bound is too much: the budget is used.
    assert bound_log_delta(training.epsilon, 1 / (1.1 * math.sqrt(squared_mu))) > math.log(noise_delta)
    accountant = rdp_privacy_accountant.RdpAccountant()
    for one in listed:
        event = dp_event.GaussianDpEvent(one["noise"] / one["norm bound of a unit"])
        accountant.compose(dp_event.SelfComposedDpEvent(event, one["sums"]))
    # Renyi orders lose a little, never gain.
    assert training.epsilon * 0.9 <= accountant.get_epsilon(noise_delta) <= training.epsilon * 1.25
    assert budget.verify().status == "proved"


def test_persons_are_the_units():
    """All measurements of a collection of persons are of persons, and each counts at most so many records."""
    persons = [f"p{row // 10}" for row in range(600)]
    measured = measure(make_options(), make_private(600, persons=persons, max_records=2))
    assert measured.budget.guarantee.unit == "person"
    assert measured.classifier.guarantee.unit == "person"


def test_the_baseline_sees_nothing_private():
    """The table without private records has equal classes, the lengths of public texts and no further column."""
    options = make_options(domains=(STARS,))
    table = write_baseline(MAP, PUBLIC, options)
    assert len(table.texts) == 60
    assert table.columns == {}
    assert 20 <= table.labels.count("good") <= 40
    assert max(len(split_tokens(text)) for text in table.texts) < 60
    with pytest.raises(InputError, match="it has no baseline"):
        write_baseline(MAP, PUBLIC, make_options("counts"))
    with pytest.raises(InputError, match="needs public texts with labels"):
        write_baseline(MAP, PublicTexts(PUBLIC_TEXTS), options)


@pytest.mark.parametrize("generator", ["tilted", "recombined", "candidates"])
@pytest.mark.parametrize(
    "private",
    [
        make_private_texts(["the film was good"] * 300, np.ones(300)),
        make_private_texts(["", " ", "\u202e\x00 zork 🦊"] * 100, np.arange(300) % 2),
        make_private_texts([], np.zeros(0)),
    ],
    ids=["one class, one text", "no known word", "no record"],
)
def test_odd_collections(generator, private):
    """One text again and again, one class only, unknown words or no record at all: a table is written all the same."""
    options = make_options(generator)
    table = write_table(measure(options, private), PUBLIC, options)
    assert len(table.texts) == len(table.labels) == 60


def test_choice_of_the_generator():
    """Where none is named, what is given decides; one that writes with public texts needs some."""
    assert choose_generator(None, None, has_public=True) == "tilted"
    assert choose_generator(None, None, has_public=False) == "counts"
    assert choose_generator(None, propose, has_public=True) == "candidates"
    with pytest.raises(InputError, match="'recombined' writes with public texts"):
        choose_generator("recombined", None, has_public=False)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"rows": 0}, "rows"),
        ({"generator": "magic"}, "must be one of tilted, recombined, candidates, counts. Got 'magic'"),
        ({"generator": "candidates"}, "needs a callable"),
        ({"propose": propose}, "no other takes one"),
        ({"domains": (STARS, STARS)}, "Each column has one domain. Got stars, stars"),
    ],
)
def test_refused_options(change, problem):
    """Options at odds with each other are refused in one line."""
    with pytest.raises(InputError) as error:
        dataclasses.replace(make_options(), **change)
    assert problem in str(error.value)
