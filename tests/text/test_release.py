"""A release: what its noise follows, what its pickle holds, and what it refuses."""

import dataclasses
import json
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deniable as dn
from deniable.text.batches import CellBatch
from tests.refusals import refuses
from tests.text.helpers import KEY, LONG, MECHANISM, SPACE, WORDS, space_of
from tests.text.tables.helpers import few, many

LAWS = {
    "tem": MECHANISM,
    "calibrated": dn.CalibratedExponential(SPACE, epsilon=1.0),
    "tight": dn.TightExponential(SPACE, epsilon=1.0),
    "multivariate-laplace": dn.MultivariateLaplace(SPACE, epsilon=1.0),
    "truncated-gumbel": dn.TruncatedGumbel(SPACE, epsilon=60.0),
}
OTHERS = {
    "epsilon": dn.TEM(SPACE, epsilon=1.01),
    "gamma": dn.TEM(SPACE, epsilon=1.0, gamma=2.0),
    "space": dn.TEM(space_of(WORDS[:-1]), epsilon=1.0),
    "metric": dn.TEM(dn.Space(WORDS, SPACE.vectors, metric="manhattan"), epsilon=1.0),
}
every_law = pytest.mark.parametrize("mechanism", LAWS.values(), ids=LAWS)


def test_noise_follows_everything():
    """One release, id and text give one output; another mechanism, option, key, id or text has noise of its own."""

    def draw(mechanism=MECHANISM, text=LONG, record_id="a", **options):
        return dn.Release(mechanism, **{"key": KEY, **options}).batch([text], [record_id]).texts[0]

    shown = [draw(mechanism).lower() for mechanism in (*LAWS.values(), *OTHERS.values())]
    shown += [draw(**options).lower() for options in ({"unknown": "mask"}, {"unknown": "drop"}, {"case": "copy"})]
    shown += [draw(keep=["zork"]), draw(unescape="html"), draw(key=bytes(32)), draw(key="seed:1"), draw(record_id="b")]
    shown.append(draw(text=f"{LONG} the").rsplit(" ", 1)[0])
    assert len({*shown}) == len(shown)
    assert draw() == draw() == shown[0]


def test_cells_of_one_record_have_noise_of_their_own():
    """Equal texts of one record id are drawn apart in each column, and in each place of one column."""
    places = [(column, ordinal) for column in ("text", "note") for ordinal in (0, 1, 2)]
    columns, ordinals = zip(*places, strict=True)
    cells = dataclasses.replace(CellBatch.of_texts([LONG] * 6, ["a"] * 6), columns=columns, ordinals=ordinals)
    texts = dn.Release(MECHANISM, key=KEY).privatize_cells(cells).texts
    assert len({*texts}) == len(cells)


@pytest.mark.parametrize("options", [{"keep": ["the"]}, {"unknown": "drop"}, {"unknown": "mask"}, {"case": "copy"}])
def test_an_option_changes_the_noise(options):
    """A word behind a kept, masked or dropped one does not meet the noise that its neighbour met without the option."""
    text = f"{'the' if 'keep' in options else 'zork'} food food food food food food"
    releases = [dn.Release(MECHANISM, key=KEY, **one) for one in ({}, options)]
    one, two = (release.batch([text] * 200, range(200)).texts for release in releases)
    pairs = zip(one, two, strict=True)
    equal = sum(one.split()[:-1][-5:] == two.lower().split()[-5:] for one, two in pairs)
    assert equal < 20  # nearly all of 200 where word i took noise i of one stream


def test_neighbours_of_a_text_share_no_noise():
    """Two texts of one id that differ in one word have noise of their own at the words that are equal."""
    release = dn.Release(MECHANISM, key=KEY)
    one, two = (release.batch([f"{word} food food"] * 200, range(200)).texts for word in ("the", "and"))
    assert sum(a.split()[1:] == b.split()[1:] for a, b in zip(one, two, strict=True)) < 40


def test_members_of_a_point_share_noise():
    """Words at one point, and all unknown words, are one input: outputs are equal, so that no key tells them apart."""
    release = dn.Release(dn.TEM(dn.Space(["a", "b", "c", "d"], [[0.0], [0.0], [1.0], [2.0]]), epsilon=1.0), key=KEY)
    for one, other in (("a c a", "b c b"), ("zork c a", "blarg c a")):
        assert release.batch([one] * 50, range(50)).texts == release.batch([other] * 50, range(50)).texts


words = st.sampled_from([*WORDS, "THE", "zork", "don't", "✓"])
ids = st.text(st.sampled_from("ab1é."), min_size=1, max_size=4)
BATCHES = {
    "release": st.builds(
        dn.Release,
        st.sampled_from([*LAWS.values(), *OTHERS.values()]),
        unknown=st.sampled_from(["draw", "mask", "drop"]),
        case=st.sampled_from(["lower", "copy"]),
        keep=st.sampled_from([(), ("the",), ("The", "london")]),
        key=st.just("seed:0"),
    ),
    "texts": st.lists(st.lists(words, max_size=8).map(" ".join), min_size=1, max_size=8),
    "order": st.randoms(use_true_random=False),
    "cut": st.integers(0, 8),
    "workers": st.integers(1, 3),
}


@few
@given(**BATCHES)
def test_equal_cells_are_equal_in_any_batch(release, texts, order, cut, workers):
    """A text's output is one whatever the order, the batch, the threads and the object that stands for the release."""
    rows = [(f"r{row}", text) for row, text in enumerate(texts)]
    whole = dict(zip(rows, release.batch(texts, [name for name, _ in rows], workers=1).texts, strict=True))
    order.shuffle(rows)
    again, found = pickle.loads(pickle.dumps(release)), {}
    for part in (rows[:cut], rows[cut:]):
        batch = again.batch([text for _, text in part], [name for name, _ in part], workers=workers)
        found |= dict(zip(part, batch.texts, strict=True))
    assert found == whole


test_many_batches = many(test_equal_cells_are_equal_in_any_batch, **BATCHES)


@every_law
def test_without_a_key(mechanism):
    """Without a key each batch, and each of two equal texts, has fresh noise."""
    release = dn.Release(mechanism)
    assert len({*release.batch([LONG, LONG]).texts, *release.batch([LONG, LONG]).texts}) == 4


@every_law
def test_a_record_longer_than_a_piece(mechanism):
    """A record whose noise is drawn in several pieces has one text, alone and among others, for any threads."""
    text = " ".join((WORDS * 2400)[: (1 << 15) + 5])
    release = dn.Release(mechanism, key=KEY)
    alone = release.batch([text], ["long"]).texts[0]
    assert release.batch([LONG, "the food", text], ["a", "b", "long"], workers=3).texts[2] == alone


class Own(dn.TEM):
    """A law in closed form, of a class that is not the package's."""

    def build_law(self):
        return dn.laws.ExponentialLaw(self.space, dn.laws.ExponentialKernel(0.4 * self.epsilon, self.cutoff))


class OwnRows(dn.TEM):
    """Rows of its own, which nothing can name."""

    def build_law(self):
        return dn.laws.TabulatedLaw(self.space, lambda _, distances: np.full_like(distances, 1 / distances.shape[1]))


class Sharp(dn.laws.ExponentialKernel):
    """A law that scale and cutoff do not tell."""

    def rows(self, distances):
        return super().rows(np.sqrt(distances))


class OwnFamily(dn.TEM):
    """A law of a family of its own."""

    def build_law(self):
        return dn.laws.TabulatedLaw(self.space, Sharp(self.epsilon / 2, self.cutoff))


def absolute(x, y):
    return np.abs(x[:, None] - y[None]).sum(axis=2)


BORROWED = dataclasses.replace(dn.Space(WORDS, SPACE.vectors, metric="manhattan").metric, name="euclidean")
NAMELESS = {
    "function": dn.TEM(dn.Space(WORDS, SPACE.vectors, metric=absolute), epsilon=1.0),
    "borrowed name": dn.TEM(dn.Space(WORDS, SPACE.vectors, metric=BORROWED), epsilon=1.0),
    "rows": OwnRows(SPACE, epsilon=1.0),
    "family": OwnFamily(SPACE, epsilon=1.0),
}


@pytest.mark.parametrize("name", NAMELESS)
def test_what_has_no_name_takes_no_key(name):
    """A metric or a law that nothing can tell from another is refused under a key, and works without one."""
    for key in (KEY, "env:A", "file:a"):
        with refuses("fingerprint"):
            dn.Release(NAMELESS[name], key=key)
    for key in (None, "seed:1"):
        release = dn.Release(NAMELESS[name], key=key)
        assert release.fingerprint is None
        assert len(release.batch([LONG]).texts[0].split()) == len(LONG.split())
    assert NAMELESS[name].space.fingerprint is None or name in {"rows", "family"}


def test_laws_of_own_classes_are_named_by_their_law():
    """A law in closed form has a name of its own, also where class, parameters and space look like another's."""
    ours, own = dn.TEM(SPACE, epsilon=1.0), Own(SPACE, epsilon=1.0)
    assert ours.fingerprint == own.fingerprint
    assert dn.Release(ours, key=KEY).fingerprint != dn.Release(own, key=KEY).fingerprint
    assert dn.Release(ours, key=KEY) != dn.Release(own, key=KEY)


def test_releases_compare():
    """Releases are equal, and hash alike, where mechanism, options and key are the same."""
    one = dn.Release(dn.TEM(SPACE, epsilon=1.0), keep=["the", "food", "the"], key="env:A")
    other = dn.Release(dn.TEM(SPACE, epsilon=1.0), keep={"food", "the"}, key="env:A")
    assert one == other
    assert hash(one) == hash(other)
    assert one.fingerprint == other.fingerprint
    basic = {"keep": ["the", "food"], "key": "env:A"}
    changes = [{"keep": ["the"]}, {"key": "env:B"}, {"case": "copy"}, {"unknown": "mask"}, {"unescape": "html"}]
    different = [dn.Release(MECHANISM, **{**basic, **change}) for change in changes]
    assert len({one, dn.Release(dn.TEM(SPACE, epsilon=2.0), **basic), *different}) == 7
    assert one != "release"


def test_a_release_never_changes():
    """Neither its fields nor those of its mechanism and space can be set."""
    release = dn.Release(MECHANISM)
    for owner, name in ((release, "case"), (release.mechanism, "epsilon"), (release.mechanism.space, "words")):
        with pytest.raises(AttributeError):
            setattr(owner, name, 60.0)


@pytest.mark.parametrize(
    ("texts", "ids", "value"),
    [
        ("the", None, "str"),
        (["the", 5], None, "row 1"),
        (["the"], None, "record id"),
        (["the"], ["a", "b"], "2 for 1"),
        (["the"], "a", "str"),
        ({"the"}, ["a"], "set"),
        (b"the", [1, 2, 3], "bytes"),
        (["the"], {"a"}, "set"),
        (["the", "food"], ["a", None], "row 1"),
        (["the", "food"], ["a", " "], "row 1"),
        (["the"], [1.5], "1.5"),
        (["the"], [True], "True"),
        (["the", None], ["a", "a"], "'a'"),
        (["the", "food"], [1, "1"], "'1'"),
        (["the", "food"], [1, 1.0], "'1'"),
    ],
)
def test_wrong_batches(texts, ids, value):
    """What is no batch, and ids that are missing, repeated or may be written in several ways, are refused whole."""
    with refuses(value):
        dn.Release(MECHANISM, key=KEY).batch(texts, ids)


def test_a_batch_may_be_an_iterator():
    """Texts and ids are read once, whatever gives them in order."""
    release = dn.Release(MECHANISM, key=KEY)
    assert release.batch(iter([LONG]), iter(["a"])) == release.batch([LONG], ["a"])


def test_the_key_is_read_where_texts_are_released(monkeypatch):
    """A reference need not be readable where the release is made; a missing key is one line."""
    monkeypatch.delenv("DENIABLE_TEST_KEY", raising=False)
    release = dn.Release(MECHANISM, key="env:DENIABLE_TEST_KEY")
    with refuses("'DENIABLE_TEST_KEY'"):
        release.batch(["the"], ["a"])
    monkeypatch.setenv("DENIABLE_TEST_KEY", KEY.hex())
    assert release.batch([LONG], ["a"]) == dn.Release(MECHANISM, key=KEY).batch([LONG], ["a"])


@pytest.mark.parametrize("form", ["bytes", "env", "file"])
def test_no_variable_shows_a_key(form, tmp_path, monkeypatch):
    """Whatever fails while texts are released, a traceback that shows variables shows no key."""
    (tmp_path / "key").write_bytes(KEY)
    monkeypatch.setenv("DENIABLE_TEST_KEY", KEY.hex())
    key = {"bytes": KEY, "env": "env:DENIABLE_TEST_KEY", "file": f"file:{tmp_path / 'key'}"}[form]
    release = dn.Release(LAWS["multivariate-laplace"], key=key)
    monkeypatch.setattr(dn.laws.SimulatedLaw, "sample", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError) as failed:
        release.batch([LONG], ["a"])
    with pytest.raises(dn.InputError) as refused:
        dn.Release(MECHANISM, unknown="keep", key=key)
    frames = [entry.frame for error in (failed, refused) for entry in error.traceback]
    # What a dataclass generates has no file, and holds the caller's own value.
    ours = [frame for frame in frames if frame.f_globals["__name__"].startswith("deniable.")]
    here = [frame for frame in ours if frame.code.raw.co_filename != "<string>"]
    shown = [repr(value) for frame in here for value in frame.f_locals.values()]
    assert any("<secret key>" in text for text in shown)
    shown.append(
        repr(release) + str(vars(release)) + dn.Certificate.of(dn.Release(MECHANISM, key=key), dn.Tally()).to_json()
    )
    assert not any(form in text for text in shown for form in (KEY.hex(), repr(KEY)[2:-1], str([*KEY])[1:-1]))
    if form == "bytes":
        with refuses("pickled"):
            pickle.dumps(release)


@pytest.mark.parametrize("kind", [dn.TEM, dn.CalibratedExponential, dn.MultivariateLaplace])
def test_the_pickle_of_the_built_in_space_is_small(kind):
    """A release over words that come with the package pickles as references, used or not."""
    metric = "euclidean" if kind is dn.MultivariateLaplace else "steps"
    release = dn.Release(kind(dn.Space.glove(200, metric=metric), epsilon=3.0), keep=["the"], key="seed:1")
    fresh = pickle.dumps(release)
    release.batch([LONG])
    assert pickle.dumps(release) == fresh
    assert len(fresh) < 4000
    assert pickle.loads(fresh).fingerprint == release.fingerprint
    assert pickle.loads(fresh).mechanism.space is pickle.loads(fresh).mechanism.space


PROGRAM = """
import json, pickle, sys
from unittest import mock
from deniable import InputError, Space
with mock.patch.object(Space, "load", wraps=Space.load) as load:
    one, two = pickle.loads(open("release", "rb").read()), pickle.loads(open("release", "rb").read())
    before = load.call_count
    texts = [one.batch([sys.argv[1]]).texts[0], two.batch([sys.argv[1]]).texts[0]]
    loads = load.call_count
try:
    pickle.loads(open("changed", "rb").read()).batch(["the"])
except InputError as error:
    print(json.dumps([before, loads, texts, one == two, str(error)]))
"""


def test_another_process_reads_the_space_once(tmp_path):
    """The first release that arrives loads its space, and the next one has it; a file that has changed is refused."""
    np.savez(tmp_path / "space.npz", words=np.array(WORDS), vectors=SPACE.vectors)
    np.savez(tmp_path / "changed.npz", words=np.array(WORDS), vectors=SPACE.vectors)
    release, changed = (
        dn.Release(dn.CalibratedExponential(dn.Space.load(tmp_path / name), epsilon=2.0), key="seed:1")
        for name in ("space.npz", "changed.npz")
    )
    (tmp_path / "release").write_bytes(pickle.dumps(release))
    (tmp_path / "changed").write_bytes(pickle.dumps(changed))
    np.savez(tmp_path / "changed.npz", words=np.array(WORDS), vectors=SPACE.vectors + 1)
    command = [sys.executable, "-c", PROGRAM, LONG]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    *found, line = json.loads(done.stdout)
    assert found == [1, 1, release.batch([LONG]).texts * 2, True]
    assert "changed.npz" in line


def test_another_law_elsewhere_is_refused(monkeypatch):
    """A process that computes another law than the one that was pickled does not draw from it under the key."""
    data = pickle.dumps(dn.Release(dn.TEM(SPACE, epsilon=2.0), key="seed:1"))
    elsewhere = pickle.loads(data)
    kernel = property(lambda self: dn.laws.ExponentialKernel(0.49 * self.epsilon, self.cutoff))
    monkeypatch.setattr(dn.TEM, "kernel", kernel)
    with refuses("tem"):
        elsewhere.batch(["the"])


def release_part(job):
    release, texts, ids = job
    return release.batch(texts, ids)


@pytest.mark.deep
def test_counts_come_back_from_a_pool():
    """Batches of a process pool carry their counts: the certificate of the sum is that of one process."""
    release = dn.Release(MECHANISM, key="seed:1")
    texts = [" ".join(WORDS[: 1 + row]) for row in range(6)]
    jobs = [(release, texts[at : at + 2], [at, at + 1]) for at in (0, 2, 4)]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        parts = list(pool.map(release_part, jobs))
    whole = release.batch(texts, range(6))
    assert [text for part in parts for text in part.texts] == whole.texts
    assert sum((part.tally for part in parts), dn.Tally()) == whole.tally
