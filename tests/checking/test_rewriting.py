"""Certificates of rewritten texts: the law of the noise follows from the sizes of the model."""

import functools
import json
import sys

import pytest

import deniable as dn
from tests.checking.mutations import check_as_written, check_mutations, get_status, list_wrong, mutate
from tests.commands import run
from tests.refusals import refuses
from tests.rewriting.untrained import untrained

deep = pytest.mark.deep
VECTOR = ("adept-gaussian", "adept-l1", "adept-true", "adept-norm", "dptext-fixed", "dptext-norm", "adept", "dptext")
METHODS = ("tokens", "tokens-mixed", *VECTOR)
WIDE = ("-c", "title", "-c", "text", "--unescape", "html")


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    """Return a function that gives the fields of the certificate that a command writes."""
    place = tmp_path_factory.mktemp("rewriting")
    dn.texts.save_model(untrained(), place / "model.pt")
    rows = [{"id": number, "title": "a flight", "text": "show me all"} for number in range(7)]
    (place / "table.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    @functools.cache
    def make(name="tokens", *options):
        delta = ("--delta", "1e-5") if name == "adept-gaussian" else ()
        refuted = ("--allow-refuted",) if name in {"adept", "dptext"} else ()
        given = ("--epsilon", 5, "--method", name, "-o", place / "out.jsonl", "--force", *delta, *refuted, *options)
        done = run("rewrite", place / "model.pt", place / "table.jsonl", *given)
        assert done.code == 0, done.err
        return json.loads((place / "out.jsonl.certificate.json").read_text())

    return make


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, WIDE) for name in METHODS),
        *(pytest.param(name, (), marks=deep) for name in METHODS),
    ],
)
def test_what_was_written_is_confirmed(make, name, options):
    """The certificate of every method holds, and its guarantee is recomputed without the model."""
    check = check_as_written(make(name, *options))
    for path in ("guarantee.epsilon", "verification.epsilon", "private"):
        assert get_status(check, path) == "recomputed"


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("tokens", {"coordinates", "radius"}),
        ("adept-gaussian", {"words"}),
        pytest.param("tokens-mixed", {"coordinates", "radius"}, marks=deep),
        pytest.param("adept", {"words"}, marks=deep),
        pytest.param("dptext-fixed", {"words"}, marks=deep),
    ],
)
def test_every_changed_leaf_is_noticed(make, name, sizes):
    """Nothing else than this can be changed unnoticed: counts, and what the law does not depend on."""
    unnoticed = check_mutations(make(name, *WIDE)) - {"texts"}
    assert unnoticed == {
        "deniable",
        "records",
        "not_protected[1]",
        "model.fingerprint",
        *(f"model.{size}" for size in sizes),
    }


@pytest.mark.parametrize(
    ("steps", "value"),
    [
        (("mechanism", "name"), "none"),
        (("mechanism", "epsilon"), 1e9),
        (("mechanism", "epsilon"), 1e-300),
        (("mechanism", "draws"), 10**9),
        (("model", "words"), 10**9),
        (("model", "limit"), 0),
        (("model", "coordinates"), 10**9),
        (("model", "radius"), -1),
        (("row", "texts"), 10_001),
    ],
)
def test_sizes_without_bound(make, steps, value):
    """What would take forever, or cannot be built, is refused in one line."""
    with refuses(steps[-1]):
        dn.check_certificate(mutate(make("tokens", *WIDE), steps, value))


def test_counts_that_cannot_be(make):
    """Seven records of two columns have no fifteen texts, and the epsilon of a row is that of all its texts."""
    document = make("tokens", *WIDE)
    assert list_wrong(dn.check_certificate({**document, "texts": 15})) == ["texts"]
    assert dn.check_certificate(mutate(document, ["row", "texts"], 3)).overall == "contradicted"


def test_without_torch(make, monkeypatch):
    """Where torch is missing, one line says what to install."""
    document = make()
    monkeypatch.setitem(sys.modules, "torch", None)
    with refuses("deniable[train]"):
        dn.check_certificate(document)
