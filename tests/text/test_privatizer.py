"""TextPrivatizer, as a transformer and as an object."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline

from deniable import TEM, CalibratedExponential, Certificate, InputError, Tally, TextPrivatizer
from deniable.core.identity import is_null
from tests.text.helpers import MECHANISM, SPACE, WORDS

KEY = bytes(range(32))
LONG = " ".join(WORDS * 8)


def test_parameters():
    """get_params gives what was set, set_params changes it, and both check nothing."""
    privatizer = TextPrivatizer(MECHANISM, unknown="mask", keep=["the"])
    assert privatizer.get_params(deep=False) == {
        "mechanism": MECHANISM,
        "unknown": "mask",
        "case": "lower",
        "keep": ["the"],
        "unescape": None,
        "key": None,
        "seed": None,
    }
    reached = {name for name in privatizer.get_params() if "__" in name}
    assert reached == {f"mechanism__{name}" for name in ("space", "epsilon", "beta", "gamma")}
    assert privatizer.set_params(unknown="nothing", seed=1).unknown == "nothing"
    with pytest.raises(InputError):
        privatizer.fit()


def test_changed_parameters_are_used():
    """What set_params sets holds from the next text on."""
    privatizer = TextPrivatizer(MECHANISM, unknown="mask")
    assert privatizer.privatize("zork") == "[unknown]"
    assert privatizer.set_params(unknown="drop").privatize("zork") == ""
    assert privatizer.set_params(keep=["zork"]).privatize("zork") == "zork"


def test_clone():
    """A clone has the same parameters and space, and gives the same output."""
    privatizer = TextPrivatizer(MECHANISM, seed=7, case="copy")
    out = privatizer.privatize(LONG)
    copy = clone(privatizer)
    assert copy.mechanism.space is SPACE
    assert copy.privatize(LONG) == out
    assert {**copy.get_params(), "mechanism": None} == {**privatizer.get_params(), "mechanism": None}


def test_pickle():
    """A privatizer can be sent to another process."""
    privatizer = TextPrivatizer(MECHANISM, seed=7)
    out = privatizer.privatize(LONG)
    assert pickle.loads(pickle.dumps(privatizer)).privatize(LONG) == out


def test_pipeline():
    """It is a step before a vectorizer, and its parameters are reached through the pipeline."""
    pipeline = make_pipeline(TextPrivatizer(MECHANISM, seed=1), CountVectorizer(token_pattern=r"\S+"))
    counts = pipeline.fit_transform(["the food", "london", ""])
    assert counts.sum(axis=1).ravel().tolist() == [[2, 1, 0]]
    named = Pipeline([("private", TextPrivatizer(MECHANISM, seed=1))])
    assert named.fit(["the"]).transform(["the food"]) == TextPrivatizer(MECHANISM, seed=1).transform(["the food"])
    named.set_params(private__mechanism=TEM(SPACE, epsilon=9.0))
    assert named["private"].mechanism.epsilon == 9.0


def test_fit_transform_needs_no_fit():
    """There is nothing to learn: fit returns the object, and transform works without it."""
    privatizer = TextPrivatizer(MECHANISM, seed=1)
    unfitted = privatizer.transform(["the food"])
    assert privatizer.fit(["other"]) is privatizer
    assert privatizer.fit_transform(["the food"]) == unfitted


def test_kinds_of_input():
    """Lists and other iterables give lists, arrays give arrays, None stays None."""
    privatizer = TextPrivatizer(MECHANISM, seed=1)
    texts = ["the food", None, "", "London"]
    out = privatizer.transform(texts)
    assert isinstance(out, list)
    assert out[1:3] == [None, ""]
    assert [len(text.split()) for text in (out[0], out[3])] == [2, 1]
    assert privatizer.transform(tuple(texts)) == privatizer.transform(iter(texts)) == out
    array = privatizer.transform(np.array(texts, dtype=object))
    assert isinstance(array, np.ndarray)
    assert array.dtype == object
    assert array.tolist() == out
    fixed = privatizer.transform(np.array(["a", "b"]))
    assert [len(text) > 1 for text in fixed] == [True, True]
    assert privatizer.transform([]) == []


def test_series():
    """What has an index and a name, as pandas series have, comes back as such."""

    class Series(list):
        iloc = None

        def __init__(self, values, index, name):
            super().__init__(values)
            self.index, self.name = index, name

    privatizer = TextPrivatizer(MECHANISM, seed=1)
    out = privatizer.transform(Series(["the", None], index=[5, 9], name="review"))
    assert isinstance(out, Series)
    assert (out.index, out.name, out[1]) == ([5, 9], "review", None)
    assert list(out) == privatizer.transform(["the", None])


def test_mechanism_parameters_are_reached():
    """set_params puts a mechanism with other parameters in its place, which is the one that the constructor makes."""
    privatizer = TextPrivatizer(MECHANISM, seed=1)
    privatizer.set_params(mechanism__epsilon=4.0, mechanism__beta=0.01, case="copy")
    wanted = TEM(SPACE, epsilon=4.0, beta=0.01)
    assert privatizer.mechanism.fingerprint == wanted.fingerprint != MECHANISM.fingerprint
    assert privatizer.transform([LONG]) == TextPrivatizer(wanted, seed=1, case="copy").transform([LONG])
    assert MECHANISM.epsilon == 1.0
    replaced = privatizer.set_params(mechanism__epsilon=2.0, mechanism=CalibratedExponential(SPACE, epsilon=1.0))
    assert replaced.mechanism.fingerprint == CalibratedExponential(SPACE, epsilon=2.0).fingerprint
    with pytest.raises(InputError, match=r"TEM has no parameter 'gama'. Its parameters: space, epsilon, beta, gamma"):
        TextPrivatizer(MECHANISM).set_params(mechanism__gama=1)
    with pytest.raises(InputError, match="'mechanism' parameter of TextPrivatizer must be a word mechanism"):
        TextPrivatizer("tem").set_params(mechanism__epsilon=1)
    with pytest.raises(ValueError, match="Invalid parameter 'mecanism'"):
        TextPrivatizer(MECHANISM).set_params(mecanism__epsilon=1)


def test_grid_search_reaches_epsilon():
    """A grid search over epsilon fits each candidate with its own mechanism, and leaves the pipeline as it was."""
    pipeline = Pipeline(
        [
            ("priv", TextPrivatizer(MECHANISM)),
            ("counts", CountVectorizer(token_pattern=r"\S+")),
            ("model", LogisticRegression()),
        ]
    )
    texts, labels = ["good food", "bad dog", "great london", "bad cat"] * 6, [1, 0, 1, 0] * 6
    search = GridSearchCV(pipeline, {"priv__mechanism__epsilon": [0.01, 40.0]}, cv=2, error_score="raise")
    search.fit(texts, labels)
    assert search.best_params_ == {"priv__mechanism__epsilon": 40.0}
    assert search.best_estimator_["priv"].mechanism.epsilon == 40.0
    assert pipeline["priv"].mechanism is MECHANISM
    low, high = search.cv_results_["mean_test_score"]
    assert low < high == 1.0


def test_noise_is_fresh():
    """Without key and seed every call differs, and equal texts of one call differ."""
    privatizer = TextPrivatizer(MECHANISM)
    assert privatizer.privatize(LONG) != privatizer.privatize(LONG)
    first, second = privatizer.transform([LONG, LONG])
    assert first != second


def test_seed():
    """A public seed repeats a call, and equal texts in other rows still differ."""
    out = TextPrivatizer(MECHANISM, seed=1).transform([LONG, LONG])
    assert out == TextPrivatizer(MECHANISM, seed=1).transform([LONG, LONG])
    assert out != TextPrivatizer(MECHANISM, seed=2).transform([LONG, LONG])
    assert out[0] != out[1]


def test_key():
    """Under a key the output follows id and text: order, other rows and calls do not matter."""
    privatizer = TextPrivatizer(MECHANISM, key=KEY)
    first = privatizer.transform([LONG, "the food", None], record_ids=["a", "b", "c"])
    again = privatizer.transform(["the food", LONG], record_ids=["b", "a"])
    assert again == [first[1], first[0]]
    assert privatizer.privatize(LONG, "a") == first[0]
    assert privatizer.privatize(LONG, "d") != first[0]
    assert TextPrivatizer(MECHANISM, key=bytes(32)).privatize(LONG, "a") != first[0]


def test_ids_may_be_numbers():
    """An id counts as its text."""
    privatizer = TextPrivatizer(MECHANISM, key=KEY)
    assert privatizer.transform([LONG], record_ids=[7]) == privatizer.transform([LONG], record_ids=["7"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mechanism": "tem"}, "'mechanism' parameter of Release must be a word mechanism"),
        ({"unknown": "keep"}, "'unknown' parameter .* must be 'draw', 'mask' or 'drop'. Got 'keep'"),
        ({"case": "upper"}, "'case' parameter .* must be 'lower' or 'copy'"),
        ({"keep": "the"}, "'keep' parameter .* must be a collection of words"),
        ({"keep": ["new york"]}, "new york"),
        ({"keep": 5}, "keep"),
        ({"keep": [5]}, "5"),
        ({"seed": 1.5}, "'seed' parameter must be an int. Got float"),
        ({"seed": True}, "'seed' parameter must be an int. Got bool"),
        ({"seed": KEY}, "'seed' parameter must be an int. Got bytes.$"),
        ({"seed": 1, "key": KEY}, "a key or a seed, not both"),
    ],
)
def test_wrong_parameters(options, message):
    """A parameter outside its domain is named when the object is first used."""
    privatizer = TextPrivatizer(**{"mechanism": MECHANISM, **options})
    for use in (
        privatizer.fit,
        lambda: privatizer.transform(["the"], record_ids=["a"]),
        lambda: privatizer.privatize("the", "a"),
    ):
        with pytest.raises(InputError, match=message):
            use()


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (b"short", "A key must be 32 bytes. Got 5 bytes"),
        (KEY.hex(), "'key' parameter of TextPrivatizer must be None, 'env:NAME'.* Got a str of another form"),
        (list(KEY), "'key' parameter of TextPrivatizer .* Got list"),
        (memoryview(KEY), "'key' parameter of TextPrivatizer .* Got memoryview"),
        (5, "'key' parameter of TextPrivatizer .* Got int"),
    ],
)
def test_a_key_of_another_form_is_refused_at_once(key, message):
    """What may be a key by mistake gets into no object, whose text would show it."""
    with pytest.raises(InputError, match=message):
        TextPrivatizer(MECHANISM, key=key)
    privatizer = TextPrivatizer(MECHANISM, key=KEY)
    with pytest.raises(InputError, match=message):
        privatizer.set_params(key=key)
    assert "secret key" in repr(privatizer)


def test_a_wrong_parameter_stays_wrong():
    """After a refusal the parameters of before are not used in place of the wrong ones."""
    privatizer = TextPrivatizer(MECHANISM, unknown="mask", keep=["the"])
    assert privatizer.privatize("the") == "the"
    privatizer.set_params(keep=["new york"])
    for _ in range(2):
        with pytest.raises(InputError, match="new york"):
            privatizer.privatize("the")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("the food", "takes a list of texts. Got one str"),
        (["the", 5], "must be str or None. Got int in row 1"),
        ([b"the"], "Got bytes in row 0"),
        (["the", None, 3.5], "Got float in row 2: make it a text, or None"),
        (np.array([["the", "food"]]), r"takes one column of texts. Got 2 \(0, 1\): choose one"),
        (np.array([[["the"]]]), r"array \(n,\) or \(n, 1\) of texts. Got the shape \(1, 1, 1\)"),
        ({"text": ["the"]}, "takes a list, an array, a series or a data frame of texts. Got one dict"),
        ({"the"}, "Got one set"),
        (None, "Got one NoneType"),
    ],
)
def test_wrong_texts(texts, message):
    """What is no list of texts is refused, and the row is named."""
    with pytest.raises(InputError, match=message):
        TextPrivatizer(MECHANISM).transform(texts)


def test_one_text_at_a_time():
    """privatize takes one str and nothing else."""
    for wrong in (None, ["the"], b"the"):
        with pytest.raises(InputError, match="privatize takes one str"):
            TextPrivatizer(MECHANISM).privatize(wrong)


def test_wrong_ids():
    """Ids must be there under a key, one per text, each once."""
    privatizer = TextPrivatizer(MECHANISM, key=KEY)
    with pytest.raises(InputError, match="needs a record id for every text"):
        privatizer.privatize("the")
    with pytest.raises(InputError, match="needs a record id for every text"):
        privatizer.transform(["the"])
    with pytest.raises(InputError, match=r"one record id per text\. Got 1 for 2"):
        privatizer.transform(["the", "food"], record_ids=["a"])
    with pytest.raises(InputError, match="'b' is in rows 1 and 2"):
        privatizer.transform(["the", "food", "the"], record_ids=["a", "b", "b"])


def test_there_is_no_certificate_of_changing_parameters():
    """A certificate describes a release and what it counted, never an object that may have changed since."""
    assert not hasattr(TextPrivatizer(MECHANISM), "certificate")
    privatizer = TextPrivatizer(MECHANISM, seed=1)
    release = privatizer.release
    privatizer.set_params(seed=None, mechanism=TEM(SPACE, epsilon=0.5))
    assert Certificate.of(release, Tally()).private is False
    assert Certificate.of(release, Tally()).guarantee["epsilon"] == MECHANISM.epsilon
    assert privatizer.release.mechanism.epsilon == 0.5


def test_using_it_does_not_change_its_pickle():
    """What hashes by its pickle, as caches do, knows an object again after it was used."""
    fresh, used = (TextPrivatizer(CalibratedExponential(SPACE, epsilon=2.0), seed=1) for _ in range(2))
    used.transform([LONG])
    assert pickle.dumps(used) == pickle.dumps(fresh)


def test_a_key_shows_nowhere():
    """Neither the object's text, nor a pipeline's, nor its page, nor a pickle shows a key of bytes."""
    for privatizer in (TextPrivatizer(MECHANISM, key=KEY), TextPrivatizer(MECHANISM).set_params(key=KEY)):
        pipeline = make_pipeline(privatizer, CountVectorizer())
        shown = [
            repr(privatizer),
            repr(pipeline),
            pipeline._repr_html_(),
            repr(vars(privatizer)),
            repr(clone(pipeline)),
        ]
        assert not any(repr(KEY)[2:-1] in text or KEY.hex() in text for text in shown)
        assert "secret key" in shown[0]
        assert clone(privatizer).privatize(LONG, "a") == privatizer.privatize(LONG, "a")
        with pytest.raises(InputError, match="cannot be pickled"):
            pickle.dumps(pipeline)


def test_data_frames_come_out_where_they_are_asked_for():
    """set_output gives a data frame of one column with the input's index."""
    pandas = pytest.importorskip("pandas")
    privatizer = TextPrivatizer(MECHANISM, seed=1).set_output(transform="pandas")
    texts = pandas.Series([LONG, "the food"], index=[7, 3], name="review")
    for given in (texts, list(texts)):
        frame = privatizer.transform(given)
        assert list(frame.columns) == ["text"]
        assert list(frame["text"]) == TextPrivatizer(MECHANISM, seed=1).transform(list(texts))
    assert list(privatizer.transform(texts).index) == [7, 3]


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("output", ["pandas", "polars"])
@pytest.mark.parametrize("column", ["note", ["note"]])
def test_column_transformer(library, output, column):
    """Both ways to name a column privatize it beside others, from and to data frames of both libraries."""
    frames = pytest.importorskip(library, reason=f"{library} is not installed")
    pytest.importorskip(output, reason=f"{output} is not installed")
    texts = [LONG, None, "the food"]
    frame = frames.DataFrame({"note": texts, "stars": [1, 2, 3]})
    steps = ColumnTransformer([("private", TextPrivatizer(MECHANISM, seed=1), column)], remainder="passthrough")
    out = steps.set_output(transform=output).fit_transform(frame)
    assert list(out.columns) == list(steps.get_feature_names_out()) == ["private__note", "remainder__stars"]
    assert [None if is_null(cell) else cell for cell in out["private__note"]] == TextPrivatizer(
        MECHANISM, seed=1
    ).transform(texts)
    assert list(out["remainder__stars"]) == [1, 2, 3]


def test_column_transformer_without_data_frames():
    """A column named in a list comes out as a column of an array; one named alone goes on to a vectorizer."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"note": ["the food", "london", ""], "stars": [1, 2, 3]})
    privatizer = TextPrivatizer(MECHANISM, seed=1)
    out = ColumnTransformer([("private", privatizer, ["note"])]).fit_transform(frame)
    assert (out.shape, out[:, 0].tolist()) == ((3, 1), privatizer.transform(list(frame["note"])))
    counting = make_pipeline(privatizer, CountVectorizer(token_pattern=r"\S+"))
    steps = ColumnTransformer([("words", counting, "note")], sparse_threshold=0).fit(frame)
    assert steps.transform(frame).sum(axis=1).tolist() == [2, 1, 0]
    assert all(name.removeprefix("words__") in WORDS for name in steps.get_feature_names_out())


def test_names_of_features():
    """The one column that comes out has the name of the one fitted on, or that which is asked for, or "text"."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    privatizer = TextPrivatizer(MECHANISM, seed=1)
    assert privatizer.get_feature_names_out().tolist() == ["text"]
    assert privatizer.fit(pandas.Series(["the"], name="note")).get_feature_names_out().tolist() == ["note"]
    assert privatizer.fit(pandas.DataFrame({"memo": ["the"]})).get_feature_names_out().tolist() == ["memo"]
    assert privatizer.get_feature_names_out(["other"]).tolist() == ["other"]
    assert privatizer.fit(pandas.DataFrame({5: ["the"]})).get_feature_names_out().tolist() == ["text"]
    assert privatizer.fit(["the"]).get_feature_names_out().tolist() == ["text"]
    assert clone(privatizer.fit(pandas.Series(["the"], name="note"))).get_feature_names_out().tolist() == ["text"]
    for wrong in ("note", ["a", "b"], []):
        with pytest.raises(InputError, match=r"'input_features' parameter .* must be a list of one name"):
            privatizer.get_feature_names_out(wrong)


def test_polars_comes_out_of_lists_and_series():
    """set_output gives a polars frame of one column, whatever came in; nulls stay."""
    polars = pytest.importorskip("polars", reason="polars is not installed")
    privatizer = TextPrivatizer(MECHANISM, seed=1).set_output(transform="polars")
    texts = [LONG, None, "the food"]
    for given in (texts, np.array(texts, dtype=object), polars.Series("note", texts)):
        frame = privatizer.transform(given)
        assert isinstance(frame, polars.DataFrame)
        assert frame.columns == ["text"]
        assert frame["text"].to_list() == TextPrivatizer(MECHANISM, seed=1).transform(texts)


def test_many_threads_share_one_privatizer():
    """Calls from several threads give what they give alone."""
    from concurrent.futures import ThreadPoolExecutor

    privatizer = TextPrivatizer(MECHANISM, key=KEY)
    texts = [f"{LONG} {word}" for word in WORDS]
    wanted = [TextPrivatizer(MECHANISM, key=KEY).privatize(text, "a") for text in texts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda text: privatizer.privatize(text, "a"), texts)) == wanted


def test_a_data_frame_of_ids():
    """A frame of ids is refused under a key: every record would have the name of a column for its id."""
    frame = pytest.importorskip("pandas", reason="pandas is not installed").DataFrame({"id": ["r7"]})
    with pytest.raises(InputError, match="Record ids must be one column"):
        TextPrivatizer(MECHANISM, key=KEY).transform(["the"], record_ids=frame)
