"""``deniable audit mechanism``: verdicts, exit codes and errors."""

import json
import re

import pytest

import deniable as dn
from tests.cli.commands.train.helpers import fails

BASIC = ["--epsilon", "3", "--space", "space.npz"]
EUCLIDEAN = ["--metric", "euclidean"]


class Broken(dn.TEM):
    """Claims half of what its law spends on a pair that is far apart."""

    def build_law(self):
        return dn.laws.ExponentialLaw(self.space, dn.laws.ExponentialKernel(4 * self.epsilon, self.cutoff))


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
    assert result.code == 0
    first, *rest = result.text.splitlines()
    assert first == "tem over 15 words of space.npz, steps, with names, places and numbers hidden"
    verdict = dn.verify(dn.TEM(dn.Space.load("space.npz"), epsilon=3.0))
    assert verdict.status == "proved"
    assert untimed("\n".join(rest)) == untimed(str(verdict))


@pytest.mark.parametrize("options", [[], ["--no-cache"], ["--json"]])
def test_refuted(call, monkeypatch, options):
    """A claim that is refuted is exit code 1, in every form of the output."""
    monkeypatch.setattr(dn.TEM, "build_law", Broken.build_law)
    result = call("audit", "mechanism", "tem", *BASIC, *options)
    assert result.code == 1
    assert ('"status": "refuted"' if options == ["--json"] else "refuted: claimed epsilon 3, ") in result.text


@pytest.mark.parametrize("metric", ["steps", "euclidean"])
@pytest.mark.parametrize("name", ["calibrated", "tight", "auto", "multivariate-laplace", "truncated-gumbel"])
def test_every_mechanism(call, cache, name, metric):
    """Every mechanism can be audited by name, and what was derived for it is told; --no-cache keeps nothing."""
    options = ["--epsilon", "60", "--space", "space.npz", "--metric", metric, "--no-cache"]
    result = call("audit", "mechanism", name, *options)
    if metric == "steps" and name in {"multivariate-laplace", "truncated-gumbel"}:
        fails(result, "--metric euclidean")
        return
    assert result.code == 0
    made = name if name != "auto" else "tight" if metric == "euclidean" else "calibrated"
    assert result.text.startswith(f"{made} over 15 words of space.npz, {metric}, ")
    status = "proved for ideal arithmetic" if name == "multivariate-laplace" else "proved"
    assert f"\n{status}: claimed epsilon 60, " in result.text
    assert ("\nscale " in result.text) == (name in {"calibrated", "tight", "auto"})
    assert ("\nweights " in result.text) == (made == "tight")
    assert ("by theorem, nothing computed" in result.text) == (name == "multivariate-laplace")
    assert not cache.exists()


@pytest.mark.parametrize("metric", ["steps", "euclidean", "manhattan", "chebyshev", "angular", "mahalanobis"])
def test_metrics(call, metric):
    """Every metric is there by name."""
    result = call("audit", "mechanism", "tem", *BASIC, "--metric", metric)
    assert result.code == 0
    assert result.text.splitlines()[0].endswith(f"{metric}, with names, places and numbers hidden")


@pytest.mark.parametrize(
    ("name", "metric"), [("tem", "steps"), ("tem", "euclidean"), ("multivariate-laplace", "euclidean")]
)
def test_json(call, cache, name, metric):
    """The verdict as strict JSON has the fields of a verdict; it is the same when facts are kept."""

    def refuse(constant):
        raise ValueError(constant)

    options = [*BASIC, "--metric", metric, "--json"]
    result = call("audit", "mechanism", name, *options)
    assert result.code == 0
    read = json.loads(result.text, parse_constant=refuse)
    verdict = dn.verify(dn.mechanism(name, dn.Space.load("space.npz", metric=metric), epsilon=3.0)).to_dict()
    assert list(read) == ["mechanism", *verdict]
    assert {**read, "seconds": 0} == {"mechanism": name, **verdict, "seconds": 0}
    kept = {path.name: path.stat().st_mtime_ns for path in cache.iterdir()} if cache.exists() else {}
    assert bool(kept) == (name == "tem")
    if kept:
        again = json.loads(call("audit", "mechanism", name, *options).text)
        assert {**again, "seconds": 0} == {**read, "seconds": 0}
        assert {path.name: path.stat().st_mtime_ns for path in cache.iterdir()} == kept


def test_a_cached_verdict_of_another_law(call, cache, monkeypatch):
    """A law is refuted though another of the same name and epsilon was proved, and the other way round."""
    law = dn.TEM.build_law
    for build, code in ((Broken.build_law, 1), (law, 0), (Broken.build_law, 1)):
        monkeypatch.setattr(dn.TEM, "build_law", build)
        assert call("audit", "mechanism", "tem", *BASIC).code == code
    assert cache.is_dir()


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (["tem", "--space", "space.npz"], "--epsilon"),
        (["adept"], "--epsilon"),
        (["laplac", "--epsilon", "1"], "'laplace'"),
        (["tem", *BASIC, "--delta", "0.1"], "--delta"),
        (["tem", *BASIC, "--dimension", "2"], "--dimension"),
        (["adept", *BASIC], "--space"),
        (["adept-gaussian", "--epsilon", "1"], "'delta'"),
        (["multivariate-laplace", *BASIC, "--metric", "angular"], "Euclidean"),
        (["truncated-gumbel", *BASIC, *EUCLIDEAN], "'epsilon'"),
        (["truncated-gumbel", *BASIC], "--metric euclidean"),
        (["tight", "--epsilon", "1e-12", "--space", "space.npz"], "epsilon"),
    ],
)
def test_what_cannot_be_run(call, arguments, value):
    """Wrong options are told in one line, with exit code 2, never 1."""
    fails(call("audit", "mechanism", *arguments), value)


def test_help(call):
    """The help names the mechanisms, the options and the exit code of a refutation."""
    result = call("audit", "mechanism", "--help")
    assert result.code == 0
    parts = ["auto", "tem", "truncated-gumbel", "adept-l1", "--epsilon", "--space", "--no-cache", "Exits with 1"]
    assert [part for part in parts if part not in result.prose] == []


@pytest.mark.parametrize("wanted", [False, True])
def test_a_bug_is_no_refutation(call, monkeypatch, wanted):
    """An error that nobody foresaw is one line and exit code 2, or a traceback for who asks for it."""

    def broken(mechanism):
        raise RuntimeError(f"a bug at {mechanism.epsilon:g}")

    monkeypatch.setattr(dn.TEM, "build_law", broken)
    if wanted:
        monkeypatch.setenv("DENIABLE_TRACEBACK", "1")
        with pytest.raises(RuntimeError):
            call("audit", "mechanism", "tem", *BASIC)
    else:
        fails(call("audit", "mechanism", "tem", *BASIC), "RuntimeError: a bug at 3")


@pytest.mark.parametrize(("name", "status"), [("adept", "refuted"), ("adept-true", "proved")])
def test_vector_mechanisms_by_name(call, name, status):
    """A vector mechanism of the package is verified by its law, for vectors of the dimension given."""
    result = call("audit", "mechanism", name, "--epsilon", "1", "--dimension", "8")
    assert result.code == (1 if status == "refuted" else 0)
    assert result.text.startswith(f"{name} on vectors (8,), 1-DP: ")
    assert f"\n{status}: claimed epsilon 1, " in result.text
    assert call("audit", "mechanism", "random").text.startswith("random on vectors (1,), ")  # which spends nothing
