"""What is chosen by name: every name stands for an object of its kind, and names of other packages join them."""

import importlib
import json
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable import registry
from deniable.models.images.training import ImageTrainer
from deniable.published.entry import ZooEntry
from tests.commands import run
from tests.contracts.word_mechanism import WordMechanismContract
from tests.refusals import refuses

TESTS = Path(__file__).parent
KINDS = {
    "mechanisms": (registry.WORD_MECHANISMS, lambda found: issubclass(found, dn.WordMechanism)),
    "vectors": (registry.VECTOR_MECHANISMS, callable),
    "methods": (registry.REWRITING_METHODS, callable),
    "trainers": (registry.IMAGE_TRAINERS, lambda found: isinstance(found, ImageTrainer)),
    "zoo.mechanisms": (registry.ZOOS["mechanisms"], lambda found: all(isinstance(one, ZooEntry) for one in found)),
    "zoo.trainers": (registry.ZOOS["trainers"], lambda found: all(isinstance(one, ZooEntry) for one in found)),
}
"""The names of each kind, and whether an object is of it."""


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, (names, _) in KINDS.items() for name in names])
def test_every_name_resolves(kind, name):
    """Each name stands for an object of its kind, which calls itself by no other name."""
    names, is_of_kind = KINDS[kind]
    assert is_of_kind(names[name])


def test_listing_names_loads_nothing():
    """Help and completion list the names without importing what they stand for, or the compiled loops behind it."""
    program = "import sys; import deniable.cli.options as o; print(o.MECHANISM_NAMES); print(*sys.modules)"
    shown, loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert "'truncated-gumbel'" in shown
    assert not {"numba", "numpy", "torch", "deniable.words", "deniable.published"} & set(loaded.split())


def install(monkeypatch, name, target):
    """Let a package that adds a word mechanism seem to be installed, and return a registry that has not been read."""
    added = EntryPoint(name, target, "deniable.mechanisms")
    monkeypatch.setattr(registry, "entry_points", lambda group: [added] if group == added.group else [])
    return registry.Registry("mechanisms", {"tem": "deniable.words.tem:TEM"})


def test_another_packages_name_is_found(monkeypatch):
    """A name that an installed package adds comes after ours, and its object is imported when it is asked for."""
    names = install(monkeypatch, "multivariate-laplace", "deniable.words.multivariate_laplace:MultivariateLaplace")
    assert list(names) == ["tem", "multivariate-laplace"]
    assert names["multivariate-laplace"] is dn.MultivariateLaplace
    assert "multivariate-laplace" not in registry.Registry("vectors", {})


@pytest.mark.parametrize("name", ["tem", "auto", "best", "my_tem", "TEM", "t\u00e9m", "tem\n", "-tem", ""])
def test_no_name_stands_for_two_laws(monkeypatch, name):
    """A name that is taken, or that no command line takes, is refused in one line and replaces none."""
    with refuses(repr(name)):
        list(install(monkeypatch, name, "deniable.words.multivariate_laplace:MultivariateLaplace"))


def test_an_inherited_name_is_refused(monkeypatch):
    """Where an added class leaves its parent's name, it is not put in the parent's place."""
    with refuses("'tem'"):
        install(monkeypatch, "other", "deniable.words.tem:TEM")["other"]


def test_a_clash_ends_every_command_in_one_line(tmp_path):
    """A command is not run beside a package that adds a name of ours: one line says which."""
    folder = tmp_path / "rogue-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: rogue\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[deniable.mechanisms]\ntem = rogue:TEM\n")
    program = f"import sys; sys.path.append({str(tmp_path)!r}); from deniable.cli.start import run; run()"
    done = subprocess.run([sys.executable, "-c", program, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("deniable: ")
    assert "'tem'" in done.stderr
    assert done.stderr.count("\n") == 1


def find_contract_tests():
    """Return the test classes that inherit the contract, wherever among the tests they are."""
    for path in (*TESTS.joinpath("words").glob("test_*.py"), *TESTS.joinpath("published").rglob("test_*.py")):
        if "(WordMechanismContract)" in path.read_text(encoding="utf-8"):
            importlib.import_module(".".join(("tests", *path.relative_to(TESTS).with_suffix("").parts)))
    return [cls for cls in WordMechanismContract.__subclasses__() if cls.__name__.startswith("Test")]


def test_every_mechanism_has_a_contract_test():
    """Each word mechanism is held to the contract by its test file."""
    assert {contract.mechanism for contract in find_contract_tests()} == set(registry.WORD_MECHANISMS.values())


def test_every_page_shows_a_mechanism():
    """Each page of the docs' folder of mechanisms shows one word mechanism, with its parameters."""
    pages = [path for path in TESTS.with_name("docs").joinpath("mechanisms").glob("*.md") if path.stem != "index"]
    known = {f"\n::: {found.__module__}.{found.__qualname__}\n" for found in registry.WORD_MECHANISMS.values()}
    for page in pages:
        assert sum(shown in f"{page.read_text(encoding='utf-8')}\n" for shown in known) == 1


@pytest.mark.parametrize("name", registry.WORD_MECHANISMS)
def test_a_name_builds_its_class(small_space, name):
    """Each name gives the mechanism of its class at the epsilon asked for."""
    subject = dn.mechanism(name, small_space, epsilon=300.0)
    assert type(subject) is registry.WORD_MECHANISMS[name]
    assert (subject.name, subject.space, subject.epsilon) == (name, small_space, 300.0)


def test_auto_chooses(small_space, small_vectors):
    """The name auto is tight where words are kept, calibrated elsewhere, and TEM under a metric of one's own."""

    def own(left, right):
        return np.abs(left[:, None] - right[None]).sum(axis=2)

    odd = dn.Space(small_space.words, small_vectors, metric=own)
    cases = ((small_space, 3.0), (small_space, 0.3), (odd, 3.0))
    chosen = [dn.mechanism("auto", space, epsilon=epsilon) for space, epsilon in cases]
    assert [type(one) for one in chosen] == [dn.TightExponential, dn.CalibratedExponential, dn.TEM]
    assert chosen[0].epsilon == 3.0


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda space: dn.mechanism(space, space, epsilon=3.0), "one of auto, calibrated"),
        (lambda _: dn.mechanism("auto", "glove", epsilon=3.0), "'glove'"),
        (lambda space: dn.mechanism("temm", space, epsilon=1.0), "'temm'"),
    ],
)
def test_wrong_arguments_are_told_what_is_wanted(small_space, call, value):
    """A name that is none, and a space that is none, are refused in one line."""
    with refuses(value):
        call(small_space)


VECTORS = {
    "laplace": "proved",
    "gaussian": "proved",
    "k-norm": "proved",
    "adept": "refuted",
    "adept-l1": "proved",
    "adept-true": "proved",
    "adept-gaussian": "proved",
    "adept-norm": "proved",
    "dptext": "refuted",
    "dptext-fixed": "proved",
    "dptext-norm": "proved",
    "copy": "refuted",
    "random": "proved",
}
"""Names of vector mechanisms, and what becomes of their claims."""


@pytest.mark.parametrize("name", registry.VECTOR_MECHANISMS)
def test_every_vector_mechanism_is_judged(name):
    """Each is verified on a domain of its own; the published ones and the copy are refuted, and no other."""
    budget = () if name == "random" else ("--epsilon", "1")
    delta = ("--delta", "1e-6") if "gaussian" in name else ()
    result = run("audit", "mechanism", name, *budget, *delta, "--dimension", "8", "--json")
    assert result.code == (VECTORS[name] == "refuted")
    assert json.loads(result.text)["status"] == VECTORS[name]
