"""A release: what its noise is named by, what it counts, and what its pickle holds."""

import dataclasses
import functools
import json
import operator
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable import (
    TEM,
    CalibratedExponential,
    Certificate,
    InputError,
    MultivariateLaplace,
    Release,
    Space,
    Tally,
    TightExponential,
    TruncatedGumbel,
)
from deniable.space.metrics import METRICS
from deniable.text.batches import CellBatch, TextCell
from deniable.words.laws import ExponentialKernel, ExponentialLaw, TabulatedLaw
from tests.text.helpers import MECHANISM, SPACE, WORDS, space_of

KEY = bytes(range(32))
LONG = " ".join(WORDS * 8)
MECHANISMS = (
    MECHANISM,
    TEM(SPACE, epsilon=1.01),
    TEM(SPACE, epsilon=1.0, gamma=2.0),
    CalibratedExponential(SPACE, epsilon=1.0),
    TightExponential(SPACE, epsilon=1.0),
    MultivariateLaplace(SPACE, epsilon=1.0),
    TruncatedGumbel(SPACE, epsilon=60.0),
    TEM(space_of(WORDS[:-1]), epsilon=1.0),
    TEM(Space(WORDS, SPACE.vectors, metric="manhattan"), epsilon=1.0),
)

releases = st.builds(
    Release,
    st.sampled_from(MECHANISMS),
    unknown=st.sampled_from(["draw", "mask", "drop"]),
    case=st.sampled_from(["lower", "copy"]),
    keep=st.sampled_from([(), ("the",), ("london",), ("The",), ("the", "london")]),
    key=st.just("seed:0"),
)
cells = st.builds(
    TextCell,
    st.text(st.sampled_from("ab1"), max_size=2),
    st.sampled_from(["text", "note"]),
    st.integers(0, 1),
    st.lists(st.sampled_from([*WORDS[:3], "THE", "zork", "blarg"]), max_size=3).map(" ".join),
)


def name_of(release, cell, key=KEY):
    """Return where the stream of a cell starts."""
    return release._name_streams(key, CellBatch.of([cell]), release.lexer.lex_texts([cell.text]))[0]


def input_of(release, cell):
    """Return everything that the noise of a cell may be a function of, spelled out."""
    mechanism = release.mechanism
    points = mechanism.space.point_by_word[release.lexer.lex(cell.text).words].tolist()
    how = (MECHANISMS.index(mechanism), release.unknown, release.case, release.keep)
    return how, cell.record_id, cell.column, cell.ordinal, tuple(points)


@given(one=st.tuples(releases, cells), other=st.tuples(releases, cells))
@settings(max_examples=400)
def test_streams_are_named_by_everything(one, other):
    """Two cells share a stream if, and only if, release, id, column, ordinal and points drawn for are the same."""
    assert (name_of(*one) == name_of(*other)) == (input_of(*one) == input_of(*other))
    assert name_of(*one) != name_of(*one, key=bytes(32))


@given(
    release=releases,
    batch=st.lists(cells, min_size=1, max_size=8, unique_by=lambda cell: (cell.record_id, cell.column, cell.ordinal)),
    order=st.randoms(use_true_random=False),
    cut=st.integers(0, 8),
    workers=st.integers(1, 3),
)
@settings(max_examples=100)
def test_equal_cells_are_equal_in_any_batch(release, batch, order, cut, workers):
    """A cell's output is one whatever the order, the chunks, the threads and the object that stands for the release."""
    whole = dict(zip(batch, release.privatize_cells(batch, workers=1).texts, strict=True))
    order.shuffle(batch)
    again = pickle.loads(pickle.dumps(release))
    parts = {}
    for part in (batch[:cut], batch[cut:]):
        parts |= dict(zip(part, again.privatize_cells(part, workers=workers).texts, strict=True))
    assert parts == whole


@pytest.mark.parametrize("options", [{"keep": ["the"]}, {"unknown": "drop"}, {"unknown": "mask"}, {"case": "copy"}])
def test_an_option_changes_the_noise(options):
    """A word behind a kept, masked or dropped one does not meet the noise that its neighbour met without the option."""
    text = f"{'the' if 'keep' in options else 'zork'} food food food food food food"
    plain = Release(MECHANISM, key=KEY)
    other = Release(MECHANISM, key=KEY, **options)
    ids = [str(row) for row in range(200)]
    pairs = zip(plain.batch([text] * 200, ids).texts, other.batch([text] * 200, ids).texts, strict=True)
    equal = sum(one.split()[:-1][-5:] == two.lower().split()[-5:] for one, two in pairs)
    assert equal < 20  # nearly all of 200 where word i took noise i of one stream


def test_neighbours_of_a_text_share_no_noise():
    """Two texts of one id that differ in one word have noise of their own at the words that are equal."""
    release = Release(MECHANISM, key=KEY)
    ids = [str(row) for row in range(200)]
    one, two = (release.batch([text] * 200, ids).texts for text in ("the food food food", "and food food food"))
    equal = sum(a.split()[1:] == b.split()[1:] for a, b in zip(one, two, strict=True))
    assert equal < 40


def test_members_of_a_point_share_noise():
    """Words at one point are one input: their outputs under one key are equal, so that no key tells them apart."""
    space = Space(["a", "b", "c", "d"], [[0.0], [0.0], [1.0], [2.0]])
    release = Release(TEM(space, epsilon=1.0), key=KEY)
    ids = [str(row) for row in range(50)]
    assert release.batch(["a c a"] * 50, ids).texts == release.batch(["b c b"] * 50, ids).texts


class Own(TEM):
    """A law in closed form, of a class that is not the package's."""

    def build_law(self):
        return ExponentialLaw(self.space, ExponentialKernel(0.4 * self.epsilon, self.gamma))


class OwnRows(TEM):
    """Rows of its own, which nothing can name."""

    def build_law(self):
        return TabulatedLaw(self.space, lambda _, distances: np.full_like(distances, 1 / distances.shape[1]))


def absolute(x, y):
    return np.abs(x[:, None] - y[None]).sum(axis=2)


def squared(x, y):
    return absolute(x, y) ** 2


def spaces(*metrics):
    return [Space(WORDS, SPACE.vectors, metric=one) for one in metrics]


class Sharp(ExponentialKernel):
    """A law that scale and cutoff do not tell."""

    def rows(self, distances):
        return super().rows(np.sqrt(distances))


class OwnFamily(TEM):
    """A law of a family of its own."""

    def build_law(self):
        return ExponentialLaw(self.space, Sharp(self.epsilon / 2, self.gamma))


NAMELESS = {
    "function": TEM(spaces(absolute)[0], epsilon=1.0),
    "another function": TEM(spaces(squared)[0], epsilon=1.0),
    "borrowed name": TEM(spaces(dataclasses.replace(METRICS["manhattan"], name="euclidean"))[0], epsilon=1.0),
    "rows": OwnRows(SPACE, epsilon=1.0),
    "family": OwnFamily(SPACE, epsilon=1.0),
}


@pytest.mark.parametrize("name", NAMELESS)
def test_what_has_no_name_takes_no_key(name):
    """A metric or a law that nothing can tell from another is refused under a key, and works without one."""
    mechanism = NAMELESS[name]
    for key in (KEY, "env:A", "file:a"):
        with pytest.raises(InputError, match="has no fingerprint: leave it out"):
            Release(mechanism, key=key)
    for key in (None, "seed:1"):
        release = Release(mechanism, key=key)
        assert release.fingerprint is None
        assert len(release.batch([LONG]).texts[0].split()) == len(LONG.split())
    assert mechanism.space.fingerprint is None or name in {"rows", "family"}


def test_laws_of_own_classes_are_named_by_their_law():
    """A law in closed form has a name of its own, also where class, parameters and space look like another's."""
    ours, own = TEM(SPACE, epsilon=1.0), Own(SPACE, epsilon=1.0)
    assert ours.fingerprint == own.fingerprint
    assert Release(ours, key=KEY).fingerprint != Release(own, key=KEY).fingerprint
    assert Release(ours, key=KEY) != Release(own, key=KEY)


def test_releases_compare():
    """Releases are equal, and hash alike, where mechanism, options and key are the same."""
    one = Release(TEM(SPACE, epsilon=1.0), keep=["the", "food", "the"], key="env:A")
    other = Release(TEM(SPACE, epsilon=1.0), keep={"food", "the"}, key="env:A")
    assert one == other
    assert hash(one) == hash(other)
    assert one.fingerprint == other.fingerprint
    different = [
        Release(TEM(SPACE, epsilon=1.0), keep=["the"], key="env:A"),
        Release(TEM(SPACE, epsilon=1.0), keep=["the", "food"], key="env:B"),
        Release(TEM(SPACE, epsilon=1.0), keep=["the", "food"], key="env:A", case="copy"),
        Release(TEM(SPACE, epsilon=1.0), keep=["the", "food"], key="env:A", unknown="mask"),
        Release(TEM(SPACE, epsilon=2.0), keep=["the", "food"], key="env:A"),
    ]
    assert len({one, *different}) == 6
    assert one != "release"


def test_a_release_never_changes():
    """Neither its fields nor those of its mechanism and space can be set."""
    release = Release(MECHANISM)
    with pytest.raises(dataclasses.FrozenInstanceError):
        release.case = "copy"
    with pytest.raises(AttributeError, match="cannot change"):
        release.mechanism.epsilon = 60.0
    with pytest.raises(AttributeError, match="cannot change"):
        release.mechanism.space.words = ()


def test_batches_and_their_tallies():
    """None stays None, empty stays empty, and tallies of parts add up to that of the whole."""
    release = Release(MECHANISM, keep=["the"], key="seed:1")
    texts = ["the food zork", None, "", "London", "?!"]
    whole = release.batch(texts)
    assert whole.texts[1:3] == [None, ""]
    assert whole.texts[4] == "?!"
    assert (whole.tally.records, whole.tally.words, whole.tally.unknown) == (5, 4, 1)
    assert whole.tally.lengths == {3: 1, 1: 1, 0: 3}
    parts = [release.batch([text], [str(row)]) for row, text in enumerate(texts)]
    assert [part.texts[0] for part in parts] == whole.texts
    tallies = [part.tally for part in parts]
    assert sum(tallies, Tally()) == functools.reduce(operator.add, reversed(tallies)) == whole.tally
    assert whole.tally + Tally() == Tally() + whole.tally == whole.tally


def test_kept_words_are_counted_like_drawn_ones():
    """A certificate does not tell words that were kept from the same words that were drawn."""
    release = Release(MECHANISM, keep=["the"])
    kept, drawn = (Certificate.of(release, release.batch([text]).tally) for text in ("the the", "food food"))
    assert kept == drawn


@pytest.mark.parametrize(
    ("texts", "ids", "message"),
    [
        ("the", None, r"A batch is a list of texts\. Got one str"),
        (["the", 5], None, "Texts must be str or None. Got int in row 1"),
        (["the"], None, "needs a record id for every text"),
        (["the"], ["a", "b"], r"one record id per text\. Got 2 for 1"),
        (["the"], "a", r"one record id per text\. Got one str"),
        ({"the"}, ["a"], r"A batch is a list of texts\. Got one set"),
        ((text for text in ["the"]), ["a"], r"A batch is a list of texts\. Got one generator"),
        (b"the", [1, 2, 3], r"A batch is a list of texts\. Got one bytes"),
        (["the"], {"a"}, r"one record id per text\. Got one set"),
        (["the"], (name for name in "a"), r"one record id per text\. Got one generator"),
        (["the", "food"], ["a", None], r"Record ids: there is a null or a blank in row 1"),
        (["the"], [1.5], r"Record ids: .* whole numbers, .* Got 1\.5"),
        (["the", None], ["a", "a"], r"must be unique\. 'a' is in rows 0 and 1"),
    ],
)
def test_wrong_batches(texts, ids, message):
    """What is no batch is refused whole, by its row."""
    with pytest.raises(InputError, match=message):
        Release(MECHANISM, key=KEY).batch(texts, ids)


def test_the_key_is_read_where_texts_are_released(monkeypatch):
    """A reference need not be readable where the release is made; a missing key is one line."""
    monkeypatch.delenv("DENIABLE_TEST_KEY", raising=False)
    release = Release(MECHANISM, key="env:DENIABLE_TEST_KEY")
    with pytest.raises(InputError, match="'DENIABLE_TEST_KEY', which should hold the key, is not set"):
        release.batch(["the"], ["a"])
    monkeypatch.setenv("DENIABLE_TEST_KEY", KEY.hex())
    assert release.batch([LONG], ["a"]) == Release(MECHANISM, key=KEY).batch([LONG], ["a"])


@pytest.mark.parametrize("form", ["bytes", "env", "file"])
def test_no_variable_shows_a_key(form, tmp_path, monkeypatch):
    """Whatever fails while texts are released, a traceback that shows variables shows no key."""
    (tmp_path / "key").write_bytes(KEY)
    monkeypatch.setenv("DENIABLE_TEST_KEY", KEY.hex())
    key = {"bytes": KEY, "env": "env:DENIABLE_TEST_KEY", "file": f"file:{tmp_path / 'key'}"}[form]
    monkeypatch.setattr("deniable.core.randomness._Cipher.seek", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError) as failed:
        Release(MECHANISM, key=key).batch([LONG], ["a"])
    with pytest.raises(InputError) as refused:
        Release(MECHANISM, unknown="keep", key=key)
    frames = [entry.frame for error in (failed, refused) for entry in error.traceback]
    # What a dataclass generates has no file, and holds the caller's own value.
    ours = [frame for frame in frames if frame.f_globals["__name__"].startswith("deniable.")]
    here = [frame for frame in ours if frame.code.raw.co_filename != "<string>"]
    shown = [repr(value) for frame in here for value in frame.f_locals.values()]
    assert len(shown) > 10
    assert any("<secret key>" in text for text in shown)
    assert not any(form in text for text in shown for form in (KEY.hex(), repr(KEY)[2:-1], str([*KEY])[1:-1]))


def test_a_key_of_bytes_stays_in_its_process():
    """No text and no pickle of a release shows a key."""
    release = Release(MECHANISM, key=KEY)
    shown = repr(release) + str(vars(release)) + Certificate.of(release, Tally()).to_json()
    assert KEY.hex() not in shown
    assert repr(KEY)[2:-1] not in shown
    with pytest.raises(InputError, match="cannot be pickled: give it by reference"):
        pickle.dumps(release)


# What travels.


@pytest.mark.parametrize("kind", [TEM, CalibratedExponential, MultivariateLaplace])
def test_the_pickle_of_the_built_in_space_is_small(kind):
    """A release over words that come with the package pickles as references, used or not."""
    space = Space.glove(2000)
    release = Release(kind(space, epsilon=3.0), keep=["the"], key="seed:1")
    fresh = pickle.dumps(release)
    release.batch([LONG])
    assert pickle.dumps(release) == fresh
    assert len(fresh) < 4000
    assert pickle.loads(fresh) == release
    assert pickle.loads(fresh).mechanism.space is pickle.loads(fresh).mechanism.space


def test_another_process_reads_the_space_when_it_needs_it(tmp_path):
    """Unpickling loads no space; the first batch does, once, and gives the same texts."""
    np.savez(tmp_path / "space.npz", words=np.array(WORDS), vectors=SPACE.vectors)
    release = Release(CalibratedExponential(Space.load(tmp_path / "space.npz"), epsilon=2.0), key="seed:1")
    (tmp_path / "release").write_bytes(pickle.dumps(release))
    program = """
import json, pickle, sys
from unittest import mock
from deniable.space import Space
with mock.patch.object(Space, "load", wraps=Space.load) as load:
    data = open(sys.argv[1], "rb").read()
    one, two = pickle.loads(data), pickle.loads(data)
    before = load.call_count
    texts = [one.batch([sys.argv[2]]).texts[0], two.batch([sys.argv[2]]).texts[0]]
    print(json.dumps([before, load.call_count, texts, one == two]))
"""
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "release"), LONG], capture_output=True, text=True, check=True
    )
    assert json.loads(run.stdout) == [0, 1, release.batch([LONG]).texts * 2, True]


def test_a_space_file_that_changed_is_refused(tmp_path, monkeypatch):
    """A pickle of a space is a path and a fingerprint: another file there is refused in one line."""
    monkeypatch.setattr("deniable.space.space._OPEN_SPACES", {})
    path = tmp_path / "space.npz"
    np.savez(path, words=np.array(WORDS), vectors=SPACE.vectors)
    data = pickle.dumps(Release(TEM(Space.load(path), epsilon=2.0), key="seed:1"))
    monkeypatch.setattr("deniable.space.space._OPEN_SPACES", {})
    np.savez(path, words=np.array(WORDS), vectors=SPACE.vectors + 1)
    with pytest.raises(InputError, match=r"'space.npz' is not the one that was pickled: its fingerprint is"):
        pickle.loads(data).batch(["the"])
    path.unlink()
    with pytest.raises(InputError, match="No vector file"):
        pickle.loads(data).batch(["the"])


def test_another_law_elsewhere_is_refused(monkeypatch):
    """A process that computes another law than the one that was pickled does not draw from it under the key."""
    data = pickle.dumps(Release(TEM(SPACE, epsilon=2.0), key="seed:1"))
    elsewhere = pickle.loads(data)
    monkeypatch.setattr(TEM, "kernel", property(lambda self: ExponentialKernel(0.49 * self.epsilon, self.gamma)))
    with pytest.raises(InputError, match="computes another law for tem than the one that made the release"):
        elsewhere.batch(["the"])


def release_part(job):
    release, texts, ids = job
    return release.batch(texts, ids)


def test_counts_come_back_from_a_pool():
    """Batches of a process pool carry their counts: the certificate of the sum is that of one process."""
    release = Release(MECHANISM, key="seed:1")
    texts = [" ".join(WORDS[: 1 + row]) for row in range(6)]
    ids = [str(row) for row in range(6)]
    jobs = [(release, texts[at : at + 2], ids[at : at + 2]) for at in (0, 2, 4)]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        parts = list(pool.map(release_part, jobs))
    whole = release.batch(texts, ids)
    assert [text for part in parts for text in part.texts] == whole.texts
    assert sum((part.tally for part in parts), Tally()) == whole.tally
    assert whole.tally.records == 6
