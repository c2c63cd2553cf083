"""What the certificate of rewritten texts says, and what it must not say."""

import dataclasses
import json
import math

import pytest
import torch

from deniable import __version__
from deniable.core.numbers import format_lower
from deniable.registry.methods import METHODS_WITH_DELTA, REWRITING_METHODS
from deniable.rewriting.certificate import (
    REWRITE_CERTIFICATE_SCHEMA,
    _describe_meaning,
    certify_rewriting,
    describe_training_texts,
    fingerprint_rewriter,
)
from deniable.text.tables.layout import CopiedContent
from tests.rewriting.untrained import FACTS, untrained

MODEL = untrained()
FIELDS = {
    "schema": str,
    "deniable": str,
    "private": bool,
    "mechanism": dict,
    "guarantee": dict,
    "verification": dict,
    "noise": str,
    "arithmetic": str,
    "steps": list,
    "meaning": list,
    "records": int,
    "not_protected": list,
    "chosen": str,
    "row": dict,
    "model": dict,
    "texts": int,
}
REFUTED = {"adept", "dptext"}


def build(name, **options):
    """Return a method on the model, with a delta where it needs one."""
    delta = {"delta": 1e-5} if name in METHODS_WITH_DELTA else {}
    return REWRITING_METHODS[name](MODEL, epsilon=5.0, **delta, **options)


def certificate(name="adept-true", records=3, texts=3, model=MODEL, seed=None, **options):
    """Return the certificate of a release by a method."""
    method = build(name, seed=seed)
    if model is not MODEL:
        method = dataclasses.replace(method, model=model)
    return certify_rewriting(method, records, texts, **options)


def strict(text):
    """Return JSON read by the letter of the standard."""

    def refuse(constant):
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("name", REWRITING_METHODS)
def test_layout(name):
    """A certificate is strict JSON with the fields of its schema, in order, for every method."""
    text = certificate(name).to_json()
    read = strict(text)
    assert text.endswith("}\n")
    assert list(read) == list(FIELDS)
    fields = {**FIELDS, "row": type(None)} if name in REFUTED else FIELDS
    assert {key: type(value) for key, value in read.items()} == fields
    assert (read["schema"], read["deniable"]) == (REWRITE_CERTIFICATE_SCHEMA, __version__)
    method = build(name)
    assert read["mechanism"] == {"name": name, **method.parameters}
    stated = {key: value for key, value in read["guarantee"].items() if key not in {"kind", "of"}}
    assert stated == dataclasses.asdict(method.guarantee)
    assert read["guarantee"]["kind"] == type(method.guarantee).__name__
    assert read["guarantee"]["of"] == (
        "one text, whatever it says, of which the first 12 tokens enter (local differential privacy)"
    )
    assert read["private"] is (name not in REFUTED)
    assert (read["records"], read["texts"]) == (3, 3)


@pytest.mark.parametrize("name", REWRITING_METHODS)
def test_the_verdict_is_the_method_s(name):
    """The certificate holds the method's own verdict, but for the time that it took, and the summary its status."""
    made, verdict = certificate(name), build(name).verify().to_dict()
    assert made.verification == {key: value for key, value in verdict.items() if key != "seconds"}
    assert f"verification   {verdict['status']}: " in made.summary()
    assert verdict["method"] in made.summary()


@pytest.mark.parametrize("name", sorted(REFUTED))
def test_a_refuted_method_is_told(name):
    """A false claim stands as refuted, promises nothing for rows, and states the true loss."""
    made = certificate(name)
    assert made.guarantee["status"] == "refuted"
    assert made.row is None
    assert made.meaning[0].startswith("the claim is false: ")
    assert ("without bound" in made.meaning[0]) == (name == "dptext")
    assert "treat them as not private" in made.meaning[1]
    least = "inf" if name == "dptext" else format_lower(5 * math.sqrt(8), 6)
    assert f"verification   refuted: true epsilon >= {least}\n" in made.summary()
    assert "at most" not in "".join(made.meaning)


@pytest.mark.parametrize("name", REWRITING_METHODS)
def test_a_seed_is_told(name):
    """Noise from a public seed makes every release not private, and says so in place of what one text tells."""
    made = certificate(name, seed=1)
    assert not made.private
    assert made.row is None
    assert made.noise.startswith("not private: public seed")
    assert made.guarantee["status"] == made.verification["status"] == "refuted"
    assert made.meaning == ["nothing is protected: the seed undoes the noise"]
    assert "fresh noise" in certificate(name).noise


def test_meaning():
    """A proved release says whom it holds for, what the odds are, and that texts of one person add up."""
    pure, approximate = certificate("tokens").meaning, certificate("adept-gaussian").meaning
    assert pure[0] == "one new text changes anyone's odds between any two private texts at most 149-fold"
    assert approximate[0] == f"{pure[0]}, with delta 1e-05 on top"
    assert "text as a whole" in pure[1]
    assert "word by word" in pure[1]
    assert "add up" in pure[2]


def test_rows_with_several_texts():
    """The texts of one row spend their epsilons and deltas together."""
    assert certificate("adept-true").row == {"texts": 1, "epsilon": 5.0}
    assert "of a row together" not in certificate("adept-true").summary()
    two = certificate("adept-gaussian", columns=["a", "b"])
    assert two.row == {"texts": 2, "epsilon": 10.0, "delta": 2e-5}
    assert "2 texts of a row together: epsilon 10 and delta 2e-05" in two.summary()


def test_what_is_not_protected():
    """Number and order, nulls, copied columns, the training texts and the choice of epsilon are named."""
    plain = certificate().not_protected
    assert plain[0] == "number and order of the records, line ends"
    assert certificate(nulls=True).not_protected[0] == f"{plain[0]}, and which texts are null"
    assert "if they were private, that is a leak that the guarantee does not cover" in plain[1]
    assert "4,478 texts" in plain[1]
    assert plain[2].startswith("what the choice of epsilon, method and model shows")
    assert (
        certificate(copied=CopiedContent(("id", "a, b"))).not_protected[1]
        == "the columns copied unchanged: 'id', 'a, b'"
    )
    assert (
        certificate(copied=CopiedContent(tuple(f"c{i}" for i in range(1000))))
        .not_protected[1]
        .endswith("'c19' and 980 more")
    )


def test_what_the_model_was_trained_on():
    """Both stages of a training are told, with the noise of the second; a model without facts says nothing."""
    second = {**FACTS, "records": 12, "options": {"noise": ("laplace", 0.25)}, "first stage": FACTS}
    assert describe_training_texts(untrained(facts=FACTS)) == "4,478 texts, as its file states"
    assert (
        describe_training_texts(untrained(facts=second))
        == "12 texts with laplace noise of scale 0.25, after 4,478 texts, as its file states"
    )
    assert describe_training_texts(untrained(facts={})) == "texts that its file does not describe"
    endless = {**FACTS}
    endless["first stage"] = endless
    assert describe_training_texts(untrained(facts=endless)).count("4,478") == 20
    odd = [{"records": "many"}, {**FACTS, "options": None}, {**FACTS, "options": {"noise": (1,)}}]
    odd += [{**FACTS, "options": {"noise": (law, 1.0)}} for law in ("proved", "a\nb", ["laplace"])]
    odd += [{"records": count} for count in (-5, 1.5, True, "0")]
    assert {describe_training_texts(untrained(facts=facts)) for facts in odd} == {
        "texts that its file does not describe"
    }
    made = certificate(model=untrained(facts=second))
    assert made.model["trained on"] in made.summary()


def test_models_are_told_apart():
    """The fingerprint follows weights, words and limit, and nothing else."""
    assert (
        fingerprint_rewriter(untrained())
        == fingerprint_rewriter(untrained(facts={}))
        == certificate().model["fingerprint"]
    )
    other = untrained()
    with torch.no_grad():
        other.network.bias[0] += 1
    found = {fingerprint_rewriter(model) for model in (MODEL, other, untrained(limit=11), untrained(["show", "us"]))}
    assert len(found) == 4


def test_summary_holds_everything():
    """The summary tells a person what the file tells a program."""
    made = certificate(
        "adept-gaussian", records=1000, texts=2000, columns=["a", "b"], copied=CopiedContent(("id",)), nulls=True
    )
    summary = made.summary()
    assert summary.startswith("1,000 records, 2,000 texts, by adept-gaussian\n")
    assert "guarantee      epsilon 5 and delta 1e-05 for one text" in summary
    for line in (made.noise, made.guarantee["source"], made.model["trained on"], *made.meaning, *made.not_protected):
        assert line in summary


@pytest.mark.parametrize("status", ["proved", "undecided"])
def test_odds_of_what_is_not_proved_are_conditional(status):
    """What one text can tell is said without a condition only where the guarantee is proved."""
    method = build("adept-gaussian")
    guarantee = dataclasses.replace(method.guarantee, status=status)
    line = _describe_meaning(guarantee, dataclasses.replace(method.verify(), status=status), seeded=False)[0]
    assert line.startswith("if the guarantee holds, which is undecided: one new text") == (status == "undecided")
