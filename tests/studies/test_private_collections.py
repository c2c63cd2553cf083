"""Private collections of studies: units, intervals, and records whose groups are hidden."""

import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.measure.intervals import estimate_mean, estimate_share
from deniable.persons.budget import bound_group_epsilon
from deniable.persons.planning import plan_budget
from studies.private_collections import (
    MOST_REVIEWS,
    build_synthesis_options,
    estimate_accuracy,
    find_record_epsilon,
    load_enquiries,
    load_reviews,
    plan_classifier,
    score_private_classifier,
    select_persons,
    select_records,
)
from studies.runner import Context


@pytest.fixture(scope="module")
def context(study_data):
    return Context(None, 3, study_data)


@pytest.fixture(scope="module")
def reviews(context):
    return load_reviews(context, "public texts")


def test_line_breaks_of_reviews_are_spaces(tmp_path):
    """No tag is left to be read as a word."""
    for name in ("imdb_train.parquet", "imdb_test.parquet", "rotten.parquet"):
        pq.write_table(pa.table({"text": ["good<br />film", "bad film"], "label": [1, 0]}), tmp_path / name)
    reviews = load_reviews(Context(None, 3, tmp_path), "public texts")
    assert reviews.texts == reviews.test_texts == ["good film", "bad film"]
    assert reviews.feature_map.words == ("film", "bad", "good")


def test_undeclared_intents_are_never_named(context):
    """Classes are the intents of the training file; a test enquiry with another one has the class -1."""
    enquiries = load_enquiries(context, "public texts")
    assert enquiries.classes == ("atis_airfare", "atis_flight", "atis_ground_service")
    assert enquiries.test_codes.min() >= 0
    assert enquiries.public.labels is None


def test_every_row_belongs_to_one_person_of_ten_at_most(reviews):
    """Persons share out all rows, each has 1 to 10 of them, and the next seed shares them out anew."""
    private = select_persons(reviews, len(reviews.texts), 1)
    assert private.units.unit == "person"
    assert np.array_equal(np.sort(private.rows), np.arange(len(reviews.texts)))
    counts = np.diff(private.units.offsets)
    assert counts.sum() == len(private.rows)
    assert 1 <= counts.min() <= counts.max() <= MOST_REVIEWS
    assert not np.array_equal(select_persons(reviews, len(reviews.texts), 2).rows, private.rows)


def test_subsets_are_drawn_without_repetition(reviews):
    """Some records are a subset, and all of them are all, in their order."""
    assert len({*select_records(reviews, 20, 1).rows.tolist()}) == 20
    assert np.array_equal(select_records(reviews, 10**6, 1).rows, np.arange(len(reviews.texts)))


def test_ten_records_together_have_the_epsilon_asked_for(reviews):
    """The epsilon of a record is the largest at which ten of them have a given one."""
    private = select_records(reviews, 40, 1)
    epsilon = find_record_epsilon(reviews, private, 4.0)
    groups = [
        bound_group_epsilon(plan_classifier(reviews, private, each), MOST_REVIEWS) for each in (epsilon, 1.01 * epsilon)
    ]
    assert groups[0] <= 4.0 < groups[1]
    assert groups[0] == pytest.approx(4.0, rel=1e-3)


@pytest.mark.deep
def test_classifiers_learn_where_noise_is_small_and_not_where_it_is_large(reviews):
    """At a huge epsilon reviews of two vocabularies are told apart, and at a small one as by a coin."""
    private = select_records(reviews, len(reviews.texts), 1)
    assert score_private_classifier(reviews, private, 900.0, 1, None) > 0.95
    shares = [score_private_classifier(reviews, private, 0.1, seed, None) for seed in range(12)]
    assert 0.3 < np.mean(shares) < 0.7


def test_intervals_hold_trials_and_rows():
    """The half-width is the root of the sum of the squares of both; one number alone has that of its rows."""
    shares = [0.80, 0.82, 0.81]
    estimate, trials, rows = estimate_accuracy(shares, 1_000), estimate_mean(shares), estimate_share(810, 1_000)
    expected = math.hypot((trials.high - trials.low) / 2, (rows.high - rows.low) / 2)
    assert estimate.value == pytest.approx(0.81)
    assert (estimate.high - estimate.low) / 2 == pytest.approx(expected)
    assert estimate_accuracy([0.81], 1_000) == rows


def test_the_number_of_records_is_declared(reviews):
    """Nothing of the budget goes into a count."""
    options = build_synthesis_options(reviews, 40, 4.0, 10, "tilted", 1)
    names = [measurement.name for measurement in plan_budget(options, 1_000, "record").measurements]
    assert names == ["classifier", "classes", "lengths"]
