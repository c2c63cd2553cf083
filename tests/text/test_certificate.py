"""What a certificate says, and what it must not say."""

import dataclasses
import html
import json
import math
import re
from collections import Counter

import pytest
from hypothesis import given
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
    __version__,
    recovery,
    verify,
)
from deniable.core.evidence import limit_status
from deniable.core.guarantees import encode_guarantee
from deniable.core.numbers import as_percent, format_lower, format_odds, format_upper
from deniable.text.certificate import (
    choose_example_words,
    describe_attacker,
    describe_expected_kept,
    format_total_loss,
)
from deniable.text.tables.layout import CopiedContent
from deniable.words.laws.exponential import ExponentialKernel
from deniable.words.prior import build_prior
from tests.text.helpers import MECHANISM, SPACE, WORDS

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
    "space": dict,
    "release": dict,
    "words": int,
    "expected_kept": str,
}
NOTHING = CopiedContent()
KEYS = {"random": None, "keyed": bytes(range(32)), "public seed": "seed:1"}


def certificate(mechanism=MECHANISM, tally=None, *, copied=NOTHING, chosen_from_data=False, **options):
    release = Release(mechanism, **options)
    return Certificate.of(release, tally or tally_of(3, 4), chosen_from_data=chosen_from_data, copied=copied)


def tally_of(*lengths, **counts):
    """Return the counts of a release of records of so many words."""
    return Tally(records=len(lengths), words=sum(lengths), lengths=Counter(lengths), **counts)


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
        TEM(SPACE, epsilon=1.0, gamma=math.inf),
        TEM(SPACE, epsilon=1e-310),
        TEM(SPACE, epsilon=1e308),
        CalibratedExponential(SPACE, epsilon=2.0),
        TightExponential(SPACE, epsilon=2.0),
        MultivariateLaplace(SPACE, epsilon=2.5),
        TruncatedGumbel(SPACE, epsilon=60.0),
    ],
    ids=repr,
)
def test_layout(mechanism):
    """A certificate is strict JSON with the fields of its schema, in order."""
    text = certificate(mechanism).to_json()
    read = strict(text)
    assert text.endswith("}\n")
    assert list(read) == list(FIELDS)
    assert {name: type(value) for name, value in read.items()} == FIELDS
    assert read["schema"] == "deniable-certificate/7"
    assert read["deniable"] == __version__
    assert read["mechanism"]["name"] == mechanism.name
    assert read["mechanism"]["epsilon"] == mechanism.epsilon
    assert read["mechanism"].keys() == {"name", *mechanism.parameters, *mechanism.derived_parameters}
    shown = limit_status(mechanism.guarantee, verify(mechanism))
    assert read["guarantee"] == {"kind": "MetricDP", **dataclasses.asdict(shown)}
    assert (read["guarantee"]["unit"], read["guarantee"]["adjacency"]) == ("word", "any two words")
    assert read["space"] == {
        "source": "given in memory",
        "words": len(WORDS),
        "dimensions": 3,
        "metric": "euclidean",
        "hidden": {},
        "fingerprint": SPACE.fingerprint,
    }
    assert read["release"] == {
        "unknown": "draw",
        "case": "lower",
        "kept_words": 0,
        "unescape": None,
        "fingerprint": Release(mechanism).fingerprint,
    }
    assert (read["records"], read["words"]) == (2, 7)
    assert read["private"] is True


def test_copied_columns_may_be_named_alone():
    """The names of copied columns serve in place of a description of a file; one text is refused."""
    names = certificate(copied=["stars", "team"])
    assert names == certificate(copied=CopiedContent(columns=("stars", "team")))
    assert names.not_protected[-1] == "the columns copied unchanged: 'stars', 'team'"
    with pytest.raises(
        InputError, match=r"'copied' parameter of Certificate must be a list of column names. Got 'stars'"
    ):
        certificate(copied="stars")


def test_a_certificate_prints_as_its_summary():
    """print and f-strings show the summary, and a notebook the same facts; neither shows the fields."""
    one = certificate()
    assert str(one) == f"{one}" == one.summary()
    page = one._repr_html_()
    assert page.startswith("<h3>2 records, 7 words, by tem</h3>")
    assert all(f"<dt>{label}</dt>" in page for label in ("guarantee", "verification", "attacker", "not protected"))
    assert not any(tag in page for tag in ("<html", "<body", "<style"))


def test_arithmetic_tells_how_draws_were_made():
    """Only draws from integer tables are called so."""
    assert "integer tables" in certificate().arithmetic
    assert "floating point" in certificate(MultivariateLaplace(SPACE, epsilon=1.0)).arithmetic


def test_standing_is_told():
    """A guarantee that is only claimed is called claimed, in the file and in the summary."""
    claimed = certificate(TruncatedGumbel(SPACE, epsilon=60.0))
    assert claimed.guarantee["status"] == "claimed"
    assert "claimed: " in claimed.summary()
    assert "proved: " in certificate().summary()


def test_standing_is_no_higher_than_the_verdict():
    """A theorem about real numbers, and tables whose verification is undecided, are not shown as proofs."""
    simulated = certificate(MultivariateLaplace(SPACE, epsilon=1.0))
    assert simulated.guarantee["status"] == simulated.verification["status"] == "proved for ideal arithmetic"
    rounded = certificate(TEM(SPACE, epsilon=1e-310))
    assert rounded.guarantee["status"] == rounded.verification["status"] == "undecided"
    assert "undecided: Carvalho et al. 2021" in rounded.summary()


@pytest.mark.parametrize("noise", ["random", "keyed", "public seed"])
def test_noise(noise):
    """Only a public seed makes a release not private."""
    made = certificate(key=KEYS[noise])
    assert made.private == (noise != "public seed")
    assert ("not private: public seed" in made.noise) == (noise == "public seed")
    assert made.noise in made.summary()


def test_how_epsilon_was_chosen():
    """An epsilon that came from the private texts is told in the file and the summary, and so is what it shows."""
    blind, looked = certificate(), certificate(chosen_from_data=True)
    assert looked.chosen == "from the private texts themselves: the guarantee does not cover the choice"
    assert f"epsilon was chosen {looked.chosen}\n" in looked.summary()
    assert looked.not_protected == [
        "what the choice of epsilon, made from the private texts, shows of them",
        *blind.not_protected,
    ]
    assert blind.chosen.startswith("by the owner, who did not declare")
    assert "epsilon was chosen" not in blind.summary()
    assert dataclasses.replace(looked, chosen=blind.chosen, not_protected=blind.not_protected) == blind


def test_what_is_not_protected():
    """Everything that passes through is named: shape, capitals, unknown words, kept words, columns."""
    plain = certificate().not_protected
    assert len(plain) == 1
    assert "number and order of words" in plain[0]
    assert any("capital letters" in line for line in certificate(case="copy").not_protected)
    assert any("[unknown]" in line for line in certificate(unknown="mask").not_protected)
    assert any("absent" in line for line in certificate(unknown="drop").not_protected)
    assert any(line.startswith("7 public words") for line in certificate(keep=WORDS[:7]).not_protected)
    [named] = [line for line in certificate(copied=CopiedContent(("id", "a, b"))).not_protected if "columns" in line]
    assert named == "the columns copied unchanged: 'id', 'a, b'"


def test_many_columns_are_counted():
    """Of many copied columns some are named and the others counted."""
    [named] = [
        line
        for line in certificate(copied=CopiedContent(tuple(f"c{i}" for i in range(1000)))).not_protected
        if "c0" in line
    ]
    assert named.endswith("'c19' and 980 more")


@given(st.integers(0, 7), st.integers(0, 7))
def test_private_figures_stay_out(changed, unknown):
    """How many words changed or were unknown does not alter a certificate."""
    assert certificate(tally=tally_of(3, 4, changed=changed, unknown=unknown)) == certificate(tally=tally_of(3, 4))


@pytest.mark.parametrize(
    "mechanism",
    [MECHANISM, CalibratedExponential(SPACE, epsilon=2.0), MultivariateLaplace(SPACE, epsilon=2.0)],
    ids=lambda mechanism: mechanism.name,
)
def test_verification_is_that_of_the_mechanism(mechanism):
    """The certificate holds the verdict of `verify` on the mechanism itself, and the summary tells of it."""
    made, verdict = certificate(mechanism), verify(mechanism)
    assert made.verification == verdict.to_dict()
    assert verdict.method in made.summary()
    assert f"verification   {verdict.status}: " in made.summary()
    stated = "exact epsilon " if verdict.witness else "claimed epsilon 2\n"
    assert stated in made.summary()


def test_a_refuted_claim_is_told():
    """A law that breaks its claim stands as refuted in the file and in the summary, with what it spends."""

    class Broken(TEM):
        @property
        def kernel(self):
            return ExponentialKernel(4 * self.epsilon, self.gamma)

    made = certificate(Broken(SPACE, epsilon=1.0))
    assert made.verification["status"] == "refuted"
    least = made.verification["lower_bound"]
    assert least > 1.0
    assert f"verification   refuted: true epsilon >= {format_lower(least, 6)}" in made.summary()


def test_documents():
    """The median and the longest record have the guarantees of whole records of their lengths."""
    mechanism = TEM(SPACE, epsilon=0.5)
    made = certificate(mechanism, tally_of(0, 2, 2, 5, 300))
    assert [(entry["record"], entry["words"]) for entry in made.documents] == [("median", 2), ("longest", 300)]
    for entry in made.documents:
        found = mechanism.document_guarantee(entry["words"], 1e-6)
        assert entry["pure"] == encode_guarantee(found.pure)
        assert entry["approximate"] == encode_guarantee(found.approximate)
        assert entry["approximate"]["epsilon"] <= entry["pure"]["epsilon"]
        assert (entry["approximate"]["delta"], entry["approximate"]["unit"]) == (1e-6, "record")
        assert entry["pure"]["adjacency"] == f"any two texts of {entry['words']:,} words"
        assert f"the {entry['record']} record, {entry['words']:,} words: epsilon " in made.summary()
    assert made.documents[1]["pure"]["epsilon"] == pytest.approx(150 * made.documents[0]["pure"]["epsilon"])


@pytest.mark.parametrize(("lengths", "documents"), [([], []), ([0, 0], []), ([0, 0, 4], ["longest"])])
def test_documents_without_words(lengths, documents):
    """A record without words has no guarantee to tell of."""
    made = certificate(tally=tally_of(*lengths))
    assert [entry["record"] for entry in made.documents] == documents
    assert ("whole records" in made.summary()) == bool(documents)


def test_attacker():
    """The attacker's success is that of `recovery` where the law is known, and called a lower bound elsewhere."""
    blind = as_percent(1 / sum(1 / rank for rank in range(1, len(WORDS) + 1)))
    made = certificate()
    condition = "if words follow Zipf's law by the space's ranks"
    assert (
        f"names {format_upper(as_percent(recovery(MECHANISM)), decimals=1)} % of words, {condition} (" in made.attacker
    )
    assert f"without the output: {blind:.1f} %" in made.attacker
    assert f"attacker       {made.attacker}" in made.summary()
    assert "at least" not in made.attacker
    assert "names at least " in certificate(MultivariateLaplace(SPACE, epsilon=2.0)).attacker
    assert (
        f"at least {format_lower(blind, decimals=1)} %"
        in certificate(MultivariateLaplace(SPACE, epsilon=1e-3)).attacker
    )


@pytest.mark.parametrize("kind", [TEM, MultivariateLaplace])
def test_figures_under_public_counts_name_them(kind):
    """Under another prior the attacker's success and the words kept are those of that prior, and name it."""
    mechanism, counts = kind(SPACE, epsilon=2.0), {"london": 3, "food": 1}
    prior = build_prior(SPACE, counts, "the counts of 'counts.txt'", is_public=True)
    line, kept = describe_attacker(mechanism, prior), describe_expected_kept(mechanism, prior)
    assert ", if words follow the counts of 'counts.txt' (without the output: 75.0 %; " in line
    assert kept == f"{mechanism.expected_kept_share(counts)} of words, if words follow the counts of 'counts.txt'"
    if kind is TEM:
        assert f"names {format_upper(as_percent(recovery(mechanism, counts)), decimals=1)} % of words" in line


@pytest.mark.parametrize("line", [describe_attacker, describe_expected_kept])
def test_a_certificate_takes_no_prior_of_private_texts(line):
    """Figures under word frequencies of private texts would tell of them: they are refused."""
    prior = build_prior(SPACE, {"london": 3}, "the frequencies of this input", is_public=False)
    with pytest.raises(
        InputError, match="Got the prior of the frequencies of this input, which is not declared public"
    ):
        line(MECHANISM, prior)


@given(
    st.lists(st.lists(st.sampled_from([*WORDS, "zork", "blarg", "✓"]), min_size=3, max_size=3), min_size=2, max_size=2)
)
def test_texts_of_one_shape_have_one_certificate(texts):
    """Private texts whose records have as many words have the same certificate, whatever they say."""
    made = []
    for batch in (texts, [["the"] * 3] * 2):
        release = Release(MECHANISM)
        made.append(Certificate.of(release, release.batch([" ".join(text) for text in batch]).tally))
    assert made[0] == made[1]
    assert made[0].to_json() == made[1].to_json()


def test_summary_holds_everything():
    """The summary tells a person what the file tells a program."""
    made = certificate(unknown="mask", copied=CopiedContent(("id",)))
    summary = made.summary()
    held = (made.noise, made.expected_kept, made.attacker, made.guarantee["source"], made.verification["method"])
    for line in (*made.meaning, *made.not_protected, *held):
        assert line in summary
    assert summary.startswith("2 records, 7 words, by tem\n")


def test_meaning_uses_true_distances():
    """The odds in a certificate are those of the guarantee between the words that it names."""
    word, near, far = choose_example_words(SPACE)
    assert near == SPACE.neighbours(word, 1)[0][0]
    distances = [distance for _, distance in SPACE.neighbours(word, len(WORDS))]
    assert (
        sorted(distances)[len(distances) // 2 - 1]
        <= SPACE.distance(word, far)
        <= sorted(distances)[len(distances) // 2]
    )
    text = certificate().meaning[0]
    assert f"{format_odds(MECHANISM.guarantee.loss(SPACE.distance(word, near)), format_upper)}-fold" in text


def test_examples_in_a_space_of_two():
    """Two words are enough for a certificate."""
    space = Space(["the", "food"], [[0.0], [1.0]])
    assert certificate(TEM(space, epsilon=1.0)).meaning


@pytest.mark.parametrize(("scale", "begin"), [(4.0, "the claim is false"), (0.5, "one output word")])
def test_odds_are_told_no_firmer_than_the_guarantee_stands(scale, begin):
    """A refuted claim bounds no odds, and none are told from it."""
    other = type(
        "Other", (TEM,), {"kernel": property(lambda self: ExponentialKernel(scale * self.epsilon, self.gamma))}
    )
    release = Release(other(SPACE, epsilon=1.0))
    found = Certificate.of(release, release.batch(["london"], ["1"]).tally)
    assert found.meaning[0].startswith(begin)


def test_odds_of_what_is_only_claimed_are_conditional():
    """A certificate says of a guarantee that nobody proved what it would mean, if it holds."""
    claimed, proved = certificate(TruncatedGumbel(SPACE, epsilon=60.0)).meaning, certificate().meaning
    assert claimed[0].startswith("if the guarantee holds, which is claimed: one output word changes anyone's odds")
    assert proved[0].startswith("one output word changes anyone's odds")


@given(st.floats(0.01, 1e6), st.floats(0.01, 1e6), st.sampled_from([1e-6, 1 / 300_000]))
def test_a_whole_record_has_what_is_printed(pure, approximate, delta):
    """Both epsilons of a record are printed rounded up, and delta is not rounded down."""
    composed = {"epsilon": approximate, "delta": delta, "status": "proved"}
    numbers = re.findall(
        r"(?:epsilon|or|delta) (\S+?)(?=,? |$)", format_total_loss({"pure": {"epsilon": pure}, "approximate": composed})
    )
    shown = [float(number.replace(",", "")) for number in numbers]
    expected = [pure, approximate, delta] if approximate < pure else [pure]
    assert all(one >= other for one, other in zip(shown, expected, strict=True))
    assert (
        format_total_loss({"pure": {"epsilon": 1930.22}, "approximate": {**composed, "epsilon": 2e3}})
        == "epsilon 1,931"
    )


def test_odds_of_the_meaning_are_not_rounded_down():
    """What a certificate says of two words is at least e to the loss between them, at every distance."""
    for epsilon in (0.31, 1.0, 2.3):
        mechanism = TEM(SPACE, epsilon=epsilon)
        made = certificate(mechanism)
        word, *others = choose_example_words(SPACE)
        for line, other in zip(made.meaning[:2], others, strict=True):
            (odds,) = re.findall(r"at most (\S+)-fold", line)
            shown = math.log(10) * float(odds[3:]) if odds.startswith("10^") else math.log(float(odds))
            assert shown >= mechanism.guarantee.loss(SPACE.distance(word, other)) - 1e-12
            assert html.escape(line) in made.to_html()
            assert line in made.summary()
