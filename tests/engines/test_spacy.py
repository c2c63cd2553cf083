"""The component of a spaCy pipeline gives each document the private text of the plain run."""

import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from tests.engines.helpers import KEYED, TEXTS
from tests.refusals import refuses
from tests.text.helpers import MECHANISM, ODD_PIECES, SPACE, WORDS

spacy = pytest.importorskip("spacy", reason="spacy is not installed")

from deniable.engines.spacy import DocPrivatizer, create_privatizer, make_docs  # noqa: E402 - where it is installed

PRIVATE = [text or "" for text in TEXTS]
IDS = [f"doc {number}" for number in range(len(PRIVATE))]
KEY = "0123456789abcdef" * 4


@pytest.fixture
def config(tmp_path, monkeypatch):
    """Return the settings of a component over the words of the tests, whose key is in the environment."""
    monkeypatch.setenv("DENIABLE_TEST_KEY", KEY)
    path = tmp_path / "space.npz"
    np.savez(path, words=np.array(WORDS), vectors=SPACE.vectors)
    return {
        "mechanism": "tem",
        "epsilon": 1.0,
        "space": str(path),
        "metric": "euclidean",
        "hide": [],
        "key": "env:DENIABLE_TEST_KEY",
    }


def pipeline_of(config):
    """Return a blank pipeline with the component."""
    nlp = spacy.blank("en")
    nlp.add_pipe("deniable", config=config)
    return nlp


def release_of(config, **options):
    """Return the release that the settings describe."""
    return dn.Release(MECHANISM, key=config["key"], **options)


def run(nlp, texts=PRIVATE, ids=IDS, **options):
    """Return the private texts of documents, and the sum of their counts."""
    docs = list(nlp.pipe(make_docs(nlp, texts, ids), **options))
    assert [doc.text for doc in docs] == list(texts)
    return [doc._.private_text for doc in docs], sum((doc._.private_tally for doc in docs), dn.Tally())


def test_a_pipeline_equals_the_plain_run(config):
    """In batches of any size, backwards and one by one, texts, counts and certificate are those of a batch."""
    nlp, release = pipeline_of(config), release_of(config)
    plain = release.batch(PRIVATE, IDS)
    for size in (1, 7, 1000):
        assert run(nlp, batch_size=size) == (plain.texts, plain.tally)
    assert run(nlp, PRIVATE[::-1], IDS[::-1])[0] == plain.texts[::-1]
    assert nlp(next(make_docs(nlp, PRIVATE[5:6], IDS[5:6])))._.private_text == plain.texts[5]
    certificate = dn.Certificate.of(release, run(nlp)[1])
    assert certificate == dn.Certificate.of(release, plain.tally)
    doc = spacy.blank("en")("which no component has privatized")
    assert (doc._.private_text, doc._.private_tally) == (None, dn.Tally())


@pytest.mark.deep
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_processes_give_the_same(config):
    """Two processes give the texts and counts of one."""
    plain = release_of(config).batch(PRIVATE, IDS)
    assert run(pipeline_of(config), n_process=2, batch_size=10) == (plain.texts, plain.tally)


def test_the_id_may_come_with_the_text(config):
    """What is given beside the text names the record: the id itself, or a mapping that holds it."""
    nlp, plain = pipeline_of(config), release_of(config).batch(PRIVATE, IDS).texts
    for contexts in (IDS, [{"record_id": name} for name in IDS]):
        pairs = zip(PRIVATE, contexts, strict=True)
        assert [doc._.private_text for doc, _ in nlp.pipe(pairs, as_tuples=True)] == plain


@pytest.mark.parametrize("unknown", ["mask", "drop"])
def test_words_that_are_left_out_are_counted(config, unknown):
    """Also where unknown words are masked or dropped, and HTML is decoded, the counts are those of a batch."""
    options = {"unknown": unknown, "unescape": "html"}
    plain = release_of(config, **options).batch(PRIVATE, IDS)
    assert run(pipeline_of({**config, **options})) == (plain.texts, plain.tally)


def test_a_stored_pipeline_holds_no_key(config, tmp_path, monkeypatch):
    """A pipeline that is stored and loaded gives the same texts; the key stays where it is."""
    nlp = pipeline_of(config)
    plain = run(nlp)
    nlp.to_disk(tmp_path / "pipeline")
    loaded = spacy.load(tmp_path / "pipeline")
    again = spacy.blank("en").from_config(nlp.config).from_bytes(nlp.to_bytes())
    assert run(loaded) == run(again) == plain
    stored = b"".join(path.read_bytes() for path in (tmp_path / "pipeline").rglob("*") if path.is_file())
    assert b"env:DENIABLE_TEST_KEY" in stored
    for content in (stored, nlp.to_bytes()):
        assert KEY.encode() not in content
        assert bytes.fromhex(KEY) not in content
    monkeypatch.setenv("DENIABLE_TEST_KEY", KEY[::-1])
    assert run(loaded)[0] != plain[0]


def test_fresh_noise_must_be_asked_for(config):
    """Without a key each run draws anew, equal texts apart, needs no ids, and is refused unless it is asked for."""
    with refuses("fresh=True"):
        pipeline_of({**config, "key": None})
    nlp = pipeline_of({**config, "key": None, "fresh": True})
    first, second = ([doc._.private_text for doc in nlp.pipe([" ".join(WORDS)] * 2)] for _ in range(2))
    assert len({*first, *second}) == 4


def test_repeated_and_missing_ids_are_refused(monkeypatch):
    """All ids of `make_docs` are checked before the first document; those of a stream before they are drawn."""
    nlp = spacy.blank("en")
    component = DocPrivatizer(KEYED)
    monkeypatch.setattr(dn.Release, "privatize_cells", lambda *_, **__: pytest.fail("drew"))

    def name_doc(record_id):
        doc = nlp.make_doc("the food")
        doc._.record_id = record_id
        return doc

    cases = [
        (lambda: make_docs(nlp, PRIVATE[:3], ["1", "2", "1"]), "rows 0 and 2"),
        (lambda: make_docs(nlp, PRIVATE[:3], ["1", "2"]), "2 for 3"),
        (lambda: list(component.pipe(map(name_doc, ["1", "2", "1"]))), "1 and 3"),
        (lambda: list(component.pipe(map(name_doc, [5.0, "5"]))), "1 and 2"),
        (lambda: list(component.pipe([name_doc(5.5)])), "5.5"),
        (lambda: component(nlp.make_doc("the food")), "record id"),
        (lambda: make_docs(nlp, "ab", ["1", "2"]), "str"),
        (lambda: make_docs(nlp, ["good", None], ["1", "2"]), "without"),
        (lambda: make_docs(nlp, ["good", 5], ["1", "2"]), "row 1"),
        (lambda: make_docs(nlp, None, ["1", "2"]), "NoneType"),
    ]
    for call, value in cases:
        with refuses(value):
            call()


@pytest.mark.parametrize(
    ("changes", "value"),
    [
        ({"key": KEY[:32].encode()}, "'key'"),
        ({"key": KEY}, "'key'"),
        ({"mechanism": "none"}, "'none'"),
        ({"epsilon": -1.0}, "'epsilon'"),
        ({"unknown": "keep"}, "'unknown'"),
        ({"fresh": True}, "fresh=True"),
    ],
)
def test_wrong_settings_are_named_in_one_line(config, changes, value):
    """A setting outside its domain is named; a key that stands in the settings is never shown."""
    with pytest.raises(dn.InputError) as caught:
        pipeline_of({**config, **changes})
    assert value in str(caught.value)
    assert "\n" not in str(caught.value)
    assert KEY[:32] not in str(caught.value)


def test_odd_texts_pass(config):
    """Scripts of other directions, emoji and NULs are read as in a batch; spaCy takes no lone surrogates."""
    texts = [f"{WORDS[0]} {piece} {WORDS[1]}" for piece in ODD_PIECES if piece != "\ud800"]
    ids = [str(number) for number in range(len(texts))]
    assert run(pipeline_of(config), texts, ids)[0] == release_of(config).batch(texts, ids).texts


def test_the_default_space_is_glove(monkeypatch):
    """Without a path the words are those of GloVe, with names, places and numbers hidden."""
    seen = {}
    monkeypatch.setattr(dn.Space, "glove", lambda **options: seen.update(options) or SPACE)
    pipeline_of({"mechanism": "tem", "epsilon": 1.0, "key": "seed:7"})
    assert seen == {"metric": "steps", "hide": ("names", "numbers", "places")}


def test_the_package_names_its_component():
    """The entry point of the package, by which spaCy finds the component unasked, is the factory."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    (target,) = project["entry-points"]["spacy_factories"].values()
    assert EntryPoint("deniable", target, "spacy_factories").load() is create_privatizer


@pytest.mark.deep
def test_spacy_starts_without_what_is_heavy():
    """Every start of spaCy imports the module, used or not: it loads neither Arrow nor compiled loops."""
    code = (
        "import sys, spacy; before = {*sys.modules}; import deniable.engines.spacy\n"
        "print(*sorted({name.partition('.')[0] for name in {*sys.modules} - before}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numba", "pyarrow", "randomgen", "scipy"} & set(done.stdout.split())
    assert "deniable" in done.stdout.split()
