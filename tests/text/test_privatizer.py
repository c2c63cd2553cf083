"""TextPrivatizer, as a transformer and as an object."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import Pipeline, make_pipeline

from deniable import TEM, CalibratedExponential, Certificate, InputError, Tally, TextPrivatizer
from tests.text.helpers import MECHANISM, SPACE, WORDS

KEY = bytes(range(32))
LONG = " ".join(WORDS * 8)


def test_parameters():
    """get_params gives what was set, set_params changes it, and both check nothing."""
    privatizer = TextPrivatizer(MECHANISM, unknown="mask", keep=["the"])
    assert privatizer.get_params() == {
        "mechanism": MECHANISM,
        "unknown": "mask",
        "case": "lower",
        "keep": ["the"],
        "unescape": None,
        "key": None,
        "seed": None,
    }
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
        ([float("nan")], "Got float in row 0"),
        (np.array([["the", "food"]]), "Got ndarray in row 0"),
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


def test_many_threads_share_one_privatizer():
    """Calls from several threads give what they give alone."""
    from concurrent.futures import ThreadPoolExecutor

    privatizer = TextPrivatizer(MECHANISM, key=KEY)
    texts = [f"{LONG} {word}" for word in WORDS]
    wanted = [TextPrivatizer(MECHANISM, key=KEY).privatize(text, "a") for text in texts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda text: privatizer.privatize(text, "a"), texts)) == wanted
