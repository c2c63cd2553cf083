"""What a certificate says, and what it must not say."""

import dataclasses
import html
import json
import math
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deniable as dn
from tests.refusals import refuses
from tests.text.helpers import KEY, MECHANISM, SPACE, WORDS
from tests.text.tables.helpers import few

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
    "documents": list,
    "attacker": str,
    "bands": str,
    "most_exposed": str,
    "space": dict,
    "release": dict,
    "words": int,
    "expected_kept": str,
}
LAPLACE = dn.MultivariateLaplace(SPACE, epsilon=2.0)
CLAIMED = dn.TruncatedGumbel(SPACE, epsilon=60.0)


def tally_of(*lengths, **counts):
    """Return the counts of a release of records of so many words."""
    return dn.Tally(records=len(lengths), words=sum(lengths), lengths=Counter(lengths), **counts)


def certificate(mechanism=MECHANISM, tally=None, *, copied=(), chosen_from_data=False, prior=None, **options):
    release = dn.Release(mechanism, **options)
    settings = {"chosen_from_data": chosen_from_data, "copied": copied, "prior": prior}
    return dn.Certificate.of(release, tally or tally_of(3, 4), **settings)


def scaled(factor):
    """Return a mechanism whose law spends so many times what its guarantee says."""
    kernel = property(lambda self: dn.laws.ExponentialKernel(factor * self.epsilon / 2, self.cutoff))
    return type("Scaled", (dn.TEM,), {"kernel": kernel})(SPACE, epsilon=1.0)


def strict(text):
    """Return JSON read by the letter of the standard: no NaN, no Infinity, no repeated keys."""

    def pairs(members):
        assert len(dict(members)) == len(members)
        return dict(members)

    def refuse(constant):
        raise ValueError(constant)

    return json.loads(text, object_pairs_hook=pairs, parse_constant=refuse)


@pytest.mark.parametrize(
    "mechanism",
    [
        MECHANISM,
        dn.TEM(SPACE, epsilon=1.0, gamma=math.inf),
        dn.TEM(SPACE, epsilon=1e-310),
        dn.TEM(SPACE, epsilon=1e308),
        dn.CalibratedExponential(SPACE, epsilon=2.0),
        LAPLACE,
        CLAIMED,
    ],
    ids=repr,
)
def test_layout(mechanism):
    """A certificate is strict JSON with the fields of its schema, in order, and the verdict of `verify`."""
    text = certificate(mechanism).to_json()
    read, verdict = strict(text), dn.verify(mechanism)
    assert text.endswith("}\n")
    assert list(read) == list(FIELDS)
    assert {name: type(value) for name, value in read.items()} == FIELDS
    assert (read["schema"], read["deniable"]) == ("deniable-certificate/10", dn.__version__)
    assert (read["mechanism"]["name"], read["mechanism"]["epsilon"]) == (mechanism.name, mechanism.epsilon)
    assert read["mechanism"].keys() == {"name", *mechanism.parameters, *mechanism.derived_parameters}
    assert read["verification"] == {k: v for k, v in strict(json.dumps(verdict.to_dict())).items() if k != "seconds"}
    guarantee = dataclasses.replace(mechanism.guarantee, status=read["guarantee"]["status"])
    assert read["guarantee"] == guarantee.to_dict()
    assert read["guarantee"]["kind"] == "MetricDP"
    assert (read["guarantee"]["unit"], read["guarantee"]["adjacency"]) == ("word", "any two words")
    facts = {"words": 14, "metric": "euclidean", "hidden": {}, "fingerprint": SPACE.fingerprint}
    vectors = read["space"].pop("vectors")
    assert read["space"] == {"source": "given in memory", **facts}
    assert vectors["made_from"].startswith("public texts only")
    assert vectors["guarantee"] is None
    options = {"unknown": "draw", "case": "lower", "kept_words": 0, "unescape": None}
    assert read["release"] == {**options, "fingerprint": dn.Release(mechanism).fingerprint}
    assert (read["records"], read["words"], read["private"]) == (2, 7, True)


@pytest.mark.parametrize(
    ("mechanism", "status"),
    [
        (MECHANISM, "proved"),
        (CLAIMED, "claimed"),
        (LAPLACE, "proved for ideal arithmetic"),
        (dn.TEM(SPACE, epsilon=1e-310), "undecided"),
        (scaled(4), "refuted"),
    ],
    ids=["proved", "claimed", "ideal", "undecided", "refuted"],
)
def test_standing_is_no_higher_than_the_verdict(mechanism, status):
    """What is claimed, open, true of real numbers alone, or false is called so, in file, summary and odds."""
    made = certificate(mechanism)
    assert made.guarantee["status"] == status
    assert f"{status}: " in made.summary()
    assert dn.verify(mechanism).method in made.summary()
    assert all(entry["pure"]["status"] == status for entry in made.documents if status not in ("proved", "refuted"))
    assert bool(made.documents) == (status != "refuted")
    assert made.private == (status != "refuted")
    is_bounded, is_conditional = "up to" in made.meaning[0], made.meaning[0].startswith("if the guarantee holds")
    assert (is_bounded, is_conditional) == (status != "refuted", not status.startswith(("proved", "refuted")))
    assert ("integer tables" in made.arithmetic) == (mechanism is not LAPLACE)


def test_a_refuted_claim_is_told():
    """A law that breaks its claim stands as refuted with what it spends, rounded down."""
    made = certificate(scaled(4))
    least = made.verification["lower_bound"]
    assert least > 1.0
    (shown,) = re.findall(r"refuted: true epsilon >= (\S+)", made.summary())
    assert least * (1 - 1e-5) <= float(shown) <= least


@pytest.mark.parametrize(
    ("status", "lower", "upper", "text"),
    [
        ("proved", 2.0, 2.0, "exact epsilon 2\n"),
        ("proved", 1.4999994, 1.4999994, "exact epsilon 1.5, 25% of it unused"),
        ("proved", 1.9799999, 1.9799999, "exact epsilon 1.98, 1% of it unused"),
        ("undecided", 1.00000049, 3.0000001, "true epsilon from 1 to 3.00001"),
        ("undecided", 1.0, "inf", "claimed epsilon 2\n"),
        ("refuted", 4.25000099, "inf", "true epsilon >= 4.25\n"),
        ("refuted", 2.00000099, "inf", "true epsilon >= 2.00000099"),
        ("refuted", "inf", "inf", "true epsilon >= inf"),
    ],
)
def test_bounds_are_rounded_outward(status, lower, upper, text):
    """What a verdict says of the true epsilon is rounded so that it holds, a refuted bound beside its claim."""
    verification = {"status": status, "lower_bound": lower, "epsilon": upper, "guarantee": {"epsilon": 2.0}}
    made = dataclasses.replace(certificate(), verification={"method": "m", "witness": {}, **verification})
    assert text in made.summary()


def test_one_report_behind_every_rendering():
    """print and f-strings show the summary, and a notebook the same facts; the file holds what the summary tells."""
    made = certificate(unknown="mask", copied=("id",))
    summary, page = made.summary(), made.to_html()
    assert str(made) == f"{made}" == summary
    (section,) = made.make_report().sections
    for fact in section.facts:
        assert fact.label in summary
        assert all(line in summary for line in fact.format_lines())
        assert f"<dt>{fact.label}</dt>" in page
        assert f"<dt>{fact.label}</dt>" in made._repr_html_()
    assert not any(tag in made._repr_html_() for tag in ("<html", "<body", "<style"))
    held = (made.noise, made.expected_kept, made.attacker, made.guarantee["source"], made.verification["method"])
    for line in (*made.meaning, *made.not_protected, *held):
        assert line in summary


@pytest.mark.parametrize("key", [None, KEY, "seed:1"], ids=["random", "keyed", "public"])
def test_noise(key):
    """Only a public seed makes a release not private."""
    made = certificate(key=key)
    assert made.private == (key != "seed:1")
    assert ("not private" in made.noise) == (key == "seed:1")


def test_how_epsilon_was_chosen():
    """An epsilon that came from the private texts is told in the file and the summary, and so is what it shows."""
    blind, looked = certificate(), certificate(chosen_from_data=True)
    assert looked.chosen != blind.chosen
    assert looked.chosen in looked.summary()
    assert looked.not_protected[1:] == blind.not_protected
    assert "epsilon was chosen" not in blind.summary()
    assert dataclasses.replace(looked, chosen=blind.chosen, not_protected=blind.not_protected) == blind


def test_what_is_not_protected():
    """Everything that passes through is named: shape, capitals, unknown words, kept words, columns."""
    plain = certificate().not_protected
    assert len(plain) == 1
    for options, told in (
        ({"case": "copy"}, "capital letters"),
        ({"unknown": "mask"}, "[unknown]"),
        ({"unknown": "drop"}, "absent"),
        ({"keep": WORDS[:7]}, "7 public words"),
        ({"copied": ["id", "a, b"]}, "'id', 'a, b'"),
        ({"copied": [f"c{number}" for number in range(1000)]}, "'c19' and 980 more"),
    ):
        lines = certificate(**options).not_protected
        assert plain[0] in lines
        assert any(told in line for line in lines)
    with refuses("'stars'"):
        certificate(copied="stars")


@few
@given(st.integers(0, 7), st.integers(0, 7))
def test_private_figures_stay_out(changed, unknown):
    """How many words changed or were unknown does not alter a certificate."""
    assert certificate(tally=tally_of(3, 4, changed=changed, unknown=unknown)) == certificate(tally=tally_of(3, 4))


@few
@given(
    st.lists(st.lists(st.sampled_from([*WORDS, "zork", "blarg", "✓"]), min_size=3, max_size=3), min_size=2, max_size=2)
)
def test_texts_of_one_shape_have_one_certificate(texts):
    """Private texts whose records have as many words have the same certificate, whatever they say."""
    release = dn.Release(MECHANISM)
    tallies = [release.batch([" ".join(text) for text in batch]).tally for batch in (texts, [["the"] * 3] * 2)]
    one, other = (dn.Certificate.of(release, tally).to_json() for tally in tallies)
    assert one == other


def test_documents():
    """The median and the longest record have the guarantees of whole records of their lengths, rounded up."""
    mechanism = dn.TEM(SPACE, epsilon=0.5)
    made = certificate(mechanism, tally_of(0, 2, 2, 5, 300))
    assert [(entry["record"], entry["words"]) for entry in made.documents] == [("median", 2), ("longest", 300)]
    for entry in made.documents:
        found = mechanism.document_guarantee(entry["words"], 1e-6)
        for name, guarantee in (("pure", found.pure), ("approximate", found.approximate)):
            assert entry[name] == guarantee.to_dict()
        assert entry["approximate"]["epsilon"] <= entry["pure"]["epsilon"]
        assert (entry["approximate"]["delta"], entry["approximate"]["unit"]) == (1e-6, "record")
        line = next(line for line in made.summary().splitlines() if f"{entry['words']:,} words: epsilon" in line)
        shown = [float(one.replace(",", "")) for one in re.findall(r"(?:epsilon|or) (\S+?)(?=,? |$)", line)]
        exact = [entry["pure"]["epsilon"], entry["approximate"]["epsilon"]]
        assert all(real <= one <= 1.01 * real for one, real in zip(shown, exact, strict=False))
    assert made.documents[1]["pure"]["epsilon"] == pytest.approx(150 * made.documents[0]["pure"]["epsilon"])


@pytest.mark.parametrize(("lengths", "documents"), [([], []), ([0, 0], []), ([0, 0, 4], ["longest"])])
def test_documents_without_words(lengths, documents):
    """A record without words has no guarantee to tell of."""
    made = certificate(tally=tally_of(*lengths))
    assert [entry["record"] for entry in made.documents] == documents
    assert ("whole records" in made.summary()) == bool(documents)


@pytest.mark.parametrize("mechanism", [MECHANISM, LAPLACE], ids=["tem", "laplace"])
def test_attacker(mechanism, tmp_path):
    """The attacker's success and the words kept are those of the public prior, Zipf's law or counts, which is named."""
    (tmp_path / "counts.txt").write_text("london\t3\nfood\t1\n")
    prior, counts = dn.read_prior(tmp_path / "counts.txt", SPACE), {"london": 3, "food": 1}
    for given_prior, weights, blind in (
        (None, None, 100 / sum(1 / rank for rank in range(1, 15))),
        (prior, counts, 75),
    ):
        made = certificate(mechanism, prior=given_prior)
        assert f"{blind:.1f}%" in made.attacker
        assert f"{mechanism.expected_kept_share(weights)} of words" in made.expected_kept
        assert made.attacker in made.summary()
        assert ("counts.txt" in made.attacker) == ("counts.txt" in made.expected_kept) == (given_prior is prior)
        if mechanism is MECHANISM:
            (shown,) = re.findall(r"right for (\S+)% of words", made.attacker)
            outcomes = mechanism.outcomes(weights)
            shares = [outcomes.guessed, *(band.guessed for band in outcomes.bands), outcomes.rare_guessed]
            percents = [shown, *re.findall(r"(\S+)%", f"{made.bands} {made.most_exposed}")]
            for percent, share in zip(map(float, percents), [*shares, outcomes.exposed_share], strict=True):
                assert 100 * share <= percent <= 100 * share + 0.1 + 1e-9
            assert repr(outcomes.exposed_word) in made.most_exposed
        else:
            assert "at least" in made.attacker
            assert "not known" in made.bands
            assert "not known" in made.most_exposed
        assert made.bands in made.summary()
        assert made.most_exposed in made.summary()


def test_a_certificate_takes_no_prior_of_private_texts():
    """Figures under word frequencies of private texts would tell of them: they are refused."""
    prior = dn.Prior(np.full(14, 1 / 14), "the frequencies of this input", is_public=False)
    with refuses("the frequencies of this input"):
        certificate(prior=prior)


@pytest.mark.parametrize("epsilon", [0.31, 1.0, 2.3])
def test_odds_are_those_of_true_distances(epsilon):
    """The odds of two words, a nearest and a median one, are at least e to the loss between them, and hardly more."""
    mechanism = dn.TEM(SPACE, epsilon=epsilon)
    made = certificate(mechanism)
    words = [re.findall(r"'(\w+)' and '(\w+)'", line)[0] for line in made.meaning[:2]]
    word, near = words[0]
    distances = sorted(SPACE.neighbours(word, len(WORDS)), key=lambda pair: pair[1])
    assert near == distances[0][0]
    middle = len(distances) // 2
    assert words[1][1] in {distances[place][0] for place in (middle - 1, middle)}
    for line, (one, other) in zip(made.meaning[:2], words, strict=True):
        (odds,) = re.findall(r"a factor of up to (\S+)", line)
        shown = math.log(10) * float(odds[3:]) if odds.startswith("10^") else math.log(float(odds))
        loss = mechanism.guarantee.loss(SPACE.distance(one, other))
        assert loss - 1e-12 <= shown <= loss + 0.05
        assert html.escape(line) in made.to_html()
    assert certificate(dn.TEM(dn.Space(["the", "food"], [[0.0], [1.0]]), epsilon=epsilon)).meaning
