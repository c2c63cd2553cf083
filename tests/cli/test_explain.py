"""``deniable explain``: the law of one word, unknown words, and errors."""

import os
import re
import subprocess

import pytest

from deniable import TEM, Space, TruncatedGumbel, recovery, verify
from deniable.core.numbers import as_percent, format_upper
from tests.cli.programs import PROGRAM
from tests.messages import select_messages


def explained(text):
    """Return the table of outputs: word -> (probability, distance)."""
    rows = re.findall(r"^(\S+) +(\d\.\d{6}) +(\d+\.\d{3})$", text, flags=re.MULTILINE)
    return {word: (float(probability), float(distance)) for word, probability, distance in rows}


@pytest.mark.parametrize(("name", "make", "epsilon"), [("tem", TEM, 2.0), ("truncated-gumbel", TruncatedGumbel, 60.0)])
def test_explain_an_exact_law(call, name, make, epsilon):
    """The likeliest outputs are shown in order, with the law's probabilities and the distances."""
    options = ["--space", "space.npz", "--hide", "none", "--epsilon", epsilon, "--mechanism", name]
    result = call("explain", "London", *options)
    assert result.code == 0
    space = Space.load("space.npz", hide=())
    law = dict(zip(space.words, make(space, epsilon=epsilon).probabilities("london"), strict=True))
    shown = explained(result.text)
    assert len(shown) == 10
    assert list(shown) == sorted(law, key=law.get, reverse=True)[:10]
    for word, (probability, distance) in shown.items():
        assert probability == pytest.approx(law[word], abs=1e-6)
        assert distance == pytest.approx(space.distance("london", word), abs=1e-3)
    assert "exact law over 14 words of space.npz" in result.text
    verdict = verify(make(space, epsilon=epsilon))
    assert f"verified: {verdict.status}, {verdict.method}\n" in result.text
    assert "attacker: an attacker who knows the mechanism names " in result.text
    assert "% of words, if words follow Zipf's law by the space's ranks (without the output: " in result.text
    assert f"stays as it is with probability {law['london']:.4f}" in result.text
    kept = sorted(law.values(), reverse=True)
    reach = next(count for count in range(1, 15) if sum(kept[:count]) >= 0.9)
    assert f"{reach} words make up 90 % of the outputs" in result.text


def test_explain_a_word_of_a_hidden_class(call, place):
    """The class is named, stands in the table as one output, and any word of it has the same law."""
    (place / "pets.txt").write_text("dog\nunicorn\n")
    options = ["--space", "space.npz", "--hide", "pets.txt,numbers", "--epsilon", "2", "--mechanism", "tem"]
    known, other = (call("explain", word, *options) for word in ("Dog", "UNICORN"))
    assert (known.code, other.code) == (0, 0)
    assert known.text.startswith("'Dog' is hidden as one of pets, of which 1 may come out: epsilon 0 between any two\n")
    assert explained(known.text) == explained(other.text)
    assert "tem, 2-metric-DP (euclidean, with numbers, pets hidden): proved by" in known.text
    space = Space.load("space.npz", hide=["numbers", "pets.txt"])
    law = dict(zip(space.words, TEM(space, epsilon=2.0).probabilities("dog"), strict=True))
    assert explained(known.text)["dog"][0] == pytest.approx(law["dog"], abs=1e-6)


def test_explain_under_public_counts(call, place):
    """The attacker's success is that under the counts of a file, which is named; what of it is left out is told."""
    (place / "counts.csv").write_text("food,3\nlondon,1\nzork,8\n")
    options = ["--space", "space.npz", "--epsilon", "2", "--mechanism", "tem", "--prior", "counts.csv"]
    result = call("explain", "london", *options)
    assert result.code == 0
    found = recovery(TEM(Space.load("space.npz"), epsilon=2.0), {"food": 3, "london": 1})
    assert (
        f"names {format_upper(as_percent(found), decimals=1)} % of words, if words follow the counts of 'counts.csv' ("
        in result.text
    )
    assert "without the output: 75.0 %" in result.text
    assert result.err == "counts.csv: zork not in the vocabulary, left out\n"


def test_explain_without_usable_counts(call, refused):
    """A file of counts without a word of the space is refused in one line."""
    refused.given(counts__csv="zork,8\n")
    message = refused(call("explain", "food", "--space", "space.npz", "--epsilon", "2", "--prior", "counts.csv"))
    assert "'counts.csv' has no usable counts" in message


def test_explain_by_simulation(call, monkeypatch):
    """Where no law is known the shares of draws are shown, and called so."""
    monkeypatch.setattr("deniable.cli.explain._SIMULATED_DRAWS", 2000)
    result = call("explain", "food", "--space", "space.npz", "--epsilon", "3", "--mechanism", "multivariate-laplace")
    assert result.code == 0
    assert "no exact law is known: shares of 2,000 draws" in result.text
    assert sum(probability for probability, _ in explained(result.text).values()) <= 1.0
    assert explained(result.text)["food"][1] == 0.0


def test_explain_an_unknown_word(call):
    """An unknown word is explained as the public word that stands for it."""
    result = call("explain", "zork", "--space", "space.npz", "--epsilon", "2")
    public = Space.load("space.npz").unknown_word
    assert result.code == 0
    assert result.text.startswith(f"'zork' is not in the vocabulary: it is read as the public word {public!r}.\n")
    assert f"{public!r} stays as it is with probability" in result.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--epsilon", "0"], "'epsilon' parameter of the mechanism"),
        (["--epsilon", "0", "--mechanism", "tem"], "'epsilon' parameter of TEM"),
        (
            ["--epsilon", "1", "--mechanism", "truncatedgumbel"],
            "Did you mean 'truncated-gumbel'? See: deniable explain --help",
        ),
        (["--epsilon", "1", "--space", "none"], "No vector file"),
        ([], "--epsilon"),
    ],
)
def test_explain_refuses(call, refused, options, message):
    """Wrong options of explain are told in one line."""
    assert message in refused(call("explain", "food", "--space", "space.npz", *options))


@pytest.mark.parametrize("epsilon", ["1e308", "1.7e308"])
@pytest.mark.parametrize("mechanism", ["calibrated", "tight", "tem", "multivariate-laplace", "truncated-gumbel"])
def test_an_epsilon_near_the_largest_float(call, mechanism, epsilon):
    """Either it works or there is one line that says in which direction to go; never a warning of a library.

    Here a warning is an error, which would end the command.
    """
    result = call("explain", "food", "--space", "space.npz", "--epsilon", epsilon, "--mechanism", mechanism)
    assert "Warning" not in result.err
    messages = select_messages(result.err)
    if result.code:
        assert re.fullmatch(r"deniable: The 'epsilon' parameter must be smaller .* Got 1\.?7?e\+308: .*\n", messages)
    else:
        assert messages == ""


def test_the_terminal_may_be_ascii(place):
    """explain writes words of any script to an output of any encoding."""
    (place / "v.txt").write_text("čaj 0 1\nthe 1 0\nfood 1 1\n", encoding="utf-8")
    done = subprocess.run(
        [PROGRAM, "explain", "the", "--space", "v.txt", "--epsilon", "2"],
        cwd=place,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, select_messages(done.stderr.decode())) == (0, "")
    assert b"food" in done.stdout


def test_an_unknown_word_is_told_before_the_proof(call, monkeypatch):
    """That a word is unknown, and which one was probably meant, is said before anything that takes long."""

    def fails(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("deniable.cli.explain.build_word_mechanism", fails)
    result = call("explain", "lodnon", "--space", "space.npz", "--epsilon", "2")
    assert result.text.startswith("'lodnon' is not in the vocabulary: it is read as the public word ")
    assert result.text.endswith("Did you mean 'london'?\n")
    assert (result.code, result.err) == (2, "deniable: interrupted: nothing was written.\n")
