"""The file of a model: what comes back, what is refused, and the page's example of it."""

import copy
import dataclasses
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from deniable.core.errors import InputError
from deniable.learning.artifact import ARTIFACT_FORMAT, serialize_model
from deniable.published.dptext.representation import load_representation
from deniable.published.dptext.training import RepresentationOptions
from deniable.rewriting.model import load_rewriter
from tests.learning.stored import read_stored, write_stored
from tests.published.dptext.toy import TEXTS, fitted
from tests.rewriting import small

PAGE = Path(__file__).parents[3] / "docs" / "rewrite.md"
TITLE = "## Representations for a classifier"
NONE = object()
CONFIGURATION = {"options", "words", "epsilon"}


@pytest.fixture(scope="module")
def fixed():
    """Return a model whose noise is proved; its epsilon is no float32."""
    return fitted("fixed", 0.1, epochs=1)


@pytest.fixture(scope="module")
def held(fixed):
    """Return what its file holds."""
    return read_stored(serialize_model(fixed))


@pytest.fixture
def path(tmp_path):
    """Return where a file is written."""
    return tmp_path / "model.pt"


def refusal(path, content):
    """Return the one line that a file is refused with."""
    path.write_bytes(content if isinstance(content, bytes) else write_stored(content))
    with pytest.raises(InputError) as caught:
        load_representation(path)
    assert "\n" not in str(caught.value)
    assert repr(str(path)) in str(caught.value)
    return str(caught.value)


def changed(held, names, value):
    """Return what a file holds with one part changed, or left out."""
    found = copy.deepcopy(held)
    parts = names.split("/")
    *above, last = ["configuration", *parts] if parts[0] in CONFIGURATION else parts
    part = found
    for name in above:
        part = part[name]
    if value is NONE:
        del part[last]
    else:
        part[last] = value
    return found


class TestItComesBack:
    """What was written and read is the same model."""

    @pytest.mark.parametrize(
        ("variant", "invalid"), [("fixed", "redraw"), ("published", "redraw"), ("published", "zero"), ("none", "zero")]
    )
    def test_all_of_it(self, path, variant, invalid):
        """Vectors are the same to the last bit, with noise and without, and so are guarantee, options and facts."""
        model = fitted(variant, 0.1, invalid=invalid, epochs=1)
        path.write_bytes(serialize_model(model))
        found = load_representation(path)
        texts = [*TEXTS, "", "qwertz", " ".join(["flights"] * 90)]
        np.testing.assert_array_equal(found.encode(texts), model.encode(texts))
        np.testing.assert_array_equal(found.release(texts, seed=3), model.release(texts, seed=3))
        assert found.guarantee == model.guarantee
        assert (found.options, found.epsilon, found.facts) == (model.options, model.epsilon, model.facts)
        assert found.vocabulary == model.vocabulary
        assert not found.encoder.training

    def test_noise_is_fresh(self, path, fixed):
        """A file holds nothing that noise follows from: two models of one file release other vectors."""
        path.write_bytes(serialize_model(fixed))
        one, other = (load_representation(path).release(TEXTS[:5]) for _ in range(2))
        assert (one != other).all()
        assert (fixed.guarantee.status, load_representation(path).guarantee.status) == ("proved", "proved")

    def test_numbers_of_numpy(self, path):
        """Options from a numpy array are kept as the numbers that they are."""
        (epsilon,) = np.logspace(0.3, 0.3, 1)
        model = fitted("fixed", epsilon, adversary=np.float64(0.5), epochs=1)
        path.write_bytes(serialize_model(model))
        found = load_representation(path)
        assert found.options == model.options
        assert {type(found.options.epsilon), type(found.options.adversary)} == {float}
        assert found.facts == model.facts

    def test_only_the_encoder(self, held):
        """Readers of task and private attributes are no part of the file."""
        assert set(held) == {"format", "kind", "configuration", "weights", "facts"}
        assert set(held["configuration"]) == {"options", "words", "epsilon"}
        assert {name.partition(".")[0] for name in held["weights"]} == {"embedding", "window", "output"}

    def test_no_first_weights(self, path, fixed):
        """Loading leaves torch's own generator as it was."""
        path.write_bytes(serialize_model(fixed))
        before = torch.random.get_rng_state()
        load_representation(path)
        assert torch.equal(before, torch.random.get_rng_state())


class TestDamaged:
    """Files of the right form with a part that is wrong."""

    @pytest.mark.parametrize("name", ["options", "weights", "words", "epsilon", "facts", "weights/output.bias"])
    def test_a_part_is_missing(self, path, held, name):
        """Every part is needed."""
        assert "is a damaged model (" in refusal(path, changed(held, name, NONE))

    @pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(RepresentationOptions)])
    def test_an_option_is_missing(self, path, held, name):
        """No option is taken from the defaults, which are those of refuted noise."""
        assert "(other options than" in refusal(path, changed(held, f"options/{name}", NONE))

    @pytest.mark.parametrize(
        ("name", "value", "reason"),
        [
            ("options", None, "object has no attribute"),
            ("options", [("variant", "fixed")], "object has no attribute"),
            ("options/colour", "red", "other options than"),
            ("options/variant", "laplace", "'variant' parameter"),
            ("options/variant", "published\n", "'variant' parameter"),
            ("options/invalid", "nan", "'invalid' parameter"),
            ("options/invalid", ["redraw"], "unhashable"),
            ("options/epsilon", 0.2, "epsilon 0.1, and 0.2 in its options"),
            ("options/epsilon", 0.0, "'epsilon' parameter"),
            ("options/adversary", "much", "must be a float"),
            ("options/dimensions", 7, "size mismatch"),
            ("options/dimensions", 6.0, "'dimensions' parameter"),
            ("options/embedded", 100_000, "size mismatch"),
            ("options/hidden", 10**9, "'hidden' parameter"),
            ("weights", {}, "Missing key"),
            ("weights", None, "weights must be a dict"),
            ("weights/more", torch.zeros(1), "Unexpected key"),
            ("weights/output.bias", torch.zeros(5), "size mismatch"),
            ("weights/output.bias", torch.zeros(6, dtype=torch.float64), "stored as no network"),
            ("weights/output.bias", torch.zeros(6, dtype=torch.int64), ""),
            ("weights/output.bias", torch.full((6,), float("nan")), "weights that are not finite"),
            ("weights/output.bias", torch.full((6,), float("inf")), "weights that are not finite"),
            ("words", None, "not iterable"),
            ("words", ["a", "b"], "words of a vocabulary"),
            ("epsilon", -0.1, "'epsilon' parameter"),
            ("epsilon", 0, "'epsilon' parameter"),
            ("epsilon", 0.05, "epsilon 0.05, and 0.1 in its options"),
            ("epsilon", "0.1", "'epsilon' parameter"),
            ("epsilon", True, "'epsilon' parameter"),
            ("epsilon", [0.1], "'epsilon' parameter"),
            ("facts", None, "facts must be a dict"),
            ("facts", 3, "facts must be a dict"),
        ],
    )
    def test_a_part_is_wrong(self, path, held, name, value, reason):
        """A part of the wrong type, shape or value is named in one line."""
        found = refusal(path, changed(held, name, value))
        assert "is a damaged model (" in found
        assert reason in found
        assert found.endswith("): train it again.")

    def test_fewer_words(self, path, held):
        """A vocabulary of another size than the encoder's is refused."""
        assert "size mismatch for embedding" in refusal(
            path, changed(held, "words", held["configuration"]["words"][:-1])
        )

    def test_a_learned_epsilon_is_below_its_bound(self, path):
        """As published epsilon may be any up to the bound that it was learned under, and no more."""
        content = read_stored(serialize_model(fitted("published", 0.1, epochs=1)))
        path.write_bytes(write_stored(changed(content, "epsilon", 0.07)))
        assert load_representation(path).guarantee.epsilon == 0.07
        assert "epsilon 0.2, and 0.1" in refusal(path, changed(content, "epsilon", 0.2))


class TestOtherFiles:
    """Files that hold something else."""

    def test_a_rewriter(self, path):
        """The file of a model that rewrites is refused, and that model's loader refuses this one's."""
        found = refusal(path, serialize_model(small.fitted()))
        assert "holds another kind of model, 'rewriter': name the file of a model of kind 'representation'." in found

    def test_given_for_a_rewriter(self, path, fixed):
        """Whoever loads models that rewrite refuses the file of a representation."""
        path.write_bytes(serialize_model(fixed))
        with pytest.raises(InputError, match="another kind of model, 'representation'"):
            load_rewriter(path)

    @pytest.mark.parametrize("form", ["deniable-representation/1", "deniable-artifact/3", "deniable-\nx"])
    def test_another_version(self, path, held, form):
        """Another format is refused, whatever else the file holds."""
        assert "was written by another version of deniable" in refusal(path, changed(held, "format", form))

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"text,label\n",
            [1],
            {"format": 1},
            {"format": ARTIFACT_FORMAT.upper()},
            {"format": ""},
            {"format": ARTIFACT_FORMAT, "x": float("nan")},
        ],
    )
    def test_no_model(self, path, content):
        """Any other file is refused, and nothing in it is executed."""
        assert "is not a model" in refusal(path, content)

    def test_a_changed_byte(self, path, fixed):
        """A byte of the weights that is another is noticed."""
        content = bytearray(serialize_model(fixed))
        weights = fixed.encoder.output.weight.detach().numpy().tobytes()
        content[content.index(weights)] ^= 1
        assert "CRC" in refusal(path, bytes(content))

    def test_no_file(self, path):
        """A file that is not there is named."""
        with pytest.raises(InputError, match="There is no model"):
            load_representation(path)


def test_the_page(tmp_path):
    """The page's example of a representation runs as printed, and prints what it says."""
    section = (
        PAGE.read_text(encoding="utf-8").partition("## Representations for a classifier\n")[2].partition("\n## ")[0]
    )
    (code,) = re.findall(r"^```python\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    status, task, city = done.stdout.splitlines()
    assert status == "proved 10.0"
    assert float(task) > 0.6
    assert float(city) < 0.8
