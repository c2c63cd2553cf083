"""A trained model: its network, its noise, and what is claimed of it and proved."""

import dataclasses
from typing import Any, get_args

import torch
from torch import Tensor

from deniable.core.errors import InputError
from deniable.core.guarantees import Guarantee, Verdict, limit_status
from deniable.learning.artifact import Artifact, check_weight_shapes, load_weights, reraise_corrupt_file
from deniable.measure.intervals import Estimate, estimate_share
from deniable.models.images import interval_bounds, pixeldp  # noqa: F401 - their certificates can then be read
from deniable.models.images.certificates import (
    DecisionRule,
    RobustnessCertificate,
    encode_choices,
    rebuild_certificate,
)
from deniable.models.images.dataset import DataDeclaration, LabelledImages
from deniable.models.images.networks import (
    ImageArchitecture,
    ImageNetwork,
    NetworkNoise,
    NoisePlace,
    compute_noisy_scores,
)
from deniable.models.tally import ImageScorer

IMAGE_MODEL_KIND = "image model"
_PREDICTION_BATCH = 1_000
_NOISE_PREFIX = "noise "
"""Of the names of the noise's tensors among the weights of a file."""


@dataclasses.dataclass(frozen=True)
class ImageModel:
    """A classifier of images.

    Attributes:
        trainer: how it was trained, one of `deniable.registry.IMAGE_TRAINERS`.
        network: with its weights, in evaluation mode.
        noises: what it adds at every call; none for a deterministic model.
        verdict: on what is claimed of the training records; None where nothing is claimed, and for a model that was
            read from a file, which cannot show how it was trained.
        certificate: of its predictions; None where nothing is claimed.
        facts: about the run, as JSON holds them; they go into the model card. Of a file they are what it states.
    """

    trainer: str
    network: ImageNetwork
    noises: tuple[NetworkNoise, ...] = ()
    verdict: Verdict | None = None
    certificate: RobustnessCertificate | None = None
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def architecture(self) -> ImageArchitecture:
        """The architecture of the network."""
        return self.network.architecture

    @property
    def guarantee(self) -> Guarantee | None:
        """What is claimed of the training records, with the status of its verdict; None where nothing is claimed."""
        return None if self.verdict is None else limit_status(self.verdict.guarantee, self.verdict)

    @property
    def declaration(self) -> DataDeclaration:
        """What was declared of its training images, which holds for all images that it is given."""
        pixel_range, classes = self.facts.get("pixel range"), self.facts.get("classes")
        return DataDeclaration(
            None if pixel_range is None else (float(pixel_range[0]), float(pixel_range[1])),
            tuple(classes) if classes is not None and self.facts.get("classes declared") else None,
        )

    def to_artifact(self) -> Artifact:
        """Return the model as a file holds it: with its noise, and nothing that is claimed or proved of it."""
        tensors = [(f"{_NOISE_PREFIX}{number}", noise) for number, noise in enumerate(self.noises)]
        noise_weights = {f"{prefix}.scale": noise.scale for prefix, noise in tensors}
        noise_weights |= {f"{prefix}.offset": noise.offset for prefix, noise in tensors if noise.offset is not None}
        configuration = {
            "trainer": self.trainer,
            "architecture": dataclasses.asdict(self.architecture),
            "noises": [{"place": noise.place, "law": noise.law, "bounds": noise.bounds} for noise in self.noises],
            "certificate": None if self.certificate is None else encode_choices(self.certificate),
        }
        return Artifact(IMAGE_MODEL_KIND, configuration, {**self.network.state_dict(), **noise_weights}, self.facts)

    def scores(self, generator: torch.Generator) -> ImageScorer:
        """Return the model as attacks and certificates see it, with noise from a generator."""
        return lambda images: compute_noisy_scores(self.network, images, self.noises, generator)

    def predict(self, images: Tensor, generator: torch.Generator, draws: int = 32) -> Tensor:
        """Return the classes (n,) that win over draws of the noise: by votes or by mean score, as is certified.

        Args:
            images: (n, channels, height, width), pixels in [0, 1].
            generator: generator of the noise.
            draws: of the noise for each image; one is enough for a deterministic model.
        """
        decision_rule = "softmax" if self.certificate is None else self.certificate.decision_rule
        return predict_classes(self.scores(generator), images, draws if self.noises else 1, decision_rule)


def predict_classes(scores: ImageScorer, images: Tensor, draws: int, decision_rule: DecisionRule = "softmax") -> Tensor:
    """Return the classes (n,) with the largest mean softmax score, or with most votes, over calls of a model."""
    predictions = []
    with torch.inference_mode():
        for batch in torch.split(images, _PREDICTION_BATCH):
            totals: Tensor | float = 0.0
            for _ in range(draws):
                logits = scores(batch)
                votes = torch.zeros_like(logits).scatter_(1, logits.argmax(1, keepdim=True), 1.0)
                totals = totals + (logits.softmax(1) if decision_rule == "softmax" else votes)
            predictions.append(torch.as_tensor(totals).argmax(1))
    return torch.cat(predictions)


def measure_image_accuracy(model: ImageModel, images: LabelledImages, draws: int = 32) -> Estimate:
    """Return the share of images that get their label, see `ImageModel.predict`."""
    predicted = model.predict(images.pixels, torch.Generator().manual_seed(0), draws)
    return estimate_share(int((predicted == images.labels).sum()), len(images))


def restore_image_model(artifact: Artifact) -> ImageModel:
    """Rebuild a model from what its file holds; `deniable.registry.load_image_model` reads the file.

    Raises:
        InputError: the file is damaged.
    """
    with reraise_corrupt_file(artifact.path):
        content = artifact.configuration
        fields = content["architecture"]
        architecture = ImageArchitecture(**{**fields, "shape": tuple(fields["shape"])})
        if min(*architecture.shape, architecture.classes) < 1:
            raise InputError("a size below 1")
        if len(content["noises"]) > len(get_args(NoisePlace)):  # each is checked by a pass through the first layer
            raise InputError("more noises than places for them")
        weights = {name: weight for name, weight in artifact.weights.items() if not name.startswith(_NOISE_PREFIX)}
        check_weight_shapes(lambda: architecture.build(0), weights)
        network = architecture.build(0)
        load_weights(network, weights)
        noises = []
        for number, noise in enumerate(content["noises"]):
            name, bounds = f"{_NOISE_PREFIX}{number}", noise["bounds"]
            bounds = None if bounds is None else (float(bounds[0]), float(bounds[1]))
            tensors = artifact.weights[f"{name}.scale"], artifact.weights.get(f"{name}.offset")
            noises.append(NetworkNoise(noise["place"], noise["law"], *tensors, bounds))
            noises[-1].check(network, architecture.shape)
        model = ImageModel(str(content["trainer"]), network, (*noises,), facts=artifact.facts)
        if content["certificate"] is not None:
            parts = content["certificate"], network, architecture.shape, model.noises
            model = dataclasses.replace(model, certificate=rebuild_certificate(*parts))
        _ = model.declaration  # readable, or the model is damaged
        names = model.facts.get("classes")
        if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
            raise InputError("classes that are not a list of names")
    return model
