"""TextPrivatizer, scikit-learn's transformer, in pipelines and by itself."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

import deniable as dn
from tests.refusals import refuses
from tests.text.helpers import KEY, LONG, MECHANISM, SPACE, WORDS

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import check_is_fitted

COUNTS = {"token_pattern": r"\S+"}


def test_parameters():
    """get_params gives what was set, set_params changes it from the next text on, and both check nothing."""
    privatizer = dn.TextPrivatizer(MECHANISM, unknown="mask", keep=["the"])
    options = {"unknown": "mask", "case": "lower", "keep": ["the"], "unescape": None, "key": None}
    assert privatizer.get_params(deep=False) == {"mechanism": MECHANISM, **options}
    reached = {name for name in privatizer.get_params() if "__" in name}
    assert reached == {f"mechanism__{name}" for name in ("space", "epsilon", "beta", "gamma")}
    assert privatizer.transform(["zork"])[0] == "[unknown]"
    assert privatizer.set_params(unknown="drop").transform(["zork"])[0] == ""
    assert privatizer.set_params(keep=["zork"]).transform(["zork"])[0] == "zork"
    assert privatizer.set_params(unknown="nothing", keep=["new york"]).unknown == "nothing"
    for _ in range(2):  # those of before are not used in place of wrong ones
        with refuses("'unknown'"):
            privatizer.transform(["the"])[0]


def test_mechanism_parameters_are_reached():
    """set_params puts a mechanism with other parameters in its place, which is the one that the constructor makes."""
    privatizer = dn.TextPrivatizer(MECHANISM, key="seed:1")
    privatizer.set_params(mechanism__epsilon=4.0, mechanism__beta=0.01, case="copy")
    wanted = dn.TEM(SPACE, epsilon=4.0, beta=0.01)
    assert privatizer.mechanism.fingerprint == wanted.fingerprint != MECHANISM.fingerprint
    assert privatizer.transform([LONG]) == dn.TextPrivatizer(wanted, key="seed:1", case="copy").transform([LONG])
    assert MECHANISM.epsilon == 1.0
    other = dn.CalibratedExponential(SPACE, epsilon=1.0)
    replaced = privatizer.set_params(mechanism__epsilon=2.0, mechanism=other)
    assert replaced.mechanism.fingerprint == dn.CalibratedExponential(SPACE, epsilon=2.0).fingerprint
    with refuses("'mechanism__gama'"):
        dn.TextPrivatizer(MECHANISM).set_params(mechanism__gama=1)
    with refuses("'mechanism'"):
        dn.TextPrivatizer("tem").set_params(mechanism__epsilon=1)
    with refuses("'mecanism'", ValueError):
        dn.TextPrivatizer(MECHANISM).set_params(mecanism__epsilon=1)


def test_copies_give_the_same_output():
    """A clone and a pickle have the same parameters and space; using an object does not change its pickle."""
    fresh, used = (dn.TextPrivatizer(dn.CalibratedExponential(SPACE, epsilon=2.0), key="seed:7") for _ in range(2))
    out = used.transform([LONG])[0]
    assert pickle.dumps(used) == pickle.dumps(fresh)
    copy = clone(used)
    assert copy.mechanism.space is SPACE
    assert copy.transform([LONG])[0] == pickle.loads(pickle.dumps(used)).transform([LONG])[0] == out
    assert {**copy.get_params(), "mechanism": None} == {**used.get_params(), "mechanism": None}


def test_pipelines_and_grids():
    """It is a step before a vectorizer that needs no fit, whose parameters, epsilon too, a search reaches."""
    privatizer = dn.TextPrivatizer(MECHANISM, key="seed:1")
    check_is_fitted(privatizer)
    unfitted = privatizer.transform(["the food"])
    assert privatizer.fit(["other"]) is privatizer
    assert privatizer.fit_transform(["the food"]) == unfitted
    counts = make_pipeline(privatizer, CountVectorizer(**COUNTS)).fit_transform(["the food", "london", ""])
    assert counts.sum(axis=1).ravel().tolist() == [[2, 1, 0]]
    model = ("model", LogisticRegression())
    pipeline = Pipeline([("priv", dn.TextPrivatizer(MECHANISM)), ("counts", CountVectorizer(**COUNTS)), model])
    texts, labels = ["good food", "bad dog", "great london", "bad cat"] * 6, [1, 0, 1, 0] * 6
    search = GridSearchCV(pipeline, {"priv__mechanism__epsilon": [0.01, 40.0]}, cv=2, error_score="raise")
    search.fit(texts, labels)
    assert search.best_params_ == {"priv__mechanism__epsilon": 40.0}
    assert search.best_estimator_["priv"].mechanism.epsilon == 40.0
    assert pipeline["priv"].mechanism is MECHANISM
    low, high = search.cv_results_["mean_test_score"]
    assert low < high == 1.0


def test_where_noise_comes_from():
    """Without a key every text differs; a seed repeats a call; under a key the output follows id and text alone."""
    privatizer = dn.TextPrivatizer(MECHANISM)
    assert (
        len({privatizer.transform([LONG])[0], privatizer.transform([LONG])[0], *privatizer.transform([LONG, LONG])})
        == 4
    )
    seeded = [dn.TextPrivatizer(MECHANISM, key=f"seed:{seed}").transform([LONG, LONG]) for seed in (1, 1, 2)]
    assert seeded[0] == seeded[1]
    assert len({*seeded[0], *seeded[2]}) == 4
    privatizer = dn.TextPrivatizer(MECHANISM, key=KEY)
    first = privatizer.transform([LONG, "the food", None], record_ids=["a", 7, "c"])
    assert privatizer.transform(["the food", LONG], record_ids=["7", "a"]) == [first[1], first[0]]
    assert privatizer.transform([LONG], ["a"])[0] == first[0]
    others = (
        privatizer.transform([LONG], ["d"])[0],
        dn.TextPrivatizer(MECHANISM, key=bytes(32)).transform([LONG], ["a"])[0],
    )
    assert len({first[0], *others}) == 3


@pytest.mark.parametrize(
    ("options", "value"),
    [
        ({"mechanism": "tem"}, "'mechanism'"),
        ({"unknown": "keep"}, "'keep'"),
        ({"case": "upper"}, "'case'"),
        ({"keep": "the"}, "'keep'"),
        ({"keep": ["new york"]}, "new york"),
        ({"keep": 5}, "'keep'"),
        ({"keep": [5]}, "5"),
        ({"unescape": "xml"}, "'unescape'"),
    ],
)
def test_wrong_parameters(options, value):
    """A parameter outside its domain is named when the object is first used."""
    privatizer = dn.TextPrivatizer(**{"mechanism": MECHANISM, **options})
    for use in (
        privatizer.fit,
        lambda: privatizer.transform(["the"], record_ids=["a"]),
    ):
        with refuses(value):
            use()


@pytest.mark.parametrize(
    ("key", "value"),
    [(b"short", "5 bytes"), (KEY.hex(), "'key'"), (list(KEY), "list"), (memoryview(KEY), "memoryview"), (5, "int")],
)
def test_a_key_of_another_form_is_refused_at_once(key, value):
    """What may be a key by mistake gets into no object, whose text would show it."""
    privatizer = dn.TextPrivatizer(MECHANISM, key=KEY)
    for use in (lambda: dn.TextPrivatizer(MECHANISM, key=key), lambda: privatizer.set_params(key=key)):
        with refuses(value):
            use()
    assert "secret key" in repr(privatizer)


def test_wrong_texts_and_ids():
    """Texts are str; ids must be there under a key, one per text, each once."""
    privatizer = dn.TextPrivatizer(MECHANISM, key=KEY)
    cases = [(lambda wrong=wrong: privatizer.transform([wrong], ["a"]), "row 0") for wrong in (["the"], b"the")]
    cases += [
        (lambda: privatizer.transform(["the"])[0], "record id"),
        (lambda: privatizer.transform(["the"]), "record id"),
        (lambda: privatizer.transform(["the", "food"], record_ids=["a"]), "1 for 2"),
        (lambda: privatizer.transform(["the", "food", "the"], record_ids=["a", "b", "b"]), "'b'"),
    ]
    for call, value in cases:
        with refuses(value):
            call()


def test_there_is_no_certificate_of_changing_parameters():
    """A certificate describes a release and what it counted, never an object that may have changed since."""
    privatizer = dn.TextPrivatizer(MECHANISM, key="seed:1")
    assert not hasattr(privatizer, "certificate")
    release = privatizer.release
    privatizer.set_params(key=None, mechanism=dn.TEM(SPACE, epsilon=0.5))
    made = dn.Certificate.of(release, dn.Tally())
    assert (made.private, made.guarantee["epsilon"]) == (False, MECHANISM.epsilon)
    assert privatizer.release.mechanism.epsilon == 0.5


def test_a_key_shows_nowhere():
    """Neither the object's text, nor a pipeline's, nor its page, nor a pickle shows a key of bytes."""
    for privatizer in (dn.TextPrivatizer(MECHANISM, key=KEY), dn.TextPrivatizer(MECHANISM).set_params(key=KEY)):
        pipeline = make_pipeline(privatizer, CountVectorizer())
        shown = [
            repr(privatizer),
            repr(pipeline),
            pipeline._repr_html_(),
            repr(vars(privatizer)),
            repr(clone(pipeline)),
        ]
        assert not any(repr(KEY)[2:-1] in text or KEY.hex() in text for text in shown)
        assert clone(privatizer).transform([LONG], ["a"])[0] == privatizer.transform([LONG], ["a"])[0]
        with refuses("pickled"):
            pickle.dumps(pipeline)


@pytest.mark.parametrize(("library", "output"), [("pandas", "polars"), ("polars", "pandas"), ("pandas", "pandas")])
def test_column_transformer(library, output):
    """Both ways to name a column privatize it beside others, from and to data frames of both libraries."""
    frames = pytest.importorskip(library, reason=f"{library} is not installed")
    pytest.importorskip(output, reason=f"{output} is not installed")
    texts = [LONG, None, "the food"]
    private = dn.TextPrivatizer(MECHANISM, key="seed:1").transform(texts)
    frame = frames.DataFrame({"note": texts, "stars": [1, 2, 3]})
    for column in ("note", ["note"]):
        steps = [("private", dn.TextPrivatizer(MECHANISM, key="seed:1"), column)]
        transformer = ColumnTransformer(steps, remainder="passthrough").set_output(transform=output)
        out = transformer.fit_transform(frame)
        names = ["private__note", "remainder__stars"]
        assert list(out.columns) == list(transformer.get_feature_names_out()) == names
        assert [text if isinstance(text, str) else None for text in out["private__note"]] == private
        assert list(out["remainder__stars"]) == [1, 2, 3]


def test_column_transformer_without_data_frames():
    """A column named in a list comes out as a column of an array; one named alone goes on to a vectorizer."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"note": ["the food", "london", ""], "stars": [1, 2, 3]})
    privatizer = dn.TextPrivatizer(MECHANISM, key="seed:1")
    out = ColumnTransformer([("private", privatizer, ["note"])]).fit_transform(frame)
    assert (out.shape, out[:, 0].tolist()) == ((3, 1), privatizer.transform(list(frame["note"])))
    counting = make_pipeline(privatizer, CountVectorizer(**COUNTS))
    steps = ColumnTransformer([("words", counting, "note")], sparse_threshold=0).fit(frame)
    assert steps.transform(frame).sum(axis=1).tolist() == [2, 1, 0]
    assert all(name.removeprefix("words__") in WORDS for name in steps.get_feature_names_out())


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_come_out_where_they_are_asked_for(library):
    """set_output gives a data frame of one column, whatever came in; the input's index and nulls stay."""
    frames = pytest.importorskip(library, reason=f"{library} is not installed")
    privatizer = dn.TextPrivatizer(MECHANISM, key="seed:1").set_output(transform=library)
    texts = [LONG, None, "the food"]
    private = dn.TextPrivatizer(MECHANISM, key="seed:1").transform(texts)
    for given in (texts, frames.Series(texts)):
        frame = privatizer.transform(given)
        assert isinstance(frame, frames.DataFrame)
        assert list(frame.columns) == ["text"]
        assert [text if isinstance(text, str) else None for text in frame["text"]] == private
    if library == "pandas":
        assert list(privatizer.transform(frames.Series(texts, index=[7, 3, 5])).index) == [7, 3, 5]


def test_names_of_features():
    """The one column that comes out has the name of the one fitted on, or that which is asked for, or "text"."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    privatizer = dn.TextPrivatizer(MECHANISM, key="seed:1")
    assert privatizer.get_feature_names_out().tolist() == ["text"]
    series = pandas.Series(["the"], name="note")
    for data, name in (
        (series, "note"),
        (pandas.DataFrame({"memo": ["the"]}), "memo"),
        (pandas.DataFrame({5: ["the"]}), "text"),
        (["the"], "text"),
    ):
        assert privatizer.fit(data).get_feature_names_out().tolist() == [name]
    assert privatizer.get_feature_names_out(["other"]).tolist() == ["other"]
    assert clone(privatizer.fit(series)).get_feature_names_out().tolist() == ["text"]
    for wrong in ("note", ["a", "b"], []):
        with refuses("'input_features'"):
            privatizer.get_feature_names_out(wrong)


def test_many_threads_share_one_privatizer():
    """Calls from several threads give what they give alone."""
    privatizer = dn.TextPrivatizer(MECHANISM, key=KEY)
    texts = [f"{LONG} {word}" for word in WORDS]
    wanted = [dn.TextPrivatizer(MECHANISM, key=KEY).transform([text], ["a"])[0] for text in texts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda text: privatizer.transform([text], ["a"])[0], texts)) == wanted
