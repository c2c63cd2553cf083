"""Synthetic records: one budget for all that is measured, every generator, and what the certificate says."""

import json
import math

import numpy as np
import pandas as pd
import pytest

import deniable as dn
from tests.commands import run
from tests.persons import collections
from tests.persons.collections import CLASSES, PUBLIC_CODES, PUBLIC_TEXTS, draw_reviews
from tests.refusals import refuses

TEXTS, CODES = draw_reviews(600, 1)
LABELS = [CLASSES[code] for code in CODES.tolist()]
PUBLIC = {"public": dn.PublicTexts(PUBLIC_TEXTS, [CLASSES[code] for code in PUBLIC_CODES.tolist()])}
BASIC = {"classes": CLASSES, "epsilon": 20.0, "delta": 1e-6, "records": 600}
STARS = {"columns": {"stars": [4 if label == "good" else 1 for label in LABELS]}, "domains": {"stars": range(1, 6)}}


def synthesize(texts=TEXTS, labels=LABELS, **others):
    """Return a release of 20 records, by the quickest generator where no other is chosen."""
    generator = {} if others.get("propose") or "public" in others else {"generator": "recombined"}
    return collections.synthesize(texts, labels, **{**BASIC, **PUBLIC, "rows": 20, **generator, **others})


def propose(request):
    """Return a text of words of its class for each place."""
    return [f"the film was {request.class_words[code][0]}" for code in request.codes.tolist()]


def split_tokens(text):
    """Return the words of a text of the reviews."""
    return text.lower().split()


@pytest.mark.parametrize("container", [list, np.array, pd.Series])
def test_a_release(container):
    """Lists, arrays and series give texts, labels, typed columns, a classifier and one certificate of all."""
    release = synthesize(
        container(TEXTS), container(LABELS), columns={"stars": container(STARS["columns"]["stars"])},
        domains=STARS["domains"], counts=True,
    )  # fmt: skip
    assert len(release.texts) == len(release.labels) == len(release.columns["stars"]) == 20
    assert all(isinstance(value, int) and 1 <= value <= 5 for value in release.columns["stars"])
    assert {*release.labels} <= {*CLASSES}
    assert release.counts.ngrams
    assert release.classifier.guarantee.status == release.certificate.guarantee["status"] == "proved"
    probabilities = release.classifier.predict_probabilities(["the film was great and fine", "awful poor film"])
    assert probabilities.argmax(axis=1).tolist() == [1, 0]


@pytest.mark.parametrize("generator", ["tilted", "recombined", "candidates", "counts"])
def test_every_generator_writes_a_table(generator):
    """Every generator writes as many texts as asked for, with words, labels that fit them, and declared values."""
    chosen = {"generator": generator, "propose": propose if generator == "candidates" else None}
    release = synthesize(rows=60, **chosen, **STARS)
    assert len(release.texts) == len(release.labels) == len(release.columns["stars"]) == 60
    assert all(split_tokens(text) for text in release.texts)
    assert {*release.labels} <= {*CLASSES}
    fits = [
        (label == "good") == (value >= 3) for label, value in zip(release.labels, release.columns["stars"], strict=True)
    ]
    assert np.mean(fits) > 0.8
    assert (release.counts is not None) == (generator == "counts")
    if generator == "counts":  # nothing but what was released is in the texts
        released = {ngram[0] for ngram in release.counts.ngrams if len(ngram) == 1}
        assert {token for text in release.texts for token in split_tokens(text)} <= released


def test_choice_of_the_generator():
    """Where none is named, what is given decides."""
    for given, name in (
        ({"generator": None}, "tilted"),
        ({"public": dn.Space(["film", "good"], np.eye(2))}, "counts"),
        ({"propose": propose}, "candidates"),
    ):
        assert synthesize(**given).certificate.mechanism["generator"] == name


@pytest.mark.parametrize(
    "private",
    [
        (["the film was good"] * 300, ["good"] * 300),
        (["zork", "\u202e\x00 zork 🦊"] * 150, [CLASSES[row % 2] for row in range(300)]),
        (["film"], ["bad"]),
    ],
    ids=["one class, one text", "no known word", "one record"],
)
def test_odd_collections(private):
    """One text again and again, one class only, unknown words or one record: a table is written all the same."""
    tilted = [] if len(private[0]) == 1 else [{"generator": "tilted"}]  # noise alone gives long texts, which take long
    for options in (*tilted, {"generator": "recombined"}, {"propose": propose}):
        release = synthesize(*private, **options)
        assert len(release.texts) == len(release.labels) == 20


def test_seeds_are_for_tests():
    """With a public seed two releases agree, and their certificate promises nothing."""
    first, second = (synthesize(seed=3, **STARS) for _ in range(2))
    assert (first.texts, first.labels, first.columns) == (second.texts, second.labels, second.columns)
    assert first.certificate.private is False
    assert first.certificate.guarantee["status"] == "refuted"
    assert first.certificate.meaning == ["nothing is protected: the seed undoes the noise"]


@pytest.mark.parametrize("records", [None, 500])
@pytest.mark.parametrize("counts", [False, True])
def test_the_listed_measurements_compose_to_the_total(records, counts):
    """What a certificate lists composes to (epsilon, delta) by Gaussian DP, and by an independent accountant."""
    from dp_accounting import dp_event
    from dp_accounting.rdp import rdp_privacy_accountant
    from scipy.stats import norm

    certificate = synthesize(epsilon=2.0, delta=1e-5, records=records, counts=counts, **STARS).certificate
    listed = certificate.measurements
    names = {"classifier", "classes", "lengths", "column 'stars'"}
    names |= ({"words and phrases"} if counts else set()) | ({"number of units"} if records is None else set())
    assert {one["name"] for one in listed} == names
    assert sum(one["share"] for one in listed) == pytest.approx(1)
    assert certificate.selection_delta == (5e-6 if counts else 0)
    noise_delta = 1e-5 - certificate.selection_delta
    mu = math.sqrt(sum(one["sums"] * (one["norm bound of a unit"] / one["noise"]) ** 2 for one in listed))
    # Ten percent more of every bound is too much: the budget is used.
    for factor, is_within in ((1, True), (1.1, False)):
        shift = factor * mu / 2
        delta = norm.cdf(shift - 1 / shift) - math.exp(2) * norm.cdf(-shift - 1 / shift)
        assert bool(delta <= noise_delta) is is_within
    accountant = rdp_privacy_accountant.RdpAccountant()
    for one in listed:
        event = dp_event.GaussianDpEvent(one["noise"] / one["norm bound of a unit"])
        accountant.compose(dp_event.SelfComposedDpEvent(event, one["sums"]))
    # Renyi orders lose a little, never gain.
    assert 1.8 <= accountant.get_epsilon(noise_delta) <= 2.5
    assert certificate.guarantee["status"] == certificate.verification["status"] == "proved"


def test_what_the_certificate_says():
    """Guarantee, declared number, domains, groups and the certainty of a guesser, rounded up, stand in it."""
    certificate = synthesize(epsilon=2.0, records=500, **STARS).certificate
    content = json.loads(certificate.to_json())
    assert content["schema"] == "deniable-synthesis-certificate/2"
    assert (content["private"], content["records"]) == (True, 20)
    assert (content["guarantee"]["epsilon"], content["guarantee"]["delta"]) == (2.0, 1e-6)
    assert content["guarantee"]["unit"] == "record"
    assert content["nominal"] == {"units": 500, "source": "declared"}
    assert content["mechanism"]["domains"] == {"stars": ["1", "2", "3", "4", "5"]}
    assert len(content["groups"]) == 3
    assert any("88.1%" in line for line in content["meaning"])  # e^2 / (1 + e^2) = 0.8807...


def test_it_says_nothing_of_the_private_records():
    """With a declared number certificates and facts of other records, more or fewer, are equal to the last byte."""
    releases = [
        synthesize(texts, [CLASSES[code] for code in codes])
        for texts, codes in (draw_reviews(237, 2), draw_reviews(640, 3))
    ]
    assert releases[0].certificate.to_json() == releases[1].certificate.to_json()
    assert releases[0].classifier.facts == releases[1].classifier.facts


def test_a_measured_number_is_noisy():
    """Without a declared number the certificate has a noisy one, another one in every release."""
    numbers = [synthesize(epsilon=0.2, records=None, propose=propose).certificate.nominal for _ in range(4)]
    assert {one["source"] for one in numbers} == {"measured with noise"}
    assert len({one["units"] for one in numbers}) > 1


def test_the_baseline_sees_nothing_private(tmp_path):
    """The table of public labels alone has equal classes and no further column, and is the same for other records."""
    tables = {
        "public": draw_reviews(200, 100),
        "first": draw_reviews(500, 1),
        "second": (["very bad"] * 400, [0] * 400),
    }
    for name, (texts, codes) in tables.items():
        lines = [f"{text},{CLASSES[code]}" for text, code in zip(texts, codes, strict=True)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["text,label", *lines]))
    baselines = set()
    for name in ("first", "second"):
        done = run("synthesize", tmp_path / f"{name}.csv", "--label", "label", "--public", tmp_path / "public.csv",
                   "--public-label", "label", "--records", 500, "--epsilon", 20, "--delta", 1e-4, "--rows", 60,
                   "--generator", "recombined",
                   "-o", tmp_path / f"{name}-o.csv")  # fmt: skip
        assert done.code == 0
        baselines.add((tmp_path / f"{name}-o.csv.baseline.csv").read_text("utf-8"))
    (baseline,) = baselines
    header, *lines = baseline.splitlines()
    assert (header, len(lines)) == ("text,label", 60)
    assert 20 <= sum(line.endswith(",good") for line in lines) <= 40


def test_persons():
    """Where persons are given they are the units of all measurements, and no group of records is spoken of."""
    release = synthesize(persons=[row // 5 for row in range(600)], max_records=3)
    certificate = release.certificate
    assert certificate.guarantee["unit"] == release.classifier.guarantee.unit == "person"
    assert certificate.guarantee["adjacency"] == "all records of one person added or removed"
    assert certificate.groups == []
    assert any("the records of one person are" in line for line in certificate.meaning)


@pytest.mark.parametrize("is_chosen", [True, False])
def test_an_epsilon_chosen_from_the_data(is_chosen):
    """Who chose epsilon by looking at the records says so, and certificate and classifier say it too."""
    release = synthesize(chosen_from_data=is_chosen)
    for said in (release.certificate.to_json(), release.classifier.facts["epsilon chosen"]):
        assert ("from the private texts themselves" in said) is is_chosen


def test_how_texts_were_written():
    """The certificate says how texts were written, and warns of what a callable may know."""
    steps = [synthesize(generator=generator).certificate.steps for generator in ("tilted", "recombined", "counts")]
    candidates = synthesize(propose=propose).certificate
    assert len({*map(tuple, steps), tuple(candidates.steps)}) == 4
    assert "callable" in candidates.not_protected[-1]


def test_spellings_of_a_person():
    """White space or another type makes no other person, and a record whose person is blank is left out."""
    persons = [[f"{row // 6}", f" {row // 6}", row // 6, float(row // 6)][row % 4] for row in range(600)]
    fit = collections.fit_classifier
    with pytest.warns(UserWarning, match=r"^for you only: 3 of 600 records have no text"):
        found = fit(TEXTS, LABELS, persons=[*persons[:-3], " ", "", None], seed=1, **BASIC, **PUBLIC)
    trimmed = [str(row // 6) for row in range(597)]
    expected = fit(TEXTS[:-3], LABELS[:-3], persons=trimmed, seed=1, **BASIC, **PUBLIC)
    np.testing.assert_array_equal(found.weights, expected.weights)


def test_records_that_cannot_be_used():
    """Nulls and labels of no class are left out, each record by itself, with a warning for the owner."""
    with pytest.warns(UserWarning, match=r"^for you only: 3 of 603 records have no text"):
        release = synthesize([*TEXTS, None, "a film", " "], [*LABELS, "good", "zork", "bad"])
    assert "zork" not in release.labels


def test_numbers_are_classes_by_their_spelling():
    """Labels that are numbers are classes as they are written, whole ones of a column of floats too."""
    for labels in (CODES, CODES.astype(float), pd.Series(CODES).astype("float32")):
        public = dn.PublicTexts(PUBLIC_TEXTS, PUBLIC_CODES)
        release = synthesize(labels=labels, classes=[0, 1], public=public, generator="recombined")
        assert {*release.labels} <= {"0", "1"}
    public = dn.PublicTexts(PUBLIC_TEXTS, PUBLIC_CODES == 1)
    release = synthesize(labels=CODES == 1, classes=[False, True], public=public, generator="recombined")
    assert {*release.labels} <= {"false", "true"}


UNLABELLED, NO_PUBLIC = {"public": dn.PublicTexts(PUBLIC_TEXTS)}, {"public": dn.Space(["film", "good"], np.eye(2))}
CELLS = {"n": LABELS}


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ({"labels": LABELS[1:]}, "Got 599"),
        ({"persons": [1]}, "Got 1:"),
        ({"columns": {"n": [1]}, "domains": {"n": [1, 2]}}, "Got 1:"),
        ({"columns": CELLS}, "['n']"),
        ({"domains": {"n": [1, 2]}}, "['n']"),
        ({"columns": CELLS, "domains": {"n": ["x"]}}, "'n'"),
        ({"columns": CELLS, "domains": {"n": {"x", "y"}}}, "'n'"),
        ({"max_records": 3}, "max_records"),
        ({"classes": ["good", " "]}, "blank"),
        ({"classes": {*CLASSES}}, "Got set"),
        ({"classes": frozenset(CLASSES)}, "Got frozenset"),
        ({"classes": [1, 1.0]}, "Got 1, 1"),
        ({"classes": ["one"]}, "Got one"),
        ({"classes": "good"}, "'good'"),
        ({"classes": None}, "NoneType"),
        ({"classes": ["x", "y"], **UNLABELLED}, "declared classes"),
        ({"classes": ["x", "y"]}, "x, y"),
        ({**NO_PUBLIC, "generator": "tilted"}, "'tilted'"),
        ({**NO_PUBLIC, "generator": "recombined"}, "'recombined'"),
        ({"generator": "magic"}, "'magic'"),
        ({"generator": "candidates"}, "'candidates'"),
        ({"generator": "tilted", "propose": propose}, "'candidates'"),
        ({"public": dn.PublicTexts(["", None])}, "no word"),
        ({"texts": "good"}, "Got one str"),
        ({"texts": [1] * 600}, "Got int in row 0"),
        ({"epsilon": 0.0}, "'epsilon'"),
        ({"rows": 0}, "'rows'"),
        ({"records": 0}, "'records'"),
        ({"persons": [1] * 600, "max_records": 0}, "'max_records'"),
    ],
)
def test_refusals(change, value):
    """What cannot be done is said in one line that names the value."""
    with refuses(value):
        synthesize(**change)
