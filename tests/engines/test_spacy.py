"""The component of a spaCy pipeline gives each document the private text of the plain run."""

import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

from deniable import Certificate, InputError, Release, Space, Tally
from tests.engines.helpers import TEXTS
from tests.engines.test_tasks import KEYED
from tests.text.helpers import MECHANISM, ODD_PIECES, SPACE, WORDS

spacy = pytest.importorskip("spacy", reason="spacy is not installed")

from deniable.engines.spacy import DocPrivatizer, create_privatizer, make_docs  # noqa: E402 - where it is installed

ROOT = Path(__file__).parents[2]
PRIVATE = [text or "" for text in TEXTS]
IDS = [f"doc {number}" for number in range(len(PRIVATE))]
KEY = "0123456789abcdef" * 4


@pytest.fixture
def space_file(tmp_path):
    """Return the path of a file with the words of the tests' space."""
    path = tmp_path / "space.npz"
    np.savez(path, words=np.array(WORDS), vectors=SPACE.vectors)
    return path


@pytest.fixture
def config(space_file, monkeypatch):
    """Return the settings of a component, whose key is in the environment."""
    monkeypatch.setenv("DENIABLE_TEST_KEY", KEY)
    return {"mechanism": "tem", "epsilon": 1.0, "space": str(space_file), "hide": [], "key": "env:DENIABLE_TEST_KEY"}


def release_of(config):
    """Return the release that the settings describe."""
    import deniable as dn

    return Release(dn.TEM(Space.load(config["space"], hide=()), epsilon=1.0), key=config["key"])


def pipeline_of(config):
    """Return a blank pipeline with the component."""
    nlp = spacy.blank("en")
    nlp.add_pipe("deniable", config=config)
    return nlp


@pytest.mark.parametrize("batch_size", [1, 7, 1000])
def test_a_pipeline_equals_the_plain_run(config, batch_size):
    """In batches of any size the private texts and the counts are those of a batch of the release."""
    nlp = pipeline_of(config)
    plain = release_of(config).batch(PRIVATE, IDS)
    docs = list(nlp.pipe(make_docs(nlp, PRIVATE, IDS), batch_size=batch_size))
    assert [doc._.private_text for doc in docs] == plain.texts
    assert [doc.text for doc in docs] == PRIVATE
    assert sum((doc._.private_tally for doc in docs), Tally()) == plain.tally
    assert docs[5]._.private_text == nlp(next(make_docs(nlp, PRIVATE[5:6], IDS[5:6])))._.private_text


def test_order_does_not_matter(config):
    """The same documents backwards and again have the same private texts."""
    nlp = pipeline_of(config)
    once = [doc._.private_text for doc in nlp.pipe(make_docs(nlp, PRIVATE, IDS))]
    backwards = [doc._.private_text for doc in nlp.pipe(make_docs(nlp, PRIVATE[::-1], IDS[::-1]))]
    assert backwards[::-1] == once


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_processes_give_the_same(config):
    """Two processes give the texts and counts of one."""
    nlp = pipeline_of(config)
    plain = release_of(config).batch(PRIVATE, IDS)
    docs = list(nlp.pipe(make_docs(nlp, PRIVATE, IDS), n_process=2, batch_size=10))
    assert [doc._.private_text for doc in docs] == plain.texts
    assert sum((doc._.private_tally for doc in docs), Tally()) == plain.tally


def test_the_id_may_come_with_the_text(config):
    """What is given beside the text names the record: the id itself, or a mapping that holds it."""
    nlp = pipeline_of(config)
    plain = release_of(config).batch(PRIVATE, IDS).texts
    pairs = zip(PRIVATE, IDS, strict=True)
    assert [doc._.private_text for doc, _ in nlp.pipe(pairs, as_tuples=True)] == plain
    pairs = [(text, {"record_id": name}) for text, name in zip(PRIVATE, IDS, strict=True)]
    assert [doc._.private_text for doc, _ in nlp.pipe(pairs, as_tuples=True)] == plain


@pytest.mark.parametrize("unknown", ["mask", "drop"])
def test_words_that_are_left_out_are_counted(config, unknown):
    """Also where unknown words are masked or dropped, and HTML is decoded, the counts are those of a batch."""
    options = {"unknown": unknown, "unescape": "html"}
    release = Release(release_of(config).mechanism, key=config["key"], **options)
    nlp = pipeline_of({**config, **options})
    plain = release.batch(PRIVATE, IDS)
    docs = list(nlp.pipe(make_docs(nlp, PRIVATE, IDS)))
    assert [doc._.private_text for doc in docs] == plain.texts
    assert sum((doc._.private_tally for doc in docs), Tally()) == plain.tally


def test_a_stored_pipeline_holds_no_key(config, tmp_path, monkeypatch):
    """A pipeline that is stored and loaded gives the same texts; the key stays where it is."""
    nlp = pipeline_of(config)
    plain = [doc._.private_text for doc in nlp.pipe(make_docs(nlp, PRIVATE, IDS))]
    nlp.to_disk(tmp_path / "pipeline")
    loaded = spacy.load(tmp_path / "pipeline")
    assert [doc._.private_text for doc in loaded.pipe(make_docs(loaded, PRIVATE, IDS))] == plain
    again = spacy.blank("en").from_config(nlp.config).from_bytes(nlp.to_bytes())
    assert [doc._.private_text for doc in again.pipe(make_docs(again, PRIVATE, IDS))] == plain
    stored = b"".join(path.read_bytes() for path in (tmp_path / "pipeline").rglob("*") if path.is_file())
    assert b"env:DENIABLE_TEST_KEY" in stored
    for content in (stored, nlp.to_bytes()):
        assert KEY.encode() not in content
        assert bytes.fromhex(KEY) not in content
    monkeypatch.setenv("DENIABLE_TEST_KEY", KEY[::-1])
    rotated = [doc._.private_text for doc in loaded.pipe(make_docs(loaded, PRIVATE, IDS))]
    assert rotated != plain


def test_fresh_noise_must_be_asked_for(config):
    """Without a key each run draws anew, equal texts apart, needs no ids, and is refused unless it is asked for."""
    with pytest.raises(InputError, match="fresh=True"):
        pipeline_of({**config, "key": None})
    nlp = pipeline_of({**config, "key": None, "fresh": True})
    texts = [" ".join(WORDS)] * 2
    first, second = ([doc._.private_text for doc in nlp.pipe(texts)] for _ in range(2))
    assert len({*first, *second}) == 4


def test_repeated_and_missing_ids_are_refused(monkeypatch):
    """All ids of `make_docs` are checked before the first document; those of a stream before they are drawn."""
    nlp = spacy.blank("en")
    component = DocPrivatizer(KEYED)
    with pytest.raises(InputError, match=r"must be unique\. '1' is in rows 0 and 2"):
        make_docs(nlp, PRIVATE[:3], ["1", "2", "1"])
    with pytest.raises(InputError, match="one record id per text"):
        make_docs(nlp, PRIVATE[:3], ["1", "2"])
    monkeypatch.setattr(Release, "privatize_cells", lambda *_, **__: pytest.fail("drew"))
    docs = [*make_docs(nlp, PRIVATE[:2], ["1", "2"]), *make_docs(nlp, PRIVATE[2:3], ["1"])]
    with pytest.raises(InputError, match="documents 1 and 3 of the stream"):
        list(component.pipe(docs))
    with pytest.raises(InputError, match="needs a record id"):
        component(nlp.make_doc("the food"))
    with pytest.raises(InputError, match=r"named by texts or whole numbers, .* Got 5\.5"):
        list(component.pipe(_with_id(nlp.make_doc("the food"), 5.5)))
    with pytest.raises(InputError, match="documents 1 and 2 of the stream"):
        list(component.pipe([*_with_id(nlp.make_doc("the food"), 5.0), *_with_id(nlp.make_doc("the"), "5")]))


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("ab", "A batch is a list of texts. Got one str"),
        (["good", None], "Each document needs a text. Got 1 without: leave them out"),
        (["good", 5], "Texts must be str or None. Got int in row 1"),
        (None, "A batch is a list of texts. Got one NoneType"),
    ],
)
def test_documents_without_a_text_are_refused(texts, message):
    """What is no text is one line before the first document."""
    with pytest.raises(InputError, match=message):
        make_docs(spacy.blank("en"), texts, ["1", "2"])


def _with_id(doc, record_id):
    doc._.record_id = record_id
    return [doc]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"key": KEY[:32].encode()}, r"'key' setting must be .* Got bytes"),
        ({"key": KEY}, "'key' parameter of Release must be .* Got a str of another form"),
        ({"mechanism": "none"}, "Unknown mechanism 'none'"),
        ({"epsilon": -1.0}, "'epsilon' parameter"),
        ({"unknown": "keep"}, "'unknown' parameter"),
        ({"fresh": True}, "leave out one of them"),
    ],
)
def test_wrong_settings_are_named_in_one_line(config, changes, message):
    """A setting outside its domain is named; a key that stands in the settings is never shown."""
    with pytest.raises(InputError, match=message) as caught:
        pipeline_of({**config, **changes})
    assert "\n" not in str(caught.value)
    assert KEY[:32] not in str(caught.value)


def test_documents_know_nothing_before():
    """A document that no component has privatized has no private text and no counts."""
    doc = spacy.blank("en")("the food was good")
    assert doc._.private_text is None
    assert doc._.private_tally == Tally()


def test_odd_texts_pass():
    """Scripts of other directions, emoji and NULs are read as in a batch; spaCy takes no lone surrogates."""
    nlp = spacy.blank("en")
    texts = [f"{WORDS[0]} {piece} {WORDS[1]}" for piece in ODD_PIECES if piece != "\ud800"]
    ids = [str(number) for number in range(len(texts))]
    docs = list(DocPrivatizer(KEYED).pipe(make_docs(nlp, texts, ids)))
    assert [doc._.private_text for doc in docs] == KEYED.batch(texts, ids).texts


def test_the_counts_give_the_certificate():
    """The sum of the counts of all documents gives the certificate of the plain run."""
    nlp = spacy.blank("en")
    docs = list(DocPrivatizer(KEYED).pipe(make_docs(nlp, PRIVATE, IDS)))
    tally = sum((doc._.private_tally for doc in docs), Tally())
    assert Certificate.of(KEYED, tally) == Certificate.of(KEYED, KEYED.batch(PRIVATE, IDS).tally)


def test_the_default_space_is_glove(monkeypatch):
    """Without a path the words are those of GloVe, with names, places and numbers hidden."""
    seen = {}
    monkeypatch.setattr(Space, "glove", lambda **options: seen.update(options) or SPACE)
    nlp = spacy.blank("en")
    nlp.add_pipe("deniable", config={"mechanism": "tem", "epsilon": 1.0, "key": "seed:7"})
    assert seen == {"metric": "euclidean", "hide": ["names", "numbers", "places"]}
    doc = nlp(next(make_docs(nlp, ["london paris red blue"], ["1"])))
    assert doc._.private_text == Release(MECHANISM, key="seed:7").batch(["london paris red blue"], ["1"]).texts[0]


def test_the_package_names_its_component():
    """The entry point of the package, by which spaCy finds the component unasked, is the factory."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    entry_points = project["entry-points"]["spacy_factories"]
    (target,) = entry_points.values()
    assert EntryPoint("deniable", target, "spacy_factories").load() is create_privatizer


def test_spacy_starts_without_what_is_heavy():
    """Every start of spaCy imports the module, used or not: it loads neither Arrow nor compiled loops."""
    code = (
        "import sys, spacy; before = {*sys.modules}; import deniable.engines.spacy\n"
        "print(*sorted({name.partition('.')[0] for name in {*sys.modules} - before}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numba", "pyarrow", "randomgen", "scipy"} & set(done.stdout.split())
    assert "deniable" in done.stdout.split()


def test_a_missing_spacy_is_named():
    """One line names what to install."""
    code = "import sys; sys.modules['spacy'] = None\nimport deniable.engines.spacy"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].endswith("deniable.engines.spacy needs spacy, which is missing: install spacy.")
