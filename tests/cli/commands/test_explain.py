"""``deniable explain``: the law of one word, and words that the space lacks."""

import re

import pytest

import deniable as dn
from tests.messages import select_messages


def explained(text):
    """Return the table of outputs: word -> (probability, distance)."""
    rows = re.findall(r"^(\S+) +(\d\.\d{6}) +(\d+\.\d{3})$", text, flags=re.MULTILINE)
    return {word: (float(probability), float(distance)) for word, probability, distance in rows}


@pytest.fixture
def explain(call):
    """Return a function that explains a word of space.npz."""
    return lambda word, *options, epsilon="2": call(
        "explain", word, "--space", "space.npz", "--epsilon", epsilon, *options
    )


@pytest.mark.parametrize(
    ("make", "metric", "epsilon"),
    [(dn.TEM, "steps", 2.0), (dn.TEM, "euclidean", 2.0), (dn.TruncatedGumbel, "euclidean", 60.0)],
)
def test_an_exact_law(explain, make, metric, epsilon):
    """The likeliest outputs are shown in order, with the law's probabilities and the distances."""
    result = explain("London", "--hide", "none", "--mechanism", make.name, "--metric", metric, epsilon=epsilon)
    assert result.code == 0
    space = dn.Space.load("space.npz", metric=metric, hide=())
    law = dict(zip(space.words, make(space, epsilon=epsilon).probabilities("london"), strict=True))
    shown = explained(result.text)
    assert len(shown) == 10
    assert list(shown) == sorted(law, key=law.get, reverse=True)[:10]
    for word, (probability, distance) in shown.items():
        assert probability == pytest.approx(law[word], abs=1e-6)
        assert distance == pytest.approx(space.distance("london", word), abs=1e-3)
    verdict = dn.verify(make(space, epsilon=epsilon))
    assert f"verified: {verdict.status}, {verdict.method}\n" in result.text
    assert f"stays as it is with probability {law['london']:.4f}" in result.text
    kept = sorted(law.values(), reverse=True)
    reach = next(count for count in range(1, 15) if sum(kept[:count]) >= 0.9)
    assert f"{reach} words make up 90% of the outputs" in result.text
    seen = sum(1 - (1 - share) ** 1000 for share in law.values())
    line = (
        f"deniability: in 1,000 draws it stays {1000 * law['london']:.1f} times (N_w), and {seen:.1f} different words"
    )
    assert line in result.text


def test_a_word_of_a_hidden_class(explain, place):
    """The class is named, stands in the table as one output, and any word of it has the same law."""
    (place / "pets.txt").write_text("dog\nunicorn\n")
    options = ("--hide", "pets.txt,numbers", "--mechanism", "tem")
    known, other = explain("Dog", *options), explain("UNICORN", *options)
    assert known.text.startswith(
        "'Dog' is hidden among the words of the class pets (1): any may replace it, with epsilon 0 between any two\n"
    )
    assert explained(known.text) == explained(other.text)
    space = dn.Space.load("space.npz", hide=["numbers", "pets.txt"])
    law = dict(zip(space.words, dn.TEM(space, epsilon=2.0).probabilities("dog"), strict=True))
    assert explained(known.text)["dog"][0] == pytest.approx(law["dog"], abs=1e-6)


def test_public_counts(explain, place):
    """The attacker's success is that under the counts of a file, which is named."""
    (place / "counts.csv").write_text("food,3\nlondon,1\nzork,8\n")
    result = explain("london", "--mechanism", "tem", "--prior", "counts.csv")
    found = dn.recovery(dn.TEM(dn.Space.load("space.npz"), epsilon=2.0), {"food": 3, "london": 1})
    (percent,) = re.findall(r"right for ([\d.]+)% of words, if words follow the counts of 'counts.csv'", result.text)
    assert 0 <= float(percent) - 100 * found < 0.1
    assert "(75.0% without any output" in result.text


def test_how_often_a_word_is_guessed(explain):
    """The word's own figure stands beside those of its band and of the most exposed word; hidden words have none."""
    space = dn.Space.load("space.npz")
    subject = dn.TEM(space, epsilon=2.0)
    outcomes, shares = subject.outcomes(), subject.word_shares()
    text = explain("food", "--mechanism", "tem").text
    (line,) = [line for line in text.splitlines() if line.startswith("'food', word ")]
    rank, own, band = re.fullmatch(
        r"'food', word (\d+) by frequency, is guessed in (\S+)% .* in (\S+)% of .*", line
    ).groups()
    assert int(rank) == space.index_of("food") + 1
    for shown, share in ((own, shares.guessed[space.index_of("food")]), (band, outcomes.bands[0].guessed)):
        assert 0 <= float(shown) - 100 * share < 0.1
    assert f"by frequency: {outcomes.describe_bands()}\n" in text
    assert f"most exposed: {outcomes.describe_exposed()}\n" in text
    assert "is guessed in" not in explain("london", "--mechanism", "tem").text


@pytest.mark.deep
def test_a_simulated_law(explain):
    """Where no law is known the shares of draws are shown, and called so."""
    result = explain("food", "--mechanism", "multivariate-laplace", "--metric", "euclidean", epsilon="3")
    assert result.code == 0
    assert "no exact law is known: shares of " in result.text
    shown = explained(result.text)
    assert sum(probability for probability, _ in shown.values()) <= 1.0
    assert shown["food"][1] == 0.0


def test_unknown_words(explain, monkeypatch):
    """An unknown word is explained as the public word that stands for it; what was meant is said before the proof."""
    public = dn.Space.load("space.npz").unknown_word
    result = explain("zork")
    assert result.code == 0
    assert result.text.startswith(f"'zork' is not in the vocabulary: it is read as the public word {public!r}.\n")
    assert f"{public!r} stays as it is with probability" in result.text

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(dn.TEM, "__init__", interrupt)
    result = explain("lodnon", "--mechanism", "tem")
    assert result.text.endswith("Did you mean 'london'?\n")
    assert result.code == 2


@pytest.mark.parametrize("epsilon", ["1e308", pytest.param("1.7e308", marks=pytest.mark.deep)])
@pytest.mark.parametrize(
    ("mechanism", "metric"),
    [
        *((name, metric) for name in ("calibrated", "tight", "tem") for metric in ("steps", "euclidean")),
        *((name, "euclidean") for name in ("multivariate-laplace", "truncated-gumbel")),
    ],
)
def test_an_epsilon_near_the_largest_float(explain, mechanism, metric, epsilon):
    """Either it works or there is one line that says in which direction to go; never a warning of a library.

    Here a warning is an error, which would end the command.
    """
    result = explain("food", "--mechanism", mechanism, "--metric", metric, epsilon=epsilon)
    messages = select_messages(result.err)
    assert messages.startswith("deniable: The 'epsilon' parameter must be smaller ") if result.code else messages == ""
    assert messages.count("\n") == bool(result.code)
