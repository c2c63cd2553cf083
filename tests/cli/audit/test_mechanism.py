"""``deniable audit mechanism``: verdicts, exit codes and errors."""

import json
import re

import pytest

from deniable import TEM, Space, verify
from deniable.cli.choices import VerifiedMechanismName
from deniable.registry.words import WORD_MECHANISMS
from deniable.words.laws import ExponentialKernel, ExponentialLaw

BASIC = ["--epsilon", "3", "--space", "space.npz"]


class Broken(TEM):
    """Claims half of what its law spends on a pair that is far apart."""

    def build_law(self):
        return ExponentialLaw(self.space, ExponentialKernel(4 * self.epsilon, self.gamma))


@pytest.fixture
def broken(monkeypatch):
    """Register a mechanism that is wrong under the name of TEM."""
    monkeypatch.setitem(WORD_MECHANISMS, "tem", Broken)


@pytest.fixture
def cache(place, monkeypatch):
    """Return a cache folder that does not exist yet."""
    monkeypatch.setenv("DENIABLE_CACHE", str(place / "cache"))
    return place / "cache"


def untimed(text):
    return re.sub(r"\d+\.\d s$", "", text, flags=re.MULTILINE)


def test_proved(call):
    """A mechanism that keeps its claim is proved, with exit code 0, and the verdict is that of verify."""
    result = call("audit", "mechanism", "tem", *BASIC)
    assert (result.code, result.err) == (0, "")
    first, *rest = result.text.splitlines()
    assert first == "tem over 15 words of space.npz, euclidean, with names, places, numbers hidden"
    verdict = verify(TEM(Space.load("space.npz"), epsilon=3.0))
    assert verdict.status == "proved"
    assert untimed("\n".join(rest)) == untimed(str(verdict))


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("options", [[], ["--no-cache"], ["--json"]])
def test_refuted(call, options):
    """A claim that is refuted is exit code 1, in every form of the output."""
    result = call("audit", "mechanism", "tem", *BASIC, *options)
    assert (result.code, result.err) == (1, "")
    assert ('"status": "refuted"' if options == ["--json"] else "refuted: claimed epsilon 3, ") in result.text


@pytest.mark.parametrize("name", ["calibrated", "tight", "auto", "multivariate-laplace", "truncated-gumbel"])
def test_every_mechanism(call, name):
    """Every mechanism can be audited by name, and what was derived for it is told."""
    result = call("audit", "mechanism", name, "--epsilon", "60", "--space", "space.npz")
    assert (result.code, result.err) == (0, "")
    assert result.text.startswith(f"{'tight' if name == 'auto' else name} over 15 words of space.npz")
    status = "proved for ideal arithmetic" if name == "multivariate-laplace" else "proved"
    assert f"\n{status}: claimed epsilon 60, " in result.text
    assert ("\nscale " in result.text) == (name in {"calibrated", "tight", "auto"})
    assert ("\nweights " in result.text) == (name in {"tight", "auto"})
    assert ("by theorem, nothing computed" in result.text) == (name == "multivariate-laplace")


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "angular"])
def test_metrics(call, metric):
    """Every metric is there by name."""
    result = call("audit", "mechanism", "tem", *BASIC, "--metric", metric)
    assert result.code == 0
    assert result.text.splitlines()[0].endswith(f"{metric}, with names, places, numbers hidden")


@pytest.mark.parametrize("name", ["tem", "multivariate-laplace"])
def test_json(call, name):
    """The verdict as strict JSON has the mechanism's name and the fields of a verdict."""

    def refuse(constant):
        raise ValueError(constant)

    result = call("audit", "mechanism", name, *BASIC, "--json")
    assert (result.code, result.err) == (0, "")
    read = json.loads(result.text, parse_constant=refuse)
    verdict = verify(WORD_MECHANISMS[name](Space.load("space.npz"), epsilon=3.0)).to_dict()
    assert list(read) == ["mechanism", *verdict]
    assert {**read, "seconds": 0} == {"mechanism": name, **verdict, "seconds": 0}


def test_the_cache(call, cache):
    """A verdict is kept, and told again with the time that it took."""
    first = call("audit", "mechanism", "tem", *BASIC, "--json")
    assert first.code == 0
    kept = {path.name: path.stat().st_mtime_ns for path in cache.iterdir()}
    assert kept
    assert call("audit", "mechanism", "tem", *BASIC, "--json") == first
    assert {path.name: path.stat().st_mtime_ns for path in cache.iterdir()} == kept


@pytest.mark.parametrize("name", ["tem", "calibrated", "tight", "truncated-gumbel"])
def test_no_cache(call, cache, name):
    """With --no-cache nothing is kept."""
    assert call("audit", "mechanism", name, "--epsilon", "60", "--space", "space.npz", "--no-cache").code == 0
    assert not cache.exists()


@pytest.mark.usefixtures("broken")
def test_a_cached_verdict_of_another_law(call, cache, monkeypatch):
    """A law is refuted though another of the same name and epsilon was proved, and the other way round."""
    assert call("audit", "mechanism", "tem", *BASIC).code == 1
    monkeypatch.setitem(WORD_MECHANISMS, "tem", TEM)
    assert call("audit", "mechanism", "tem", *BASIC).code == 0
    monkeypatch.setitem(WORD_MECHANISMS, "tem", Broken)
    assert call("audit", "mechanism", "tem", *BASIC).code == 1
    assert cache.is_dir()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tem", "--space", "space.npz"], "The mechanism tem needs a budget: give it with --epsilon."),
        (["adept"], "The mechanism adept needs a budget: give it with --epsilon."),
        (BASIC, "Missing argument 'NAME'"),
        (["temp", *BASIC], "Did you mean 'tem'? See: deniable audit mechanism --help"),
        (["laplac", "--epsilon", "1"], "Did you mean 'laplace'?"),
        (
            ["adept", "--epsilon", "1", "--claim", "1"],
            "No such option: --claim. The claim of a mechanism of this package is its --epsilon.",
        ),
        (["tem", *BASIC, "--samples", "99"], "No such option: --samples"),
        (["tem", *BASIC, "--delta", "0.1"], "The mechanism tem has no delta: leave out --delta."),
        (["tem", *BASIC, "--dimension", "2"], "--dimension is for vector mechanisms. Got tem, a word mechanism"),
        (["adept", *BASIC], "--space, --metric and --hide are for word mechanisms. Got adept: leave them out."),
        (["adept-gaussian", "--epsilon", "1"], "The 'delta' parameter of"),
        (["adept", "--epsilon", "1", "--dimension", "0"], "The 'dimension' parameter of verify"),
        (["xxxxxxxx", *BASIC], f"auto, {', '.join(WORD_MECHANISMS)}, laplace, gaussian, adept, adept-l1,"),
        (["tem", "--epsilon", "0", "--space", "space.npz"], "'epsilon' parameter of TEM"),
        (["auto", "--epsilon", "nan", "--space", "space.npz"], "'epsilon' parameter of the mechanism"),
        (["tem", "--epsilon", "three", "--space", "space.npz"], "--epsilon"),
        (["tem", "--epsilon", "3", "--space", "none.npz"], "No vector file 'none.npz'"),
        (["tem", *BASIC, "--metric", "cosine"], "Cosine distance is no metric: use angular."),
        (["multivariate-laplace", *BASIC, "--metric", "angular"], "needs the Euclidean metric"),
        (["truncated-gumbel", *BASIC], "'epsilon' parameter of TruncatedGumbel must be above"),
        (["tight", "--epsilon", "1e-12", "--space", "space.npz"], "epsilon"),
        (["tem", *BASIC, "--jsn"], "No such option: --jsn"),
        (["tem", "another", *BASIC], "another"),
    ],
)
def test_what_cannot_be_run(call, refused, arguments, message):
    """Wrong options are told in one line, with exit code 2, never 1."""
    assert message in refused(call("audit", "mechanism", *arguments))


def test_a_mechanism_in_the_place_of_a_kind(call, refused):
    """``audit tem`` is told the command that audits mechanisms; another name is not."""
    assert "Mechanisms go by: deniable audit mechanism tem. See: " in refused(call("audit", "tem", "--claim", "3"))
    assert "Mechanisms go by" not in refused(call("audit", "tema"))


def test_help(call):
    """The help names the mechanisms, the options and the exit code of a refutation."""
    result = call("audit", "mechanism", "--help")
    assert result.code == 0
    parts = [*VerifiedMechanismName, "--epsilon", "--space", "--metric", "--no-cache", "--json", "Exits with 1"]
    assert [part for part in parts if part not in result.prose] == []


@pytest.mark.parametrize("wanted", [False, True])
def test_a_bug_is_no_refutation(call, monkeypatch, wanted):
    """An error that nobody foresaw is one line and exit code 2, or a traceback for who asks for it."""

    def broken(space, *, epsilon):
        raise RuntimeError(f"a bug in {len(space)} words at {epsilon:g}")

    broken.__name__ = "TEM"
    monkeypatch.setitem(WORD_MECHANISMS, "tem", broken)
    if wanted:
        monkeypatch.setenv("DENIABLE_TRACEBACK", "1")
        with pytest.raises(RuntimeError, match="a bug in"):
            call("audit", "mechanism", "tem", *BASIC)
    else:
        done = call("audit", "mechanism", "tem", *BASIC)
        assert done.code == 2
        assert "internal error, RuntimeError: a bug in " in done.err
        assert len(done.err.strip().splitlines()) == 1


@pytest.mark.parametrize(("name", "status"), [("adept", "refuted"), ("adept-true", "proved"), ("dptext", "refuted")])
def test_vector_mechanisms_by_name(call, name, status):
    """A vector mechanism of the package is verified by its law, for vectors of the dimension given."""
    result = call("audit", "mechanism", name, "--epsilon", "1", "--dimension", "8")
    assert result.code == (1 if status == "refuted" else 0)
    assert result.text.startswith(f"{name} on vectors (8,), 1-DP: ")
    assert f"\n{status}: claimed epsilon 1, " in result.text


def test_the_mechanism_without_a_budget(call):
    """Random output needs no epsilon: nothing is spent."""
    result = call("audit", "mechanism", "random")
    assert result.code == 0
    assert result.text.startswith("random on vectors (1,), ")
