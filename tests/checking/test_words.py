"""Certificates of privatized words: what is recomputed, and what no change can hide."""

import json
from collections import Counter

import numpy as np
import pytest

import deniable as dn
from deniable import TEM, CalibratedExponential
from tests.checking.mutations import (
    change,
    check_as_written,
    check_mutations,
    get_status,
    list_leaves,
    list_wrong,
    mutate,
    try_check,
)
from tests.refusals import refuses
from tests.text.helpers import SPACE, WORDS

deep = pytest.mark.deep
HIDDEN_SPACE = dn.Space(
    WORDS,
    np.random.default_rng(5).normal(size=(len(WORDS), 3)),
    hide=[dn.WordClass("colours", frozenset({"red", "blue"}))],
    source="words.txt",
)
TALLY = dn.Tally(records=3, words=12, lengths=Counter([3, 4, 5]))
STATED = {
    "deniable",
    "words",
    "space.source",
    "space.vectors.guarantee",
    "space.vectors.made_from",
}
"""What an owner can state as they like where the space is at hand."""


def make(mechanism=None, tally=TALLY, *, copied=("id", "ward"), chosen_from_data=False, prior=None, **options):
    """Return the fields of a certificate as a file holds them."""
    release = dn.Release(TEM(SPACE, epsilon=1.0) if mechanism is None else mechanism, **options)
    certificate = dn.Certificate.of(release, tally, copied=copied, chosen_from_data=chosen_from_data, prior=prior)
    return json.loads(certificate.to_json())


@pytest.mark.parametrize(
    ("mechanism", "options"),
    [
        (TEM(SPACE, epsilon=1.0), {}),
        (TEM(SPACE, epsilon=1.0, gamma=float("inf")), {"key": bytes(32)}),
        (TEM(SPACE, epsilon=2.0, gamma=0.5), {"case": "copy", "unescape": "html"}),
        (CalibratedExponential(SPACE, epsilon=2.0), {"unknown": "mask", "keep": ["dog"], "key": "seed:3"}),
        (CalibratedExponential(HIDDEN_SPACE, epsilon=2.0), {"unknown": "drop", "chosen_from_data": True}),
        pytest.param(dn.MultivariateLaplace(SPACE, epsilon=3.0), {"copied": ()}, marks=deep),
    ],
)
def test_what_was_written_is_confirmed(mechanism, options):
    """The certificates that the package writes hold, every leaf has one status, and the guarantee is recomputed."""
    check = check_as_written(make(mechanism, **options), mechanism.space)
    for path in ("guarantee.epsilon", "guarantee.status", "verification.epsilon", "documents[0].pure.epsilon"):
        assert get_status(check, path) == "recomputed"


def test_every_changed_leaf_is_noticed():
    """A change of any leaf is contradicted, but for these, which are only stated; none passes as recomputed."""
    unnoticed = check_mutations(make(), SPACE)
    assert unnoticed == STATED | {"not_protected[1]"}


def test_what_vectors_were_made_from():
    """It is recomputed for the words of the package and for vectors with a guarantee, and else only stated."""
    assert get_status(dn.check_certificate(make(), SPACE), "space.vectors.made_from") == "stated"
    glove = make(TEM(dn.Space.glove(50), epsilon=1.0))
    assert get_status(dn.check_certificate(glove), "space.vectors.made_from") == "recomputed"
    glove["space"]["vectors"]["made_from"] = "the private texts"
    assert list_wrong(dn.check_certificate(glove)) == ["space.vectors.made_from"]
    guarantee = dn.Guarantee(1.0, "noise", delta=1e-6, unit="record", adjacency="one more")
    private = dn.Space(SPACE.words, SPACE.vectors, guarantee=guarantee)
    document = make(TEM(private, epsilon=1.0))
    assert document["space"]["vectors"]["guarantee"]["epsilon"] == 1.0
    assert dn.check_certificate(document, private).overall == "recomputed"
    document["space"]["vectors"]["guarantee"]["epsilon"] = 0.1
    assert list_wrong(dn.check_certificate(document, private)) == ["space.vectors.guarantee.epsilon"]


def test_the_noise_is_only_stated():
    """Where noise came from cannot be seen: a public seed that is hidden contradicts nothing but `private`."""
    document = make(key="seed:1")
    fresh = make()["noise"]
    check = dn.check_certificate(mutate(document, ["noise"], fresh), SPACE)
    assert get_status(check, "noise") == "stated"
    assert get_status(check, "private") == "contradicted"
    assert dn.check_certificate({**document, "noise": fresh, "private": True}, SPACE).overall == "recomputed"


def test_the_choice_of_epsilon():
    """A certificate that says that epsilon was chosen from the texts must disclose that among what is not protected."""
    document = make(chosen_from_data=True)
    assert dn.check_certificate(document, SPACE).overall == "recomputed"
    unnoted = {**document, "not_protected": document["not_protected"][1:]}
    assert dn.check_certificate(unnoted, SPACE).overall == "contradicted"


@pytest.mark.parametrize("name", ["spam", "private ", "words.count"])
def test_fields_that_do_not_exist(name):
    """A field that the schema lacks is a contradiction, at the top and deeper."""
    for document in ({**make(), name: 1}, mutate(make(), ["space", name], {"a": [1, 2]})):
        assert {field.note for field in dn.check_certificate(document, SPACE).select("contradicted")} == {
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
            with pytest.raises(dn.InputError):
                dn.check_certificate(changed, SPACE)
        else:
            assert dn.check_certificate(changed, SPACE).overall == "contradicted", steps


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("x" * 1000, marks=deep),
        {"epsilon": []},
        *(pytest.param(v, marks=deep) for v in (None, True, -1, 1e300, 2**62, [], {}, [[1]])),
    ],
)
def test_values_of_another_type(value):
    """Every leaf may be of any type: the check ends with a result or with one line, and never says recomputed."""
    document = make()
    for steps in list_leaves(document):
        changed = mutate(document, steps, value)
        check = try_check(changed, SPACE)
        assert check is None or len(check.fields) >= len(list_leaves(changed)), steps
        assert check is None or check.make_report().to_html()


def test_another_space():
    """Another space at hand contradicts the fingerprint, no proof is run, and nothing of the law counts as checked."""
    other = dn.Space(WORDS, np.random.default_rng(6).normal(size=(len(WORDS), 3)))
    check = dn.check_certificate(make(), other)
    assert list_wrong(check) == ["space.fingerprint"]
    assert check.unchecked
    assert get_status(check, "verification.epsilon") == get_status(check, "space.words") == "stated"


def test_no_space():
    """Without its space a certificate is read: what follows from other fields is checked, the rest is only stated."""
    document = make(TEM(HIDDEN_SPACE, epsilon=1.0))
    check = dn.check_certificate(document)
    assert (check.overall, check.select("contradicted")) == ("stated", [])
    assert len(check.fields) == len(list_leaves(document))
    for path in ("guarantee.epsilon", "verification.guarantee.metric", "private", "guarantee.unit"):
        assert get_status(check, path) == "recomputed"
        steps = path.split(".")
        value = document[steps[0]] if len(steps) == 1 else document[steps[0]][steps[1]]
        if len(steps) == 3:
            value = value[steps[2]]
        assert dn.check_certificate(mutate(document, steps, change(value))).overall == "contradicted"
    check_mutations(document)


def test_no_space_is_built_whose_proof_takes_hours():
    """Words of the package are found under any way to count steps, but for those by which most edges are followed."""
    document = make(TEM(dn.Space.glove(200, metric=dn.Metric.steps(64, 8)), epsilon=1.0))
    assert dn.check_certificate(document).overall == "recomputed"
    check = dn.check_certificate(mutate(document, ["space", "source"], "GloVe 6B, 50000 most frequent words"))
    assert "takes long" in check.unchecked
    assert get_status(check, "verification.epsilon") == "stated"


def test_what_is_not_private_without_a_space():
    """Without its space too, a release whose noise came from a public seed cannot be called private."""
    document = make(TEM(HIDDEN_SPACE, epsilon=1.0), key="seed:1")
    assert document["private"] is False
    assert get_status(dn.check_certificate(document), "private") == "recomputed"
    assert list_wrong(dn.check_certificate({**document, "private": True})) == ["private"]


def test_a_space_from_a_file(tmp_path):
    """The checker's own file of words is read under the metric and the hidden classes that the certificate names."""
    np.savez(tmp_path / "mine.npz", words=np.array([*WORDS, "anna"]), vectors=np.eye(len(WORDS) + 1))
    space = dn.Space.load(tmp_path / "mine.npz", metric="manhattan", hide=["names"])
    document = make(TEM(space, epsilon=1.0))
    (tmp_path / "mine.npz").rename(tmp_path / "yours.npz")
    check = dn.check_certificate(document, tmp_path / "yours.npz")
    assert check.overall == "recomputed"
    assert get_status(check, "space.source") == "stated"


def test_paths_in_a_certificate_are_not_opened(tmp_path, monkeypatch):
    """A source that is a path of a file that exists is not read."""
    monkeypatch.chdir(tmp_path)
    np.savez(tmp_path / "space.npz", words=np.array(SPACE.words), vectors=SPACE.vectors)
    document = make(TEM(dn.Space.load("space.npz", hide=()), epsilon=1.0))
    monkeypatch.setattr(dn.Space, "load", lambda *_, **__: pytest.fail("a file was opened"))
    assert dn.check_certificate(document).overall == "stated"


def test_a_prior_of_the_owners(tmp_path):
    """Figures under other frequencies than Zipf's law are recomputed from the same file of counts, else only stated."""
    (tmp_path / "counts.txt").write_text("the 10\ndog 3\n")
    document = make(prior=dn.read_prior(tmp_path / "counts.txt", SPACE))
    figures = ("attacker", "bands", "most_exposed", "expected_kept")
    for prior, status in ((None, "stated"), (tmp_path / "counts.txt", "recomputed")):
        check = dn.check_certificate(document, SPACE, prior=prior)
        assert {get_status(check, figure) for figure in figures} == {status}
    (tmp_path / "counts.txt").write_text("the 10\ndog 9\n")
    assert dn.check_certificate(document, SPACE, prior=tmp_path / "counts.txt").overall == "contradicted"


@pytest.mark.parametrize(
    ("steps", "value", "named"),
    [
        (["mechanism", "name"], "os.system", "calibrated, tight"),
        *((["mechanism", "epsilon"], value, "mechanism.epsilon") for value in (1e7, 0, -1, "3", True, None, [])),
        (["mechanism", "gamma"], -1, "gamma"),
        (["schema"], "deniable-certificate/6", "version"),
        (["schema"], None, "certificate"),
        (["schema"], ["deniable-certificate/10"], "certificate"),
    ],
)
def test_what_cannot_be_checked(steps, value, named):
    """One line says why nothing can be computed."""
    with refuses(named):
        dn.check_certificate(mutate(make(), steps, value), SPACE)


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
    check = dn.check_certificate({**make(), **changes}, SPACE)
    assert list_wrong(check) == ["words"]


@pytest.mark.parametrize(
    "lengths", [[], [0], [3], [0, 3], [0, 0, 3], [0, 2, 3], [1, 1], [0, 0, 0, 0], [1, 5], [2, 2, 2, 9], [0, 4, 4, 4, 4]]
)
def test_counts_that_can_be(lengths):
    """No numbers that a release counts are contradicted."""
    document = make(tally=dn.Tally(records=len(lengths), words=sum(lengths), lengths=Counter(lengths)))
    assert dn.check_certificate(document, SPACE).overall == "recomputed"


@pytest.mark.parametrize("gamma", ["0.5", None, "nan"])
def test_a_parameter_for_which_no_law_is_built(gamma):
    """A parameter that is no number is contradicted: the law that is proved in its place has the default."""
    check = dn.check_certificate(mutate(make(), ["mechanism", "gamma"], gamma), SPACE)
    assert get_status(check, "mechanism.gamma") == "contradicted"


def test_a_second_line_about_columns():
    """What was copied is told in one line of its kind; another one is contradicted."""
    lines = make()["not_protected"]
    check = dn.check_certificate({**make(), "not_protected": [*lines, lines[-1]]}, SPACE)
    assert list_wrong(check) == [f"not_protected[{len(lines)}]"]


def find(source, metric="euclidean", *given, **options):
    """Return the check of a certificate that names a space by its source and metric."""
    document = make(TEM(SMALL_GLOVE, epsilon=1.0))
    document["space"] |= {"source": source, "metric": metric}
    return dn.check_certificate(document, *given, **options)


GLOVE_NAME, HIDDEN = "GloVe 6B 50d, 300 most frequent words", "manhattan, with names, numbers hidden"
SMALL_GLOVE = dn.Space.glove(300, metric="manhattan", hide=["names", "numbers"])


def test_the_space_of_the_package():
    """It is found by its name, in the number, metric and classes that are stated; the proof in it is recomputed."""
    check = check_as_written(make(CalibratedExponential(SMALL_GLOVE, epsilon=3.0), copied=()))
    stated = {field.path for field in check.select("stated")}
    assert stated >= {"deniable", "mechanism.epsilon", "noise", "chosen", "records", "words"}
    assert not any(path.startswith(("space", "guarantee")) for path in stated)


@pytest.mark.parametrize(
    ("source", "metric"),
    [
        *((source, HIDDEN) for source in ("words.txt", "/etc/passwd", "GloVe 6B 50d, 1 most frequent words", 3)),
        *((f"GloVe 6B 50d, {count} most frequent words", HIDDEN) for count in (50_001, 99999999999)),
        *((GLOVE_NAME, metric) for metric in ("user function f", "", "cosine", "euclidean, with streets hidden")),
        *((GLOVE_NAME, metric) for metric in (["euclidean"], "euclidean" + ", with " * 500)),
    ],
)
def test_what_is_not_at_hand(source, metric):
    """No path is opened and no large space built: the reason is told instead."""
    assert find(source, metric).unchecked


@pytest.mark.parametrize("name", ["colours", "red and blue"])
def test_the_checkers_own_classes(tmp_path, name):
    """A file is read under the stated metric, with the checker's lists of classes; one that is missing is named."""
    np.savez(tmp_path / "words.npz", words=np.array(WORDS), vectors=SPACE.vectors)
    own = tmp_path / f"{name}.txt"
    own.write_text("red\nblue\n")
    space = dn.Space.load(tmp_path / "words.npz", metric="chebyshev", hide=["names", own])
    check_as_written(make(TEM(space, epsilon=1.0)), tmp_path / "words.npz", hide=[own])
    with refuses("none.npz"):
        dn.check_certificate(make(), tmp_path / "none.npz")
