"""Trained models of every kind from one function."""

import pytest

from deniable.core.errors import InputError
from deniable.learning.artifact import Artifact, read_artifact, save_model
from deniable.models.images.model import ImageModel
from deniable.models.images.networks import ImageArchitecture
from deniable.registry.models import MODEL_KINDS, TEXT_PREDICTORS, load_model, load_text_predictor
from deniable.rewriting.model import Rewriter
from tests.rewriting.untrained import untrained
from tests.text.helpers import SPACE


class Stored:
    """A model of whatever kind."""

    def __init__(self, kind):
        self.kind = kind

    def to_artifact(self):
        """Return a file without anything in it."""
        return Artifact(self.kind, {}, {}, {})


def test_the_file_says_the_kind(tmp_path):
    """An image model and a rewriter are read by the same function, each as what it is."""
    architecture = ImageArchitecture("small", (1, 28, 28), 10, 0.1)
    image_model = ImageModel("plain", architecture, architecture.build(0).eval(), (), None, None, None, {"steps": 1})
    save_model(image_model, tmp_path / "image.pt")
    save_model(untrained(), tmp_path / "rewriter.pt")
    restored = load_model(tmp_path / "image.pt")
    assert isinstance(restored, ImageModel)
    assert (restored.architecture, restored.facts) == (architecture, {"steps": 1})
    rewriter = load_model(tmp_path / "rewriter.pt")
    assert isinstance(rewriter, Rewriter)
    assert rewriter.vocabulary == untrained().vocabulary
    assert read_artifact(tmp_path / "rewriter.pt").kind == "rewriter"


def test_a_text_model_needs_its_space(tmp_path):
    """Without the space that it was trained on a text model cannot be rebuilt."""
    save_model(Stored("text model"), tmp_path / "m.pt")
    with pytest.raises(InputError, match=r"m\.pt' needs the space that it was trained on: give space="):
        load_model(tmp_path / "m.pt")


def test_an_unknown_kind(tmp_path):
    """A kind that this version does not know is refused in one line."""
    save_model(Stored("sound\nmodel"), tmp_path / "m.pt")
    with pytest.raises(InputError, match=r"must be one of image model, .*Got 'sound\\nmodel'"):
        load_model(tmp_path / "m.pt")


@pytest.mark.parametrize("kind", sorted(set(MODEL_KINDS) - {"text model"}))
def test_an_empty_file_of_each_kind(tmp_path, kind):
    """A file of the right kind with nothing in it is a damaged model."""
    save_model(Stored(kind), tmp_path / "m.pt")
    with pytest.raises(InputError, match=r"m\.pt' is a damaged model"):
        load_model(tmp_path / "m.pt")


@pytest.mark.parametrize("pixel_range", [[], [0.0], "", None, [0.0, "x"]])
def test_facts_of_another_form(tmp_path, pixel_range):
    """A pixel range that is too short or no numbers is a damaged model, in one line; none is as it was declared."""
    architecture = ImageArchitecture("small", (1, 28, 28), 10, 0.1)
    facts = {"pixel range": pixel_range}
    model = ImageModel("plain", architecture, architecture.build(0).eval(), (), None, None, None, facts)
    save_model(model, tmp_path / "m.pt")
    if pixel_range is None:
        assert load_model(tmp_path / "m.pt").declaration.pixel_range is None
    else:
        with pytest.raises(InputError, match=r"m\.pt' is a damaged model"):
            load_model(tmp_path / "m.pt")


def test_a_predictor_loads_the_space_only_where_it_needs_one(tmp_path):
    """A text model asks for its space, and a model that classifies no texts is refused before that."""
    save_model(Stored("text model"), tmp_path / "text.pt")
    save_model(untrained(), tmp_path / "rewriter.pt")
    asked = []

    def load_space():
        asked.append(True)
        return SPACE

    with pytest.raises(InputError, match="was trained on the words of None"):
        load_text_predictor(tmp_path / "text.pt", load_space)
    assert asked == [True]
    with pytest.raises(InputError, match="it is of the kind 'rewriter': name the file of a model of the kind"):
        load_text_predictor(tmp_path / "rewriter.pt", load_space)
    assert asked == [True]


def test_predictors_are_models():
    """What can predict can be loaded as a model too."""
    assert set(TEXT_PREDICTORS) <= set(MODEL_KINDS)
