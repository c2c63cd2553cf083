"""Certificates of privatized words: what is recomputed, and what no change can hide."""

import json
from collections import Counter

import numpy as np
import pytest

from deniable import TEM, CalibratedExponential, Certificate, InputError, MultivariateLaplace, Release, Space, Tally
from deniable.checking import check_certificate
from deniable.space.word_classes import WordClass
from deniable.text.release_certificate import CHOSEN_FROM_DATA
from deniable.text.tables.layout import CopiedContent
from deniable.words.prior import read_prior
from tests.checking.mutations import change, check_mutations, list_leaves, mutate, try_check
from tests.text.helpers import SPACE, WORDS

HIDDEN_SPACE = Space(
    WORDS,
    np.random.default_rng(5).normal(size=(len(WORDS), 3)),
    hide=[WordClass("colours", frozenset({"red", "blue"}))],
    source="words.txt",
)
TALLY = Tally(records=3, words=12, lengths=Counter([3, 4, 5]))
STATED = {
    "deniable",
    "verification.seconds",
    "words",
    "space.source",
}
"""What an owner can state as they like where the space is at hand."""


def make(mechanism=None, tally=TALLY, *, copied=("id", "ward"), chosen_from_data=False, prior=None, **options):
    """Return the fields of a certificate as a file holds them."""
    release = Release(TEM(SPACE, epsilon=1.0) if mechanism is None else mechanism, **options)
    certificate = Certificate.of(release, tally, copied=copied, chosen_from_data=chosen_from_data, prior=prior)
    return json.loads(certificate.to_json())


def get_status(check, path):
    """Return the status of one field."""
    (field,) = [field for field in check.fields if field.path == path]
    return field.status


@pytest.mark.parametrize(
    ("mechanism", "options"),
    [
        (TEM(SPACE, epsilon=1.0), {}),
        (TEM(SPACE, epsilon=1.0, gamma=float("inf")), {"key": bytes(32)}),
        (TEM(SPACE, epsilon=2.0, gamma=0.5), {"case": "copy", "unescape": "html"}),
        (CalibratedExponential(SPACE, epsilon=2.0), {"unknown": "mask", "keep": ["dog"], "key": "seed:3"}),
        (CalibratedExponential(HIDDEN_SPACE, epsilon=2.0), {"unknown": "drop", "chosen_from_data": True}),
        (MultivariateLaplace(SPACE, epsilon=3.0), {"copied": CopiedContent((), ("pandas index",))}),
    ],
)
def test_what_was_written_is_confirmed(mechanism, options):
    """The certificates that the package writes hold, every leaf has one status, and the guarantee is recomputed."""
    document = make(mechanism, **options)
    check = check_certificate(document, mechanism.space)
    assert check.select("contradicted") == []
    assert check.overall == "recomputed"
    assert len(check.fields) == len(list_leaves(document))
    assert len({field.path for field in check.fields}) == len(check.fields)
    for path in ("guarantee.epsilon", "guarantee.status", "verification.epsilon", "documents[0].pure.epsilon"):
        assert get_status(check, path) == "recomputed"


def test_every_changed_leaf_is_noticed():
    """A change of any leaf is contradicted, but for these, which are only stated; none passes as recomputed."""
    unnoticed = check_mutations(make(), SPACE)
    assert unnoticed == STATED | {"not_protected[1]"}


def test_every_changed_leaf_of_a_keyed_release_with_kept_words_is_noticed():
    """Where words were kept, which are only counted, the fingerprint is only stated."""
    mechanism = CalibratedExponential(SPACE, epsilon=2.0)
    unnoticed = check_mutations(make(mechanism, keep=["dog"], key=bytes(32), copied=()), SPACE)
    assert unnoticed == STATED | {"release.fingerprint"}


def test_the_noise_is_only_stated():
    """Where noise came from cannot be seen: a public seed that is hidden contradicts nothing but `private`."""
    document = make(key="seed:1")
    fresh = make()["noise"]
    check = check_certificate(mutate(document, ["noise"], fresh), SPACE)
    assert get_status(check, "noise") == "stated"
    assert get_status(check, "private") == "contradicted"
    assert check_certificate({**document, "noise": fresh, "private": True}, SPACE).overall == "recomputed"


def test_the_choice_of_epsilon():
    """A certificate that says that epsilon was chosen from the texts must disclose that among what is not protected."""
    document = make(chosen_from_data=True)
    assert check_certificate({**document, "chosen": CHOSEN_FROM_DATA}, SPACE).overall == "recomputed"
    unnoted = {**document, "not_protected": document["not_protected"][1:]}
    assert check_certificate(unnoted, SPACE).overall == "contradicted"


@pytest.mark.parametrize("name", ["spam", "private ", "words.count"])
def test_fields_that_do_not_exist(name):
    """A field that the schema lacks is a contradiction, at the top and deeper."""
    for document in ({**make(), name: 1}, mutate(make(), ["space", name], {"a": [1, 2]})):
        assert {field.note for field in check_certificate(document, SPACE).select("contradicted")} == {
            "there is no such field"
        }


def test_fields_that_are_missing():
    """Each field that is left out is a contradiction, or nothing can be checked."""
    document = make()
    for steps in list_leaves(document):
        changed = mutate(document, steps, None)
        parent = changed
        for step in steps[:-1]:
            parent = parent[step]
        del parent[steps[-1]]
        if steps == ("not_protected", 1):
            continue  # what was copied is only stated, and so is that nothing was
        if steps in {("schema",), ("mechanism", "name"), ("mechanism", "epsilon")}:
            with pytest.raises(InputError, match=r"cannot be checked|no certificate"):
                check_certificate(changed, SPACE)
        else:
            assert check_certificate(changed, SPACE).overall == "contradicted", steps


def test_values_of_another_type():
    """Every leaf may be of any type: the check ends with a result or with one line, and never says recomputed."""
    document = make()
    for steps in list_leaves(document):
        for value in (None, True, -1, 1e300, 2**62, "x" * 1000, [], {}, [[1]], {"epsilon": []}):
            changed = mutate(document, steps, value)
            check = try_check(changed, SPACE)
            assert check is None or len(check.fields) >= len(list_leaves(changed)), steps
            assert check is None or check.make_report().to_html()


def test_another_space():
    """Another space at hand contradicts the fingerprint, no proof is run, and nothing of the law counts as checked."""
    other = Space(WORDS, np.random.default_rng(6).normal(size=(len(WORDS), 3)))
    check = check_certificate(make(), other)
    assert [field.path for field in check.select("contradicted")] == ["space.fingerprint"]
    assert "not those of the certificate" in check.unchecked
    assert get_status(check, "verification.epsilon") == get_status(check, "space.words") == "stated"


def test_no_space():
    """Without its space a certificate is read: what follows from other fields is checked, the rest is only stated."""
    document = make(TEM(HIDDEN_SPACE, epsilon=1.0))
    check = check_certificate(document)
    assert (check.overall, check.select("contradicted")) == ("stated", [])
    assert "not at hand" in check.unchecked
    assert len(check.fields) == len(list_leaves(document))
    for path in ("guarantee.epsilon", "verification.guarantee.metric", "private", "guarantee.unit"):
        assert get_status(check, path) == "recomputed"
        steps = path.split(".")
        value = document[steps[0]] if len(steps) == 1 else document[steps[0]][steps[1]]
        if len(steps) == 3:
            value = value[steps[2]]
        assert check_certificate(mutate(document, steps, change(value))).overall == "contradicted"
    check_mutations(document)


def test_a_space_from_a_file(tmp_path):
    """The checker's own file of words is read under the metric and the hidden classes that the certificate names."""
    np.savez(tmp_path / "mine.npz", words=np.array([*WORDS, "anna"]), vectors=np.eye(len(WORDS) + 1))
    space = Space.load(tmp_path / "mine.npz", metric="manhattan", hide=["names"])
    document = make(TEM(space, epsilon=1.0))
    (tmp_path / "mine.npz").rename(tmp_path / "yours.npz")
    check = check_certificate(document, tmp_path / "yours.npz")
    assert check.overall == "recomputed"
    assert get_status(check, "space.source") == "stated"


def test_paths_in_a_certificate_are_not_opened(tmp_path, monkeypatch):
    """A source that is a path of a file that exists is not read."""
    monkeypatch.chdir(tmp_path)
    np.savez(tmp_path / "space.npz", words=np.array(SPACE.words), vectors=SPACE.vectors)
    document = make(TEM(Space.load("space.npz", hide=()), epsilon=1.0))
    monkeypatch.setattr("deniable.space.Space.load", lambda *_, **__: pytest.fail("a file was opened"))
    assert check_certificate(document).overall == "stated"


def test_a_prior_of_the_owners(tmp_path):
    """Figures under other frequencies than Zipf's law are recomputed from the same file of counts, else only stated."""
    (tmp_path / "counts.txt").write_text("the 10\ndog 3\n")
    document = make(prior=read_prior(tmp_path / "counts.txt", SPACE))
    assert get_status(check_certificate(document, SPACE), "attacker") == "stated"
    check = check_certificate(document, SPACE, prior=tmp_path / "counts.txt")
    assert get_status(check, "attacker") == get_status(check, "expected_kept") == "recomputed"
    (tmp_path / "counts.txt").write_text("the 10\ndog 9\n")
    assert check_certificate(document, SPACE, prior=tmp_path / "counts.txt").overall == "contradicted"


@pytest.mark.parametrize(
    ("steps", "value", "message"),
    [
        (["mechanism", "name"], "os.system", "must be one of calibrated, tight"),
        (["mechanism", "epsilon"], 1e7, "at most 1e\\+06"),
        (["mechanism", "epsilon"], 0, "above 0"),
        (["mechanism", "epsilon"], "3", "must be a number"),
        (["mechanism", "epsilon"], True, "must be a number"),
        (["mechanism", "gamma"], -1, "gamma"),
        (["schema"], "deniable-certificate/6", "check it with the version of deniable that wrote it"),
        (["schema"], None, "no certificate that this version checks"),
        (["schema"], ["deniable-certificate/7"], "no certificate that this version checks"),
    ],
)
def test_what_cannot_be_checked(steps, value, message):
    """One line says why nothing can be computed."""
    with pytest.raises(InputError, match=message) as caught:
        check_certificate(mutate(make(), steps, value), SPACE)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"words": 20},  # of three records, two have at most four words
        {"words": 8},  # two have at least four, and one of them five
        {"records": 4},
        {"documents": []},
        {"documents": make()["documents"][1:]},  # the half of the records would have no word
    ],
)
def test_counts_that_cannot_be(changes):
    """Numbers of records and words, and the lengths of the median and of the longest record, must go together."""
    check = check_certificate({**make(), **changes}, SPACE)
    assert [field.path for field in check.select("contradicted")] == ["words"]


@pytest.mark.parametrize(
    "lengths", [[], [0], [3], [0, 3], [0, 0, 3], [0, 2, 3], [1, 1], [0, 0, 0, 0], [1, 5], [2, 2, 2, 9], [0, 4, 4, 4, 4]]
)
def test_counts_that_can_be(lengths):
    """No numbers that a release counts are contradicted."""
    document = make(tally=Tally(records=len(lengths), words=sum(lengths), lengths=Counter(lengths)))
    assert check_certificate(document, SPACE).overall == "recomputed"


@pytest.mark.parametrize("gamma", ["0.5", None, "nan"])
def test_a_parameter_for_which_no_law_is_built(gamma):
    """A parameter that is no number is contradicted: the law that is proved in its place has the default."""
    check = check_certificate(mutate(make(), ["mechanism", "gamma"], gamma), SPACE)
    assert get_status(check, "mechanism.gamma") == "contradicted"


def test_a_second_line_about_columns():
    """What was copied is told in one line of its kind; another one is contradicted."""
    lines = make()["not_protected"]
    check = check_certificate({**make(), "not_protected": [*lines, lines[-1]]}, SPACE)
    assert [field.path for field in check.select("contradicted")] == [f"not_protected[{len(lines)}]"]
