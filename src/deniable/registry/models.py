"""Kinds of trained models, by the name that their files hold, with the certificates of published systems."""

from collections.abc import Callable
from pathlib import Path

from deniable.core.errors import InputError
from deniable.learning.artifact import Artifact, read_artifact
from deniable.models.images.model import IMAGE_MODEL_KIND, ImageModel, restore_image_model
from deniable.models.text.model import TEXT_MODEL_KIND, TextModel, restore_text_model
from deniable.models.text.prediction import TextPredictor, restore_space_predictor
from deniable.persons.classifier import LINEAR_CLASSIFIER_KIND, LinearClassifier, restore_linear_classifier
from deniable.published.dpal.certificate import DPALCertificate
from deniable.published.dptext.representation import REPRESENTATION_KIND, Representation, restore_representation
from deniable.published.securesgd.certificate import SecureSGDCertificate
from deniable.rewriting.model import REWRITER_KIND, Rewriter, restore_rewriter
from deniable.space import Space

PUBLISHED_CERTIFICATES = (DPALCertificate, SecureSGDCertificate)
"""Each registers itself where it is defined, so that image models with it can be read once this module is imported."""
TrainedModel = ImageModel | TextModel | LinearClassifier | Rewriter | Representation


def _restore_with_space(artifact: Artifact, space: Space | None) -> TextModel:
    if space is None:
        raise InputError(f"The text model {str(artifact.path)!r} needs the space that it was trained on: give space=.")
    return restore_text_model(artifact, space)


MODEL_KINDS: dict[str, Callable[[Artifact, Space | None], TrainedModel]] = {
    IMAGE_MODEL_KIND: lambda artifact, _: restore_image_model(artifact),
    TEXT_MODEL_KIND: _restore_with_space,
    LINEAR_CLASSIFIER_KIND: lambda artifact, _: restore_linear_classifier(artifact),
    REWRITER_KIND: lambda artifact, _: restore_rewriter(artifact),
    REPRESENTATION_KIND: lambda artifact, _: restore_representation(artifact),
}
"""How a model of each kind is rebuilt; a new kind is one more entry here."""

TEXT_PREDICTORS: dict[str, Callable[[Artifact, Callable[[], Space]], TextPredictor]] = {
    TEXT_MODEL_KIND: lambda artifact, load_space: restore_space_predictor(artifact, load_space()),
    LINEAR_CLASSIFIER_KIND: lambda artifact, _: restore_linear_classifier(artifact),
}
"""How a model of each kind that classifies texts is rebuilt to predict; a new kind is one more entry here."""


def load_model(path: Path, *, space: Space | None = None) -> TrainedModel:
    """Read a trained model of whatever kind.

    Args:
        path: of the file.
        space: that a text model was trained on; other kinds need none.

    Raises:
        InputError: no such file, it is no model, its kind is unknown, it is damaged, or it needs a space that was not
            given.
    """
    artifact = read_artifact(path)
    restore = MODEL_KINDS.get(artifact.kind)
    if restore is None:
        kinds = ", ".join(MODEL_KINDS)
        raise InputError(f"The model {str(path)!r} must be one of {kinds}. Got {artifact.kind[:50]!r}.")
    return restore(artifact, space)


def load_image_model(path: Path) -> ImageModel:
    """Read an image model, whatever certificate it has.

    Raises:
        InputError: no such file, it is not an image model, or it is damaged.
    """
    return restore_image_model(read_artifact(path, IMAGE_MODEL_KIND))


def load_text_predictor(path: Path, load_space: Callable[[], Space]) -> TextPredictor:
    """Read a model that classifies texts, of whatever kind.

    Args:
        path: of the file.
        load_space: gives the space that a text model was trained on; called for kinds that need one.

    Raises:
        InputError: no such file, it is not a model of texts, it is damaged, or it was trained on another space.
    """
    artifact = read_artifact(path)
    restore = TEXT_PREDICTORS.get(artifact.kind)
    if restore is None:
        raise InputError(
            f"{str(path)!r} does not classify texts, it is of the kind {artifact.kind[:50]!r}: name the file of a "
            f"model of the kind {' or '.join(map(repr, TEXT_PREDICTORS))}."
        )
    return restore(artifact, load_space)
