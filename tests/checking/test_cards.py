"""Model cards and certificates of synthetic tables: what was measured composes to the epsilon that is stated."""

import json

import pytest

import deniable as dn
from deniable.persons.certificate import build_linear_card
from tests.checking.mutations import (
    check_as_written,
    check_mutations,
    get_status,
    list_wrong,
    mutate,
)
from tests.cli.text_models import TABLE, furnish
from tests.commands import run
from tests.refusals import refuses

deep = pytest.mark.deep
EPSILON, STEPS, NOISE = "epsilon, one record made empty", "steps", "noise multiplier"


@pytest.fixture(scope="module")
def train(tmp_path_factory):
    """Return a function that gives the fields of the card of a model that a command trains."""
    place, made = tmp_path_factory.mktemp("cards"), {}
    furnish(place)
    rows = (place / "train.csv").read_text().splitlines()
    (place / "train.csv").write_text(
        "\n".join([f"{rows[0]},who", *(f"{row},p{n // 2}" for n, row in enumerate(rows[1:]))])
    )

    def train(command, *options):
        if (command, options) not in made:
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(place)
                given = ("--label", "label") if command == "private-text" else TABLE
                done = run("train", command, "train.csv", *given, "-o", "model.pt", "--force", *options)
                assert done.code == 0, done.err
                made[command, options] = json.loads((place / "model.pt.card.json").read_text())
        return made[command, options]

    return train


BUDGET = ("--epsilon", "2", "--delta", "1e-5", "--classes", "bad,good")
PLACES = ("--records", "100", "--batch-size", "20", "--epochs", "3")


@pytest.fixture
def private_text(train):
    """Return the card of a classifier that DP-SGD has trained."""
    return train("fasttext", *BUDGET, *PLACES)


def test_the_accounting_of_dp_sgd(private_text):
    """Epsilon is composed again from rate, steps and noise, and guarantee and verdict follow from it."""
    check = check_as_written(private_text)
    for path in (f'accounting["{EPSILON}"]', "training records.guarantee", "training records.verdict.epsilon"):
        assert get_status(check, path) == "recomputed"


@deep
def test_every_changed_leaf_of_a_card_is_noticed(private_text):
    """Steps, rate and noise decide epsilon; what the accounting does not depend on is only stated."""
    unnoticed = check_mutations(private_text)
    assert not any(path.startswith("training records") for path in unnoticed - {"training records.verdict.seconds"})
    assert {path for path in unnoticed if path.startswith("accounting")} == {"accounting.clipping norm"}


def test_promises_that_no_card_makes(private_text):
    """Less than its steps spend, promises in the words of a certificate, another adjacency: all are contradicted."""
    assert f'accounting["{EPSILON}"]' in list_wrong(
        dn.check_certificate(mutate(private_text, ["accounting", EPSILON], 0.01))
    )
    changes = [("steps", 10_000_000), (NOISE, 0.01), ("sampling rate", 1e-320), ("delta", 5e-324)]
    documents = [mutate(private_text, ["accounting", name], value) for name, value in changes]
    documents += [{**private_text, name: {"status": "proved"}} for name in ("private", "mechanism", "verification")]
    elsewhere = private_text
    for steps in (["adjacency"], ["verdict", "guarantee", "adjacency"]):
        elsewhere = mutate(elsewhere, ["training records", *steps], "any two collections")
    for document in [*documents, elsewhere]:
        assert dn.check_certificate(document).overall == "contradicted"
    promise = {"kind": "PureDP", "epsilon": 0.01, "delta": 0}
    check = dn.check_certificate({**private_text, "training records": {**private_text["training records"], **promise}})
    assert set(list_wrong(check)) == {f"training records.{name}" for name in promise}


def test_a_card_without_a_guarantee(train):
    """Where no privacy is claimed everything is the owner's word, and no guarantee may be added in other words."""
    document = train("text", "--kind", "bow", "--epochs", "1")
    check = dn.check_certificate(document)
    assert (check.overall, check.select("contradicted")) == ("stated", [])
    assert check.unchecked
    for name, value in (("status", "proved"), ("epsilon", 1)):
        assert dn.check_certificate(mutate(document, ["training records", name], value)).overall == "contradicted"


def test_a_guarantee_of_another_kind(private_text):
    """A guarantee whose accounting is not that of DP-SGD is read and only stated, and the result says so."""
    without = {name: value for name, value in private_text.items() if name != "accounting"}
    part = {**private_text, "accounting": {"steps": 20, NOISE: 2.0, "clipping norm": 1.5}}
    for document in (without, part):
        check = dn.check_certificate(document)
        assert check.overall == "stated"
        assert check.unchecked


@pytest.mark.parametrize(
    ("name", "value"), [("sampling rate", 2), (STEPS, 10**9), (NOISE, 0), ("delta", 1), ("clipping norm", None)]
)
def test_accounting_out_of_bounds(private_text, name, value):
    """What would take forever, or is no accounting, is refused in one line."""
    with refuses(f"accounting.{name}"):
        dn.check_certificate(mutate(private_text, ["accounting", name], value))


@pytest.mark.parametrize(
    "options",
    [
        ("--records", "500"),
        ("--person", "who"),
        *(pytest.param(one, marks=deep) for one in ((), ("--chosen-from-data",))),
    ],
)
def test_cards_of_private_classifiers(train, options):
    """The card of a private classifier is recomputed in the same way; few fields are the owner's word."""
    document = train("private-text", *BUDGET, "--public", "words.npz", *options)
    check_as_written(document)
    unnoticed = {path for path in check_mutations(document) if not path.startswith("data.")}
    # A card of another kind of model is one of which nothing is recomputed.
    assert unnoticed == {"title", "deniable", "model", "training records.verdict.seconds"}
    assert dn.check_certificate({**document, "model": "other"}).overall == "stated"


def test_a_private_classifier_of_a_public_seed():
    """Its card says that it is refuted, and is confirmed in that."""
    options = dn.ClassifierOptions(classes=("bad", "good"), epsilon=2.0, delta=1e-6, records=80, seed=1)
    classifier = dn.texts.fit_private_classifier(TEXTS, LABELS, options, public=dn.PublicTexts(TEXTS[:4]))
    document = json.loads(build_linear_card(classifier, "").to_json())
    assert document["training records"]["status"] == "refuted"
    check_as_written(document)


# Synthetic tables.

TEXTS, LABELS = ["the good film", "a bad plot", "good and fine", "bad, poor film"] * 20, ["good", "bad"] * 40
GIVEN = {
    "classes": ("bad", "good"),
    "domains": {"stars": ["1", "2"]},
    "generator": "candidates",
    "propose": lambda request: ["good"] * len(request.lengths),
    "epsilon": 2.0,
    "delta": 1e-6,
    "rows": 10,
    "records": 500,
}


def synthesize(persons=None, **options):
    """Return the fields of the certificate of a synthetic table."""
    release = dn.synthesize(
        TEXTS,
        LABELS,
        dn.SynthesisOptions(**GIVEN | options),
        persons=persons,
        columns={"stars": ["1", "2"] * 40},
        public=dn.PublicTexts(TEXTS[:4], LABELS[:4]),
    )
    return json.loads(release.certificate.to_json())


@pytest.fixture(scope="module")
def synthetic():
    """Return the certificate of one."""
    return synthesize()


@pytest.mark.parametrize(
    "options",
    [
        {"records": None, "chosen_from_data": True, "counts": True},
        {"persons": [row // 2 for row in range(80)], "seed": 0},
        {"generator": "recombined", "propose": None},
        pytest.param({"generator": "counts", "propose": None, "epsilon": 50.0}, marks=deep),
    ],
)
def test_what_was_written_is_confirmed(options):
    """The certificate of each way to write holds, and epsilon follows from the listed bounds and noise."""
    check = check_as_written(synthesize(**options))
    for path in ("guarantee.epsilon", "guarantee.delta", "measurements[0].norm bound of a unit", "meaning[0]"):
        assert get_status(check, path) == "recomputed"


def test_every_changed_leaf_of_a_certificate_is_noticed(synthetic):
    """Nothing else than public names and counts, and the size of the classifier, can be changed unnoticed."""
    public = {
        "mechanism.features",
        *(f"mechanism.{name}[{place}]" for name in ("classes", "domains.stars") for place in (0, 1)),
    }
    assert (
        check_mutations(synthetic) == {"deniable", "records", "nominal.units", "measurements[0].coordinates"} | public
    )


def test_a_smaller_epsilon_does_not_follow(synthetic):
    """Who states half of epsilon everywhere is contradicted by the bounds that were used."""
    check = dn.check_certificate(json.loads(json.dumps(synthetic).replace('"epsilon": 2.0', '"epsilon": 1.0')))
    assert "measurements[0].norm bound of a unit" in list_wrong(check)
    assert get_status(check, "guarantee.epsilon") == "stated"


@pytest.mark.parametrize(
    ("steps", "value"),
    [
        *((("guarantee", "epsilon"), value) for value in (1e-300, 1e9)),
        *((("guarantee", "delta"), value) for value in (1e-300, 2)),
        *((("mechanism", "classes"), value) for value in (["one"], "two", [1, 2])),
        (("mechanism", "domains"), {"a": ["1"]}),
        (("mechanism", "domains"), {f"c{number}": ["1", "2"] for number in range(5_000)}),
        (("measurements", 0, "coordinates"), 2**61),
    ],
)
def test_what_cannot_be_composed(synthetic, steps, value):
    """What is missing, too much or no budget is refused in one line."""
    with refuses(""):
        dn.check_certificate(mutate(synthetic, steps, value))
