"""Certificates of rewritten texts: the law of the noise follows from the sizes of the model."""

import json

import pytest
import torch

from deniable import InputError
from deniable.checking import check_certificate
from deniable.checking.certificate_check import REWRITE_CERTIFICATE_SCHEMA as CHECKED_SCHEMA
from deniable.checking.rewriting import expect_rewrite_certificate
from deniable.checking.statements import Statements
from deniable.registry.methods import METHODS_WITH_DELTA, REWRITING_METHODS
from deniable.rewriting.certificate import REWRITE_CERTIFICATE_SCHEMA, certify_rewriting
from deniable.text.tables.layout import CopiedContent
from tests.checking.mutations import check_mutations, list_leaves, mutate
from tests.rewriting.untrained import untrained

MODEL = untrained()
WIDE = {
    "columns": ("title", "text"),
    "nulls": True,
    "unescape": "html",
    "copied": CopiedContent(("id",), (), is_selection=True),
}


def make(name="tokens", seed=None, **options):
    """Return the fields of a certificate as a file holds them."""
    delta = {"delta": 1e-5} if name in METHODS_WITH_DELTA else {}
    method = REWRITING_METHODS[name](MODEL, epsilon=5.0, seed=seed, **delta)
    return json.loads(certify_rewriting(method, 7, 9 if options else 6, **options).to_json())


def test_the_schema():
    """The layout that is checked is the one that is written."""
    assert CHECKED_SCHEMA == REWRITE_CERTIFICATE_SCHEMA


@pytest.mark.parametrize("name", REWRITING_METHODS)
@pytest.mark.parametrize("options", [{}, {"seed": 3}, WIDE])
def test_what_was_written_is_confirmed(name, options):
    """The certificate of every method holds, and its guarantee is recomputed without the model."""
    document = make(name, **options)
    check = check_certificate(document)
    assert (check.overall, check.select("contradicted")) == ("recomputed", [])
    assert len(check.fields) == len(list_leaves(document))
    statuses = {field.path: field.status for field in check.fields}
    assert statuses["guarantee.epsilon"] == statuses["verification.epsilon"] == statuses["private"] == "recomputed"


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("tokens", {"coordinates", "radius"}),
        ("tokens-mixed", {"coordinates", "radius"}),
        ("adept", {"words"}),
        ("adept-gaussian", {"words"}),
        ("dptext-fixed", {"words"}),
    ],
)
def test_every_changed_leaf_is_noticed(name, sizes):
    """Nothing else than this can be changed unnoticed: counts, and what the law does not depend on."""
    unnoticed = check_mutations(make(name, **WIDE))
    stated = {"deniable", "records", "texts", "not_protected[1]", "model.fingerprint"}
    assert unnoticed == stated | {f"model.{size}" for size in sizes}


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
    ],
)
def test_sizes_without_bound(steps, value):
    """What would take forever, or cannot be built, is refused in one line."""
    with pytest.raises(InputError) as caught:
        check_certificate(mutate(make(), steps, value))
    assert "\n" not in str(caught.value)


def test_counts_that_cannot_be():
    """Seven records of two columns have no fifteen texts."""
    check = check_certificate({**make(**WIDE), "texts": 15})
    assert [field.path for field in check.select("contradicted")] == ["texts"]


def test_a_row_of_very_many_texts():
    """The epsilon of a row is that of all its texts; of more than are computed, nothing counts as checked."""
    document = make(**WIDE)
    assert check_certificate(mutate(document, ["row", "texts"], 3)).overall == "contradicted"
    document = mutate(mutate(document, ["row", "texts"], 10_001), ["row", "epsilon"], 50_000.0)
    with pytest.raises(InputError, match=r"row\.texts must be an integer from 1 to 10,000"):
        check_certificate(document)


def test_without_torch(monkeypatch):
    """Where torch is missing, one line says what to install."""
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(InputError, match=r"install deniable\[train\]"):
        expect_rewrite_certificate(Statements({}))
    assert torch is not None
