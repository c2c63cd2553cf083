"""A survey of a small table with every way, and one of its words, which many tests read."""

import dataclasses
import json

import numpy as np
import pytest

import deniable as dn
from deniable.persons.collection import PublicTexts, read_public
from deniable.survey.collection import CollectionSetting, PrivateClassifier, PublicClassifier, SyntheticTexts
from deniable.survey.page import render_page
from deniable.survey.records import Records
from deniable.survey.survey import Bench, survey_table
from deniable.survey.table import Plan, build_table
from deniable.survey.words import TunedWords, Words
from deniable.words.prior import build_prior
from tests.conftest import SMALL_WORDS
from tests.rewriting.untrained import untrained
from tests.survey.toy import CLASSES, SPACE, make_table

ROWS = 24
SMALL_PLAN = Plan(folds=2, shadows=6, attacked=20, members=40, linked=30)
EVIL = '<script>alert("x")</script> & <b>'


@dataclasses.dataclass(frozen=True)
class Compared:
    """What a comparison writes: its figures and its page."""

    figures: dict
    page: str

    def get(self, kind):
        """Return the results of a kind."""
        return [one for one in self.figures["results"] if one["kind"] == kind]


@pytest.fixture(scope="session")
def collection():
    """Return the releases of 120 labelled rows as a collection, with labelled public texts of the kind."""
    texts, codes = make_table(120)
    table = build_table(texts, [CLASSES[code] for code in codes], SMALL_PLAN)
    public, public_codes = make_table(300, seed=1)
    known = PublicTexts(public, [CLASSES[code] for code in public_codes])
    return CollectionSetting(table, 1e-4, read_public(known, table.classes))


@pytest.fixture(scope="session")
def compare():
    """Return a function that measures ways for a collection, with as few models as a survey can have."""

    def comparing(collection, epsilon, *ways):
        bench = Bench(collection.table, SMALL_PLAN, SPACE, build_prior(SPACE, None))
        own = PrivateClassifier(collection, epsilon), SyntheticTexts(collection, epsilon, 100)
        survey = survey_table(bench, [*ways, *own])
        figures = json.loads(json.dumps(survey.to_dict(), allow_nan=False))
        return Compared(figures, render_page(survey, "deniable compare 't & u.csv'", "deniable synthesize 't & u.csv'"))

    return comparing


@pytest.fixture(scope="session")
def compared(compare, collection):
    """Return a comparison with every way."""
    model = untrained(SPACE.words)

    def make_method(epsilon, seed):
        return dn.rewriting_method("tokens", model, epsilon=epsilon, seed=seed)

    words = (TunedWords(share, SPACE) for share in (0.35, 0.7))
    return compare(collection, 50.0, *words, Records(make_method, 20.0), PublicClassifier(collection))


def make_private_table():
    """Return texts of two kinds, among them a script, a null and one that no space knows, with classes and authors."""
    generator = np.random.default_rng(1)
    texts = [" ".join(generator.choice(SMALL_WORDS[row % 2 * 30 :][:30], 6)) for row in range(ROWS)]
    texts[0], texts[3], texts[5] = EVIL, None, "Zork, zork!"
    return texts, [f"kind {row % 2}" for row in range(ROWS)], [f"author {row % 3}" for row in range(ROWS)]


TEXTS, KINDS, AUTHORS = make_private_table()
SPANS = [[(0, 5, "P"), (6, 11, "<b>")] if text and len(text) > 33 else [] for text in TEXTS]
PLAN = Plan(shadows=6, folds=2, examples=24)


def survey_words(mechanisms, texts=TEXTS, plan=PLAN, *, entities=None, copied=(), prior=None, **columns):
    """Return the survey of a table's words under some mechanisms of one space."""
    table = dataclasses.replace(build_table(texts, columns.pop("labels", None), plan, **columns), entities=entities)
    space = mechanisms[0].space
    return survey_table(
        Bench(table, plan, space, build_prior(space, prior)), [Words(one, copied) for one in mechanisms]
    )


@pytest.fixture(scope="session")
def found(small_space):
    """Return a survey at two epsilons, the larger given first."""
    mechanisms = [dn.TEM(small_space, epsilon=epsilon) for epsilon in (9.0, 0.5)]
    return survey_words(mechanisms, labels=KINDS, authors=AUTHORS, entities=SPANS, copied=["kind"])
